"""HttpLoan: an exchange that begins, and mostly ends, on the thread of the caller who waits for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

import urllib3

from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.http import responses as R
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.transports.http.dialogue import reply_of
from mcp_actors.transports.http.exchange import Exchange

if TYPE_CHECKING:
    from mcp_actors.transports.http.wire import HttpWire

#: Sockets do not take much longer ones; whoever waits for longer waits for ever.
_LONGEST: Final = 1_000_000.0


class HttpLoan:
    """The caller's thread waits for nothing but a socket, which anybody may shut to wake it. So it asks over
    a connection that is there, and takes the answer if that is all the server has to say. The rest is the
    crew's: names and new connections, redirects, streams with other messages or that break off.

    An answer thus never overtakes a message that came before it in the same stream.
    """

    def __init__(self, wire: HttpWire, exchange: Exchange) -> None:
        self._wire = wire
        self._exchange = exchange
        self._rest: Callable[[], None] | None = None
        self._response: urllib3.BaseHTTPResponse | None = None
        self._begun = self._left = False
        exchange.lent = True

    def enter(self) -> bool:
        """See `Loan`."""
        return self._wire.enter(self._exchange)

    def run(self, deadline: Deadline) -> bytes | None:
        """See `Loan`."""
        wire, exchange = self._wire, self._exchange
        self._begun = True
        try:
            wire.count(exchange)
            frame = exchange.contain(partial(self._fetch, deadline), interruptible=True)
            if self._rest is None or not self._leave(self._rest):
                wire.done(exchange)
        except BaseException:
            # An interrupt: on 2026-07-28 the server learns of it by the end of the connection.
            exchange.abandon()
            if not self._left:
                exchange.grip.close()
            wire.done(exchange)
            raise
        if frame is not None:
            wire.fetched(frame)
        return frame

    def stop(self) -> None:
        """See `Loan`."""
        if self._left:
            # Nobody is kept by it, and after an answer there may be more to hear.
            return
        self._exchange.abandon()
        if not self._begun:
            self._wire.done(self._exchange)

    # The caller's thread.

    def _fetch(self, deadline: Deadline) -> bytes | None:
        exchange, grip, dialogues = self._exchange, self._exchange.grip, self._wire.dialogues
        patience = dialogues.patience(grip)
        try:
            response = dialogues.begin(exchange.errand(), grip, _seconds(deadline), patience)
            self._response = response
        except (urllib3.exceptions.HTTPError, OSError):
            if grip.was_cut or grip.whole:
                raise
            # It cannot have been run, and another connection may do better.
            response = None
        if response is None:
            self._rest = partial(exchange.go, patience)
        elif not dialogues.final(response):
            self._rest = partial(exchange.post, response, patience)
        elif (reply := reply_of(response)).streams:
            return self._first_of(response)
        else:
            return self._answer_of(response, dialogues.whole(reply, response))
        return None

    def _answer_of(self, response: urllib3.BaseHTTPResponse, reply: R.Reply) -> bytes | None:
        exchange = self._exchange
        verdict = R.judge(exchange.outbound, reply)
        match verdict:
            case R.JsonBody(frame) | R.ErrorBody(_, frame) | R.Unauthorized(_, bytes(frame)):
                # An array may hold more than the answer, and has to wait for its turn.
                if not frame.lstrip().startswith(b"["):
                    return frame
        # It may be the end of the wire: an interrupt must not leave that half told.
        self._rest = partial(exchange.follow, verdict, response, reply)
        return None

    def _first_of(self, response: urllib3.BaseHTTPResponse) -> bytes | None:
        exchange, reading = self._exchange, self._exchange.reading()
        frame = None
        try:
            frame = reading.first(response)
            over = frame is not None and reading.finish(response)
        except (urllib3.exceptions.HTTPError, OSError):
            if exchange.grip.was_cut:
                raise
            over = False
        if not over:
            self._rest = partial(exchange.stream, reading, response)
        return frame

    def _leave(self, rest: Callable[[], None]) -> bool:
        """Have the crew do the rest; False if nobody can."""
        exchange = self._exchange
        exchange.grip.hurry(None)
        exchange.lent, self._left = False, True
        if self._wire.crew.run(partial(exchange.conclude, rest)):
            return True
        if self._response is not None:
            self._response.close()
        reason = "the request could not be made: no thread could be had for it"
        exchange.fail(Ending(EndKind.BROKEN, reason), sent=exchange.grip.whole)
        return False


def _seconds(deadline: Deadline) -> float | None:
    # Zero would mean not to wait at all, and to fail with another error.
    seconds = max(deadline.remaining(), 0.001)
    return seconds if seconds < _LONGEST else None
