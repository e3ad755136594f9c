"""Faults of a stdio server, one row each: what the caller gets, and that the next call works.

The numbers are those of the table of faults in the project's reliability document.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

from mcp_actors import Client, errors
from mcp_actors.client.options import LADDER_SECONDS
from tests.client.waiting import BOUND, in_thread, until

FAULTY = str(Path(__file__).parents[1] / "servers" / "faulty.py")
LOST = (errors.ConnectionLost,)
PROTOCOL = (errors.ProtocolError,)
TIMEOUT = (errors.RequestTimeout,)

MakeFaulty = Callable[..., "Faulty"]


@dataclass
class Faulty:
    """A client of the faulty server, and how often that server was started."""

    client: Client
    counter: Path

    @property
    def starts(self) -> int:
        return self.counter.stat().st_size if self.counter.exists() else 0

    def fault(self, **manner: Any) -> Any:
        return self.client.call_tool("fault", **manner)

    def check_recovery(self, starts: int) -> None:
        """The same client serves, after so many starts of its server."""
        self.client.start()
        until(lambda: self.starts >= starts)
        assert self.client.call_tool("echo", {"n": 1}, wait=True).text == '{"n": 1}'
        assert self.starts == starts
        stats = self.client.stats()
        assert (stats.pending, stats.in_flight, stats.restarts) == (0, 0, 0)


@pytest.fixture(autouse=True)
def _short_ladder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most of these servers do not end when they are asked to."""
    monkeypatch.setattr("mcp_actors.client.launch.LADDER_SECONDS", (0.2, 0.2, 2.0))


@pytest.fixture
def make_faulty(tmp_path: Path, make_stdio: Callable[..., Client]) -> MakeFaulty:
    def make(mode: str, *arguments: str, **options: Any) -> Faulty:
        counter = tmp_path / "starts"
        command = [sys.executable, "-S", "-E", FAULTY, mode, "--starts", str(counter), *arguments]
        return Faulty(make_stdio(command, **options), counter)

    return make


@dataclass(frozen=True)
class Row:
    """A fault that happens inside a call. ``gives`` is the text of the answer, or the errors it may raise."""

    number: int
    mode: str
    gives: str | tuple[type[errors.McpError], ...]
    restarted: bool = False
    version: str = "2026-07-28"
    options: dict[str, Any] = field(default_factory=dict)
    seconds: float = BOUND

    def __str__(self) -> str:
        return f"{self.number}-{self.mode}" + ("" if self.version == "2026-07-28" else f"-{self.version}")


SHORT = 0.3
#: R in the table: the server is started anew.
R = True

ROWS = [
    Row(3, "exit", LOST, R),
    Row(3, "sigkill", LOST, R),
    Row(5, "answer-then-exit", "last words", R),
    Row(6, "grandchild-holds-stdout", LOST, R),
    Row(13, "close-stdout", LOST, R),
    Row(16, "stderr-flood", "quiet again"),
    Row(17, "half-a-frame", LOST + PROTOCOL, R),
    Row(18, "drip", "ünhurried"),
    Row(20, "endless-line", (errors.FrameTooLarge,), R),
    Row(21, "large-frame", (errors.FrameTooLarge,), R, options={"max_frame_bytes": 100_000}),
    Row(22, "bad-utf8", "after bad bytes"),
    Row(22, "answer-in-bad-utf8", TIMEOUT + PROTOCOL, seconds=SHORT),
    Row(23, "rubbish", "after rubbish"),
    Row(23, "crlf", "windows"),
    Row(24, "separators", "a\u2028b\u2029c\u0085d\u000be"),
    Row(25, "split-characters", "ü€𝄞"),
    Row(26, "no-newline-then-exit", "unended", R),
    Row(27, "deep", PROTOCOL + TIMEOUT, seconds=SHORT),
    Row(27, "deep-notification", "after the deep"),
    Row(28, "digits", PROTOCOL + TIMEOUT, seconds=SHORT),
    Row(28, "digits-as-id", "after the digits"),
    Row(29, "nan", ""),
    Row(30, "surrogate", "\ud800"),
    Row(31, "duplicate-members", "the last counts"),
    Row(33, "twice", "first"),
    Row(34, "unknown-ids", "mine"),
    Row(35, "odd-ids", "mine"),
    Row(36, "wrong-shapes", "after wrong shapes"),
    Row(36, "result-and-error", PROTOCOL),
    Row(37, "null-id-error", "still served"),
    Row(38, "batch", "in a batch", version="2025-03-26"),
    Row(38, "batch", TIMEOUT, version="2025-11-25", seconds=SHORT),
    Row(38, "batch", TIMEOUT, seconds=SHORT),
    Row(39, "asks-back", '["ok", -32601, -32601, -32601]', version="2025-11-25"),
    Row(42, "idle-chatter", "after chatter"),
    Row(43, "error-answer", (errors.RemoteError,)),
    Row(51, "notification-flood", "after the flood"),
    Row(54, "list-changed-flood", "after the flood"),
    Row(55, "ping-flood", "after the pings", version="2025-11-25"),
    Row(55, "ping-flood", "after the pings"),
    Row(58, "late", TIMEOUT, seconds=SHORT),
    Row(59, "silence", TIMEOUT, seconds=SHORT),
]


