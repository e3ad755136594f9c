"""Asking the user's code, and the one exception that stands for every way in which there is no answer."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from typing import Any, Final

from mcp_actors.protocol.codec import Json

METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
USER_REJECTED: Final = -1

logger: Final = logging.getLogger("mcp_actors.answering")


class Unanswered(Exception):
    """No result for the server, but a JSON-RPC error. ``declined``: nothing failed, the user said no.

    The message goes over the wire, so that it never holds the text of somebody else's exception.
    """

    def __init__(self, code: int, message: str, data: Json = None, *, declined: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data
        self.declined = declined

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"


def consult(name: str, handler: Callable[..., object], *arguments: object) -> object:
    """Run a handler on the calling thread. Whatever it raises becomes `Unanswered`, and is logged."""
    try:
        return handler(*arguments)
    except BaseException as error:  # also SystemExit: a handler ends neither the worker nor the program
        logger.warning("the %s failed", name, exc_info=True)
        raise Unanswered(INTERNAL_ERROR, f"the {name} failed: {type(error).__name__}") from error


def failed(name: str, reason: str) -> Unanswered:
    """The handler returned something that cannot be sent; ``reason`` must not quote it."""
    logger.warning("the %s failed: %s", name, reason)
    return Unanswered(INTERNAL_ERROR, f"the {name} failed: {reason}")


def check_handler(option: str, handler: object) -> Callable[..., Any]:
    """A function to be called, or the error that says what is wrong."""
    if not callable(handler):
        raise TypeError(f"{option} must be callable, not {type(handler).__name__}")
    if inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(type(handler).__call__):
        raise TypeError(f"{option} must be an ordinary function: this client is synchronous")
    return handler
