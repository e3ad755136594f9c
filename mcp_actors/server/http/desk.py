"""Desk: what the app keeps in one process: its sessions, its streams, and the way to its peers."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import Final

from mcp_actors.protocol.http.rejections import Rejected
from mcp_actors.protocol.serving.keepsake import Keepsake
from mcp_actors.server.authorization.principal import Principal
from mcp_actors.server.http.contract import Peer, Peers, ToolRules
from mcp_actors.server.http.event_store import EventStore, MemoryEventStore
from mcp_actors.server.http.inbox import Inbox, Watch
from mcp_actors.server.http.legacy_session import LegacySession, LegacyStream
from mcp_actors.server.http.places import Places
from mcp_actors.server.http.session_store import SessionStore
from mcp_actors.server.http.sessions import Session, SessionTable, owner_of
from mcp_actors.server.http.settings import HttpSettings
from mcp_actors.server.http.shared_sessions import SharedSessions, StoredSession
from mcp_actors.server.http.streams import Streams
from mcp_actors.server.http.wsgi_request import WsgiRequest
from mcp_actors.server.loan import Loan, loan_of_this_thread
from mcp_actors.server.outlet import Outlet

#: How long what runs has to end when the app is stopped.
GRACE: Final = 5.0
#: Streams are counted from a number of their own where a session goes on; ids of events hold 18 digits.
_STREAMS_OF_ONE: Final = 10**6
_MOST_PROCESSES: Final = 10**11


class Desk:
    """Any thread. Made anew after a fork: sessions, threads and locks of the parent are not ours."""

    def __init__(
        self,
        settings: HttpSettings,
        peers: Peers,
        tools: ToolRules,
        store: EventStore | None = None,
        session_store: SessionStore | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings
        self.peers = peers
        self.tools = tools
        self.clock = clock
        self.places = Places(
            settings.requests,
            settings.streams,
            settings.client_requests,
            patience=settings.max_wait,
            clock=clock,
        )
        self.sessions: SessionTable[Session] = SessionTable(
            settings.max_sessions, settings.session_idle, clock, settings.client_sessions
        )
        self.legacy: SessionTable[LegacySession] = SessionTable(
            settings.max_sessions, settings.session_idle, clock, settings.client_sessions
        )
        self.shared = None if session_store is None else SharedSessions(session_store)
        self.store = store or MemoryEventStore(
            settings.max_events, settings.max_event_bytes, settings.max_total_event_bytes
        )
        # Peers that are there for one POST. A plain dictionary used as a set: each change is one operation.
        self._guests: dict[int, Peer] = {}
        self.stopping = False

    def inbox(self) -> Inbox:
        """For one connection."""
        return Inbox(self.settings.max_queued, self.settings.max_queued_bytes)

    def watch(self, inbox: Inbox, request: WsgiRequest) -> Watch:
        """For the thread that serves the request."""
        return Watch(inbox, request.presence, self.settings.look_every, self.clock)

    def loan(self) -> Loan | None:
        """Of the thread that serves a request, which has nothing to do until that is answered."""
        return loan_of_this_thread() if self.settings.lend_threads else None

    def new_session(self, principal: Principal | None) -> Session:
        """A client that wants to shake hands. Raises ``Rejected``."""
        session = self.sessions.create(lambda id: self._made(id, principal), owner_of(principal))
        if self.stopping:
            # Whoever stopped us may have gone through the sessions before this one was there.
            session.stop(GRACE)
        return session

    def session(self, id: str, principal: Principal | None) -> Session:
        """The session of a client, wherever it shook hands. Raises ``Rejected``."""
        if self.shared is not None:
            self._resume(self.shared, id, principal)
        return self.sessions.find(id, owner_of(principal))

    def keep(self, session: Session) -> None:
        """Let other processes know what its client has set."""
        if self.shared is None:
            return
        with session.keeping:
            keepsake = session.peer.keepsake
            if keepsake is None or keepsake == session.kept:
                return
            if self.shared.save(session.id, StoredSession(session.owner, keepsake)):
                session.kept = keepsake

    def end_session(self, session: Session, reason: str) -> None:
        """End a session, here and everywhere."""
        self.sessions.remove(session.id)
        if self.shared is not None:
            self.shared.forget(session.id)
            self.store.forget(session.id)
        session.end(reason)

    def new_legacy_session(self, principal: Principal | None) -> LegacySession:
        """A client of HTTP+SSE. Raises ``Rejected``."""
        owner = owner_of(principal)

        def make(id: str) -> LegacySession:
            stream = LegacyStream(self.inbox())
            peer = self.peers(stream, name="sse", principal=principal, client=owner or id)
            return LegacySession(id, owner, stream, peer)

        session = self.legacy.create(make, owner)
        if self.stopping:
            session.stop(GRACE)
        return session

    def new_guest(
        self, outlet: Outlet, principal: Principal | None, assume: str | None, client: str | None = None
    ) -> Peer:
        """A client that is there for one POST. ``client`` tells those of one from those of others."""
        guest = self.peers(outlet, name="http", principal=principal, assume=assume, client=client)
        self._guests[id(guest)] = guest
        if self.stopping:
            guest.stop()
        return guest

    def forget_guest(self, guest: Peer) -> None:
        """Its POST is over."""
        self._guests.pop(id(guest), None)

    @property
    def busy(self) -> bool:
        """Whether anything is left to end before the server can be taken away."""
        return bool(self._guests) or len(self.sessions) > 0 or len(self.legacy) > 0

    def sweep(self, now: float) -> None:
        """End the sessions that nobody uses."""
        self.sessions.sweep(now)

    def stop(self, grace: float = GRACE) -> None:
        """Take no more, and have everything end in good order."""
        self.stopping = True
        self.lose(grace)

    def lose(self, grace: float = GRACE) -> None:
        """Have everything end in good order. Others may come."""
        self.sessions.stop(grace)
        self.legacy.stop(grace)
        for guest in tuple(self._guests.values()):
            guest.stop(grace)

    def _made(self, id: str, principal: Principal | None, first_key: int = 0) -> Session:
        settings = self.settings
        streams = Streams(id, self.store, self.inbox, settings.retry_ms, lambda: self._forget(id), first_key)
        owner = owner_of(principal)
        peer = self.peers(streams, name="http", principal=principal, client=owner or id)
        return Session(id, owner, streams, peer)

    def _resume(self, shared: SharedSessions, id: str, principal: Principal | None) -> None:
        """Have a session here that others know, and none that others ended."""
        stored = shared.load(id)
        if stored is None:
            left = self.sessions.remove(id)
            if left is not None:
                left.end("the session was ended in another process")
        elif stored.owner == owner_of(principal):
            self.sessions.ensure(id, stored.owner, lambda: self._resumed(id, principal, stored.keepsake))

    def _resumed(self, id: str, principal: Principal | None, keepsake: Keepsake) -> Session:
        session = self._made(id, principal, secrets.randbelow(_MOST_PROCESSES) * _STREAMS_OF_ONE)
        session.peer.resume(keepsake)
        if session.peer.version is None:
            raise Rejected(404, "this session cannot go on here: its revision is not spoken any more")
        session.kept = keepsake
        if self.stopping:
            session.stop(GRACE)
        return session

    def _forget(self, id: str) -> None:
        self.sessions.remove(id)
        if self.shared is None:
            # Otherwise it may go on elsewhere.
            self.store.forget(id)
