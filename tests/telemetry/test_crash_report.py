"""What a crash report holds, hides, prints and saves."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.errors import ConnectionLost
from mcp_actors.telemetry.crash_report import CrashReport, Restart, signal_name

pytestmark = pytest.mark.requirement("error:crash-report")

TRACEBACK = (
    "Traceback (most recent call last):",
    '  File "/srv/app/server.py", line 3, in <module>',
    "    import psycopg",
    "ModuleNotFoundError: No module named 'psycopg'",
    "",
)


def missing_module() -> CrashReport:
    return CrashReport(
        server="orders",
        reason="server exited with code 3 before it was ready",
        command=("python", "-m", "orders server", "--token", "hunter22"),
        cwd="/srv/my app",
        pid=4121,
        exit_code=3,
        stderr_tail=TRACEBACK,
        frames_sent=('{"id":0,"method":"initialize"}',),
        uptime=0.41,
        state="initializing",
        restarts=(Restart(996.8, "exited with code 3"), Restart(999.0, "exited with code 3")),
        attempts=3,
        protocol_version="2025-11-25",
        created_at=1000.0,
        python="cpython 3.11.7",
        platform="Linux 6.1 x86_64",
    )


def test_the_summary_of_a_missing_module_shows_the_servers_last_words() -> None:
    assert missing_module().summary() == (
        "  exit: code 3 after 0.4 s, pid 4121\n"
        "  stderr:\n"
        "    | Traceback (most recent call last):\n"
        '    |   File "/srv/app/server.py", line 3, in <module>\n'
        "    |     import psycopg\n"
        "    | ModuleNotFoundError: No module named 'psycopg'\n"
        "  to reproduce: cd '/srv/my app' && python -m 'orders server' --token '***'  # with *** filled in"
    )


def test_the_summary_of_a_server_that_keeps_dying_counts_its_failures() -> None:
    history = (Restart(1.0, "exited with code 3"), Restart(2.0, "exited with code 4"))
    said = [
        CrashReport(server="s", reason=reason, pid=9, exit_code=4, restarts=history[:count]).summary()
        for reason, count in (("exited with code 4", 1), ("exited with code 4", 2), ("it is running", 2))
    ]
    assert [[line for line in one.splitlines() if "failures" in line] for one in said] == [
        [],
        ["  failures: 2"],
        ["  failures: 2, the last one: exited with code 4"],
    ]


def test_what_a_process_prints_where_mcp_is_spoken_is_shown() -> None:
    frames = ("Listening on port 8000", "", '{"jsonrpc":"2.0"}', ' [{"jsonrpc":"2.0"}]', "Usage: server [-h]")
    printed = CrashReport(server="s", reason="r", pid=9, exit_code=0, frames_received=frames)
    assert printed.strays == ("Listening on port 8000", "Usage: server [-h]")
    assert printed.summary() == (
        "  exit: code 0, pid 9\n"
        "  stderr: nothing was written\n"
        "  stdout, which is no MCP:\n"
        "    | Listening on port 8000\n"
        "    | Usage: server [-h]"
    )
    assert CrashReport(server="far away", reason="r", frames_received=frames).strays == ()


def test_an_error_ends_with_the_summary() -> None:
    error = ConnectionLost("tools/call id=17 was lost", outcome="unknown", crash_report=missing_module())
    assert str(error).splitlines()[:2] == [
        "tools/call id=17 was lost",
        "  exit: code 3 after 0.4 s, pid 4121",
    ]


def test_the_whole_report_is_readable_text() -> None:
    assert missing_module().render() == (
        "Crash report: orders\n"
        "====================\n"
        "\n"
        "reason     server exited with code 3 before it was ready\n"
        "when       1970-01-01 00:16:40 UTC\n"
        "exit       code 3 after 0.4 s, pid 4121\n"
        "state      initializing\n"
        "attempts   3\n"
        "protocol   2025-11-25\n"
        "command    python -m 'orders server' --token '***'\n"
        "directory  '/srv/my app'\n"
        "python     cpython 3.11.7\n"
        "platform   Linux 6.1 x86_64\n"
        "\n"
        "stderr:\n"
        "  | Traceback (most recent call last):\n"
        '  |   File "/srv/app/server.py", line 3, in <module>\n'
        "  |     import psycopg\n"
        "  | ModuleNotFoundError: No module named 'psycopg'\n"
        "\n"
        "last frames sent, oldest first:\n"
        '  > {"id":0,"method":"initialize"}\n'
        "\n"
        "last frames received, oldest first:\n"
        "  (none)\n"
        "\n"
        "failures:\n"
        "  3.2 s before: exited with code 3\n"
        "  1.0 s before: exited with code 3\n"
        "\n"
        "to reproduce:\n"
        "  cd '/srv/my app' && python -m 'orders server' --token '***'  # with *** filled in\n"
    )


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (
            CrashReport(
                server="m",
                reason="r",
                command=("npx", "-y", "@scope/m"),
                pid=9,
                signal=signal_name(9),
                uptime=7503,
            ),
            "  exit: killed by SIGKILL after 2 h 5 min, pid 9 (often the out-of-memory killer)\n"
            "  stderr: nothing was written\n"
            "  to reproduce: npx -y @scope/m",
        ),
        (
            CrashReport(server="silent", reason="r", command=("./server",), pid=9, uptime=10.0),
            "  exit: not seen after 10.0 s, pid 9\n  stderr: nothing was written\n  to reproduce: ./server",
        ),
        (
            CrashReport(server="nope", reason="no such command", command=("nope",)),
            "  exit: never started\n  to reproduce: nope",
        ),
        (
            CrashReport(server="https://u:p@host/mcp", reason="refused", state="backoff", attempts=4),
            "  server: https://***@host/mcp (state backoff, attempt 4)",
        ),
        (CrashReport(server="x", reason="refused"), "  server: x (state unknown)"),
        (
            CrashReport(server="x", reason="r", exit_code=127, stderr_tail=("sh: foo: not found",)),
            "  exit: code 127 (the shell did not find the command)\n  stderr:\n    | sh: foo: not found",
        ),
        (CrashReport(server="x", reason="r", signal="SIGHUP"), "  exit: killed by SIGHUP"),
    ],
    ids=["killed", "silent", "no-command", "http", "bare", "shell", "signal"],
)
def test_other_endings_say_what_is_known(report: CrashReport, expected: str) -> None:
    assert report.summary() == expected


def test_a_report_without_a_process_leaves_out_what_it_cannot_know() -> None:
    rendered = CrashReport(server="x", reason="refused").render()
    assert "stderr" not in rendered
    assert "exit" not in rendered
    assert "\n\n\n" not in rendered


def test_huge_stderr_is_bounded_and_the_summary_shows_its_end() -> None:
    lines = tuple(f"\x1b[33mWARN\x1b[0m line {number} " + "y" * 2000 for number in range(5000))
    report = CrashReport(server="noisy", reason="r" * 5000, pid=1, exit_code=1, stderr_tail=lines)
    assert len(report.stderr_tail) == 100
    assert max(map(len, report.stderr_tail)) <= 500
    assert len(report.reason) <= 500
    summary = report.summary().splitlines()
    assert summary[1] == "  stderr, last 5 lines:"
    assert [line[:20] for line in summary[2:]] == [
        f"    | WARN line {number}" for number in range(4995, 5000)
    ]
    assert all(len(line) <= 166 and line.endswith("…") for line in summary[2:])


def test_no_secret_gets_into_a_report() -> None:
    key = ("-----BEGIN PRIVATE KEY-----", "Zq7key", "-----END PRIVATE KEY-----")
    report = CrashReport(
        server="s Zq7literal",
        reason="login failed: token=Zq7reason",
        command=("run", "--api-key", "Zq7argument", "Zq7literal"),
        cwd="/home/Zq7literal",
        stderr_tail=("password: Zq7stderr", *key, "Zq7literal"),
        frames_sent=('{"secret":"Zq7sent"}',),
        frames_received=('{"x":"Zq7literal"}',),
        restarts=(Restart(1.0, "token=Zq7restart"),),
        secrets=["Zq7literal"],
    )
    assert "Zq7" not in report.render() + report.summary() + repr(report) + json.dumps(report.to_json())
    assert replace(report, state="ready").state == "ready"


def test_text_of_the_server_cannot_forge_lines_or_drive_the_terminal() -> None:
    report = CrashReport(
        server="x\n  exit: code 0",
        reason="a\x1b[2Jb",
        pid=1,
        stderr_tail=("\x1b]0;t\x07a\rb",),
        frames_sent=("\x00",),
    )
    assert report.server == r"x\n  exit: code 0"
    assert report.reason == "ab"
    assert report.stderr_tail == (r"a\rb",)
    assert report.frames_sent == (r"\x00",)


ARGUMENTS = st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), max_size=3)


@given(ARGUMENTS)
def test_the_command_to_reproduce_is_one_printable_line(arguments: list[str]) -> None:
    assert CrashReport(server="x", reason="r", command=("run", *arguments)).reproduce().isprintable()


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_a_shell_reads_the_command_to_reproduce_as_it_was_given(tmp_path: Path) -> None:
    folder = tmp_path / "with space"
    folder.mkdir()
    script = "import os, sys\nprint(os.getcwd(), [os.fsencode(one) for one in sys.argv[1:]])"
    arguments = ("a'b\\c\n\td", "\x1b[2J0", "f\udc80", "\xa0é", "", "$HOME")
    command = (sys.executable, "-c", script, *arguments)
    report = CrashReport(server="x", reason="r", command=command, cwd=str(folder))
    run = subprocess.run(
        ["bash", "-c", report.reproduce()], capture_output=True, text=True, timeout=30, check=True
    )
    assert run.stdout == f"{folder} {[os.fsencode(one) for one in arguments]}\n"


def test_a_command_no_system_could_run_still_prints() -> None:
    assert CrashReport(server="x", reason="r", command=("\ud800",)).reproduce() == r"$'\xed\xa0\x80'"


def test_only_the_last_five_frames_are_kept_each_cut() -> None:
    frames = tuple(f"{number}" + "x" * 1000 for number in range(9))
    report = CrashReport(server="x", reason="r", frames_sent=frames, frames_received=frames)
    assert [frame[0] for frame in report.frames_sent] == list("45678")
    assert max(map(len, report.frames_sent + report.frames_received)) <= 300


def test_a_report_survives_json_and_pickle() -> None:
    report = missing_module()
    values = json.loads(json.dumps(report.to_json()))
    assert values["schema"] == 1
    assert CrashReport.from_json({**values, "added_later": 1}) == report
    assert pickle.loads(pickle.dumps(report)) == report


def test_a_saved_report_is_json_for_its_owner_alone_and_replaces_the_old_one(tmp_path: Path) -> None:
    target = tmp_path / "orders.json"
    target.write_text("old")
    target.chmod(0o644)
    assert missing_module().save(target) == target
    assert json.loads(target.read_text("utf-8")) == missing_module().to_json()
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["orders.json"]


def test_saving_follows_no_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    link = tmp_path / "report.json"
    link.symlink_to(victim)
    missing_module().save(link)
    assert victim.read_text() == "untouched"
    assert not link.is_symlink()


def test_a_failed_save_leaves_nothing_behind(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "file").write_text("x")
    with pytest.raises(OSError, match="folder"):
        missing_module().save(folder)
    assert os.listdir(tmp_path) == ["folder"]


@pytest.mark.parametrize(("number", "name"), [(9, "SIGKILL"), (15, "SIGTERM"), (12345, "signal 12345")])
def test_signals_have_names(number: int, name: str) -> None:
    assert signal_name(number) == name


@pytest.mark.parametrize(
    ("uptime", "text"),
    [
        (0.004, "4 ms"),
        (0.1, "0.1 s"),
        (59.94, "59.9 s"),
        (60, "1 min 0 s"),
        (3600, "1 h 0 min"),
        (90_000, "1 d 1 h"),
    ],
)
def test_durations_are_for_people(uptime: float, text: str) -> None:
    report = CrashReport(server="x", reason="r", exit_code=1, uptime=uptime)
    assert report.summary() == f"  exit: code 1 after {text}"


def test_a_server_that_runs_is_not_said_to_have_ended() -> None:
    report = CrashReport(server="s", reason="no answer", command=("s",), pid=7, uptime=2.0, state="ready")
    assert report.summary().splitlines()[0] == "  exit: none, it is running, pid 7, up for 2.0 s"
