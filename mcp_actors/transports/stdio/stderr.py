"""The server's stderr: drained from the first byte into a logger and a short memory of the last lines."""

from __future__ import annotations

import logging
import os
import select
import threading
from collections import deque
from typing import Final

from mcp_actors.runtime.deadline import Deadline
from mcp_actors.telemetry.logs import stderr_logger
from mcp_actors.transports.stdio.descriptors import Bell, close_quietly

_KEPT_LINES: Final = 50
_KEPT_BYTES: Final = 8 * 1024
_MAX_LINE_BYTES: Final = 4 * 1024
_READ_BYTES: Final = 64 * 1024
_CUT_MARK: Final = " … (line cut)"

# Control characters and line separators would act on the terminal or forge lines in the log of the reader.
_CONTROLS: Final = {
    code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if code != ord("\t")
} | {0x2028: "\\u2028", 0x2029: "\\u2029"}


class LineTail:
    """The last lines of an endless text, bounded in number, bytes and length of each. One thread feeds it."""

    def __init__(self) -> None:
        self._lines: deque[tuple[str, int]] = deque()
        self._kept = 0
        self._part = b""
        self._cutting = False

    def feed(self, chunk: bytes) -> list[str]:
        """Take bytes; the lines that they completed, made harmless."""
        *whole, last = chunk.split(b"\n")
        lines = [line for raw in whole if (line := self._end_line(raw)) is not None]
        self._extend(last)
        if len(self._part) > _MAX_LINE_BYTES:
            lines += [self._keep(self._part)]
            self._part, self._cutting = b"", True
        return lines

    def end(self) -> list[str]:
        """The text is over: the last line needs no newline."""
        line = self._end_line(b"")
        return [] if line is None else [line]

    def lines(self) -> tuple[str, ...]:
        """The last lines. Any thread."""
        return tuple(line for line, _ in self._lines.copy())

    def _extend(self, raw: bytes) -> None:
        if not self._cutting:
            # One byte more than fits shows that the line must be cut.
            self._part += raw[: _MAX_LINE_BYTES + 1 - len(self._part)]

    def _end_line(self, raw: bytes) -> str | None:
        self._extend(raw)
        part, self._part = self._part, b""
        cut, self._cutting = self._cutting, False
        return None if cut or not part.strip() else self._keep(part)

    def _keep(self, raw: bytes) -> str:
        text = raw[:_MAX_LINE_BYTES].rstrip(b"\r").decode("utf-8", "replace").translate(_CONTROLS)
        line = text + _CUT_MARK if len(raw) > _MAX_LINE_BYTES else text
        size = len(line.encode())
        self._lines.append((line, size))
        self._kept += size
        while len(self._lines) > _KEPT_LINES or (self._kept > _KEPT_BYTES and len(self._lines) > 1):
            self._kept -= self._lines.popleft()[1]
        return line


class StderrReader:
    """Drains one stderr pipe on its own thread, so that a server that writes much never has to wait."""

    def __init__(self, fd: int, name: str) -> None:
        """Start draining. Takes the descriptor over. Raises RuntimeError or OSError if it cannot."""
        self._fd = fd
        self._tail = LineTail()
        self._logger = stderr_logger(name)
        self._bell = Bell()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._drain, name=f"mcp-stderr-{name}", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            self._bell.close()
            raise

    def tail(self) -> tuple[str, ...]:
        """The last lines. Any thread."""
        return self._tail.lines()

    def settle(self, deadline: Deadline) -> None:
        """Wait until the server's last words have been read."""
        self._ended.wait(deadline.remaining())

    def close(self, deadline: Deadline) -> None:
        """Stop, also if somebody still holds the pipe open. The caller makes sure it is called once."""
        self._bell.ring()
        self._thread.join(deadline.remaining())
        if not self._thread.is_alive():
            close_quietly(self._fd)
            self._bell.close()

    def _drain(self) -> None:
        poller = select.poll()
        poller.register(self._fd, select.POLLIN)
        poller.register(self._bell.fd, select.POLLIN)
        try:
            asked_to_stop = False
            while self._take() and not asked_to_stop:
                asked_to_stop = any(fd == self._bell.fd for fd, _ in poller.poll())
            self._log(self._tail.end())
        finally:
            self._ended.set()

    def _take(self) -> bool:
        """Read what is there, without waiting; False at the end of the pipe."""
        try:
            chunk = os.read(self._fd, _READ_BYTES)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self._log(self._tail.feed(chunk))
        return bool(chunk)

    def _log(self, lines: list[str]) -> None:
        if not lines or not self._logger.isEnabledFor(logging.INFO):
            return
        for line in lines:
            try:
                self._logger.info("%s", line)
            except Exception:  # noqa: BLE001 - a filter of the host's logging must not stop the drain
                return
