"""Faults of a stdio server that are about amounts: unread pipes, endless lines, floods, many rounds.

The numbers are those of the table of faults in the project's reliability document.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from mcp_actors import Client, errors
from tests.client.faulty_client import MakeFaulty
from tests.client.waiting import BOUND, in_thread, until

SHORT = 0.3


def test_row_14_a_server_that_closed_its_stdin_is_replaced(make_faulty: MakeFaulty) -> None:
    faulty = make_faulty("close-stdin")
    assert faulty.fault().text == "deaf now"
    with pytest.raises(errors.ConnectionLost, match="it was not sent"):
        faulty.client.call_tool("echo")
    until(lambda: faulty.client.stats().reconnects == 1)
    faulty.check_recovery(2)
    assert faulty.client.crash_report is not None
    assert [one.reason for one in faulty.client.crash_report.restarts] == ["the server closed its stdin"]


@pytest.mark.requirement("request:busy")
def test_row_15_a_server_that_stops_reading_delays_nobody_beyond_his_deadline(
    make_faulty: MakeFaulty,
) -> None:
    faulty = make_faulty("stop-reading", request_timeout=SHORT)
    faulty.client.wait_ready()
    calls = [in_thread(faulty.fault)]
    until(lambda: faulty.client.stats().pending == 1)
    large = {"a": "x" * 400_000}
    calls += [in_thread(lambda: faulty.client.call_tool("echo", large)) for _ in range(5)]
    kinds = {type(call.exception(BOUND)) for call in calls}
    assert kinds <= {errors.RequestTimeout, errors.Backpressure}
    assert errors.Backpressure in kinds
    assert faulty.client.stats().wire.greatest_backlog_bytes <= 1024 * 1024 + 500_000


@pytest.mark.requirement("flow:frame-limit")
def test_row_20_two_hundred_mebibytes_without_a_newline_are_never_held(make_faulty: MakeFaulty) -> None:
    faulty = make_faulty("endless-line", env={"MEBIBYTES": "200"})
    faulty.client.wait_ready()
    before = psutil.Process().memory_info().rss
    with pytest.raises(
        errors.FrameTooLarge,
        match=r"the server sent a frame of at least \d+ bytes, above the limit of 16777216 bytes",
    ):
        faulty.fault()
    assert psutil.Process().memory_info().rss - before < 64 * 1024 * 1024
    faulty.check_recovery(2)


@pytest.mark.requirement("flow:mailbox-bound")
@pytest.mark.requirement("flow:os-pushback")
def test_row_51_a_flood_stays_outside_while_a_handler_is_stuck(make_faulty: MakeFaulty) -> None:
    faulty = make_faulty("notification-flood")
    gate, entered = threading.Event(), threading.Event()
    faulty.client.on_notification(lambda _: entered.set() or gate.wait(4 * BOUND))  # type: ignore[func-returns-value]
    faulty.client.wait_ready()
    before = psutil.Process().memory_info().rss
    try:
        assert faulty.fault(timeout=4 * BOUND).text == "after the flood"
        assert entered.is_set()
        stats = faulty.client.stats()
        assert stats.lane.dropped >= 100_000 - 10_001
        assert stats.lane.greatest_depth <= 11_000
        assert stats.mailboxes["connection"].greatest_depth <= 8
        assert psutil.Process().memory_info().rss - before < 64 * 1024 * 1024
    finally:
        gate.set()
    until(lambda: faulty.client.stats().lane.depth == 0)
    faulty.check_recovery(1)


@pytest.mark.requirement("flow:os-pushback")
def test_row_51_with_block_the_server_is_made_to_wait(make_faulty: MakeFaulty) -> None:
    faulty = make_faulty("notification-flood", notification_overflow="block", request_timeout=4 * BOUND)
    gate, heard = threading.Event(), 0

    def handler(_: Any) -> None:
        nonlocal heard
        heard += 1
        gate.wait(4 * BOUND)

    faulty.client.on_notification(handler)
    faulty.client.wait_ready()
    try:
        future = faulty.client.submit_tool("fault")
        until(lambda: faulty.client.stats().lane.depth >= 7_500)
        # The rest of the flood, nine tenths of it, is in the server, which waits for the pipe.
        assert faulty.client.stats().wire.bytes_in < 1_500_000
        assert not future.done()
    finally:
        gate.set()
    assert future.result(4 * BOUND).text == "after the flood"
    until(lambda: heard == 100_000)
    assert faulty.client.stats().lane.dropped == 0


def test_row_57_more_calls_than_the_server_can_do_end_on_time(make_faulty: MakeFaulty) -> None:
    faulty = make_faulty("silence", max_in_flight=200)
    faulty.client.wait_ready()
    futures = [faulty.client.submit_tool("fault", timeout=SHORT) for _ in range(200)]
    with pytest.raises(errors.Backpressure):
        faulty.client.submit_tool("fault")
    assert {type(future.exception(BOUND)) for future in futures} == {errors.RequestTimeout}
    until(lambda: faulty.client.stats().in_flight == 0)
    faulty.check_recovery(1)


def test_row_61_a_ping_that_is_not_answered_times_out(make_faulty: MakeFaulty) -> None:
    faulty = make_faulty("silence", "--version", "2025-11-25")
    faulty.client.ping()
    psutil.Process(server_pid()).suspend()
    try:
        with pytest.raises(errors.RequestTimeout, match="no answer to ping within 0.3 s"):
            faulty.client.ping(timeout=SHORT)
    finally:
        psutil.Process(server_pid()).resume()
    faulty.check_recovery(1)


def server_pid() -> int:
    """The running server."""
    children = psutil.Process().children()
    return next(one.pid for one in children if any("faulty.py" in part for part in one.cmdline()))


def test_row_23_a_byte_order_mark_is_no_part_of_the_first_frame(make_faulty: MakeFaulty) -> None:
    make_faulty("bom").check_recovery(1)


# Resources.


def test_row_95_twenty_times_opened_and_closed_and_twenty_times_failed(make_faulty: MakeFaulty) -> None:
    for _ in range(20):
        with make_faulty("none", "--always").client as client:
            client.ping()
    for _ in range(20):
        with pytest.raises(errors.StartFailed):
            Client.stdio(["no-such-command-anywhere"]).__enter__()


def test_row_91_and_92_a_server_inherits_its_three_pipes_and_nothing_else(
    make_stdio: Callable[..., Client], tmp_path: Path
) -> None:
    seen = tmp_path / "seen"
    program = (
        "import os, sys\n"
        "names = sorted(int(n) for n in os.listdir('/dev/fd'))\n"
        "blocking = [os.get_blocking(n) for n in (0, 1, 2)]\n"
        "open(sys.argv[1], 'w').write(repr((names[:3], len(names), blocking)))\n"
    )
    with open(tmp_path / "secret", "w", encoding="ascii") as secret:
        # Inheritable, as a careless host may leave it.
        os.set_inheritable(secret.fileno(), True)
        client = make_stdio([sys.executable, "-S", "-E", "-c", program, str(seen)], max_failed_starts=1)
        with pytest.raises(errors.StartFailed):
            client.wait_ready()
    # The fourth is the listing itself.
    assert seen.read_text() == "([0, 1, 2], 4, [True, True, True])"
