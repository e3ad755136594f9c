"""HttpWire: many exchanges that together look like one line to a server."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final, Literal

import urllib3
from msgspec import structs

from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.http import responses as R
from mcp_actors.protocol.http.answers import agreed_version
from mcp_actors.protocol.http.request_headers import PROTOCOL_VERSION, Outbound, RequestHeaders
from mcp_actors.protocol.jsonrpc import METHOD_NOT_FOUND, Id, error_frame
from mcp_actors.protocol.listening import LISTEN
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.lock import Lock
from mcp_actors.transports.contract import OnHeld, OnLost, SendVerdict, WireStats
from mcp_actors.transports.http.crew import Crew
from mcp_actors.transports.http.dialogue import Dialogues, reply_of
from mcp_actors.transports.http.discretion import discreet_ending
from mcp_actors.transports.http.engine import Engine, Errand
from mcp_actors.transports.http.exchange import Exchange, exchange_of
from mcp_actors.transports.http.farewell import say_farewell
from mcp_actors.transports.http.grip import Grip
from mcp_actors.transports.http.inbox import Inbox
from mcp_actors.transports.http.legacy import LegacyLine
from mcp_actors.transports.http.listener import Listener
from mcp_actors.transports.http.loan import HttpLoan
from mcp_actors.transports.http.settings import HttpSettings, ToolHeaders

_INITIALIZED: Final = "notifications/initialized"
#: How long the requests after it wait for ``initialized`` to arrive, and a farewell may take.
_TURN_SECONDS: Final = 10.0
#: How long they wait for the stream of news to be opened.
_LISTENING_SECONDS: Final = 0.25
#: How long others under way have to be told that the session is gone.
_ECHO_SECONDS: Final = 0.25
#: How long a message may take that nobody waits for.
_NOTICE_SECONDS: Final = 30.0
#: How long to look for the older transport behind a URL.
_SEARCH_SECONDS: Final = 5.0
#: How long to wait for threads that were told to end: they do at once, unless they look up a name or log in.
_PARTING_SECONDS: Final = 2.0
#: How many exchanges there may be for another one to be lent: for more there are no connections kept.
_MOST_LENT: Final = 64
#: Threads beyond those for callers: for streams, for answers to the server, for what nobody waits for.
_RESERVE: Final = 64
_CLOSED: Final = Ending(EndKind.CLOSED, "the connection was closed")

logger: Final = logging.getLogger("mcp_actors.transports")


class HttpWire:
    """`wait`, `read` and `send` as every wire; exchanges run on threads of its own."""

    def __init__(self, engine: Engine, settings: HttpSettings, tool_headers: ToolHeaders, label: str) -> None:
        self._settings = settings
        self._engine = engine
        self._rules = RequestHeaders(tool_headers)
        self._lock = Lock()
        self._parted = threading.Condition(self._lock)
        self._exchanges: dict[Id, Exchange] = {}
        self._running: set[Exchange] = set()
        self._over = False
        # Requests of which the server has said that their session is not there.
        self._unknown_to_server = set[Id]()
        # Messages that nobody waits for, and when it is enough.
        self._notices: deque[tuple[float, Grip]] = deque()
        # Set unless `initialized` is on its way: nothing may overtake it.
        self._turn = threading.Event()
        self._turn.set()
        # Set unless a stream for what nobody asked is being opened: a server may ask back over it, and nobody
        # hears what it would say before.
        self.listening = threading.Event()
        self.listening.set()
        self._listener: Listener | None = None
        self._line: LegacyLine | None = None
        self._sent = self._sent_bytes = 0
        self._fetched = self._fetched_bytes = 0
        self.label = label
        self.max_frame_bytes = settings.max_frame_bytes
        self.inbox = Inbox(settings.max_frame_bytes)
        self.crew = Crew(f"mcp-http-{label}", settings.max_exchanges + _RESERVE)
        self.dialogues = Dialogues(engine, settings)
        #: Whether the URL is known to be of the older transport, and its line, once it is there.
        self.older = settings.legacy
        self.legacy: LegacyLine | None = None
        self.on_lost: OnLost | None = None
        self.on_held: OnHeld | None = None
        self.on_gap: Callable[[str], None] | None = None
        self.post_url = settings.url

    # The contract of a wire.

    def wait(self) -> None:
        self.inbox.wait(None)

    def read(self, limit: int | None) -> list[bytes]:
        return self.inbox.take(limit)

    def send(self, frame: bytes, token: int | None) -> SendVerdict:
        del token  # requests are told apart by their ids, which they carry
        if self._over:
            return SendVerdict.CLOSED
        exchange = exchange_of(self, self._rules, frame)
        outbound = exchange.outbound
        if outbound.cancels is not None:
            self._give_up(outbound.cancels)
            if outbound.modern:
                # MCP 2026-07-28, transports: closing the stream is the cancellation, and the only one.
                return SendVerdict.SENT
        if outbound.probing and (self.older or self.legacy is not None):
            # The older transport is of the handshake era; some of its servers would leave us waiting.
            return self.inbox.put(error_frame(exchange.ids[0], METHOD_NOT_FOUND, "HTTP+SSE has one era"))
        if not self.enter(exchange):
            return SendVerdict.CLOSED
        if not self.crew.run(exchange.run):
            self.done(exchange)
            return SendVerdict.BUSY
        self.count(exchange)
        return SendVerdict.SENT

    def lend(self, frame: bytes, token: int) -> HttpLoan | None:
        """The exchange for a caller's own thread, where it need not wait for anything but a socket."""
        del token
        if not self.dialogues.simple or self.older or self.legacy is not None:
            return None
        if not (self._turn.is_set() and self.listening.is_set()):
            return None
        return None if self._over else HttpLoan(self, exchange_of(self, self._rules, frame))

    def flush(self, deadline: Deadline) -> bool:
        del deadline
        return True

    def close(self, deadline: Deadline) -> Ending:
        ending = self.inbox.end(_CLOSED, drop=True)
        if self._end():
            self._abandon_all()
            if self._rules.session_id is not None:
                errand = Errand("DELETE", self._settings.url, self._rules.leaving())
                say_farewell(self.crew, self.dialogues, errand, deadline)
        self._turn.set()
        parting = Deadline.after(min(_PARTING_SECONDS, deadline.remaining()))
        self.crew.close(parting)
        with self._lock:
            self._parted.wait_for(lambda: not any(one.lent for one in self._running), parting.remaining())
        self._engine.close()
        return ending

    def stats(self) -> WireStats:
        return WireStats(
            bytes_in=self.inbox.bytes_taken + self._fetched_bytes,
            bytes_out=self._sent_bytes,
            frames_in=self.inbox.frames_taken + self._fetched,
            frames_out=self._sent,
            read_buffer_bytes=self.inbox.waiting_bytes,
        )

    def forget(self) -> None:
        """Nothing to do in a forked child: every connection sees to itself there."""

    # For the exchanges, on their threads.

    def enter(self, exchange: Exchange) -> bool:
        """An exchange is about to begin; False: the wire is over, or has lent enough."""
        outbound = exchange.outbound
        with self._lock:
            if self._over or (exchange.lent and len(self._running) >= _MOST_LENT):
                return False
            self._mind_notices(exchange)
            self._running.add(exchange)
            for id_ in exchange.ids:
                self._exchanges[id_] = exchange
            if outbound.modern and not outbound.probing and self._rules.version is None:
                # Whoever asks so knows the server's era; notifications do not say it themselves.
                self._rules = structs.replace(self._rules, version=outbound.headers.get(PROTOCOL_VERSION))
        if outbound.method == _INITIALIZED:
            self._turn.clear()
        elif outbound.method == LISTEN:
            self.listening.clear()
        return True

    def await_turn(self, outbound: Outbound) -> None:
        """Wait while ``initialized`` is on its way, unless this is it."""
        if outbound.method != _INITIALIZED and not self._turn.is_set():
            self._turn.wait(_TURN_SECONDS)
        if outbound.method != LISTEN and not self.listening.is_set():
            self.listening.wait(_LISTENING_SECONDS)
            # Some servers do not answer before there is something to say. Nobody waits twice for that.
            self.listening.set()

    def opened(self, outbound: Outbound, session: str | None) -> None:
        """A response has begun; that to ``initialize`` may open a session."""
        if outbound.method == "initialize":
            self._rules = structs.replace(self._rules, session_id=session)

    def answered(self, outbound: Outbound, frame: bytes) -> None:
        """A request was answered; ``initialize`` settles the version. Before anybody else hears of it."""
        if outbound.method == "initialize":
            self._rules = structs.replace(self._rules, version=agreed_version(frame))

    def heard(self, outbound: Outbound) -> None:
        """The stream of a request has said something; one of news says first that it is one."""
        if outbound.method == LISTEN:
            self.listening.set()

    def accepted(self, outbound: Outbound) -> None:
        """A notification or response has arrived."""
        if outbound.method != _INITIALIZED:
            return
        # The older transport has its stream already.
        if self.legacy is None and not self._over:
            self._listener = Listener(self)
            self.listening.clear()
            if not self.crew.run(self._listener.run):
                self.listening.set()
        self._turn.set()

    def session_gone(self, ids: Iterable[Id]) -> None:
        """The server has forgotten us: this wire is over, and the request that told us was not run.

        Nor were others under way, if the server says so of them as well; it has a moment for that.
        """
        with self._lock:
            self._unknown_to_server.update(ids)
        if self._end():
            unrun = self._unknown_to_server
            with self._lock:
                # Whatever ends meanwhile rings.
                told = self._parted.wait_for
                told(lambda: all(unrun.issuperset(one.ids) for one in self._running), _ECHO_SECONDS)
                never = frozenset(unrun)
            self._conclude(Ending(EndKind.EOF, "the server ended the session"), never)

    def lost(
        self,
        exchange: Exchange,
        ids: tuple[Id, ...],
        ending: Ending,
        outcome: Literal["unknown", "not_sent"],
    ) -> None:
        """Requests came to nothing. If the server cannot be reached at all, the wire is over."""
        ending = discreet_ending(ending, self._settings.secrets)
        if exchange.outbound.method == _INITIALIZED:
            if outcome == "unknown":
                # It may have arrived, and the server may have something to say.
                self.accepted(exchange.outbound)
            elif not exchange.grip.whole:
                # For the server the handshake is not over, and nobody would tell it any more.
                self.finish(ending)
            self._turn.set()
        if ending.kind is EndKind.REFUSED and not self._in_touch():
            self.finish(ending, ids)
        elif not ids:
            logger.debug("%s: %s was not delivered: %s", self.label, exchange.outbound.method, ending.reason)
        elif self.on_lost is not None:
            for id_ in ids:
                self.on_lost(id_, ending, outcome)

    def held(self, ids: tuple[Id, ...], hindrance: Ending | None) -> None:
        """Requests wait for an authorization before they are sent; None: they go on."""
        if self.on_held is not None:
            for id_ in ids:
                self.on_held(id_, hindrance)

    def finish(self, ending: Ending, unsent: Iterable[Id] = ()) -> None:
        """The wire is over; what came before is still read. ``unsent`` are requests that were not run."""
        if self._end():
            self._conclude(ending, unsent)

    def listen(
        self, last_event_id: str, grip: Grip, *, again: bool = True
    ) -> urllib3.BaseHTTPResponse | None:
        """Open a stream for what the server says unasked, or the rest of one; None if there is none.

        ``again``: there was one before, or an attempt that came to nothing.
        """
        rules = self._rules
        errand = Errand("GET", self._settings.url, rules.listening(last_event_id))
        response = self.dialogues.ask(errand, grip)
        reply = reply_of(response)
        if R.stream_needs_body(reply):
            reply = self.dialogues.whole(reply, response)
        verdict = R.judge_stream(reply, resuming_session=again and rules.session_id is not None)
        if isinstance(verdict, R.EventStreamBody):
            return response
        response.close()
        if isinstance(verdict, R.SessionGone):
            self.session_gone(())
        if isinstance(verdict, R.Fault):
            raise urllib3.exceptions.HTTPError(verdict.reason)
        return None

    def missed(self, reason: str) -> None:
        """The server may have said something unasked while nobody listened."""
        # The end of the wire says so, too.
        if self.on_gap is not None and not self._over:
            self.on_gap(reason)

    def fall_back(self, on_held: Callable[[Ending | None], object] | None) -> Ending | None:
        """Look for the older HTTP+SSE behind this URL; why there is none, or None if there is.

        Where it is known to be there, the handshake's own deadline is the only one.
        """
        self._line = line = LegacyLine(self, self._settings.url, on_held)
        if self._over:
            return _CLOSED
        seconds = math.inf if self.older else min(_SEARCH_SECONDS, self._settings.connect_timeout)
        failure = line.connect(Deadline.after(seconds))
        if failure is None:
            assert line.endpoint is not None
            self.legacy, self.post_url = line, line.endpoint
        return failure

    def count(self, exchange: Exchange) -> None:
        """A frame goes out."""
        with self._lock:
            self._sent += 1
            self._sent_bytes += exchange.size

    def fetched(self, frame: bytes) -> None:
        """A caller has fetched its answer itself."""
        with self._lock:
            self._fetched += 1
            self._fetched_bytes += len(frame)

    def done(self, exchange: Exchange) -> None:
        """An exchange is over."""
        if exchange.outbound.method == LISTEN:
            self.listening.set()
        elif exchange.outbound.method == _INITIALIZED and not self._turn.is_set():
            # It was cut, for the server took too long. It may have arrived all the same.
            self.accepted(exchange.outbound)
        with self._lock:
            self._running.discard(exchange)
            for id_ in exchange.ids:
                if self._exchanges.get(id_) is exchange:
                    del self._exchanges[id_]
            if self._over:
                self._parted.notify_all()

    # Inside.

    def _mind_notices(self, exchange: Exchange) -> None:
        """What nobody waits for has its time, too."""
        now = time.monotonic()
        while self._notices and self._notices[0][0] < now:
            self._notices.popleft()[1].cut()
        if not exchange.ids:
            self._notices.append((now + _NOTICE_SECONDS, exchange.grip))

    def _give_up(self, id_: Id) -> None:
        with self._lock:
            exchange = self._exchanges.pop(id_, None)
        if exchange is not None:
            exchange.give_up(id_)

    def _in_touch(self) -> bool:
        """Whether some exchange has got through to the server, so that it is there."""
        with self._lock:
            return self.legacy is not None or any(one.grip.begun for one in self._running)

    def _end(self) -> bool:
        """Take no more frames; True for whoever is the first to say so."""
        with self._lock:
            first, self._over = not self._over, True
            return first

    def _conclude(self, ending: Ending, unsent: Iterable[Id]) -> None:
        ending = discreet_ending(ending, self._settings.secrets)
        never = {*self._abandon_all(), *unsent}
        ids = frozenset(id_ for id_ in never if isinstance(id_, int))
        self.inbox.finish(replace(ending, unsent=ids))
        self._turn.set()

    def _abandon_all(self) -> list[Id]:
        """End all that runs; the requests of which the server has seen nothing."""
        with self._lock:
            running = list(self._running)
        unseen = [id_ for one in running if not one.abandon() for id_ in one.ids]
        for other in (self._listener, self._line):
            if other is not None:
                other.abandon()
        return unseen
