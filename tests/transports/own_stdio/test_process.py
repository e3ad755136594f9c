"""A real process whose stdin and stdout are the wire: nothing that happens in it gets between the frames."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.transports.servers import eventually, runs

pytestmark = pytest.mark.requirement("transport:stdio")

PROGRAM = Path(__file__).with_name("program.py")
COMMAND = [sys.executable, str(PROGRAM)]
BOUND = 10.0


def environment() -> dict[str, str]:
    # Unbuffered, what was printed before the wire was opened would be out before it.
    own = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return {**own, "PYTHONPATH": str(PROGRAM.parents[3])}


def start(**options: object) -> subprocess.Popen[bytes]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.Popen(COMMAND, env=environment(), **pipes)  # type: ignore[call-overload,no-any-return]


def close_pipes(server: subprocess.Popen[bytes]) -> None:
    for pipe in (server.stdin, server.stdout, server.stderr):
        if pipe is not None:
            pipe.close()


def converse(*lines: str) -> tuple[list[str], list[str]]:
    """What comes back on stdout and on stderr."""
    server = start()
    out, err = server.communicate("".join(f"{line}\n" for line in lines).encode(), BOUND)
    assert server.returncode == 0, err.decode()
    return out.decode().splitlines(), err.decode().splitlines()


def test_whatever_is_printed_goes_to_stderr() -> None:
    out, err = converse(
        "print('from print')",
        "os.system('echo from a shell')",
        "os.write(1, b'from write\\n')",
        "sys.stdout.write('without newline')",
        "sys.stdout.fileno()",
        "subprocess.run(['echo', 'from a child']).returncode",
    )
    assert out == ["None", "0", "11", "15", "1", "0"]
    assert err[0] == "printed before"
    assert sorted(err[1:4]) == ["from a shell", "from print", "from write"]
    # Python keeps it for a newline, and writes it at its end.
    assert err[4:] == ["from a child", "the client closed our stdin", "without newline"]


def test_nobody_else_reads_what_the_client_says() -> None:
    out, _ = converse(
        "sys.stdin.read()",
        "os.read(0, 100)",
        "subprocess.run(['cat'], capture_output=True).stdout",
        "'still served'",
    )
    assert out == ["''", "b''", "b''", "'still served'"]


def test_they_can_be_taken_over_once() -> None:
    server = start()
    _, err = server.communicate(b"OwnStdioTransport().open(Deadline.after(5.0))\n", BOUND)
    assert server.returncode == 1
    assert b"OpenFailed: stdin and stdout were taken over before" in err


def test_no_child_process_has_the_wire() -> None:
    listing = "len(subprocess.run(['ls', '/dev/fd'], capture_output=True, close_fds=False).stdout.split())"
    # Its three own, and the one it lists with.
    assert converse(listing)[0] == ["4"]


def test_a_forked_child_does_not_hide_the_end_from_the_client() -> None:
    server = start()
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(b"(lambda pid: pid or __import__('signal').pause())(os.fork())\n")
    server.stdin.flush()
    child = int(server.stdout.readline())
    try:
        assert runs(child)
        server.stdin.close()
        assert server.stdout.read() == b""
        assert server.wait(BOUND) == 0
        assert runs(child)
    finally:
        os.kill(child, signal.SIGKILL)
        close_pipes(server)


@pytest.mark.parametrize("source", ["file", "nothing"])
def test_stdin_may_be_a_file_or_nothing(tmp_path: Path, source: str) -> None:
    path = tmp_path / "requests"
    path.write_text("1 + 1\n2 + 2" if source == "file" else "")
    with path.open("rb") as requests:
        server = start(stdin=requests if source == "file" else subprocess.DEVNULL)
        out, err = server.communicate(timeout=BOUND)
    assert server.returncode == 0
    assert out == (b"2\n4\n" if source == "file" else b"")
    assert err.endswith(b"the client closed our stdin\n")


def test_a_reader_that_goes_away_ends_the_server_by_itself() -> None:
    server = start()
    assert server.stdout is not None
    assert server.stderr is not None
    server.stdout.close()
    # Its stdin stays open: it is not this end that it hears of.
    assert server.stderr.read().endswith(b"the client no longer reads our stdout\n")
    assert server.wait(BOUND) == 0
    close_pipes(server)


PARENT = """
import subprocess, sys, time
pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
server = subprocess.Popen(sys.argv[1:], stdin=pipe, stdout=pipe, stderr=nothing)
server.stdin.write(b"1 + 1\\n"); server.stdin.flush(); server.stdout.readline()
print(server.pid, flush=True)
time.sleep(60)
"""


def test_a_server_ends_when_its_parent_is_killed() -> None:
    command = [sys.executable, "-c", PARENT, *COMMAND]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment()) as parent:
        assert parent.stdout is not None
        server = int(parent.stdout.readline())
        assert runs(server)
        parent.kill()
    assert eventually(lambda: not runs(server), BOUND)


def shell(redirection: str) -> subprocess.CompletedProcess[bytes]:
    command = ["sh", "-c", f'exec "$0" "$1" {redirection}', *COMMAND]
    return subprocess.run(
        command,
        input=b"1 + 1\nos.system('echo hidden')\n",
        capture_output=True,
        env=environment(),
        timeout=BOUND,
        check=False,
    )


def test_without_stderr_prints_vanish_and_the_wire_is_unharmed() -> None:
    done = shell("2>&-")
    assert (done.stdout, done.stderr) == (b"2\n0\n", b"")


def test_without_stdin_the_program_is_told_so() -> None:
    done = shell("<&-")
    assert done.returncode == 1
    assert b"cannot take over stdin and stdout: bad file descriptor" in done.stderr
