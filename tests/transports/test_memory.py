"""The memory transport: what its peer's end does beyond the laws."""

from __future__ import annotations

import threading

import pytest

from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.transports.contract import SendVerdict, WireEnded
from mcp_actors.transports.memory import memory_pair

pytestmark = pytest.mark.requirement("transport:memory")

BOUND = 5.0


def test_reading_ends_at_the_deadline_and_at_the_close() -> None:
    wire, end = memory_pair()
    assert end.read(Deadline.after(0.0)) is None
    wire.send(b"1", None)
    assert end.read(Deadline.after(BOUND)) == b"1"
    wire.close(Deadline.after(0.0))
    assert end.read(Deadline.after(BOUND)) is None


def test_writing_waits_for_room_as_a_pipe_would() -> None:
    wire, end = memory_pair(high_water=10)
    assert end.write(b"x" * 8, Deadline.after(0.0))
    assert not end.write(b"y" * 8, Deadline.after(0.0))
    writer = threading.Thread(target=end.write, args=(b"y" * 8, Deadline.after(BOUND)))
    writer.start()
    assert wire.read(1) == [b"x" * 8]
    writer.join(BOUND)
    assert wire.read(1) == [b"y" * 8]


def test_writing_to_a_closed_wire_is_refused() -> None:
    wire, end = memory_pair()
    wire.close(Deadline.after(0.0))
    assert not end.write(b"1", Deadline.after(BOUND))


def test_a_delivery_is_bounded_in_bytes_and_a_larger_frame_comes_alone() -> None:
    wire, end = memory_pair()
    for size in (40_000, 20_000, 20_000, 100_000, 1):
        end.write(b"z" * size, Deadline.after(BOUND))
    assert [list(map(len, wire.read(None))) for _ in range(4)] == [[40_000, 20_000], [20_000], [100_000], [1]]
    assert wire.read(None) == []


def test_the_peer_chooses_how_the_wire_ends() -> None:
    wire, end = memory_pair()
    end.write(b"last", Deadline.after(BOUND))
    ending = Ending(EndKind.EXIT, "the server exited with code 3", exit_code=3)
    end.fail(ending)
    assert wire.read(None) == [b"last"]
    with pytest.raises(WireEnded) as ended:
        wire.wait()
    assert ended.value.ending == ending
    assert wire.send(b"1", None) is SendVerdict.CLOSED
    assert wire.flush(Deadline.after(0.0))
    wire.forget()