@pytest.mark.requirement("error:matrix")
@pytest.mark.requirement("error:plain")
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_fault_inside_a_call(row: Row, make_faulty: MakeFaulty) -> None:
    faulty = make_faulty(row.mode, "--version", row.version, **row.options)
    assert faulty.client.wait_ready().protocol_version == row.version
    if isinstance(row.gives, str):
        assert faulty.fault(timeout=row.seconds).text == row.gives
    else:
        with pytest.raises(row.gives) as caught:
            faulty.fault(timeout=row.seconds)
        assert "tools/call 'fault'" in str(caught.value).splitlines()[0]
        assert not isinstance(caught.value, BaseExceptionGroup)
    faulty.check_recovery(2 if row.restarted else 1)


# Starting.


@pytest.mark.requirement("error:plain")
@pytest.mark.parametrize("row_1", ["missing", "not-executable", "directory", "no-directory", "no-program"])
def test_row_1_a_command_that_cannot_be_started(
    row_1: str, tmp_path: Path, make_stdio: Callable[..., Client]
) -> None:
    plain = tmp_path / "plain"
    plain.write_text("not a program")
    empty = tmp_path / "empty"
    empty.write_bytes(b"\x00\x01")
    empty.chmod(0o755)
    command, options, words = {
        "missing": (["no-such-command-anywhere"], {}, "no such command"),
        "not-executable": ([str(plain)], {}, "not executable"),
        "directory": ([str(tmp_path)], {}, "directory"),
        "no-directory": ([sys.executable], {"cwd": str(tmp_path / "gone")}, "no such working directory"),
        "no-program": ([str(empty)], {}, "not a program"),
    }[row_1]
    client = make_stdio(command, **options)
    with pytest.raises(errors.StartFailed) as caught:
        client.wait_ready()
    first_line = str(caught.value).splitlines()[0]
    assert words in first_line
    assert "attempts" not in first_line
    assert client.stats().parked


@pytest.mark.requirement("connection:park")
@pytest.mark.requirement("error:crash-report")
def test_row_2_a_server_that_exits_before_the_handshake_is_tried_three_times_and_shows_its_last_words(
    make_faulty: MakeFaulty,
) -> None:
    faulty = make_faulty("exit-at-once", "--always")
    with pytest.raises(errors.StartFailed) as caught:
        faulty.client.call_tool("echo")
    report = caught.value.crash_report
    assert report is not None
    assert report.exit_code == 3
    assert report.stderr_tail == ("ModuleNotFoundError: No module named 'psycopg'",)
    assert "faulty.py exit-at-once" in report.reproduce()
    lines = str(caught.value).splitlines()
    assert lines[0].endswith("could not be started in 3 attempts: the server exited with code 3")
    assert any("No module named 'psycopg'" in line for line in lines)
    assert faulty.starts == 3
    assert faulty.client.state == "backoff"


