"""What is known about a server that failed: the value that errors carry, people read and files keep."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal as signals
import sys
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import InitVar, asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from mcp_actors.telemetry.frame_log import KEEP, SHOWN_CHARACTERS, FrameLog
from mcp_actors.telemetry.redaction import HIDDEN, presentable, redact, redact_command

__all__ = ["CrashReport", "FrameLog", "Restart", "signal_name"]

SCHEMA: Final = 1
STDERR_LINES: Final = 100
STDERR_WIDTH: Final = 500
SUMMARY_LINES: Final = 5
SUMMARY_WIDTH: Final = 160
REASON_WIDTH: Final = 500

_EXIT_CODES: Final[Mapping[int, str]] = {
    126: "the shell could not execute the command",
    127: "the shell did not find the command",
    134: "128 + 6: aborted, as a shell or container reports it",
    137: "128 + 9: killed, as a shell or container reports it; often out of memory",
    139: "128 + 11: crashed, as a shell or container reports it",
    143: "128 + 15: terminated, as a shell or container reports it",
}
_SIGNALS: Final[Mapping[str, str]] = {
    "SIGKILL": "often the out-of-memory killer",
    "SIGSEGV": "a crash in native code",
    "SIGBUS": "a crash in native code",
    "SIGABRT": "it aborted itself",
}


@dataclass(frozen=True, slots=True)
class Restart:
    """One failure after which the server was started again, or would have been: when (wall clock) and why."""

    at: float
    reason: str


def _python_version() -> str:
    return f"{sys.implementation.name} {sys.version.split()[0]}"


def _platform() -> str:
    system = os.uname()
    return f"{system.sysname} {system.release} {system.machine}"


@dataclass(frozen=True, kw_only=True)
class CrashReport:
    """Everything worth knowing about a failed server. Never holds a secret: all text is redacted on entry.

    ``secrets`` are literal values to hide beside those that are found by name or shape; they are not kept.
    """

    server: str
    reason: str
    command: tuple[str, ...] = ()
    cwd: str | None = None
    url: str | None = None
    proxy: str | None = None
    pid: int | None = None
    exit_code: int | None = None
    signal: str | None = None
    stderr_tail: tuple[str, ...] = ()
    frames_sent: tuple[str, ...] = ()
    frames_received: tuple[str, ...] = ()
    uptime: float | None = None
    state: str = ""
    restarts: tuple[Restart, ...] = ()
    attempts: int = 0
    protocol_version: str | None = None
    created_at: float = field(default_factory=time.time)
    python: str = field(default_factory=_python_version)
    platform: str = field(default_factory=_platform)
    secrets: InitVar[Collection[str]] = ()

    def __post_init__(self, secrets: Collection[str]) -> None:
        restarts = tuple(Restart(one.at, _one_line(one.reason, secrets)) for one in self.restarts)
        cleaned = {
            "server": _one_line(self.server, secrets),
            "reason": _one_line(self.reason, secrets),
            "command": redact_command(self.command, secrets),
            "cwd": None if self.cwd is None else redact(self.cwd, secrets),
            "url": None if self.url is None else _one_line(self.url, secrets),
            "proxy": None if self.proxy is None else _one_line(self.proxy, secrets),
            "stderr_tail": _clean_lines(self.stderr_tail, secrets),
            "frames_sent": _clean_frames(self.frames_sent, secrets),
            "frames_received": _clean_frames(self.frames_received, secrets),
            "restarts": restarts,
        }
        for name, value in cleaned.items():
            object.__setattr__(self, name, value)

    def summary(self) -> str:
        """A few indented lines for the end of an error message: exit, last words, how to reproduce it."""
        lines = [f"exit: {self._ending()}" if self._has_process() else self._whereabouts()]
        lines += self._failures()
        lines += self._stderr(SUMMARY_LINES, SUMMARY_WIDTH)
        lines += self._strays()
        if self.command:
            lines.append(f"to reproduce: {self.reproduce()}")
        return "\n".join(f"  {line}" for line in lines)

    def render(self) -> str:
        """The whole report as readable text."""
        title = f"Crash report: {self.server}"
        parts = [f"{title}\n{'=' * len(title)}", self._facts()]
        parts.append(_section(*self._stderr(STDERR_LINES, STDERR_WIDTH)))
        parts.append(_section("last frames sent, oldest first:", *_marked(">", self.frames_sent)))
        parts.append(_section("last frames received, oldest first:", *_marked("<", self.frames_received)))
        if self.restarts:
            parts.append(_section("failures:", *self._history()))
        if self.command:
            parts.append(_section("to reproduce:", f"  {self.reproduce()}"))
        return "\n\n".join(filter(None, parts)) + "\n"

    def reproduce(self) -> str:
        """The command for a shell; empty when the server is not a process of ours."""
        command = _shell_line(self.command)
        if self.cwd and command:
            command = f"cd {_shell_line([self.cwd])} && {command}"
        return f"{command}  # with {HIDDEN} filled in" if HIDDEN in command else command

    @property
    def strays(self) -> tuple[str, ...]:
        """Of the last frames from a process those that are no JSON: what it printed where MCP is spoken."""
        if not self._has_process():
            return ()
        return tuple(frame for frame in self.frames_received if frame.strip() and not _is_json(frame))

    def to_json(self) -> dict[str, Any]:
        """The report as a JSON object; ``schema`` tells later readers which one."""
        values: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return {"schema": SCHEMA, **values}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> CrashReport:
        """The report that ``to_json`` wrote. Members of later versions are ignored."""
        known = {one.name for one in fields(cls)}
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in values.items()
            if name in known
        }
        given["restarts"] = tuple(Restart(one["at"], one["reason"]) for one in values.get("restarts", ()))
        return cls(**given)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the report as JSON, readable by its owner alone; an existing file is replaced whole."""
        import tempfile  # only here: it costs every program that imports us a millisecond

        target = Path(path)
        # mkstemp creates with mode 0600 and follows no link; the rename puts it in place in one step.
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with open(handle, "w", encoding="utf-8") as file:
                json.dump(self.to_json(), file, indent=2)
                file.write("\n")
            os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        return target

    def _has_process(self) -> bool:
        return (
            bool(self.command)
            or self.pid is not None
            or self.exit_code is not None
            or self.signal is not None
        )

    def _ending(self) -> str:
        after = "" if self.uptime is None else f" after {_duration(self.uptime)}"
        process = "" if self.pid is None else f", pid {self.pid}"
        if self.signal is not None:
            return f"killed by {self.signal}{after}{process}{_meaning(_SIGNALS.get(self.signal))}"
        if self.exit_code is not None:
            return f"code {self.exit_code}{after}{process}{_meaning(_EXIT_CODES.get(self.exit_code))}"
        if self.pid is None:
            return "never started"
        if self.state == "ready":
            return f"none, it is running{process}, up for {_duration(self.uptime or 0.0)}"
        return f"not seen{after}{process}"

    def _whereabouts(self) -> str:
        attempts = f", attempt {self.attempts}" if self.attempts else ""
        return f"server: {self._address() or self.server} (state {self.state or 'unknown'}{attempts})"

    def _address(self) -> str:
        return (self.url or "") + (f" through the proxy {self.proxy}" if self.proxy else "")

    def _stderr(self, count: int, width: int) -> list[str]:
        if not self.stderr_tail:
            return ["stderr: nothing was written"] if self.pid is not None else []
        shown = self.stderr_tail[-count:]
        title = "stderr:" if len(shown) == len(self.stderr_tail) else f"stderr, last {count} lines:"
        return [title, *_marked("|", (_shortened(line, width) for line in shown))]

    def _failures(self) -> list[str]:
        # One alone is the reason itself; of a server that was never ready the error tells the attempts.
        if len(self.restarts) < 2 or self.attempts:
            return []
        last = self.restarts[-1].reason
        return [
            f"failures: {len(self.restarts)}" + ("" if last == self.reason else f", the last one: {last}")
        ]

    def _strays(self) -> list[str]:
        if not self.strays:
            return []
        shown = (_shortened(line, SUMMARY_WIDTH) for line in self.strays[-SUMMARY_LINES:])
        return ["stdout, which is no MCP:", *_marked("|", shown)]

    def _facts(self) -> str:
        created = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(self.created_at))
        facts = {
            "reason": self.reason,
            "when": created,
            "exit": self._ending() if self._has_process() else "",
            "state": self.state,
            "attempts": str(self.attempts) if self.attempts else "",
            "protocol": self.protocol_version or "",
            "command": _shell_line(self.command),
            "address": self._address(),
            "directory": _shell_line([self.cwd]) if self.cwd else "",
            "python": self.python,
            "platform": self.platform,
        }
        return "\n".join(f"{name:<10} {value}" for name, value in facts.items() if value)

    def _history(self) -> Iterable[str]:
        for one in self.restarts:
            yield f"  {_duration(max(0.0, self.created_at - one.at))} before: {one.reason}"


