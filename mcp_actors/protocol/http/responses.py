"""What the response to a POST or GET means: a decision table over status, content type, session and body."""

from __future__ import annotations

import re
from typing import Any, Final, TypeAlias

from msgspec import Struct

from mcp_actors.protocol.handshake import MODERN_ERRORS
from mcp_actors.protocol.http.answers import answer_in, error_code, error_in, error_words
from mcp_actors.protocol.http.challenges import choose, parse
from mcp_actors.protocol.http.media_types import EVENT_STREAM, HTML, JSON, media_type
from mcp_actors.protocol.http.request_headers import Outbound
from mcp_actors.protocol.http.scopes import Shortage
from mcp_actors.protocol.http.session_id import InvalidSessionId, validated
from mcp_actors.protocol.jsonrpc import METHOD_NOT_FOUND, error_frame

#: Statuses to ``initialize`` after which the URL may belong to the older HTTP+SSE transport.
LEGACY_STATUSES: Final = frozenset({400, 404, 405})

_AUTHORIZATION: Final = frozenset({401, 403})
_LATER: Final = frozenset({408, 425, 429})
_NEVER: Final = frozenset({501, 505})
#: Statuses of whoever stands before a server that cannot be reached: they say nothing about its era.
_OUTAGES: Final = _LATER | {502, 503, 504}
#: Errors by which a server speaks of the exchange itself, not of what its method was asked for.
_TRANSPORT_CODES: Final = frozenset({None, -32000, -32001, -32600})
_OF_SESSION: Final = re.compile(r"\bsession|\bnot initialized\b", re.IGNORECASE)
_EXCERPT: Final = 120
_PIECE: Final = re.compile(rb"<(/?+)([a-zA-Z]*+)[^<>]*+>|([^<]++)")
_UNSEEN: Final = frozenset({b"script", b"style"})
#: How far words are looked for in a page.
_HEAD: Final = 8192


class Reply(Struct, frozen=True):
    """A response as far as it is known. ``body`` is what ``needs_body`` asked for, decompressed;
    ``challenges`` are the values of ``WWW-Authenticate``."""

    status: int
    content_type: str | None = None
    session_id: str | None = None
    body: bytes = b""
    challenges: tuple[str, ...] = ()

    @property
    def succeeded(self) -> bool:
        """The status is one of the 2xx."""
        return 200 <= self.status < 300

    @property
    def streams(self) -> bool:
        """The body is an event stream, to be read as it comes."""
        return self.succeeded and media_type(self.content_type) == EVENT_STREAM


class JsonBody(Struct, frozen=True):
    """The answer, to be delivered. ``session_id`` is the session that it opens, if it does."""

    frame: bytes
    session_id: str | None = None


class EventStreamBody(Struct, frozen=True):
    """The answer comes in an event stream. ``session_id`` as in ``JsonBody``."""

    session_id: str | None = None


class Accepted(Struct, frozen=True):
    """A notification or response has arrived; the body means nothing."""


class SessionGone(Struct, frozen=True):
    """The server does not know our session (any more), or is of the other era by now. It did nothing: begin
    anew."""


class Unauthorized(Struct, frozen=True):
    """401 or 403: authorize and repeat. ``frame`` is the answer to deliver if nobody can; ``shortage``, if
    that is the reason, says more than any answer. ``complaint`` is what the server says itself."""

    status: int
    frame: bytes | None = None
    shortage: Shortage | None = None
    complaint: str = ""

    def words(self, *, shown: bool) -> str:
        """Why, and what to do about it. ``shown``: it was told who asks."""
        if self.shortage is not None:
            return f"HTTP {self.status}: the server {self.shortage.words}; show it a token that has them all"
        wish = "does not allow it"
        if self.status == 401:
            wish = "refuses the authorization it was shown" if shown else "wants to know who asks"
        advice = "; pass auth=" if self.status == 401 and not shown else ""
        return f"HTTP {self.status}: the server {wish}{self.complaint and f': {self.complaint}'}{advice}"

    @property
    def details(self) -> dict[str, Any]:
        """The same for a program."""
        return {"status": self.status, **({} if self.shortage is None else self.shortage.details)}


