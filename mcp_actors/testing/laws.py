"""The laws of the transport contract as a test that any transport can be put to, also a user's own."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import Final, TypeAlias

from mcp_actors.protocol.endings import EndKind
from mcp_actors.protocol.events import Closed, FramesArrived
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.testing.bench import BOUND, Bench, Peer
from mcp_actors.transports.contract import SendVerdict, Transport

_MANY: Final = 300
_FLOOD_FRAMES: Final = 4096
_FLOOD_FRAME: Final = b"x" * 32 * 1024


class LawBroken(AssertionError):
    """The transport broke a law; the message says which."""


Maker: TypeAlias = Callable[[], AbstractContextManager[tuple[Transport, Peer]]]


# -- the laws


def nothing_is_delivered_without_a_permit(bench: Bench) -> None:
    """Nothing is delivered without a permit."""
    link = bench.open()
    bench.peer.send(b'"early"')
    bench.stay_silent()
    link.permits.grant()
    assert bench.frames() == (b'"early"',)


def a_permit_lets_one_delivery_through(bench: Bench) -> None:
    """A permit lets one delivery through, and frames_per_permit=1 means one frame."""
    link = bench.open(frames_per_permit=1)
    for number in range(3):
        bench.peer.send(b"%d" % number)
    for number in range(3):
        link.permits.grant()
        assert bench.frames() == (b"%d" % number,)
        bench.stay_silent()


def frames_keep_their_order(bench: Bench) -> None:
    """Frames arrive in the order they were sent, each once, in both directions."""
    link = bench.open()
    sent = [b'{"n":%d}' % number for number in range(_MANY)]
    with _in_background(lambda: _send_all(bench.peer, sent)):
        arrived: list[bytes] = []
        while len(arrived) < len(sent):
            link.permits.grant()
            arrived += bench.frames()
    assert arrived == sent
    for frame in sent:
        assert bench.send(link, frame) in (SendVerdict.SENT, SendVerdict.QUEUED)
    assert [bench.peer.receive(BOUND) for _ in sent] == sent


def frames_arrive_intact(bench: Bench) -> None:
    """Frames arrive intact in both directions: separators of lines in Unicode, a megabyte, any text."""
    link = bench.open()
    for frame in _odd_frames():
        with _in_background(partial(bench.peer.send, frame)):
            link.permits.grant()
            assert bench.frames() == (frame,)
        assert bench.send(link, frame) is not SendVerdict.BUSY
        assert bench.peer.receive(BOUND) == frame


def closing_wakes_a_blocked_reader(bench: Bench) -> None:
    """Closing wakes a reader that waits for the peer, and one that waits for a permit."""
    bench.open().permits.grant()
    bench.close()
    bench.open()
    bench.peer.send(b'"unread"')
    bench.close()


def the_end_is_told_once(bench: Bench) -> None:
    """The end of a wire is told exactly once, whoever ended it."""
    bench.open().permits.grant()
    bench.peer.close()
    bench.ending()
    bench.ask_to_close()
    bench.stay_silent()
    bench.open()
    bench.close()
    bench.ask_to_close()
    bench.stay_silent()


def an_end_needs_no_permit(bench: Bench) -> None:
    """An end with nothing left to read is told even to an owner who granted no permit."""
    bench.open()
    bench.peer.close()
    assert bench.ending().ending.kind not in (EndKind.CLOSED, EndKind.OVERSIZED)


def the_last_words_come_before_the_end(bench: Bench) -> None:
    """What the peer sent before it ended is delivered before the end is told."""
    link = bench.open(frames_per_permit=1)
    for number in range(3):
        bench.peer.send(b"%d" % number)
    bench.peer.close()
    for number in range(3):
        link.permits.grant()
        assert bench.frames() == (b"%d" % number,)
    link.permits.grant()
    bench.ending()


def sending_never_blocks(bench: Bench) -> None:
    """Sending to a peer that does not read never blocks: it ends in BUSY, and all that was taken arrives."""
    link = bench.open()
    verdicts: list[SendVerdict] = []

    def flood() -> None:
        while len(verdicts) < _FLOOD_FRAMES and SendVerdict.BUSY not in verdicts:
            verdicts.append(link.send(_FLOOD_FRAME, None))

    with _in_background(flood):
        pass
    assert verdicts[-1] is SendVerdict.BUSY, f"{len(verdicts)} frames were taken, the last: {verdicts[-1]}"
    bench.ask_to_flush()
    for _ in verdicts[:-1]:
        assert bench.peer.receive(BOUND) == _FLOOD_FRAME
    _eventually(lambda: bench.send(link, b'"after"') is not SendVerdict.BUSY, "send stayed BUSY")
    assert bench.peer.receive(BOUND) == b'"after"'


def closing_is_quick_while_the_peer_does_not_read(bench: Bench) -> None:
    """A wire with unwritten frames can be closed, and then takes none."""
    link = bench.open()
    for _ in range(_FLOOD_FRAMES):
        if bench.send(link, _FLOOD_FRAME) is SendVerdict.BUSY:
            break
    bench.close()
    assert link.send(b'"late"', None) is SendVerdict.CLOSED


def a_frame_above_the_limit_is_refused(bench: Bench) -> None:
    """A frame above the limit ends the wire as OVERSIZED and is not delivered; one at the limit is."""
    link = bench.open()
    for size in (bench.limit, bench.limit + 1):
        sending = threading.Thread(target=_send_anyway, args=(bench.peer, b"y" * size), daemon=True)
        sending.start()
        link.permits.grant()
        news = bench.next()
        if size == bench.limit:
            assert isinstance(news, FramesArrived), f"a frame at the limit was refused: {news!r}"
            sending.join(BOUND)
    assert isinstance(news, Closed), "a frame above the limit was delivered"
    assert news.ending.kind is EndKind.OVERSIZED, f"the end was told as {news.ending}"


def a_lost_wire_can_be_opened_again(bench: Bench) -> None:
    """After a loss the transport can open another wire, which works and knows nothing of the old one."""
    for number in range(3):
        link = bench.open()
        link.permits.grant()
        bench.peer.send(b"%d" % number)
        assert bench.frames() == (b"%d" % number,)
        assert bench.send(link, b'"hello"') is SendVerdict.SENT
        assert bench.peer.receive(BOUND) == b'"hello"'
        bench.peer.close()
        link.permits.grant()
        bench.ending()
        assert link.send(b'"late"', None) is SendVerdict.CLOSED


def nothing_is_left_after_closing(bench: Bench) -> None:
    """After closing, no thread and no descriptor is left."""
    _use_once(bench)
    threads, descriptors = threading.active_count(), _descriptors()
    _use_once(bench)
    _eventually(lambda: threading.active_count() <= threads, "a thread is left")
    _eventually(lambda: _descriptors() <= descriptors, "a descriptor is left")


def the_counters_tell_what_passed(bench: Bench) -> None:
    """The counters of a wire tell the frames and bytes that passed."""
    link = bench.open()
    link.permits.grant()
    bench.peer.send(b'"in"')
    bench.frames()
    bench.send(link, b'"out"')
    assert bench.peer.receive(BOUND) == b'"out"'
    stats = link.stats()
    assert (stats.frames_in, stats.frames_out, stats.backlog_bytes) == (1, 1, 0), stats
    assert stats.bytes_in >= len(b'"in"'), stats
    assert stats.bytes_out >= len(b'"out"'), stats


LAWS: Final[tuple[Callable[[Bench], None], ...]] = (
    nothing_is_delivered_without_a_permit,
    a_permit_lets_one_delivery_through,
    frames_keep_their_order,
    frames_arrive_intact,
    closing_wakes_a_blocked_reader,
    the_end_is_told_once,
    an_end_needs_no_permit,
    the_last_words_come_before_the_end,
    sending_never_blocks,
    closing_is_quick_while_the_peer_does_not_read,
    a_frame_above_the_limit_is_refused,
    a_lost_wire_can_be_opened_again,
    nothing_is_left_after_closing,
    the_counters_tell_what_passed,
)


def check_transport(maker: Maker, *, limit: int) -> None:
    """Put a transport to every law. ``limit`` is its ``max_frame_bytes``, at least 1 MiB.

    ``maker()`` is a context manager that yields a new transport and the peer at its other end.

    Raises:
        LawBroken: naming the first law that does not hold.
    """
    for law in LAWS:
        check_law(law, maker, limit=limit)


def check_law(law: Callable[[Bench], None], maker: Maker, *, limit: int) -> None:
    """Put a transport to one law."""
    with maker() as (transport, peer):
        bench = Bench(transport, peer, limit)
        try:
            law(bench)
        except (AssertionError, TimeoutError) as error:
            raise LawBroken(f"{transport.label}: broken law: {law.__doc__} ({error})") from error
        finally:
            bench.stop()


def _odd_frames() -> list[bytes]:
    text = '{"t":"\u2028 \u2029 \u0085 \x1c\x1d \ufeff é 漢 😀 \\n \\r"}'
    return [text.encode(), b'{"t":"' + b"m" * (1024 * 1024 - 8) + b'"}', b"\xff\xfe not utf-8", b"{}"]


def _use_once(bench: Bench) -> None:
    link = bench.open()
    link.permits.grant()
    bench.peer.send(b'"x"')
    bench.frames()
    bench.send(link, b'"y"')
    bench.peer.receive(BOUND)
    bench.close()


def _descriptors() -> int:
    return len(os.listdir("/dev/fd"))


def _send_all(peer: Peer, frames: list[bytes]) -> None:
    for frame in frames:
        peer.send(frame)


def _send_anyway(peer: Peer, frame: bytes) -> None:
    # The peer of a wire that ends under it may hear of it in any way.
    with contextlib.suppress(OSError):
        peer.send(frame)


@contextlib.contextmanager
def _in_background(job: Callable[[], object]) -> Iterator[None]:
    """Run the job on a thread; it must have ended when the block has."""
    thread = threading.Thread(target=job, daemon=True)
    thread.start()
    yield
    thread.join(BOUND)
    assert not thread.is_alive(), "a send blocked"


def _eventually(condition: Callable[[], bool], complaint: str) -> None:
    deadline = Deadline.after(BOUND)
    while not condition():
        assert not deadline.expired, complaint
        time.sleep(0.001)
