"""Reply: what goes back to the WSGI server, and the usual ones."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from typing import Final

from msgspec import Struct

from mcp_actors.protocol import codec
from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.http.media_types import EVENT_STREAM, JSON
from mcp_actors.protocol.http.rejections import Field, Rejected
from mcp_actors.protocol.jsonrpc import INTERNAL_ERROR, Id
from mcp_actors.server.authorization.denied import Denied

_LINES: Final = {status.value: f"{status.value} {status.phrase}" for status in HTTPStatus}
_NO_STORE: Final[Field] = ("Cache-Control", "no-store")
# Without the second one nginx would collect a stream before it passes it on.
_STREAM: Final[tuple[Field, ...]] = (
    ("Content-Type", EVENT_STREAM),
    _NO_STORE,
    ("X-Accel-Buffering", "no"),
)


class Reply(Struct, frozen=True):
    """A response. If ``body`` has a ``close``, the WSGI server calls it when the response is over."""

    status: int
    fields: tuple[Field, ...] = ()
    body: Iterable[bytes] = ()

    @property
    def line(self) -> str:
        """The status as WSGI wants it."""
        return _LINES[self.status]

    def but(self, *fields: Field) -> Reply:
        """The same with more headers."""
        return Reply(self.status, self.fields + fields, self.body) if fields else self


def json_reply(status: int, body: bytes, *fields: Field) -> Reply:
    """A body of JSON."""
    own = (("Content-Type", JSON), ("Content-Length", str(len(body))), _NO_STORE)
    return Reply(status, own + fields, (body,))


def object_reply(status: int, value: JsonObject, *fields: Field) -> Reply:
    """A body of JSON, not encoded yet."""
    return json_reply(status, codec.encode(value), *fields)


def empty_reply(status: int, *fields: Field) -> Reply:
    """No body."""
    # HTTP: 204 has no length, not even zero.
    length: tuple[Field, ...] = () if status == HTTPStatus.NO_CONTENT else (("Content-Length", "0"),)
    return Reply(status, length + fields)


def stream_reply(body: Iterable[bytes], *fields: Field) -> Reply:
    """An event stream."""
    return Reply(200, _STREAM + fields, body)


def rejection(rejected: Rejected) -> Reply:
    """The response that says why a request is not served."""
    return json_reply(rejected.status, rejected.body(), *rejected.fields)


def denial(denied: Denied) -> Reply:
    """The response to somebody who is not let in."""
    if denied.body is None:
        return empty_reply(denied.status, *denied.headers)
    return object_reply(denied.status, denied.body, *denied.headers)


def failure() -> Reply:
    """The response when we failed. It tells nothing: what went wrong is the operator's business."""
    return rejection(Rejected(500, "the server failed", code=INTERNAL_ERROR))


def unavailable(message: str, retry_after: int, id: Id | None = None) -> Rejected:
    """The rejection of what may be asked for again after some seconds."""
    return Rejected(503, message, code=INTERNAL_ERROR, id=id, fields=(("Retry-After", str(retry_after)),))