class ErrorBody(Struct, frozen=True):
    """The request was refused; the frame says why, under its id."""

    status: int
    frame: bytes


class LegacyHint(Struct, frozen=True):
    """``initialize`` is not understood here: look for HTTP+SSE. ``frame`` is the answer if there is none, and
    ``reason`` what the server said."""

    status: int
    frame: bytes | None = None
    reason: str = ""

    @property
    def words(self) -> str:
        """Why nobody speaks MCP here, and what to do about it."""
        doubt = "" if self.status == 400 else "; is the path of the URL right?"
        return f"{self.reason} to initialize, and no event stream either{doubt}"


class NotOffered(Struct, frozen=True):
    """There is no stream to listen to, or none to continue."""

    status: int


class Fault(Struct, frozen=True):
    """No answer. ``retryable``: the same may succeed later; ``breach``: the server broke the protocol."""

    status: int
    reason: str
    retryable: bool = False
    breach: bool = False


Verdict: TypeAlias = (
    JsonBody | EventStreamBody | Accepted | SessionGone | Unauthorized | ErrorBody | LegacyHint | Fault
)
StreamVerdict: TypeAlias = EventStreamBody | NotOffered | SessionGone | Unauthorized | Fault


def needs_body(outbound: Outbound, reply: Reply) -> bool:
    """Whether the body has to be read, within bounds, before ``judge`` can tell what the response means."""
    return not (reply.succeeded and (outbound.kind != "request" or reply.streams))


def judge(outbound: Outbound, reply: Reply) -> Verdict:
    """What the response to a POST means."""
    if reply.succeeded:
        return _answered(outbound, reply) if outbound.kind == "request" else Accepted()
    if outbound.carries_session and _forgotten(reply):
        return SessionGone()
    if reply.status == 400 and _misfits(outbound, reply):
        return SessionGone()
    frame = _refusal(outbound, reply)
    if reply.status in _AUTHORIZATION:
        return refused(reply, frame)
    if outbound.method == "initialize" and reply.status in LEGACY_STATUSES:
        return _hint(reply, frame)
    if outbound.probing:
        return _probed(outbound, reply, frame)
    return _fault(reply) if frame is None else ErrorBody(reply.status, frame)


def refused(reply: Reply, frame: bytes | None = None) -> Unauthorized:
    """What 401 or 403 means, and the frame that came with it."""
    challenge = choose(parse(reply.challenges))
    if reply.status == 403 and challenge.shortage is not None:
        return Unauthorized(reply.status, None, challenge.shortage)
    complaint = challenge.complaint
    if not complaint and frame is None and reply.status == 403 and reply.body:
        complaint = _quoted(reply)
    return Unauthorized(reply.status, frame, None, complaint)


def judge_stream(reply: Reply, *, resuming_session: bool) -> StreamVerdict:
    """What the response to a GET means; ``resuming_session``: our session had this stream before, or asked
    for it and was not answered.

    Servers that offer no stream say so with any 4xx, and say it to the first request for one: only to a
    later one 404 is about the session.
    """
    if reply.streams:
        return EventStreamBody()
    if reply.status in _AUTHORIZATION:
        return Unauthorized(reply.status)
    if resuming_session and _forgotten(reply):
        return SessionGone()
    if resuming_session and reply.status == 409:
        # One stream for each session: the server does not know yet that the one before has broken.
        return Fault(reply.status, _description(reply), retryable=True)
    if reply.succeeded:
        return NotOffered(reply.status)
    fault = _fault(reply)
    return NotOffered(reply.status) if 400 <= reply.status < 600 and not fault.retryable else fault


def stream_needs_body(reply: Reply) -> bool:
    """Whether the body has to be read, within bounds, before ``judge_stream`` can tell what it means."""
    return reply.status == 400


def _forgotten(reply: Reply) -> bool:
    """Whether a session that was sent along is unknown. Many servers say 400 where MCP wants 404."""
    if reply.status != 400:
        return reply.status == 404
    # Some say it in JSON-RPC, some in plain text.
    words = error_words(reply.body) or reply.body[:_EXCERPT].decode("utf-8", "replace")
    return error_code(reply.body) in _TRANSPORT_CODES and _OF_SESSION.search(words) is not None