# The second start looks for the handshake era, because servers of that era may exit when they are probed.
@pytest.mark.parametrize(("version", "starts"), [("2025-11-25", 2), ("2026-07-28", 3)])
def test_row_2_a_server_that_fails_once_is_waited_for(
    version: str, starts: int, make_faulty: MakeFaulty
) -> None:
    faulty = make_faulty("exit-at-once", "--version", version)
    faulty.check_recovery(starts)


def test_row_12_a_server_that_fails_twice_is_waited_for(make_faulty: MakeFaulty) -> None:
    faulty = make_faulty("exit-at-once", env={"FAULTY_STARTS": "2"})
    faulty.check_recovery(3)


@pytest.mark.requirement("connection:backoff")
def test_row_11_a_server_that_dies_after_every_handshake_is_tried_ever_more_rarely(
    make_faulty: MakeFaulty,
) -> None:
    faulty = make_faulty("dies-after-handshake", "--always", backoff_min=0.02, backoff_max=60)
    faulty.client.start()

    def refused() -> float:
        with pytest.raises((errors.Unavailable, errors.ConnectionLost)) as caught:
            faulty.client.call_tool("echo", timeout=BOUND)
        return getattr(caught.value, "retry_after", None) or 0.0

    until(lambda: refused() > 0.5)
    assert faulty.starts <= 8
    assert faulty.client.crash_report is not None
    assert faulty.client.crash_report.exit_code == 9


@pytest.mark.requirement("connection:init-timeout")
def test_row_44_a_handshake_that_is_never_answered_ends_the_process(make_faulty: MakeFaulty) -> None:
    faulty = make_faulty("never-answers", "--always", init_timeout=0.2, max_failed_starts=2)
    with pytest.raises(errors.StartFailed) as caught:
        faulty.client.wait_ready()
    assert "could not be started in 2 attempts: no handshake within 0.2 s" in str(caught.value)
    assert faulty.starts == 2


@pytest.mark.requirement("negotiation:era")
def test_a_server_that_exits_on_the_probe_is_started_again_for_initialize(make_faulty: MakeFaulty) -> None:
    faulty = make_faulty("exit-on-probe", "--always")
    assert faulty.client.wait_ready().protocol_version == "2025-06-18"
    faulty.check_recovery(2)


@pytest.mark.parametrize("version", ["1999-01-01"])
def test_row_45_a_version_that_nobody_speaks(version: str, make_faulty: MakeFaulty) -> None:
    faulty = make_faulty("none", "--version", version, max_failed_starts=2)
    with pytest.raises(errors.UnsupportedVersion, match="theirs: 1999-01-01"):
        faulty.client.wait_ready()
    assert faulty.starts == 2


def test_row_49_closing_during_the_handshake_starts_nothing_more(make_faulty: MakeFaulty) -> None:
    faulty = make_faulty("never-answers", "--always")
    faulty.client.start()
    until(lambda: faulty.starts == 1)
    faulty.client.close()
    assert faulty.starts == 1


# Dying at other times.


def test_row_4_a_server_that_died_while_idle_is_back_for_the_next_call(make_faulty: MakeFaulty) -> None:
    faulty = make_faulty("none")
    faulty.client.wait_ready()
    kill_server()
    until(lambda: faulty.client.stats().reconnects == 1)
    faulty.check_recovery(2)


def test_row_3_every_call_in_flight_hears_of_the_death(make_faulty: MakeFaulty) -> None:
    faulty = make_faulty("silence")
    faulty.client.wait_ready()
    calls = [in_thread(faulty.fault) for _ in range(16)]
    until(lambda: faulty.client.stats().pending == 16)
    kill_server()
    for call in calls:
        error = call.exception(BOUND)
        assert isinstance(error, errors.ConnectionLost)
        assert "the server was killed by SIGKILL" in str(error)
    faulty.check_recovery(2)


