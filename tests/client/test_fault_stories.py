"""Faults of a stdio server that take more than one call to tell.

The numbers are those of the table of faults in the project's reliability document.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from mcp_actors import Client, errors
from mcp_actors.client.options import LADDER_SECONDS
from tests.client.faulty_client import MakeFaulty
from tests.client.waiting import BOUND, in_thread, until

SHORT = 0.3


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
        # It may have ended a moment ago.
        with contextlib.suppress(psutil.Error):
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