def _misfits(outbound: Outbound, reply: Reply) -> bool:
    """Whether only a server of the other era refuses so: the one that we had agreed with was replaced."""
    if outbound.probing or outbound.method == "initialize":
        return False
    code = error_code(reply.body)
    if not outbound.modern:
        return code in MODERN_ERRORS
    # No request of the stateless era has a session that could be missed. A proxy's words are no JSON-RPC.
    return code is not None and _forgotten(reply)


def _answered(outbound: Outbound, reply: Reply) -> Verdict:
    assert outbound.id is not None
    try:
        session_id = _opened_session(outbound, reply)
    except InvalidSessionId as invalid:
        return Fault(reply.status, str(invalid), breach=True)
    if reply.streams:
        return EventStreamBody(session_id)
    if media_type(reply.content_type) == JSON and reply.body:
        frame = answer_in(reply.body, outbound.id)
        if frame is not None:
            return JsonBody(frame, session_id)
    if outbound.probing:
        return _older_era(outbound, reply)
    return Fault(reply.status, f"no answer in {_description(reply)}", breach=True)


def _opened_session(outbound: Outbound, reply: Reply) -> str | None:
    # Later responses may repeat the id, and servers of the stateless era may send one in vain.
    if outbound.method != "initialize" or not reply.session_id:
        return None
    return validated(reply.session_id)


def _refusal(outbound: Outbound, reply: Reply) -> bytes | None:
    """The error that the body holds for our request."""
    if outbound.kind != "request" or reply.status < 400:
        return None
    assert outbound.id is not None
    return error_in(reply.body, outbound.id)


def _hint(reply: Reply, frame: bytes | None) -> LegacyHint | ErrorBody:
    if frame is not None and error_code(frame) in MODERN_ERRORS:
        return ErrorBody(reply.status, frame)
    return LegacyHint(reply.status, frame, _description(reply))


def _probed(outbound: Outbound, reply: Reply, frame: bytes | None) -> ErrorBody | Fault:
    """An outage says nothing about the server's era; any refusal means the older one."""
    if reply.status in _OUTAGES or (frame is None and not 400 <= reply.status < 500):
        return _fault(reply)
    return _older_era(outbound, reply) if frame is None else ErrorBody(reply.status, frame)


def _older_era(outbound: Outbound, reply: Reply) -> ErrorBody:
    """The answer that a server would have given had it known what it was asked."""
    assert outbound.id is not None
    message = f"no answer to {outbound.method} in {_description(reply)}"
    return ErrorBody(reply.status, error_frame(outbound.id, METHOD_NOT_FOUND, message))


def _fault(reply: Reply) -> Fault:
    status = reply.status
    if status < 200 or status >= 600:
        return Fault(status, f"no HTTP status: {status}", breach=True)
    if status < 400:
        return Fault(status, f"HTTP {status}: a redirect that is not followed")
    retryable = status in _LATER or (status >= 500 and status not in _NEVER)
    return Fault(status, _description(reply), retryable)


def _description(reply: Reply) -> str:
    """Status, type and beginning of a response on one line, escaped."""
    kind = media_type(reply.content_type)
    return f"HTTP {reply.status} with {_quoted(reply)}" + (
        f" ({ascii(kind[:_EXCERPT])[1:-1]})" if kind else ""
    )


def _quoted(reply: Reply) -> str:
    """The beginning of a body; of a page, which begins alike everywhere, that of what one would read."""
    words = _words(reply.body[:_HEAD]) if media_type(reply.content_type) == HTML else b""
    shown = ascii((words or reply.body)[:_EXCERPT].decode("utf-8", "replace"))
    return f"the page {shown}" if words else shown if reply.body else "nothing"


def _words(page: bytes) -> bytes:
    """What a page says, its title first, each thing once."""
    told: dict[bytes, None] = {}
    unseen = b""
    for closing, tag, text in _PIECE.findall(page):
        name = tag.lower()
        if closing and name == unseen:
            unseen = b""
        elif not text and not unseen and name in _UNSEEN:
            unseen = name
        elif not unseen and text.strip():
            told[b" ".join(text.split())] = None
    return b", ".join(told)
