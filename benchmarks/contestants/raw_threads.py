"""raw-threads: many callers, one reader that hands the answers over with a lock. The limit for threads."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import orjson

from benchmarks.contestants.blocking import Blocking
from benchmarks.contestants.contract import Contestant
from benchmarks.contestants.raw import RawPipe, text_of
from benchmarks.handlers import Handler


class _Slot:
    """One answer on its way to one caller."""

    __slots__ = ("answer", "lock")

    def __init__(self) -> None:
        self.answer: dict[str, Any] = {}
        self.lock = threading.Lock()
        self.lock.acquire()


class RawThreads:
    """Callers write for themselves, one at a time; the reader routes by id and runs the handler."""

    def __init__(self, pipe: RawPipe, handler: Handler | None) -> None:
        self._pipe = pipe
        self._handler = handler
        self._ids = itertools.count(1)
        self._slots: dict[int, _Slot] = {}
        self._writing = threading.Lock()
        self.reader = threading.Thread(target=self._read, name="raw-reader", daemon=True)
        self.reader.start()

    def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Write, and wait for the reader. Any thread."""
        id_, slot = next(self._ids), _Slot()
        self._slots[id_] = slot
        with self._writing:
            self._pipe.send(id_, "tools/call", {"name": tool, "arguments": arguments})
        slot.lock.acquire()
        return text_of(slot.answer)

    def _read(self) -> None:
        for line in self._pipe.stdout:
            message = orjson.loads(line)
            slot = self._slots.pop(message.get("id"), None)
            if slot is not None:
                slot.answer = message
                slot.lock.release()
            elif self._handler is not None:
                self._handler.hear()


@contextmanager
def open_raw_threads(server: Sequence[str], handler: Handler | None) -> Iterator[Contestant]:
    """Connect, and start the reader."""
    pipe = RawPipe(server)
    threads = RawThreads(pipe, handler)
    try:
        yield Blocking(threads.call)
    finally:
        pipe.close()
        threads.reader.join(10)