@pytest.mark.requirement("request:one-outcome")
def test_row_17_death_at_every_byte_of_an_answer(make_faulty: MakeFaulty) -> None:
    # The server counts its starts and dies one byte later each time, until the answer is whole.
    faulty = make_faulty("cut", "--always", backoff_min=0.001, backoff_max=0.001)
    faulty.client.wait_ready()
    outcomes: list[str] = []
    while not outcomes or outcomes[-1] != "answered":
        before = faulty.client.stats().reconnects
        try:
            assert faulty.fault(wait=True).text == "x"
            outcomes.append("answered")
        except (errors.ConnectionLost, errors.InvalidResponse) as error:
            outcomes.append(error.type)
        until(lambda before=before: faulty.client.stats().reconnects > before)  # type: ignore[misc]
    assert len(outcomes) > 60
    assert set(outcomes[:-2]) == {"transport"}


def test_row_94_random_deaths_under_load_lose_nothing_and_repeat_nothing(make_faulty: MakeFaulty) -> None:
    faulty = make_faulty("none", backoff_min=0.001, backoff_max=0.002)
    faulty.client.wait_ready()
    outcomes: list[str] = []

    def work(worker: int) -> None:
        for number in range(60):
            text = f'{{"n": "{worker}-{number}"}}'
            try:
                answer = faulty.client.call_tool("echo", {"n": f"{worker}-{number}"}, wait=True).text
                outcomes.append("ok" if answer == text else f"wrong: {answer}")
            except errors.McpError as error:
                outcomes.append(error.type)

    workers = [in_thread(lambda worker=worker: work(worker)) for worker in range(4)]  # type: ignore[misc]
    for _ in range(5):
        kill_server()
        reconnects = faulty.client.stats().reconnects
        until(lambda reconnects=reconnects: faulty.client.stats().reconnects > reconnects)  # type: ignore[misc]
    for worker in workers:
        worker.result(4 * BOUND)
    assert len(outcomes) == 240
    assert set(outcomes) <= {"ok", "transport", "state"}
    assert outcomes.count("ok") > 100
    until(lambda: faulty.client.state == "ready")
    assert faulty.client.stats().restarts == 0


def kill_server() -> None:
    """SIGKILL the running server, whichever it is."""
    for process in psutil.Process().children():
        if any("faulty.py" in part for part in process.cmdline()):
            process.kill()


# Ending.


def test_row_7_a_stopped_server_times_out_and_is_gone_after_close(make_faulty: MakeFaulty) -> None:
    faulty = make_faulty("stopped")
    faulty.client.wait_ready()
    with pytest.raises(errors.RequestTimeout):
        faulty.fault(timeout=SHORT)
    faulty.client.close()
    assert not psutil.Process().children()


@pytest.mark.requirement("connection:stop")
def test_row_8_a_server_that_ignores_eof_and_sigterm_is_killed(make_faulty: MakeFaulty) -> None:
    faulty = make_faulty("stubborn")
    faulty.client.wait_ready()
    faulty.client.close()
    assert not psutil.Process().children()


def test_row_9_a_server_that_needs_time_to_end_gets_it(
    make_faulty: MakeFaulty, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_actors.client.launch.LADDER_SECONDS", LADDER_SECONDS)
    marker = tmp_path / "marker"
    faulty = make_faulty("slow-to-end", env={"MARKER": str(marker)})
    faulty.client.wait_ready()
    faulty.client.close()
    assert marker.read_text() == "saved"


def test_row_10_what_a_server_leaves_behind_is_ended_too(make_faulty: MakeFaulty, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    faulty = make_faulty("leaves-children", env={"MARKER": str(marker)})
    faulty.client.wait_ready()
    pids = [int(line) for line in marker.read_text().split()]
    assert len(pids) == 2
    faulty.client.close()
    until(lambda: not any(_runs(pid) for pid in pids), otherwise=lambda: f"left: {pids}")


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_row_19_a_server_that_still_talks_after_the_end_is_drained(make_faulty: MakeFaulty) -> None:
    faulty = make_faulty("talks-after-eof")
    faulty.client.wait_ready()
    faulty.client.close()
    assert faulty.starts == 1


# Pipes that one side stopped using.


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
    with pytest.raises(errors.FrameTooLarge, match="above the limit of 16777216 bytes"):
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
        until(lambda: faulty.client.stats().lane.depth >= 10_000)
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
        "names = sorted(int(n) for n in os.listdir('/proc/self/fd'))\n"
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
