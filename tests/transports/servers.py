"""Small misbehaving servers, as programs for ``python -c``, and what tests need to drive them."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

import psutil

from mcp_actors.protocol.endings import Ending
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.transports.contract import WireEnded
from mcp_actors.transports.stdio.transport import StdioTransport
from mcp_actors.transports.stdio.wire import StdioWire

BOUND = 5.0
PRELUDE = """
import os, signal, subprocess, sys, time
def say(text): os.write(1, text.encode())
def hear(): return sys.stdin.buffer.readline()
def rest_until_eof():
    while sys.stdin.buffer.read(65536): pass
"""


def transport(program: str, *, ladder: tuple[float, float, float] = (2.0, 2.0, 2.0)) -> StdioTransport:
    return StdioTransport([sys.executable, "-S", "-c", PRELUDE + program], name="fault", ladder=ladder)


@contextlib.contextmanager
def served(program: str, *, ladder: tuple[float, float, float] = (2.0, 2.0, 2.0)) -> Iterator[StdioWire]:
    """A wire to a server running this program; closed, and checked to be gone, at the end."""
    wire = transport(program, ladder=ladder).open(Deadline.after(BOUND))
    try:
        yield wire
    finally:
        ending = wire.close(Deadline.after(BOUND + sum(ladder)))
    assert ending.pid is not None
    assert not psutil.pid_exists(ending.pid), "the server was not reaped"


def read_to_end(wire: StdioWire) -> tuple[list[bytes], Ending]:
    """Everything the server says, and how it ends."""
    frames: list[bytes] = []
    try:
        while True:
            wire.wait()
            frames += wire.read(None)
    except WireEnded as ended:
        return frames, ended.ending


def read_frame(wire: StdioWire) -> bytes:
    """The next frame."""
    while True:
        wire.wait()
        frames = wire.read(1)
        if frames:
            return frames[0]


def runs(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def eventually(condition: Callable[[], bool], seconds: float = BOUND) -> bool:
    """Whether the condition comes true in time; for what other processes do and cannot tell us."""
    deadline = Deadline.after(seconds)
    while not condition():
        if deadline.expired:
            return False
        time.sleep(0.005)
    return True
