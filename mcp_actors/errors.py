"""Every failure this package raises on purpose, as one flat tree.

    McpError
    ├── TransportError                  transport      the wire: nothing can be said about the server's answer
    │   ├── StartFailed                 transport      the server could not be started or reached
    │   └── ConnectionLost              transport      the wire broke under a call; see ``outcome``
    ├── ProtocolError                   protocol       the peer broke the rules
    │   ├── FrameTooLarge               protocol       a frame above ``max_frame_bytes``
    │   ├── UnsupportedVersion          protocol       no protocol revision in common
    │   └── InvalidResponse             protocol       an answer that is not what its method promises
    ├── AuthorizationFailed             authorization  no token for the server, or it takes none of ours
    ├── RemoteError                     jsonrpc        the server answered with a JSON-RPC error
    ├── Unavailable                     state          the connection is not ready now
    ├── ForkedClient                    state          a call or future that belongs to the parent process
    ├── RequestTimeout                  timeout        no answer within the deadline (also a TimeoutError)
    ├── ClientClosed                    shutdown       the client was closed
    ├── CapabilityMissing               capability     the server does not offer what the call needs
    ├── Backpressure                    backpressure   too many calls, or a server that does not read
    └── Cancelled                       cancelled      the call was cancelled, by the caller or by the server

A caller's own mistake (an argument that is no JSON, a timeout of zero) is a ``TypeError`` or ``ValueError``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    from mcp_actors.telemetry.crash_report import CrashReport

__all__ = [
    "AuthorizationFailed",
    "Backpressure",
    "Cancelled",
    "CapabilityMissing",
    "ClientClosed",
    "ConnectionLost",
    "ForkedClient",
    "FrameTooLarge",
    "InvalidResponse",
    "McpError",
    "ProtocolError",
    "RemoteError",
    "RequestTimeout",
    "StartFailed",
    "TransportError",
    "Unavailable",
    "UnsupportedVersion",
]

Outcome = Literal["unknown", "not_sent"]

# JSON-RPC codes after which the same request may succeed later: internal error, and the range that
# implementations use for "busy" and the like. Parse, request, method and parameter errors never heal.
_INTERNAL_ERROR = -32603
_IMPLEMENTATION_CODES = range(-32019, -31999)
_PERMANENT_CODES = frozenset({-32002})


class McpError(Exception):
    """The base of every failure. ``str(error)`` opens with one plain line; a crash report may follow it."""

    type: ClassVar[str] = "mcp"
    hint: ClassVar[str] = ""
    code: int | None = None
    retryable: bool = False

    def __init__(
        self,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        crash_report: CrashReport | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details: dict[str, Any] = dict(details or {})
        self.crash_report = crash_report

    def __str__(self) -> str:
        if self.crash_report is None:
            return self.message
        return f"{self.message}\n{self.crash_report.summary()}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.message!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        # Errors travel between processes (Celery, multiprocessing); some need more than a message to be made.
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[McpError], args: tuple[Any, ...], members: dict[str, Any]) -> McpError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(members)
    return error


class TransportError(McpError, ConnectionError):
    """The wire failed. Also a ``ConnectionError``."""

    type = "transport"
    hint = "look at the crash report: it holds the server's exit code and last words"
    __str__ = McpError.__str__


class StartFailed(TransportError):
    """The server could not be started or reached."""

    hint = "run the command of the crash report by hand, or look at its address; start() tries again"


class ConnectionLost(TransportError):
    """The wire broke under a call. ``outcome`` says whether the server may have run it."""

    hint = "repeat the call only if the outcome is 'not_sent' or running it twice does no harm"

    def __init__(
        self,
        message: str,
        *,
        outcome: Outcome,
        details: Mapping[str, Any] | None = None,
        crash_report: CrashReport | None = None,
    ) -> None:
        super().__init__(message, details=details, crash_report=crash_report)
        self.outcome: Outcome = outcome
        self.retryable = outcome == "not_sent"


class ProtocolError(McpError):
    """The peer broke the rules of MCP or JSON-RPC."""

    type = "protocol"
    hint = "report it to the server's authors"


class FrameTooLarge(ProtocolError):
    """A frame above ``max_frame_bytes`` was refused while it was being read; the wire was closed."""

    hint = "raise max_frame_bytes if answers of that size are expected"


class UnsupportedVersion(ProtocolError):
    """No protocol revision in common. ``details`` holds both lists."""

    hint = "update the older side, or pass protocol= with a revision both know"


class InvalidResponse(ProtocolError):
    """An answer that is not what its method promises."""


class AuthorizationFailed(McpError):
    """The server wants an authorization that could not be obtained, or refuses the one it was shown.

    ``retryable`` where the same call may succeed later: an authorization server out of reach, a person who
    has yet to finish a login.
    """

    type = "authorization"
    hint = "the first line says which step failed, at which URL, and what to do"

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = False,
        details: Mapping[str, Any] | None = None,
        crash_report: CrashReport | None = None,
    ) -> None:
        super().__init__(message, details=details, crash_report=crash_report)
        self.retryable = retryable


class RemoteError(McpError):
    """The server answered with a JSON-RPC error."""

    type = "jsonrpc"
    hint = "the server refused this request; code and data say why"

    def __init__(
        self,
        message: str,
        *,
        code: int,
        data: Any = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message, details=details)
        self.code = code
        self.data = data
        self.retryable = code == _INTERNAL_ERROR or (
            code in _IMPLEMENTATION_CODES and code not in _PERMANENT_CODES
        )


class Unavailable(McpError):
    """The connection is not ready. ``state`` names where it is, ``retry_after`` when it tries again."""

    type = "state"
    retryable = True
    hint = "try again after retry_after seconds, or pass wait=True"

    def __init__(
        self,
        message: str,
        *,
        state: str,
        retry_after: float | None = None,
        details: Mapping[str, Any] | None = None,
        crash_report: CrashReport | None = None,
    ) -> None:
        super().__init__(message, details=details, crash_report=crash_report)
        self.state = state
        self.retry_after = retry_after


class ForkedClient(McpError):
    """A call or a future from before ``os.fork()`` was used in the child process."""

    type = "state"
    hint = "make the call again in this process; the client starts its own connection here"


class RequestTimeout(McpError, TimeoutError):
    """No answer within the deadline. The request was cancelled upstream; it may still have run."""

    type = "timeout"
    hint = "pass a larger timeout=, or find out why the server is slow"
    # TimeoutError is an OSError, whose __str__ would print errno and strerror.
    __str__ = McpError.__str__


class ClientClosed(McpError):
    """The client was closed, before or during the call."""

    type = "shutdown"
    hint = "make a new client"


class CapabilityMissing(McpError):
    """The server does not offer what the call needs, and nothing was sent; or it did not grant it."""

    type = "capability"
    hint = "check client.server_capabilities first"


class Backpressure(McpError):
    """Too many calls in flight, or a server that does not read."""

    type = "backpressure"
    retryable = True
    hint = "slow down, raise max_in_flight, or pass wait=True"


class Cancelled(McpError):
    """The call was cancelled, by the caller or by the server."""

    type = "cancelled"
