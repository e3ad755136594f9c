"""What is answered to an HTTP request that is not served: a status, and an error of JSON-RPC as its body."""

from __future__ import annotations

from typing import Final, TypeAlias

from msgspec import structs

from mcp_actors.protocol import codec
from mcp_actors.protocol.jsonrpc import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    Id,
    Malformed,
    error_frame,
)
from mcp_actors.protocol.revisions import Era
from mcp_actors.protocol.types.jsonrpc_error import (
    HEADER_MISMATCH,
    MISSING_CLIENT_CAPABILITY,
    UNSUPPORTED_VERSION,
)

Field: TypeAlias = tuple[str, str]

_STATUSES: Final = dict.fromkeys(
    (
        PARSE_ERROR,
        INVALID_REQUEST,
        INVALID_PARAMS,
        HEADER_MISMATCH,
        MISSING_CLIENT_CAPABILITY,
        UNSUPPORTED_VERSION,
    ),
    400,
) | {METHOD_NOT_FOUND: 404}


class Rejected(Exception):
    """The request is not served. ``fields`` are headers that the response has beside its body's.

    ``id`` is that of the JSON-RPC request inside, where it could be read and the error is about it.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: int = INVALID_REQUEST,
        id: Id | None = None,
        fields: tuple[Field, ...] = (),
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.id = id
        self.fields = fields

    def body(self) -> bytes:
        """The error. Without an id of its own it has no member ``id``, as the newer revisions want it."""
        if self.id is not None:
            return error_frame(self.id, self.code, self.message)
        error = codec.encode({"code": self.code, "message": self.message})
        return b'{"jsonrpc":"2.0","error":%s}' % error


class Misread(Rejected):
    """The body is no message. If it was to answer a question, whoever asked must hear of it."""

    def __init__(self, message: str, malformed: Malformed) -> None:
        super().__init__(400, message, code=malformed.code)
        self.malformed = structs.replace(malformed, told=True)


def status_of(code: int | None, era: Era) -> int:
    """The status of a response whose body answers a request: with a result, or with an error of ``code``."""
    # Before 2026-07-28 the status told nothing about the answer.
    return _STATUSES.get(code, 200) if code is not None and era is Era.STATELESS else 200


def quoted(text: str) -> str:
    """What a peer sent, for an error's message: escaped, and short."""
    return ascii(text[:_SHOWN]) + ("…" if len(text) > _SHOWN else "")


_SHOWN: Final = 80
