"""Real child processes that misbehave: what the wire says of them, and that nothing of them stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mcp_actors.protocol.endings import EndKind
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.transports.contract import OpenFailed, SendVerdict
from mcp_actors.transports.stdio.transport import StdioTransport
from tests.transports.servers import BOUND, PRELUDE, eventually, read_frame, read_to_end, runs, served

pytestmark = pytest.mark.requirement("transport:stdio")

QUICK = (0.2, 0.2, 2.0)
# A child in the server's group, or one that left group and session; it tells its pid on stdout.
STAY = (
    "child = subprocess.Popen(['sleep', '60'], start_new_session={}, stdout={}); say(f'{{child.pid}}\\n')\n"
)


@pytest.mark.parametrize(
    ("program", "kind", "reason", "code", "signal_number"),
    [
        ("sys.exit(0)", EndKind.EXIT, "the server exited with code 0", 0, None),
        ("sys.exit(3)", EndKind.EXIT, "the server exited with code 3", 3, None),
        ("os.kill(os.getpid(), 9)", EndKind.EXIT, "the server was killed by SIGKILL", None, 9),
        ("os.kill(os.getpid(), 15)", EndKind.EXIT, "the server was killed by SIGTERM", None, 15),
        ("os.close(1); rest_until_eof()", EndKind.EOF, "the server closed its stdout", None, None),
    ],
)
def test_the_ending_says_in_plain_words_how_the_server_ended(
    program: str, kind: EndKind, reason: str, code: int | None, signal_number: int | None
) -> None:
    with served(program) as wire:
        _, ending = read_to_end(wire)
    assert (ending.kind, ending.reason) == (kind, reason)
    assert (ending.exit_code, ending.signal) == (code, signal_number)


def test_an_answer_written_right_before_the_exit_is_delivered_first() -> None:
    with served("say('1\\n2\\n'); os._exit(7)") as wire:
        frames, ending = read_to_end(wire)
    assert (frames, ending.exit_code) == ([b"1", b"2"], 7)


def test_a_full_pipe_is_drained_after_the_exit() -> None:
    with served("[say('y' * 63 + '\\n') for _ in range(1024)]; os._exit(0)") as wire:
        assert wire._child.await_exit(BOUND) is not None
        frames, ending = read_to_end(wire)
    assert (len(frames), ending.kind) == (1024, EndKind.EXIT)


def test_a_grandchild_that_holds_stdout_does_not_hide_the_exit() -> None:
    with served(STAY.format(False, "None") + "say('last\\n'); os._exit(4)") as wire:
        frames, ending = read_to_end(wire)
        grandchild = int(frames[0])
        assert runs(grandchild)
    assert (frames[1], ending.reason) == (b"last", "the server exited with code 4")
    assert eventually(lambda: not runs(grandchild))


@pytest.mark.parametrize("own_session", [False, True])
def test_children_left_behind_are_ended_with_the_server(own_session: bool) -> None:
    with served(STAY.format(own_session, "subprocess.DEVNULL") + "rest_until_eof()") as wire:
        child = int(read_frame(wire))
        assert runs(child)
    assert eventually(lambda: not runs(child))


def test_the_group_is_killed_even_after_its_leader_left_cleanly() -> None:
    with served(STAY.format(False, "subprocess.DEVNULL") + "os._exit(0)") as wire:
        frames, ending = read_to_end(wire)
        assert ending.exit_code == 0
        assert runs(int(frames[0]))
    assert eventually(lambda: not runs(int(frames[0])))


def test_a_server_that_ignores_eof_and_sigterm_is_killed() -> None:
    program = "signal.signal(signal.SIGTERM, signal.SIG_IGN); say('ready\\n')\nwhile True: time.sleep(9)"
    with served(program, ladder=QUICK) as wire:
        assert read_frame(wire) == b"ready"
        assert wire.close(Deadline.after(BOUND)).signal == signal.SIGKILL


def test_a_stopped_server_is_killed() -> None:
    with served("say('ready\\n'); os.kill(os.getpid(), signal.SIGSTOP)", ladder=QUICK) as wire:
        assert read_frame(wire) == b"ready"
        assert wire.close(Deadline.after(BOUND)).signal == signal.SIGKILL


def test_a_server_that_needs_a_moment_after_eof_is_left_to_end_by_itself() -> None:
    with served("say('ready\\n'); rest_until_eof(); time.sleep(0.2); sys.exit(5)") as wire:
        assert read_frame(wire) == b"ready"
        assert wire.close(Deadline.after(BOUND)).exit_code == 5


def test_a_server_that_writes_much_after_eof_can_still_end_by_itself() -> None:
    program = "say('ready\\n'); rest_until_eof(); print('z' * 10_000_000, flush=True); sys.exit(6)"
    with served(program) as wire:
        assert read_frame(wire) == b"ready"
        assert wire.close(Deadline.after(BOUND)).exit_code == 6


@pytest.mark.parametrize("text", ["'e' * 79 + '\\n'", "'e' * 80"])
def test_a_flood_of_stderr_does_not_hold_up_the_server(text: str) -> None:
    with served(
        f"[os.write(2, ({text}).encode()) for _ in range(20_000)]; say('done\\n'); sys.exit(1)"
    ) as wire:
        frames, ending = read_to_end(wire)
    assert frames == [b"done"]
    assert 0 < len(ending.stderr_tail) <= 50
    assert sum(len(line.encode()) for line in ending.stderr_tail) <= 8 * 1024


def test_the_last_words_on_stderr_are_in_the_ending() -> None:
    with served("sys.exit('no\\x1b[31m configuration')") as wire:
        _, ending = read_to_end(wire)
    assert ending.stderr_tail == ("no\\x1b[31m configuration",)


def test_a_server_that_closes_its_stdin_only_ends_the_wire_at_the_next_send() -> None:
    with served("os.close(0); say('ready\\n'); time.sleep(60)", ladder=QUICK) as wire:
        assert read_frame(wire) == b"ready"
        assert wire.send(b"1", 1) is SendVerdict.CLOSED
        _, ending = read_to_end(wire)
        assert (ending.kind, ending.reason) == (EndKind.BROKEN, "the server closed its stdin")
        assert wire.send(b"2", 2) is SendVerdict.CLOSED


def test_a_broken_pipe_harms_no_host_that_restored_the_default_of_sigpipe() -> None:
    before = signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        with served("os.close(0); say('ready\\n'); time.sleep(60)", ladder=QUICK) as wire:
            assert read_frame(wire) == b"ready"
            assert wire.send(b"1", 1) is SendVerdict.CLOSED
    finally:
        signal.signal(signal.SIGPIPE, before)


@pytest.mark.parametrize("end", ["", "\\n"])
def test_the_last_frame_needs_no_newline(end: str) -> None:
    with served(f"say('1\\n{{}}{end}'); os._exit(0)") as wire:
        assert read_to_end(wire)[0] == [b"1", b"{}"]


def test_frames_that_come_byte_by_byte_are_put_together() -> None:
    with served("[say(c) for c in '{\"a\": 1}\\n[]\\n']; rest_until_eof()") as wire:
        assert [read_frame(wire), read_frame(wire)] == [b'{"a": 1}', b"[]"]


@pytest.mark.requirement("flow:os-pushback")
def test_a_server_that_nobody_reads_has_to_wait() -> None:
    program = (
        "count = 0\nwhile True:\n    say('w' * 1023 + '\\n'); count += 1; os.write(2, f'{count}\\n'.encode())"
    )
    with served(program, ladder=QUICK) as wire:
        wire.wait()
        # The pipe is full when the count stands still; what the wire holds stays at nothing.
        seen: list[tuple[str, ...]] = [()]

        def stands_still() -> bool:
            seen.append(wire._stderr.tail()[-1:])
            return bool(seen[-1]) and len(seen) > 40 and len(set(seen[-40:])) == 1

        assert eventually(stands_still)
        assert int(seen[-1][0]) < 1100
        assert wire.stats().read_buffer_bytes == 0


@pytest.mark.requirement("flow:frame-limit")
def test_a_line_without_end_is_refused_at_the_limit() -> None:
    command = [sys.executable, "-S", "-c", PRELUDE + "while True: say('x' * 65536)"]
    transport = StdioTransport(command, max_frame_bytes=1 << 20, ladder=QUICK)
    wire = transport.open(Deadline.after(BOUND))
    frames, ending = read_to_end(wire)
    assert (frames, ending.kind) == ([], EndKind.OVERSIZED)
    assert "limit of 1048576 bytes" in ending.reason
    assert wire.stats().bytes_in <= (1 << 20) + 2 * 65536
    wire.close(Deadline.after(BOUND))


def test_frames_that_were_not_completely_written_are_named_in_the_ending() -> None:
    with served("say('ready\\n'); hear(); hear(); os._exit(1)") as wire:
        assert read_frame(wire) == b"ready"
        assert wire.send(b"1", 1) is SendVerdict.SENT
        assert wire.send(b"2" * 500_000, 2) is SendVerdict.QUEUED
        assert wire.send(b"3", 3) is SendVerdict.QUEUED
        assert not wire.flush(Deadline.after(0.0)) or wire.flush(Deadline.after(BOUND))
        wire.send(b"4" * 500_000, 4)
        wire.send(b"5", 5)
        wire.flush(Deadline.after(BOUND))
        _, ending = read_to_end(wire)
    assert ending.unsent >= {5}
    assert not ending.unsent & {1}


@pytest.mark.parametrize(
    ("command", "cwd", "reason"),
    [
        (["/no/such/program"], None, "no such command"),
        (["uvx mcp-server-time"], None, "no such command; its arguments must be given apart"),
        (["no-such-program-anywhere"], None, "no such command"),
        (["/etc"], None, "it is a directory"),
        ([sys.executable], "/no/such/directory", "no such working directory: '/no/such/directory'"),
    ],
)
def test_a_command_that_cannot_be_started_is_impossible_and_leaves_nothing(
    command: list[str], cwd: str | None, reason: str
) -> None:
    threads, descriptors = threading.active_count(), len(os.listdir("/dev/fd"))
    for _ in range(20):
        with pytest.raises(OpenFailed) as failure:
            StdioTransport(command, cwd=cwd).open(Deadline.after(BOUND))
        assert failure.value.ending.kind is EndKind.IMPOSSIBLE
        assert failure.value.ending.reason == f"cannot start {command[0]!r}: {reason}"
    assert (threading.active_count(), len(os.listdir("/dev/fd"))) == (threads, descriptors)


@pytest.mark.parametrize(
    ("mode", "reason"), [(0o644, "it is not executable"), (0o755, "it is not a program")]
)
def test_a_file_that_is_no_program_is_impossible(tmp_path: Path, mode: int, reason: str) -> None:
    program = tmp_path / "server"
    program.write_bytes(b"\0\0")
    program.chmod(mode)
    with pytest.raises(OpenFailed, match=reason) as failure:
        StdioTransport([str(program)]).open(Deadline.after(BOUND))
    assert failure.value.ending.kind is EndKind.IMPOSSIBLE


def test_without_descriptors_the_open_is_refused_and_may_be_tried_again() -> None:
    program = """
import resource, sys, os
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.transports.contract import OpenFailed
from mcp_actors.transports.stdio.transport import StdioTransport
transport = StdioTransport([sys.executable, '-S', '-c', 'input()'])
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
before = len(os.listdir('/dev/fd'))
for spare in range(1, 16):
    resource.setrlimit(resource.RLIMIT_NOFILE, (before + spare, hard))
    try:
        transport.open(Deadline.after(5)).close(Deadline.after(5))
        opened = True
    except OpenFailed as failure:
        opened = False
        assert failure.ending.kind.value == 'refused', failure.ending
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    assert len(os.listdir('/dev/fd')) == before, spare
assert opened
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_host_that_ignores_sigchld_still_sees_the_end() -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        with served("say('1\\n'); os._exit(3)") as wire:
            frames, ending = read_to_end(wire)
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert (frames, ending.kind) == ([b"1"], EndKind.EXIT)
    assert ending.reason == "the server ended; its exit status is not known"
