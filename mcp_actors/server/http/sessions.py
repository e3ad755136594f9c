"""Sessions: the clients of the handshake era that are known, by an id that only they know."""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Callable
from typing import Final, Generic, Protocol, TypeVar

from mcp_actors.protocol.http.rejections import Rejected
from mcp_actors.protocol.http.session_id import redacted
from mcp_actors.protocol.serving.keepsake import Keepsake
from mcp_actors.server.authorization.principal import Principal
from mcp_actors.server.http.contract import Peer
from mcp_actors.server.http.reply import unavailable
from mcp_actors.server.http.streams import Streams

logger: Final = logging.getLogger("mcp_actors.server.http")

#: The revision since which streams begin with an event to resume from.
PRIMES_SINCE: Final = "2025-11-25"
#: Sessions are looked through when one is added, but not more often than this, in seconds.
_SWEEP_EVERY: Final = 30.0
_RETRY_AFTER: Final = 30


def owner_of(principal: Principal | None) -> str | None:
    """What a session is bound to."""
    return None if principal is None else principal.binding


class Kept(Protocol):
    """What a table of sessions needs to know of one."""

    @property
    def id(self) -> str: ...

    @property
    def owner(self) -> str | None: ...

    used: float

    @property
    def active(self) -> bool:
        """Whether something is under way in it."""

    def end(self, reason: str) -> None:
        """End it. Any thread."""

    def stop(self, grace: float) -> None:
        """Let what runs in it end first, but wait no longer than that."""


class Session:
    """One client over Streamable HTTP."""

    def __init__(self, id: str, owner: str | None, streams: Streams, peer: Peer) -> None:
        self.id = id
        self.owner = owner
        self.streams = streams
        self.peer = peer
        self.used = 0.0
        #: What other processes know of it, and who tells them.
        self.kept: Keepsake | None = None
        self.keeping = threading.Lock()

    @property
    def client(self) -> str:
        """What tells its client from others."""
        return self.owner or self.id

    @property
    def primes(self) -> bool:
        """Whether its streams begin with an event to resume from."""
        return (self.peer.version or "") >= PRIMES_SINCE

    @property
    def active(self) -> bool:
        """Whether a call runs or a stream is open."""
        return self.streams.connected or self.peer.busy

    def end(self, reason: str) -> None:
        """End it; what runs is told to stop."""
        self.peer.gone(reason)
        self.streams.end(reason)

    def stop(self, grace: float) -> None:
        """Let what runs end."""
        self.peer.stop(grace)


S = TypeVar("S", bound=Kept)


class SessionTable(Generic[S]):
    """The sessions of one process. Any thread; under the lock nothing but the dictionaries is touched.

    ``share``: how many of them may be of one owner; None, and for those without an owner: any number.
    """

    def __init__(self, limit: int, idle: float, clock: Callable[[], float], share: int | None = None) -> None:
        self._limit = limit
        self._share = share
        self._idle = idle
        self._clock = clock
        self._lock = threading.Lock()
        self._resuming = threading.Lock()
        self._sessions: dict[str, S] = {}
        self._reserved = 0
        self._owned: dict[str, int] = {}
        self._swept = clock()

    def __len__(self) -> int:
        return len(self._sessions)

    def create(self, make: Callable[[str], S], owner: str | None = None, id: str | None = None) -> S:
        """Know a session from now on, which ``make`` makes for an id: this one, or one that nobody guesses.

        Raises:
            Rejected: there are, or this owner has, as many as may be; then none is made.
        """
        self._reserve(owner)
        session: S | None = None
        try:
            # 256 bits in visible ASCII.
            session = make(secrets.token_hex(32) if id is None else id)
            session.used = self._clock()
        finally:
            with self._lock:
                self._reserved -= 1
                if session is not None:
                    self._sessions[session.id] = session
                else:
                    self._disown(owner)
        return session

    def find(self, id: str, owner: str | None) -> S:
        """The session, which is thereby used.

        Raises:
            Rejected: it is unknown, over, or somebody else's, which looks the same from outside.
        """
        session = self._sessions.get(id)
        if session is None or session.owner != owner:
            raise Rejected(404, "there is no such session (any more)")
        session.used = self._clock()
        return session

    def ensure(self, id: str, owner: str | None, make: Callable[[], S]) -> None:
        """Know a session that others know by this id. Raises what `create` does."""
        # Two requests of it may be the first here.
        with self._resuming:
            if id not in self._sessions:
                self.create(lambda _id: make(), owner, id)

    def remove(self, id: str) -> S | None:
        """Forget a session, and return it, if it is known."""
        with self._lock:
            session = self._sessions.pop(id, None)
            if session is not None:
                self._disown(session.owner)
            return session

    def sweep(self, now: float) -> int:
        """End the sessions that nobody has used for too long; how many there were."""
        self._swept = now
        with self._lock:
            old = [one for one in self._sessions.values() if now - one.used >= self._idle]
        # Outside of the lock: whether one is active takes other locks.
        left = [session for session in old if not self._in_use(session, now)]
        for session in left:
            self.remove(session.id)
            session.end("nobody used the session")
            logger.info("session %s ended: nobody used it", redacted(session.id))
        return len(left)

    def stop(self, grace: float) -> None:
        """Have all sessions end in good order."""
        with self._lock:
            sessions = list(self._sessions.values())
        for session in sessions:
            session.stop(grace)

    def _reserve(self, owner: str | None) -> None:
        now = self._clock()
        if now - self._swept >= _SWEEP_EVERY or len(self) >= self._limit:
            self.sweep(now)
        with self._lock:
            if len(self._sessions) + self._reserved >= self._limit:
                raise unavailable(f"{self._limit} sessions are open, the most there may be", _RETRY_AFTER)
            if owner is not None:
                self._own(owner)
            self._reserved += 1

    def _own(self, owner: str) -> None:
        owned = self._owned.get(owner, 0)
        if self._share is not None and owned >= self._share:
            words = f"{owned} sessions of this client are open, the most there may be"
            raise unavailable(words, _RETRY_AFTER)
        self._owned[owner] = owned + 1

    def _disown(self, owner: str | None) -> None:
        if owner is None:
            return
        self._owned[owner] -= 1
        if not self._owned[owner]:
            del self._owned[owner]

    def _in_use(self, session: S, now: float) -> bool:
        if session.active:
            session.used = now
            return True
        return False
