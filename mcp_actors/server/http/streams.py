"""Streams: where the messages of one session go, which connection brings them, and what can be resumed.

Each POST that asks something has a stream of its own; what belongs to no request goes over that of the GET.
A stream outlives its connections: what is said while there is none waits in the event store.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from mcp_actors.protocol.http.event_writing import OPENED, priming
from mcp_actors.protocol.http.rejections import Rejected
from mcp_actors.protocol.jsonrpc import Id
from mcp_actors.server.http.event_store import EventStore, StoredEvent
from mcp_actors.server.http.inbox import Closed, Event, Inbox

if TYPE_CHECKING:
    from mcp_actors.server.outlet import Outgoing

logger: Final = logging.getLogger("mcp_actors.server.http")

_EVENT_ID: Final = re.compile(r"([0-9]{1,18})-([0-9]{1,18})")


class Stream:
    """One stream. Everything in it is guarded by the lock of its ``Streams``."""

    def __init__(self, key: str, ids: Iterable[Id], *, primes: bool) -> None:
        self.key = key
        self.ids = frozenset(ids)
        self.answered = False
        self.primes = primes  # it opens with an event to resume from
        self.count = 0  # events so far
        self.handed_out = 0  # the number of the last one that a connection got
        self.begun = False  # a stream it is, and not one plain answer
        self.lost = False  # its connection broke before anything was said: nobody can resume it
        self.inbox: Inbox | None = None

    @property
    def resumable(self) -> bool:
        """Whether its client knows an event of it."""
        return self.primes or self.count > 0


class Connection(Struct, frozen=True):
    """A stream as one response carries it: its inbox, and the bytes that open it."""

    stream: Stream
    inbox: Inbox
    opening: bytes


class Streams:
    """All streams of one session; an ``Outlet``. Any thread; one lock, under which nothing waits.

    ``first_key``: where streams are counted from. Two processes that keep the events of the same session in
    one store must not both count from 0.
    """

    def __init__(
        self,
        session: str,
        store: EventStore,
        make_inbox: Callable[[], Inbox],
        retry_ms: int = 1000,
        on_end: Callable[[], object] = lambda: None,
        first_key: int = 0,
    ) -> None:
        self._session = session
        self._store = store
        self._make_inbox = make_inbox
        self._retry_ms = retry_ms
        self._on_end = on_end
        self._lock = threading.Lock()
        self._made = first_key
        self._by_id: dict[Id, Stream] = {}
        # That of the GET.
        self._listening = Stream(str(first_key), (), primes=False)
        self._open: dict[str, Stream] = {self._listening.key: self._listening}
        self._ended = False

    @property
    def connected(self) -> bool:
        """Whether a connection is open, or a request unanswered."""
        with self._lock:
            return bool(self._by_id) or self._listening.inbox is not None

    # Connections come and go. WSGI threads.

    def open(self, ids: Iterable[Id], *, primes: bool) -> Connection:
        """The stream of a POST with these requests.

        Raises:
            Rejected: one of them bears the id of another that is not answered yet.
        """
        with self._lock:
            self._refuse_after_end()
            for one in ids:
                if one in self._by_id:
                    raise Rejected(400, "a request of the same id is not answered yet", id=one)
            self._made += 1
            stream = Stream(str(self._made), ids, primes=primes)
            self._open[stream.key] = stream
            self._by_id.update(dict.fromkeys(stream.ids, stream))
            return self._connect(stream, 0)

    def listen(self, *, primes: bool) -> Connection:
        """The stream of a GET; what has waited for it comes first.

        Raises:
            Rejected: there is one already.
        """
        with self._lock:
            self._refuse_after_end()
            if self._listening.inbox is not None:
                raise Rejected(409, "this session has an open stream already")
            self._listening.primes = primes
            return self._connect(self._listening, self._listening.handed_out)

    def resume(self, last_event_id: str, *, primes: bool) -> Connection:
        """The rest of a stream after an event; a connection that still carries it is closed.

        Raises:
            Rejected: nothing is known of it (any more).
        """
        found = _EVENT_ID.fullmatch(last_event_id)
        if found is None:
            raise Rejected(400, "no stream of this session has an event of that id")
        with self._lock:
            self._refuse_after_end()
            stream = self._open.get(found[1]) or self._past(found[1], int(found[2]))
            stream.primes = primes
            if stream.inbox is not None:
                # Who knows the id is the client itself, whose earlier connection broke before we saw it.
                stream.inbox.put(Closed(), force=True)
            return self._connect(stream, int(found[2]))

    def begin(self, connection: Connection) -> bool:
        """Answer with a stream, as nothing came yet. False: meanwhile the whole answer did."""
        with self._lock:
            stream = connection.stream
            stream.begun = stream.begun or not stream.answered
            return stream.begun

    def leave(self, connection: Connection) -> None:
        """A connection is over, its stream maybe not."""
        with self._lock:
            stream = connection.stream
            if stream.inbox is not connection.inbox:
                return
            stream.inbox = None
            stream.lost = not stream.begun and stream is not self._listening
            while (item := connection.inbox.take(0)) is not None:
                if isinstance(item, Event):
                    # What nobody wrote belongs to the next connection.
                    stream.handed_out = min(stream.handed_out, item.number - 1)

    # Messages go out. The thread that brings them.

    def send(self, outgoing: Outgoing) -> None:
        """Bring a message to its stream; what belongs to none is dropped."""
        with self._lock:
            if self._ended:
                return
            about = outgoing.about
            stream = self._listening if about is None else self._by_id.get(about)
            if stream is not None:
                self._publish(stream, outgoing)

    def close_connection(self, about: Id, retry_ms: int | None = None) -> bool:
        """Have the client of a request fetch the rest later: its connection ends, its stream does not.

        False: it cannot, as it would not know where to resume.
        """
        with self._lock:
            stream = self._by_id.get(about)
            if stream is None or stream.inbox is None or not stream.resumable:
                return False
            stream.begun = True
            self._close(stream, self._retry_ms if retry_ms is None else retry_ms)
            return True

    def end(self, reason: str) -> None:
        """The session is over: so are its connections."""
        del reason
        with self._lock:
            if self._ended:
                return
            self._ended = True
            for stream in self._open.values():
                self._close(stream, None)
            self._by_id.clear()
        self._on_end()

    def _publish(self, stream: Stream, outgoing: Outgoing) -> None:
        # Also of a batch there is one final message: the answers to all of its requests.
        last = outgoing.final
        if last:
            stream.answered = True
            self._forget(stream)
        if last and not stream.begun:
            # The whole answer: no stream, and nothing to resume.
            self._hand_out(stream, Event(outgoing.frame, True, outgoing.code))
        elif not stream.lost:
            stream.begun = True
            self._write(stream, outgoing.frame, last)

    def _write(self, stream: Stream, frame: bytes, last: bool) -> None:
        stream.count += 1
        stored = StoredEvent(stream.count, frame, last)
        self._keep(stream, stored)
        if self._hand_out(stream, _event(stream, stored)):
            stream.handed_out = stream.count

    def _hand_out(self, stream: Stream, event: Event) -> bool:
        if stream.inbox is None:
            return False
        if stream.inbox.put(event, force=event.last):
            return True
        # The client does not read. It may come back for what is kept.
        self._close(stream, self._retry_ms)
        return False

    def _keep(self, stream: Stream, event: StoredEvent) -> None:
        try:
            self._store.append(self._session, stream.key, event)
        except Exception:
            # The store may be the user's own. Without it streams work all the same, as long as they last.
            logger.exception("an event store failed; the event cannot be resumed from")

    def _close(self, stream: Stream, retry_ms: int | None) -> None:
        if stream.inbox is not None:
            stream.inbox.put(Closed(retry_ms), force=True)
            stream.inbox = None

    def _connect(self, stream: Stream, after: int) -> Connection:
        inbox = stream.inbox = self._make_inbox()
        kept = self._kept(stream.key, after) if stream.count else []
        for event in kept:
            inbox.put(_event(stream, event), force=True)
        missing = (kept[0].number if kept else stream.count + 1) - after - 1
        if missing > 0:
            # What is left is worth more than none: the answer may be in it, or still to come.
            logger.warning("a stream goes on without %d events that were not kept so long", missing)
        stream.handed_out = stream.count
        if stream.key not in self._open:
            inbox.put(Closed(), force=True)
        # Where nothing primes, a comment does: the headers go out with the first bytes.
        opening = priming(_event_id(stream, after), self._retry_ms) if stream.primes else OPENED
        return Connection(stream, inbox, opening)

    def _past(self, key: str, after: int) -> Stream:
        """A stream that is over, of which something is left."""
        kept = self._kept(key, after)
        if not kept:
            raise Rejected(400, "nothing is left of that stream after that event")
        stream = Stream(key, (), primes=False)
        stream.count = kept[-1].number
        stream.begun = True
        return stream

    def _kept(self, key: str, after: int) -> list[StoredEvent]:
        try:
            return self._store.after(self._session, key, after)
        except Exception:
            logger.exception("an event store failed; a stream goes on without what was missed")
            return []

    def _forget(self, stream: Stream) -> None:
        self._open.pop(stream.key, None)
        for one in stream.ids:
            self._by_id.pop(one, None)

    def _refuse_after_end(self) -> None:
        if self._ended:
            raise Rejected(404, "this session is over")


def _event_id(stream: Stream, number: int) -> str:
    return f"{stream.key}-{number}"


def _event(stream: Stream, stored: StoredEvent) -> Event:
    return Event(stored.frame, stored.last, number=stored.number, id=_event_id(stream, stored.number))
