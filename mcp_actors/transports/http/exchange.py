"""Exchange: one frame on its way to the server as a POST, and what comes back for it."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

import urllib3
from msgspec import structs

from mcp_actors import errors
from mcp_actors.protocol import codec
from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.http import responses as R
from mcp_actors.protocol.http.answers import answers, error_in
from mcp_actors.protocol.http.event_stream import EventTooLarge
from mcp_actors.protocol.http.reconnection import Pace, Reconnection
from mcp_actors.protocol.http.request_headers import Outbound, RequestHeaders
from mcp_actors.protocol.jsonrpc import METHOD_NOT_FOUND, Batch, Id, Request, error_frame, scan
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.transports.http.dialogue import REFUSALS, TooLarge, reply_of
from mcp_actors.transports.http.engine import Errand
from mcp_actors.transports.http.faults import broken, facts, redirect, unauthorized
from mcp_actors.transports.http.grip import Grip
from mcp_actors.transports.http.inbox import InboxClosed
from mcp_actors.transports.http.reading import Reading

if TYPE_CHECKING:
    from mcp_actors.transports.http.wire import HttpWire

T = TypeVar("T")

logger: Final = logging.getLogger("mcp_actors.transports")


class Exchange:
    """Runs on a thread of the wire's crew, or begins on one of a caller's (see `HttpLoan`). `abandon` ends it
    from any other: nobody wants its answer.

    ``ids`` are those of the requests in the frame: one, none, or several in an array (MCP 2025-03-26).
    """

    def __init__(self, wire: HttpWire, outbound: Outbound, frame: bytes, ids: tuple[Id, ...]) -> None:
        self._wire = wire
        self._frame = frame
        self._unanswered = set(ids)
        self.grip = Grip()
        self.grip.on_held = self._hold
        self.outbound = outbound
        self.ids = ids
        self.lent = False

    def run(self) -> None:
        """Send the frame and deliver what comes back. A thread of the crew."""
        self.conclude(self.go)

    def conclude(self, rest: Callable[[], None]) -> None:
        """Do what is left of it. A thread of the crew."""
        self.contain(rest)
        self._wire.done(self)

    def contain(self, step: Callable[[], T], *, interruptible: bool = False) -> T | None:
        """A step of it, whose every fault is this exchange's own; interrupts are those of a caller."""
        try:
            return step()
        except InboxClosed:
            return None
        except (TooLarge, EventTooLarge) as error:
            self.fail(Ending(EndKind.OVERSIZED, f"the server sent too much: {error}"), sent=True)
        except errors.McpError as error:
            self.fail(unauthorized(error), sent=False)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            self.fail(broken(self._wire.label, error, self.grip), sent=self.grip.whole)
        except BaseException as error:  # the user's own function for headers may raise anything
            if interruptible and not isinstance(error, Exception):
                raise
            logger.exception("a request to %s could not be made", self._wire.label)
            words = f"{type(error).__name__}: {error}"
            self.fail(Ending(EndKind.BROKEN, f"the request could not be made: {words}"), sent=self.grip.begun)
        return None

    def abandon(self) -> bool:
        """Nobody waits any more. On 2026-07-28 the server learns it by this alone. Any thread.

        True if the server may have seen something of the request.
        """
        return self.grip.cut()

    def give_up(self, id_: Id) -> None:
        """Nobody waits for the answer to this request any more. Any thread."""
        self._unanswered.discard(id_)
        if not self._unanswered:
            self.abandon()

    @property
    def size(self) -> int:
        """The bytes of the frame."""
        return len(self._frame)

    # Steps.

    def errand(self) -> Errand:
        """What is to be asked of the server."""
        return Errand("POST", self._wire.post_url, self.outbound.headers, self._frame)

    def go(self, patience: Deadline | None = None) -> None:
        """All of it, from the beginning."""
        wire = self._wire
        wire.await_turn(self.outbound)
        if wire.older and wire.legacy is None:
            failure = wire.fall_back(self.grip.on_held)
            if failure is not None:
                wire.finish(failure, self.ids)
                return
        if not self.grip.was_cut:
            self.post(None, patience)

    def post(self, begun: urllib3.BaseHTTPResponse | None = None, patience: Deadline | None = None) -> None:
        """Send the frame, unless the server has begun to respond already."""
        dialogues, outbound = self._wire.dialogues, self.outbound
        response = dialogues.ask(self.errand(), self.grip, begun, patience)
        reply = reply_of(response)
        if self._wire.legacy is not None:
            self._posted(reply, response)
            return
        if R.needs_body(outbound, reply):
            reply = dialogues.whole(reply, response)
        self.follow(R.judge(self._meant(reply.body), reply), response, reply)

    def _meant(self, body: bytes) -> Outbound:
        """The frame as the request that a body answers: of an array, the first may be left out."""
        if len(self.ids) > 1 and body.lstrip().startswith(b"["):
            for id_ in self.ids:
                if answers(body, id_):
                    return structs.replace(self.outbound, id=id_)
        return self.outbound

    def _posted(self, reply: R.Reply, response: urllib3.BaseHTTPResponse) -> None:
        """The older transport: the response only says whether the frame was taken."""
        if reply.succeeded:
            self._wire.accepted(self.outbound)
        elif reply.status in REFUSALS:
            self._turned_away(R.refused(reply))
        else:
            self.fail(Ending(EndKind.BROKEN, f"HTTP {response.status} to a message"), sent=True)
        self._wire.dialogues.finish(response)

    def follow(  # noqa: C901 - one case for each verdict
        self, verdict: R.Verdict, response: urllib3.BaseHTTPResponse, reply: R.Reply
    ) -> None:
        """Do what a response means."""
        wire = self._wire
        match verdict:
            case R.JsonBody(frame, session):
                wire.opened(self.outbound, session)
                wire.answered(self.outbound, frame)
                wire.inbox.deliver(frame)
                self._check_array(frame)
            case R.EventStreamBody(session):
                wire.opened(self.outbound, session)
                self.stream(self.reading(), response)
            case R.Accepted():
                wire.accepted(self.outbound)
                wire.dialogues.finish(response)
            case R.ErrorBody(_, frame):
                self._refuse(frame, reply)
            case R.SessionGone():
                wire.session_gone(self.ids)
            case R.LegacyHint():
                self._look_for_sse(verdict)
            case R.Unauthorized():
                self._turned_away(verdict)
            case R.Fault(_, reason, _, breach):
                kind = EndKind.BREACH if breach else EndKind.BROKEN
                self.fail(Ending(kind, reason + redirect(response), details=facts(response)), sent=True)

    def _check_array(self, frame: bytes) -> None:
        """An array may not hold all the answers that were expected."""
        if len(self.ids) > 1:
            self._unanswered = {id_ for id_ in self._unanswered if not answers(frame, id_)}
            self.fail(Ending(EndKind.BROKEN, "the server answered some requests of an array only"), sent=True)

    def _refuse(self, frame: bytes, reply: R.Reply) -> None:
        """The requests were refused, every one of an array for the same reason."""
        self._wire.inbox.deliver(frame)
        for id_ in self.ids[1:]:
            other = None if answers(frame, id_) else error_in(reply.body, id_)
            if other is not None:
                self._wire.inbox.deliver(other)

    def _look_for_sse(self, hint: R.LegacyHint) -> None:
        # MCP 2025-03-26, transports: servers of the first revision answer a GET with an endpoint to POST to.
        if self._wire.fall_back(self.grip.on_held) is None:
            self.post()
        elif hint.frame is not None:
            self._wire.inbox.deliver(hint.frame)
        else:
            self.fail(Ending(EndKind.BROKEN, hint.words, details={"status": hint.status}), sent=True)

    def _turned_away(self, verdict: R.Unauthorized) -> None:
        if verdict.frame is not None:
            self._wire.inbox.deliver(verdict.frame)
        else:
            # Asking again would not help: whoever could do something about it was asked before.
            words = verdict.words(shown=self._wire.dialogues.says_who)
            self.fail(Ending(EndKind.UNAUTHORIZED, words, details=verdict.details), sent=False)

    def reading(self) -> Reading:
        """For the stream that the server answers with."""
        wire = self._wire
        return Reading(
            wire.inbox,
            wire.max_frame_bytes,
            Reconnection(Pace()),
            self._unanswered,
            lambda frame: wire.answered(self.outbound, frame),
            lambda: wire.heard(self.outbound),
        )

    def stream(self, reading: Reading, response: urllib3.BaseHTTPResponse) -> None:
        """Read a stream to its end, and those that continue it."""
        following: urllib3.BaseHTTPResponse | None = response
        while following is not None:
            ended = False
            try:
                reading.follow(following, self.grip)
                ended = True
            except (urllib3.exceptions.HTTPError, OSError) as error:
                logger.debug("a stream broke: %s", error)
            if reading.answered:
                return
            if ended and self.outbound.probing:
                # As any other success without an answer in it: no server of the stateless era does so.
                words = f"no answer to {self.outbound.method} in its stream"
                self._wire.inbox.deliver(error_frame(self.ids[0], METHOD_NOT_FOUND, words))
                return
            following = None if self.outbound.modern else self._resume(reading.story, reading.lasted)
        self.fail(Ending(EndKind.BROKEN, "the stream ended before the answer"), sent=True)

    def _resume(self, story: Reconnection, lasted: float | None) -> urllib3.BaseHTTPResponse | None:
        """The rest of a stream that broke off, where the server can continue it."""
        while story.resumable:
            delay = story.delay(lasted, random.random)
            if delay is None or self.grip.rest(delay):
                return None
            lasted = None
            try:
                return self._wire.listen(story.last_event_id, self.grip)
            except (urllib3.exceptions.HTTPError, OSError) as error:
                logger.debug("a stream could not be resumed: %s", error)
                if not self.grip.begun:
                    # Nobody listens there any more, and whatever worked on the answer has ended with them.
                    return None
        return None

    def _hold(self, hindrance: Ending | None) -> None:
        """The requests wait for an authorization, or do not any more."""
        if not self.grip.was_cut:
            self._wire.held(tuple(self._unanswered), hindrance)

    def fail(self, ending: Ending, *, sent: bool) -> None:
        """The requests that are not answered yet came to nothing."""
        # Who cut it knows; everybody else is told.
        if not self.grip.was_cut:
            self._wire.lost(self, tuple(self._unanswered), ending, "unknown" if sent else "not_sent")


def exchange_of(wire: HttpWire, rules: RequestHeaders, frame: bytes) -> Exchange:
    """The exchange that a frame needs. Raises ValueError if it is none that can be sent."""
    if not frame.startswith(b"["):
        outbound = rules.outbound(frame)
        asks = outbound.kind == "request" and outbound.id is not None
        return Exchange(wire, outbound, frame, (outbound.id,) if asks else ())  # type: ignore[arg-type]
    # Only 2025-03-26 has arrays: their headers do not depend on what is in them.
    message = scan(frame)
    requests = [one for one in getattr(message, "messages", ()) if isinstance(one, Request)]
    if not isinstance(message, Batch) or not requests:
        raise ValueError("an array without a request")
    first = {"jsonrpc": "2.0", "id": requests[0].id, "method": requests[0].method}
    return Exchange(wire, rules.outbound(codec.encode(first)), frame, tuple(one.id for one in requests))
