"""Starting a server from a command: which transport, and how much patience."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from mcp_actors.client.options import LADDER_SECONDS, ClientOptions
from mcp_actors.transports.stdio.transport import StdioTransport

#: These may download a package before they run it.
_PACKAGE_RUNNERS: Final = frozenset(
    {"uvx", "uv", "npx", "npm", "pnpm", "bunx", "bun", "yarn", "pipx", "docker", "podman", "deno"}
)
_RUNNER_INIT_SECONDS: Final = 60.0


def with_patience(command: Sequence[str], options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with a longer ``init_timeout`` for package runners, unless one was given."""
    given = dict(options)
    if not isinstance(command, Sequence):
        raise TypeError(f"command must be a list of arguments, not {type(command).__name__}")
    if command and os.path.basename(str(command[0])) in _PACKAGE_RUNNERS:
        given.setdefault("init_timeout", _RUNNER_INIT_SECONDS)
    return given


def stdio_transport(
    command: Sequence[str],
    options: ClientOptions,
    *,
    env: Mapping[str, str] | None,
    cwd: str | os.PathLike[str] | None,
    framing: Literal["line", "content-length"],
    inherit_env: bool,
) -> StdioTransport:
    """The transport for a command, which is a list: it never passes through a shell."""
    if isinstance(command, str | bytes):
        raise TypeError(f"command must be a list of arguments, not one string: {command!r}")
    if not command:
        raise ValueError("command must name a program")
    for argument in command:
        if not isinstance(argument, str | os.PathLike):
            raise TypeError(f"command must hold strings, not {type(argument).__name__}")
    return StdioTransport(
        [os.fspath(argument) for argument in command],
        env=env,
        cwd=None if cwd is None else os.fspath(cwd),
        inherit_env=inherit_env,
        framing=framing,
        max_frame_bytes=options.max_frame_bytes,
        name=options.name,
        ladder=LADDER_SECONDS,
    )