def signal_name(number: int) -> str:
    """``SIGKILL`` for 9; a number the system does not know keeps its number."""
    try:
        return signals.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _shell_line(words: Iterable[str]) -> str:
    return " ".join(shlex.quote(word) if word.isprintable() else _ansi_quoted(word) for word in words)


def _ansi_quoted(word: str) -> str:
    """One line that bash and zsh read as ``word``, with its line ends and control characters."""
    return "$'" + "".join(map(_ansi_character, word)) + "'"


def _ansi_character(character: str) -> str:
    if character.isprintable():
        return f"\\{character}" if character in "\\'" else character
    # Undecodable bytes of arguments and file names arrive as these surrogates.
    errors = "surrogateescape" if "\udc80" <= character <= "\udcff" else "surrogatepass"
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", errors))


def _one_line(text: str, secrets: Collection[str]) -> str:
    return presentable(text.strip(), REASON_WIDTH, secrets)


def _clean_lines(lines: Iterable[str], secrets: Collection[str]) -> tuple[str, ...]:
    # Redacted as one text: a private key spreads over many lines.
    text = redact("\n".join(tuple(lines)[-STDERR_LINES:]), secrets)
    cleaned = [presentable(line.rstrip("\r"), STDERR_WIDTH, secrets) for line in text.split("\n")]
    while cleaned and not cleaned[-1].strip():
        cleaned.pop()
    return tuple(cleaned)


def _clean_frames(frames: Iterable[str], secrets: Collection[str]) -> tuple[str, ...]:
    return tuple(presentable(frame, SHOWN_CHARACTERS, secrets) for frame in tuple(frames)[-KEEP:])


def _marked(sign: str, lines: Iterable[str]) -> list[str]:
    return [f"  {sign} {line}".rstrip() for line in lines] or ["  (none)"]


def _is_json(frame: str) -> bool:
    # Long frames are kept by their head alone, so this is all that can be asked of one.
    return frame.lstrip().startswith(("{", "["))


def _shortened(line: str, width: int) -> str:
    return line if len(line) <= width else f"{line[: width - 1]}…"


def _section(*lines: str) -> str:
    return "\n".join(lines)


def _meaning(text: str | None) -> str:
    return f" ({text})" if text else ""


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds >= 0.1 else f"{seconds * 1000:.0f} ms"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
