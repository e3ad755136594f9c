"""Faults: how a handler says that it cannot answer, and what the client is told about anything else."""

from __future__ import annotations

from mcp_actors.protocol.codec import Json, JsonObject
from mcp_actors.protocol.serving.terms import Refused
from mcp_actors.protocol.types.jsonrpc_error import INVALID_PARAMS, MISSING_CLIENT_CAPABILITY


class Refusal(Exception):
    """Answer the request with this JSON-RPC error. ``code`` is the application's own, outside of -32768 to
    -32000, unless the protocol has one for the case."""

    def __init__(self, code: int, message: str, data: Json = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def refused(self) -> Refused:
        """The same as a value of the protocol."""
        return Refused(self.code, self.message, self.data)


class ToolError(Exception):
    """A tool ran and failed. The client is told the message, for its model to read."""


class NotFound(Exception):
    """There is no resource behind this URI: for the function of a template, which cannot know before."""


class RequestCancelled(Exception):
    """Nobody waits for this request any more: raised where a handler waits for its client."""


class NoAnswer(Exception):
    """The client was asked and did not answer: it refused, took too long, or cannot be asked that."""


class InvalidAnswer(NoAnswer):
    """The client did answer, but not what was asked: no result, incomplete, of a wrong type, or not what the
    form asks for. Nobody refused or cancelled anything."""


class InvalidInput(InvalidAnswer, Refusal):
    """The same where the answer is a part of the request that is served (2026-07-28): unless it is caught,
    the request is answered by an error about its parameters."""

    def __init__(self, message: str) -> None:
        super().__init__(INVALID_PARAMS, message)


class InputNeeded(BaseException):
    """Ends this run of a handler: its client is asked, and the handler runs again with the answers.

    Not an Exception, so that a handler's own ``except Exception`` does not swallow it.
    """

    def __init__(self, requests: dict[str, JsonObject]) -> None:
        super().__init__("the client is asked for input")
        self.requests = requests


def invalid_params(message: str, data: Json = None) -> Refusal:
    """The parameters do not fit."""
    return Refusal(INVALID_PARAMS, message, data)


def missing_capability(required: JsonObject, why: str) -> Refusal:
    """The client did not declare what the request needs (2026-07-28)."""
    return Refusal(MISSING_CLIENT_CAPABILITY, why, {"requiredCapabilities": required})
