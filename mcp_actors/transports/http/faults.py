"""What went wrong with an HTTP request, in plain words, and whether it may go better another time."""

from __future__ import annotations

import http.client
import re
import ssl
from typing import Any, Final

import urllib3
from urllib3 import exceptions as trouble

from mcp_actors.errors import McpError
from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.telemetry.redaction import printable
from mcp_actors.transports.http.authorizer import AuthorizationInterrupted
from mcp_actors.transports.http.grip import Grip

_LONGEST: int = 200
#: Nobody that is believed has signed the certificate: of itself, or of an authority in its chain.
_UNKNOWN: Final = frozenset({18, 19, 20, 21})
_NO_TLS: Final = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG"})
_SECONDS: Final = re.compile(r"[0-9]{1,9}", re.ASCII)


def broken(label: str, error: Exception, grip: Grip) -> Ending:
    """Why a request came to nothing."""
    words = plain(error)
    if (excess := _excess(_root(error))) is not None:
        return Ending(EndKind.BREACH, f"the server sent too much: {excess}")
    if grip.begun:
        return Ending(EndKind.BROKEN, f"the connection to {label} broke: {words}")
    hopeless = isinstance(_root(error), ssl.SSLCertVerificationError)
    kind = EndKind.IMPOSSIBLE if hopeless else EndKind.REFUSED
    return Ending(kind, f"{label} could not be reached: {words}")


def unauthorized(error: McpError) -> Ending:
    """What an authorizer, or whoever else adds to a request, failed with."""
    kind = EndKind.INTERRUPTED if isinstance(error, AuthorizationInterrupted) else EndKind.UNAUTHORIZED
    return Ending(kind, error.message, passing=error.retryable, details=error.details)


def plain(error: Exception) -> str:
    """An error of the network in one line."""
    if isinstance(error, trouble.NameResolutionError):
        return f"its name has no address ({_root(error)})"
    root = _root(error)
    if isinstance(error, trouble.ProxyError):
        return f"the proxy failed: {_of_socket(root)}"
    if isinstance(error, trouble.DecodeError):
        return f"what it sent cannot be decompressed: {_named(root)}"
    return _of_socket(root)


def _of_socket(root: BaseException) -> str:
    if isinstance(root, ssl.SSLCertVerificationError):
        words = printable(root.verify_message or str(root), _LONGEST).rstrip(".")
        advice = "; verify= takes the authority that vouches for it" if root.verify_code in _UNKNOWN else ""
        return f"its certificate does not verify: {words}{advice}"
    if isinstance(root, ssl.SSLError) and root.reason in _NO_TLS:
        return f"it does not speak TLS there; perhaps the URL begins with http:// ({_named(root)})"
    if isinstance(root, http.client.RemoteDisconnected):
        return "it closed the connection without an answer"
    if isinstance(root, ConnectionResetError | BrokenPipeError):
        return "it reset the connection"
    if isinstance(root, ConnectionRefusedError):
        return "it refused the connection"
    if isinstance(root, http.client.IncompleteRead):
        return "it broke off in the middle of a response"
    return _named(root)


def redirect(response: urllib3.BaseHTTPResponse) -> str:
    """Where a response that is not followed wanted us to go."""
    location = response.headers.get("Location")
    return "" if location is None else f" (to {printable(location.partition('?')[0], _LONGEST)})"


def facts(response: urllib3.BaseHTTPResponse) -> dict[str, Any]:
    """What a program may want to know of a response that is no answer."""
    after = response.headers.get("Retry-After", "")
    again = {"retry_after": float(after)} if _SECONDS.fullmatch(after) else {}
    return {"status": response.status, **again}


def _excess(error: BaseException) -> str | None:
    """Which bound of the standard library was passed; it has a class of its own for one of them only."""
    if isinstance(error, http.client.LineTooLong):
        return "a line of its headers is longer than 65536 bytes"
    if type(error) is http.client.HTTPException and str(error).endswith(" headers"):
        return "more than 100 headers"
    return None


def _named(error: BaseException) -> str:
    words = str(error)
    return printable(f"{type(error).__name__}: {words}" if words else type(error).__name__, _LONGEST)


def _root(error: BaseException) -> BaseException:
    """The error that the others were made of."""
    while True:
        inner = error.__cause__ or next(
            (one for one in reversed(error.args) if isinstance(one, BaseException)), None
        )
        if inner is None or inner is error:
            return error
        error = inner
