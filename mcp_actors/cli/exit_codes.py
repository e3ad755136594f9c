"""How the command line ends: one number for each kind of failure, so that scripts can tell them apart."""

from __future__ import annotations

from typing import Final

from mcp_actors import errors

OK: Final = 0
TOOL_FAILED: Final = 1  # the tool ran and reported an error
USAGE: Final = 2  # an option, argument or configuration that cannot be used; nothing was asked of a server
UNREACHABLE: Final = 3  # the server could not be started or reached, or was lost under the call
TIMED_OUT: Final = 4
REFUSED: Final = 5  # the server answered with an error, or broke the protocol
INTERRUPTED: Final = 130  # 128 + SIGINT, as shells count
PIPE_CLOSED: Final = 141  # 128 + SIGPIPE: whoever read our output had enough


def exit_code(error: errors.McpError) -> int:
    """The code that fits a failure of a server."""
    if isinstance(error, errors.RequestTimeout):
        return TIMED_OUT
    if isinstance(error, errors.TransportError | errors.Unavailable):
        return UNREACHABLE
    return REFUSED
