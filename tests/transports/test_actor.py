"""The transport actor with wires that do exactly what the test says."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue

import pytest

from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.events import Closed, FramesArrived, Opened
from mcp_actors.runtime.actor import Ref, start_actor
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.transports.actor import Close, Flush, Links, Open, TransportActor
from mcp_actors.transports.contract import OpenFailed, SendVerdict, Transport, Wire, WireEnded, WireStats

pytestmark = pytest.mark.requirement("transport:contract")

BOUND = 5.0
CLOSED = Ending(EndKind.CLOSED, "closed by us")


class Owner:
    """Takes the news of a wire."""

    def __init__(self) -> None:
        self.news: SimpleQueue[object] = SimpleQueue()

    def tell(self, message: object) -> bool:
        self.news.put(message)
        return True

    def next(self) -> object:
        return self.news.get(timeout=BOUND)


class FakeWire:
    """Hands out what the test puts into it: frames, or an exception to raise."""

    def __init__(self) -> None:
        self.incoming: SimpleQueue[list[bytes] | Exception] = SimpleQueue()
        self.closed = threading.Event()
        self.flushes: SimpleQueue[None] = SimpleQueue()
        self.may_flush = threading.Event()
        self.may_flush.set()
        self.unwritten = 0
        self._next: list[bytes] | Exception | None = None

    def wait(self) -> None:
        if self._next is None:
            self._next = self.incoming.get()
        if isinstance(self._next, Exception):
            raise self._next

    def read(self, limit: int | None) -> list[bytes]:
        del limit
        frames, self._next = self._next, None
        assert isinstance(frames, list)
        return frames

    def send(self, frame: bytes, token: int | None) -> SendVerdict:
        raise NotImplementedError(frame, token)

    def flush(self, deadline: Deadline) -> bool:
        assert deadline.remaining() <= 0.05
        assert self.may_flush.wait(BOUND)
        self.unwritten -= 1
        self.flushes.put(None)
        return self.unwritten <= 0

    def close(self, deadline: Deadline) -> Ending:
        del deadline
        self.closed.set()
        self.incoming.put(WireEnded(CLOSED))
        return CLOSED

    def stats(self) -> WireStats:
        return WireStats()

    def forget(self) -> None:
        raise NotImplementedError


class FakeTransport:
    """Opens the wires it was given, or raises the failures among them."""

    label = "fake"

    def __init__(self, *wires: Wire | Exception) -> None:
        self._wires = list(wires)

    def open(self, deadline: Deadline) -> Wire:
        assert deadline.remaining() > 0
        wire = self._wires.pop(0)
        if isinstance(wire, Exception):
            raise wire
        return wire


@contextmanager
def running(transport: Transport) -> Iterator[tuple[Ref, Links]]:
    links = Links()
    actor = start_actor(TransportActor, transport, links, deadline=Deadline.after(BOUND))
    yield actor, links
    actor.stop()
    assert actor.join(Deadline.after(BOUND))


def test_the_link_is_there_when_the_owner_hears_of_the_wire() -> None:
    owner = Owner()
    with running(FakeTransport(FakeWire())) as (actor, links):
        actor.tell(Open(7, owner, window=3))
        assert owner.next() == Opened(7)
        link = links.of(7)
        assert link is not None
        assert (link.wire, link.permits.window, link.stats()) == (7, 3, WireStats())
        assert links.of(6) is None
        actor.tell(Close(7))
        assert isinstance(owner.next(), Closed)
    assert links.of(7) is None


def test_an_open_that_fails_is_told_as_the_end_of_the_wire() -> None:
    owner = Owner()
    ending = Ending(EndKind.IMPOSSIBLE, "no such command")
    with running(FakeTransport(OpenFailed(ending), FakeWire())) as (actor, links):
        actor.tell(Open(1, owner))
        assert owner.next() == Closed(1, ending)
        assert links.of(1) is None
        actor.tell(Open(2, owner))
        assert owner.next() == Opened(2)


def test_a_part_of_a_frame_uses_no_second_permit() -> None:
    owner, wire = Owner(), FakeWire()
    with running(FakeTransport(wire)) as (actor, links):
        actor.tell(Open(1, owner))
        assert owner.next() == Opened(1)
        link = links.of(1)
        assert link is not None
        link.permits.grant()
        for frames in ([], [], [b"1", b"2"]):
            wire.incoming.put(frames)
        assert owner.next() == FramesArrived(1, (b"1", b"2"))
        assert link.permits.outstanding == 0


def test_a_lost_wire_is_closed_before_the_next_is_opened() -> None:
    owner, first, second = Owner(), FakeWire(), FakeWire()
    lost = Ending(EndKind.EOF, "gone")
    with running(FakeTransport(first, second)) as (actor, _):
        actor.tell(Open(1, owner))
        assert owner.next() == Opened(1)
        first.incoming.put(WireEnded(lost))
        assert owner.next() == Closed(1, lost)
        actor.tell(Open(2, owner))
        assert owner.next() == Opened(2)
        assert first.closed.is_set()


def test_an_open_while_a_wire_is_open_closes_the_old_one_first() -> None:
    before, after, first, second = Owner(), Owner(), FakeWire(), FakeWire()
    with running(FakeTransport(first, second)) as (actor, links):
        actor.tell(Open(1, before))
        assert before.next() == Opened(1)
        actor.tell(Open(2, after))
        assert after.next() == Opened(2)
        assert first.closed.is_set()
        assert isinstance(before.next(), Closed)
        assert links.of(1) is None


def test_messages_about_another_wire_do_nothing() -> None:
    owner, wire = Owner(), FakeWire()
    with running(FakeTransport(wire)) as (actor, links):
        actor.tell(Open(2, owner))
        assert owner.next() == Opened(2)
        actor.tell(Close(1))
        actor.tell(Flush(1))
        link = links.of(2)
        assert link is not None
        link.permits.grant()
        wire.incoming.put([b"alive"])
        assert owner.next() == FramesArrived(2, (b"alive",))
        assert wire.flushes.empty()


def test_flushing_goes_on_in_slices_and_many_requests_are_one() -> None:
    owner, wire = Owner(), FakeWire()
    wire.unwritten = 5
    wire.may_flush.clear()
    with running(FakeTransport(wire)) as (actor, _):
        actor.tell(Open(1, owner))
        assert owner.next() == Opened(1)
        for _ in range(3):
            actor.tell(Flush(1))
        wire.may_flush.set()
        for _ in range(5):
            wire.flushes.get(timeout=BOUND)
    assert wire.flushes.empty()


def test_a_close_overtakes_a_flush_that_never_ends() -> None:
    owner, wire = Owner(), FakeWire()
    wire.unwritten = 10**9
    with running(FakeTransport(wire)) as (actor, _):
        actor.tell(Open(1, owner))
        assert owner.next() == Opened(1)
        actor.tell(Flush(1))
        wire.flushes.get(timeout=BOUND)
        actor.tell(Close(1))
        assert wire.closed.wait(BOUND)


def test_a_bug_of_a_wire_ends_that_wire_only(caplog: pytest.LogCaptureFixture) -> None:
    owner, wire = Owner(), FakeWire()
    with running(FakeTransport(wire, FakeWire())) as (actor, _):
        actor.tell(Open(1, owner))
        assert owner.next() == Opened(1)
        wire.incoming.put(ZeroDivisionError("oops"))
        news = owner.next()
        assert isinstance(news, Closed)
        assert (news.ending.kind, news.ending.reason) == (
            EndKind.BROKEN,
            "reading failed: ZeroDivisionError: oops",
        )
        actor.tell(Open(2, owner))
        assert owner.next() == Opened(2)
    assert "the reader of wire 1 failed" in caplog.text


def test_without_a_thread_for_the_reader_the_wire_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    owner, wire = Owner(), FakeWire()
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name.startswith("mcp-reader"):
            raise RuntimeError("can't start new thread")
        start(thread)

    with running(FakeTransport(wire)) as (actor, _):
        monkeypatch.setattr(threading.Thread, "start", refuse)
        actor.tell(Open(1, owner))
        assert owner.next() == Opened(1)
        news = owner.next()
        assert isinstance(news, Closed)
        assert news.ending.kind is EndKind.REFUSED
        assert wire.closed.is_set()


def test_an_open_that_is_never_handled_is_answered() -> None:
    owner, entered, leave = Owner(), threading.Event(), threading.Event()

    class SlowTransport(FakeTransport):
        def open(self, deadline: Deadline) -> Wire:
            entered.set()
            assert leave.wait(BOUND)
            return super().open(deadline)

    with running(SlowTransport(FakeWire())) as (actor, _):
        actor.tell(Open(1, owner))
        assert entered.wait(BOUND)
        actor.stop()
        actor.tell(Open(2, owner))
        leave.set()
        assert actor.join(Deadline.after(BOUND))
    told = [owner.next() for _ in range(3)]
    assert Closed(2, Ending(EndKind.CLOSED, "the transport was stopped")) in told
