"""The transport contract: what a wire promises, so that one actor can drive any of them.

A ``Transport`` knows how to open a ``Wire``; a wire carries frames (bytes, one JSON-RPC message each) to one
peer and back until it ends. The laws, tested on any implementation by ``mcp_actors.testing.check_transport``:

1. Nothing is taken from the peer unless ``read`` is called; ``wait`` only looks. Not to read is to push back.
2. Frames arrive intact, in the order they were sent, each once; one ``read`` gives a bounded number of bytes.
3. ``send`` never blocks. It takes a frame whole or not at all, and says BUSY while too much is unwritten.
4. A frame above the size limit is refused while it arrives: the wire ends as OVERSIZED, not holding it whole.
5. An end is told after everything that was received before it, and at once if nothing is left to read.
6. ``close`` works from any thread, any number of times, within its deadline, and wakes ``wait``.
7. After ``close`` nothing is left: no thread, descriptor, process. The transport can then open another wire.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from mcp_actors.protocol.endings import Ending
from mcp_actors.protocol.jsonrpc import Id
from mcp_actors.protocol.types import Tool
from mcp_actors.runtime.deadline import Deadline

#: What became of a single request, by its id.
OnLost: TypeAlias = Callable[[Id, Ending, Literal["unknown", "not_sent"]], None]

#: What holds a single request back, by its id; None: it goes on.
OnHeld: TypeAlias = Callable[[Id, Ending | None], None]

READ_BYTES = 64 * 1024
HIGH_WATER_BYTES = 1024 * 1024
MAX_FRAME_BYTES = 16 * 1024 * 1024


class SendVerdict(Enum):
    """What became of a frame given to ``send``."""

    SENT = "sent"  # written whole
    QUEUED = "queued"  # taken; somebody must call flush until it is written
    BUSY = "busy"  # too much is waiting already; nothing was taken
    CLOSED = "closed"  # the wire is over; nothing was taken


class WireEnded(Exception):
    """The wire is over and everything it received was handed out."""

    def __init__(self, ending: Ending) -> None:
        super().__init__(ending.reason)
        self.ending = ending


class OpenFailed(Exception):
    """No wire could be opened. ``ending.kind`` is IMPOSSIBLE if trying again cannot help, else REFUSED."""

    def __init__(self, ending: Ending) -> None:
        super().__init__(ending.reason)
        self.ending = ending


@dataclass(frozen=True, slots=True)
class WireStats:
    """Counters of one wire at one moment."""

    bytes_in: int = 0
    bytes_out: int = 0
    frames_in: int = 0
    frames_out: int = 0
    backlog_bytes: int = 0  # taken by send, not yet written
    greatest_backlog_bytes: int = 0
    read_buffer_bytes: int = 0  # received, not yet handed out


class Wire(Protocol):
    """One open line to one peer."""

    def wait(self) -> None:
        """Block until ``read`` has something to do, without taking anything. Reader thread only.

        Raises WireEnded when the wire is over and nothing is left to read.
        """

    def read(self, limit: int | None) -> list[bytes]:
        """The complete frames of one bounded read (64 KiB, or one larger frame), at most ``limit`` of them.

        Empty when only a part of a frame has come. Never blocks. Raises WireEnded as ``wait`` does. Reader
        thread only.
        """

    def send(self, frame: bytes, token: int | None) -> SendVerdict:
        """Take a frame without blocking. One sending thread at a time.

        ``token`` names the frame in ``Ending.unsent`` if the wire ends before all of it was written.
        """

    def flush(self, deadline: Deadline) -> bool:
        """Write what ``send`` has queued; True when nothing is left. The transport actor's thread only."""

    def close(self, deadline: Deadline) -> Ending:
        """End the wire and free what it holds; the same ending each time. Any thread."""

    def stats(self) -> WireStats:
        """The counters now. Any thread."""

    def forget(self) -> None:
        """In a forked child: close the descriptors that came along, and touch nothing else."""


class Transport(Protocol):
    """A way to reach one server."""

    @property
    def label(self) -> str:
        """A short name for logs and threads."""

    def open(self, deadline: Deadline) -> Wire:
        """Open a wire. Raises OpenFailed. The transport actor's thread only."""


@runtime_checkable
class LooksUpTools(Protocol):
    """A transport that wants to know what the last listing says about a tool, and keeps some from callers."""

    find_tool: Callable[[str], Tool | None]

    def surface(self, tools: list[Tool]) -> list[Tool]:
        """The tools that can be called over this transport. Any thread."""


@runtime_checkable
class KnowsPrincipal(Protocol):
    """A transport that makes requests in somebody's name, who may change."""

    def principal(self) -> str | None:
        """A fingerprint of that somebody, as of now; None if nobody can tell. No secret. Any thread."""


@runtime_checkable
class AnswersAlways(Protocol):
    """A transport over which a server that does not understand a request says so: silence is an outage."""

    silence_tells_era: Literal[False]


@runtime_checkable
class Ends(Protocol):
    """A transport that keeps something between its wires: a login under way, for instance."""

    def end(self) -> None:
        """The client is closed for good. Any thread, any number of times, does not wait for long."""


@runtime_checkable
class TellsLosses(Protocol):
    """A wire whose requests can fail one by one. ``on_lost`` is set before anything is sent."""

    on_lost: OnLost | None


@runtime_checkable
class TellsHindrances(Protocol):
    """A wire that may have to wait before it makes a request. ``on_held`` is set before anything is sent."""

    on_held: OnHeld | None


@runtime_checkable
class Authorizes(Protocol):
    """A transport that may have a login under way."""

    def hindrance(self) -> Ending | None:
        """What a person has to do before the server can be reached. Any thread."""

    def break_off(self) -> None:
        """A person ended the wait for it: it ends, for everybody. Any thread; does not wait."""


class Loan(Protocol):
    """A request that is to be carried out by the thread that waits for its answer."""

    def enter(self) -> bool:
        """Be counted among what the wire does, so that its end finds the request. False: ``send`` it.
        That thread only, once, before ``run``."""

    def run(self, deadline: Deadline) -> bytes | None:
        """Send it and wait for the answer: the frame. That thread only, once.

        None: the answer, the loss of the request or the end of the wire is told in the usual way, or nobody
        wants to know. Does not stay long after the deadline, whatever the peer does.
        """

    def stop(self) -> None:
        """Have ``run`` return at once, if that thread is still in it or yet to come. Any thread, no wait."""


@runtime_checkable
class Lends(Protocol):
    """A wire on which each request has an exchange of its own, so that each caller can run its own."""

    def lend(self, frame: bytes, token: int) -> Loan | None:
        """The exchange for a request, whose id is the token; None: ``send`` it. Any thread."""


@runtime_checkable
class TellsGaps(Protocol):
    """A wire that may miss what its peer says unasked, and goes on. ``on_gap`` is set before anything is sent
    and told why."""

    on_gap: Callable[[str], None] | None


@runtime_checkable
class Describes(Protocol):
    """A transport that can say how to reach its server, for crash reports."""

    def describe(self) -> Mapping[str, object]:
        """Facts: ``command`` (a sequence), ``cwd``, ``pid``, ``stderr_tail``, ``url`` and ``proxy``, and
        ``secrets``: values to hide wherever they turn up. All of them may be missing. Any thread."""
