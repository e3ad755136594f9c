"""StdioTransport: starts a server as a child process and speaks with it over its stdin and stdout."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.framing import FramingName, make_framer
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.telemetry.redaction import secret_values
from mcp_actors.transports.contract import HIGH_WATER_BYTES, MAX_FRAME_BYTES, OpenFailed
from mcp_actors.transports.stdio.descriptors import close_quietly
from mcp_actors.transports.stdio.environment import child_environment
from mcp_actors.transports.stdio.ladder import Ladder
from mcp_actors.transports.stdio.process import Child, Command
from mcp_actors.transports.stdio.reaper import reaper
from mcp_actors.transports.stdio.stderr import StderrReader
from mcp_actors.transports.stdio.wire import StdioWire


class StdioTransport:
    """A server started by a command, without a shell: each argument reaches it as it is."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        inherit_env: bool = False,
        framing: FramingName = "line",
        max_frame_bytes: int = MAX_FRAME_BYTES,
        high_water: int = HIGH_WATER_BYTES,
        name: str | None = None,
        ladder: tuple[float, float, float] = (2.0, 2.0, 2.0),
    ) -> None:
        """Nothing is started yet.

        Raises:
            TypeError, ValueError: the command is not a sequence of strings that a process can be given, or
                the environment or the directory is not one.
        """
        self._command = _checked(command)
        self._env = _checked_environment(env or {})
        self._cwd = None if cwd is None else _text("cwd", os.fspath(cwd))
        self._inherit_env = inherit_env
        self._framing: FramingName = framing
        self._max_frame_bytes = max_frame_bytes
        self._high_water = high_water
        self._ladder = Ladder(*ladder)
        self._latest: StdioWire | None = None
        self.label = name or PurePath(self._command[0]).name

    def open(self, deadline: Deadline) -> StdioWire:
        """Start the server. Fast, whatever the deadline: what the server does then is not waited for."""
        del deadline
        environment = child_environment(os.environ, self._env, inherit=self._inherit_env)
        with self._telling_why(" with a reaper beside it"):
            reaper.prepare()
        try:
            child = Child(Command(self._command, environment, self._cwd))
        except OpenFailed:
            reaper.release_if_idle()
            raise
        with self._telling_why(), contextlib.ExitStack() as undo:
            undo.callback(reaper.drop, child.pid)
            undo.callback(child.abandon)
            reaper.add(child.pid)
            wire = self._wire(child, undo)
            undo.pop_all()
        self._latest = wire
        return wire

    def describe(self) -> Mapping[str, object]:
        """How to start the same server by hand, and what is seen of the one that runs. Any thread.

        ``secrets`` are values of ``env`` that must not be shown; of the others only the names are told.
        """
        wire = self._latest
        return {
            "command": self._command,
            "cwd": self._cwd,
            "pid": None if wire is None else wire.pid,
            "stderr_tail": () if wire is None else wire.stderr_tail,
            "secrets": secret_values(self._env),
            "env": sorted(self._env),
            "inherit_env": self._inherit_env,
            "framing": self._framing,
        }

    def _wire(self, child: Child, undo: contextlib.ExitStack) -> StdioWire:
        try:
            stderr = StderrReader(child.stderr, self.label)
        except (OSError, RuntimeError):
            close_quietly(child.stderr)
            raise
        undo.callback(stderr.close, Deadline.after(1.0))
        framer = make_framer(self._framing, self._max_frame_bytes)
        return StdioWire(child, framer, stderr, ladder=self._ladder, high_water=self._high_water)

    @contextlib.contextmanager
    def _telling_why(self, how: str = "") -> Iterator[None]:
        """No descriptor, thread or memory left: say so; a later attempt may succeed."""
        try:
            yield
        except (OSError, RuntimeError) as error:
            cause = error.strerror if isinstance(error, OSError) else str(error)
            ending = Ending(EndKind.REFUSED, f"cannot start {self._command[0]!r}{how}: {str(cause).lower()}")
            raise OpenFailed(ending) from error


def _checked(command: Sequence[str]) -> tuple[str, ...]:
    if isinstance(command, str | bytes) or not all(isinstance(part, str) for part in command):
        raise TypeError(f"command must be a sequence of strings, not {command!r}")
    if not command or not command[0]:
        raise ValueError("command must not be empty")
    return tuple(_text("command", part) for part in command)


def _checked_environment(env: Mapping[str, str]) -> dict[str, str]:
    for name in env:
        if not _text("a name in env", name) or "=" in name:
            raise ValueError(f"a name in env must not be empty or contain '=': {name!r}")
    # The values may be secret: they are not told.
    return {name: _text(f"env[{name!r}]", value) for name, value in env.items()}


def _text(what: str, value: object) -> str:
    """A string that the system takes as an argument, or the error that says what is wrong."""
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a string, not {type(value).__name__}")
    if "\0" in value:
        raise ValueError(f"{what} must not contain NUL characters")
    try:
        os.fsencode(value)
    except UnicodeEncodeError:
        raise ValueError(f"{what} must not contain lone surrogates") from None
    return value
