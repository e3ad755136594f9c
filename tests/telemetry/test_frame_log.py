"""The ring of last frames."""

from __future__ import annotations

import sys
import threading

import pytest

from mcp_actors.telemetry.frame_log import FrameLog


def test_the_last_frames_of_each_direction_are_kept_oldest_first() -> None:
    log = FrameLog(keep=2)
    for number in range(4):
        log.sent(b'{"id":%d}\n' % number)
    log.received(b'{"result":{}}')
    assert log.last_sent() == ('{"id":2}', '{"id":3}')
    assert log.last_received() == ('{"result":{}}',)


def test_a_short_frame_is_kept_as_it_is_and_a_long_one_only_by_its_head() -> None:
    log = FrameLog()
    short, long = bytes(512), bytes(1 << 20)
    log.sent(short)
    log.sent(long)
    kept = list(log._sent)
    assert kept[0] is short
    assert kept[1] == (bytes(512), 1 << 20)


@pytest.mark.requirement("error:crash-report")
def test_a_long_frame_is_shown_cut_with_its_size() -> None:
    log = FrameLog()
    log.received(b'{"text":"' + b"x" * 5000)
    (shown,) = log.last_received()
    assert len(shown) == 300
    assert shown.endswith("xxx… (5009 bytes)")


def test_a_character_cut_in_half_and_invalid_bytes_do_no_harm() -> None:
    log = FrameLog()
    log.sent("ü".encode() * 600)
    log.sent(b"x" + "ü".encode() * 600)
    log.sent(b"\xff\x00")
    first, second, third = log.last_sent()
    assert first.startswith("üü")
    assert second.startswith("xüü")
    assert "\ufffd" not in first + second
    assert third == "\ufffd\\x00"


@pytest.mark.requirement("error:crash-report")
def test_secrets_in_frames_are_hidden_even_when_the_cut_goes_through_them() -> None:
    log = FrameLog()
    secret = "Zq7" + "s" * 400
    log.sent(b'{"password":"hunter2"}')
    log.sent(b"." * 250 + secret.encode() + b"." * 5000)
    log.sent(b"." * 250 + b"tail")
    first, second, third = log.last_sent([secret, "never seen"])
    assert first == '{"password":"***"}'
    assert "Zq7" not in second
    assert "." * 250 + "***" in second
    assert third.endswith("tail")


@pytest.mark.stress
def test_reading_while_another_thread_writes_is_safe() -> None:
    log = FrameLog()
    done = threading.Event()
    interval = sys.getswitchinterval()

    def write() -> None:
        while not done.is_set():
            log.sent(b"frame")

    writer = threading.Thread(target=write)
    sys.setswitchinterval(1e-6)
    writer.start()
    try:
        for _ in range(500):
            assert set(log.last_sent()) <= {"frame"}
    finally:
        done.set()
        writer.join(5.0)
        sys.setswitchinterval(interval)


class Restless:
    """Looks like a ring that is written to whenever it is read."""

    def __init__(self, changes: int) -> None:
        self.changes = changes

    def __iter__(self) -> object:
        if self.changes:
            self.changes -= 1
            raise RuntimeError("deque mutated during iteration")
        return iter([b"frame"])


@pytest.mark.parametrize(("changes", "expected"), [(3, ("frame",)), (1000, ())])
def test_a_reader_retries_and_gives_up_rather_than_raise(changes: int, expected: tuple[str, ...]) -> None:
    log = FrameLog()
    log._sent = Restless(changes)  # type: ignore[assignment]
    assert log.last_sent() == expected
