"""The parts of the stdio transport: environment, command, stderr memory, reaper, fork, exit watch."""

from __future__ import annotations

import errno
import logging
import os
import select
import signal
import subprocess
import sys
import threading

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.protocol.endings import EndKind
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.transports.contract import Describes, OpenFailed
from mcp_actors.transports.stdio.environment import child_environment
from mcp_actors.transports.stdio.ladder import Ladder
from mcp_actors.transports.stdio.reaper import reaper
from mcp_actors.transports.stdio.stderr import LineTail
from mcp_actors.transports.stdio.transport import StdioTransport
from tests.transports.servers import BOUND, eventually, read_frame, read_to_end, runs, served, transport

pytestmark = pytest.mark.requirement("transport:stdio")

ECHO = "while line := hear(): os.write(1, line)"


# -- what a server is given


@pytest.mark.requirement("security:no-shell")
def test_the_environment_of_a_server_is_an_allow_list_with_additions() -> None:
    host = {"PATH": "/bin", "LC_ALL": "C", "AWS_SECRET": "s", "https_proxy": "p", "SHELL": "() { :; }"}
    assert child_environment(host, {"TOKEN": "t"}, inherit=False) == {
        "PATH": "/bin",
        "LC_ALL": "C",
        "https_proxy": "p",
        "TOKEN": "t",
    }
    assert child_environment(host, {"PATH": "/x"}, inherit=True) == {**host, "PATH": "/x"}


@pytest.mark.requirement("security:no-shell")
def test_arguments_reach_the_server_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOST_SECRET", "hidden")
    odd = ["$(touch /tmp/x)", "; ls", "a b", "'\"", "*", "é"]
    program = "import os, sys; print(ascii(sys.argv[1:]), os.environ.get('HOST_SECRET'), os.getcwd())"
    wire = StdioTransport([sys.executable, "-S", "-c", program, *odd], cwd="/").open(Deadline.after(BOUND))
    frames, _ = read_to_end(wire)
    wire.close(Deadline.after(BOUND))
    assert frames == [f"{ascii(odd)} None /".encode()]


@pytest.mark.parametrize("command", ["ls -l", b"ls", [1], ["ls", None]])
def test_a_command_that_is_no_list_of_strings_is_a_type_error(command: list[str]) -> None:
    with pytest.raises(TypeError):
        StdioTransport(command)


@pytest.mark.parametrize("command", [[], [""], ["ls", "a\0b"], ["ls", "\ud800"]])
def test_a_command_that_no_process_can_be_given_is_a_value_error(command: list[str]) -> None:
    with pytest.raises(ValueError, match="command must not"):
        StdioTransport(command)


@pytest.mark.parametrize(
    ("env", "error"),
    [
        ({"PORT": 8080}, TypeError),
        ({1: "one"}, TypeError),
        ({"": "x"}, ValueError),
        ({"A=B": "x"}, ValueError),
        ({"A\0": "x"}, ValueError),
        ({"A": "x\0"}, ValueError),
        ({"A": "\ud800"}, ValueError),
    ],
)
def test_an_environment_that_no_process_can_be_given_is_refused_at_once(
    env: dict[str, str], error: type[Exception]
) -> None:
    with pytest.raises(error, match="env") as refusal:
        StdioTransport(["ls"], env=env)
    assert "8080" not in str(refusal.value)


@pytest.mark.parametrize("cwd", ["a\0b", "\ud800"])
def test_a_directory_that_no_process_can_be_given_is_refused_at_once(cwd: str) -> None:
    with pytest.raises(ValueError, match="cwd must not"):
        StdioTransport(["ls"], cwd=cwd)


def test_the_description_names_the_command_but_no_values_of_the_environment() -> None:
    described = StdioTransport(["/bin/server", "a b"], env={"TOKEN": "secret"}, cwd="/tmp")
    assert isinstance(described, Describes)
    facts = described.describe()
    assert (facts["command"], facts["env"], facts["cwd"]) == (("/bin/server", "a b"), ["TOKEN"], "/tmp")
    assert facts["secrets"] == {"secret"}
    assert "secret" not in str({name: fact for name, fact in facts.items() if name != "secrets"})
    assert described.label == "server"


def test_no_descriptor_of_the_host_is_inherited() -> None:
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    program = "say(','.join(sorted(os.listdir('/dev/fd'))) + '\\n')"
    with served(program) as wire:
        frames, _ = read_to_end(wire)
    os.close(reading)
    os.close(writing)
    # One of them is the listing's own.
    assert len(frames[0].split(b",")) == 4


def test_a_server_leads_its_own_session() -> None:
    with served("say(f'{os.getsid(0) == os.getpgid(0) == os.getpid()}\\n'); rest_until_eof()") as wire:
        assert read_frame(wire) == b"True"


def test_the_ladder_is_a_plan_that_can_be_read() -> None:
    assert Ladder(1.0, 2.0, 3.0).total == 6.0
    assert Ladder(1.0, 2.0, 3.0).signals() == ((signal.SIGTERM, 2.0), (signal.SIGKILL, 3.0))


# -- stderr


@given(st.lists(st.sampled_from([b"\n", b"a", b"b" * 3000, b"\x1b[1m", b"\xff", b"\r\n"])), st.data())
def test_the_memory_of_stderr_is_bounded_and_the_same_however_the_bytes_are_cut(
    parts: list[bytes], data: st.DataObject
) -> None:
    text = b"".join(parts)
    cut = data.draw(st.integers(0, len(text)))
    whole, halves = LineTail(), LineTail()
    logged = whole.feed(text) + whole.end()
    assert halves.feed(text[:cut]) + halves.feed(text[cut:]) + halves.end() == logged
    assert whole.lines() == halves.lines() == tuple(logged[len(logged) - len(whole.lines()) :])
    assert len(whole.lines()) <= 50
    assert len(whole.lines()) <= 1 or sum(len(line.encode()) for line in whole.lines()) <= 8 * 1024
    assert all(line.isprintable() for line in logged if "�" not in line)


def test_a_line_of_stderr_that_is_too_long_is_cut_once() -> None:
    tail = LineTail()
    assert [len(line) for _ in range(9) for line in tail.feed(b"x" * 1000)] == [4096 + len(" … (line cut)")]
    assert tail.feed(b"rest\nnext\n") == ["next"]


def test_stderr_goes_to_the_logger_of_the_server(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "mcp_actors.stderr.fault"), served("sys.exit('oh no')") as wire:
        read_to_end(wire)
    assert [record.getMessage() for record in caplog.records if "stderr" in record.name] == ["oh no"]


def test_a_filter_that_raises_does_not_stop_the_drain() -> None:
    def refuse(record: logging.LogRecord) -> bool:
        raise RuntimeError(record)

    logger = logging.getLogger("mcp_actors.stderr.fault")
    logger.addFilter(refuse)
    logger.setLevel(logging.INFO)
    try:
        with served("[os.write(2, b'e' * 99 + b'\\n') for _ in range(5000)]; say('done\\n')") as wire:
            assert read_to_end(wire)[0] == [b"done"]
    finally:
        logger.removeFilter(refuse)
        logger.setLevel(logging.NOTSET)


# -- the exit watch


def test_without_pidfd_a_thread_watches_the_exit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    threads = threading.active_count()
    with served("say('1\\n'); os._exit(3)") as wire:
        frames, ending = read_to_end(wire)
    assert (frames, ending.exit_code) == ([b"1"], 3)
    assert eventually(lambda: threading.active_count() == threads)


def test_where_a_status_can_only_be_collected_the_watching_thread_keeps_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    monkeypatch.setattr("mcp_actors.transports.stdio.process._CAN_LOOK", False)
    with served("say('1\\n'); os._exit(3)") as wire:
        frames, ending = read_to_end(wire)
    assert (frames, ending.exit_code) == ([b"1"], 3)


@pytest.mark.parametrize("nth", [1, 2])
def test_without_a_thread_the_open_is_refused_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, nth: int
) -> None:
    if nth == 1:
        monkeypatch.delattr(os, "pidfd_open")
    descriptors = len(os.listdir("/dev/fd"))

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError(f"can't start new thread {thread.name}")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(OpenFailed, match="can't start new thread") as failure:
            transport(ECHO).open(Deadline.after(BOUND))
    assert failure.value.ending.kind is EndKind.REFUSED
    assert len(os.listdir("/dev/fd")) == descriptors
    assert not psutil.Process().children()


@pytest.mark.parametrize("nth", [1, 2])
def test_where_no_process_can_be_started_any_more_the_open_is_refused_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, nth: int
) -> None:
    usual = subprocess.Popen
    calls = iter(range(1, 3))

    def refuse(*arguments: object, **options: object) -> object:
        if next(calls) == nth:
            raise RuntimeError("can't fork at interpreter shutdown")
        return usual(*arguments, **options)  # type: ignore[call-overload]

    descriptors = len(os.listdir("/dev/fd"))
    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "Popen", refuse)
        with pytest.raises(OpenFailed, match="can't fork at interpreter shutdown") as failure:
            transport(ECHO).open(Deadline.after(BOUND))
    assert failure.value.ending.kind is EndKind.REFUSED
    assert len(os.listdir("/dev/fd")) == descriptors
    assert not psutil.Process().children()


def test_the_watching_thread_does_not_mind_that_the_exit_is_known_already(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failures: list[object] = []
    monkeypatch.setattr(threading, "excepthook", failures.append)
    monkeypatch.delattr(os, "pidfd_open")
    known = threading.Event()
    usual = os.waitid

    def late(kind: int, pid: int, options: int) -> object:
        news = usual(kind, pid, options)
        if threading.current_thread().name.startswith("mcp-exit"):
            known.wait(BOUND)
        return news

    monkeypatch.setattr(os, "waitid", late)
    threads = threading.active_count()
    with served("say('1\\n')") as wire:
        read_frame(wire)
    known.set()
    assert eventually(lambda: threading.active_count() == threads)
    assert failures == []


# -- the reaper and the fork


def test_the_reaper_leaves_with_the_last_server() -> None:
    before = set(psutil.Process().children())
    with served(ECHO), served(ECHO):
        assert len(set(psutil.Process().children()) - before) == 3
    assert set(psutil.Process().children()) == before


def test_a_reaper_that_was_killed_is_replaced() -> None:
    with served(ECHO):
        first = reaper._pid
        os.kill(first, signal.SIGKILL)
        os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)
        with served(ECHO):
            assert reaper._pid != first
            assert runs(reaper._pid)


def test_a_reaper_that_cannot_be_replaced_does_not_keep_a_wire_from_ending(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    descriptors = len(os.listdir("/dev/fd"))

    def refuse(*_: object, **__: object) -> object:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))

    with monkeypatch.context() as patch, served(ECHO):
        os.kill(reaper._pid, signal.SIGKILL)
        os.waitid(os.P_PID, reaper._pid, os.WEXITED | os.WNOWAIT)
        patch.setattr(subprocess, "Popen", refuse)
    assert len(os.listdir("/dev/fd")) == descriptors
    assert not psutil.Process().children()


def test_a_child_forked_while_the_reaper_is_busy_can_use_its_own() -> None:
    with reaper._lock:
        pid = os.fork()
        if pid == 0:
            os._exit(0 if reaper._lock.acquire(blocking=False) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@pytest.mark.parametrize("stubborn", [False, True])
def test_the_servers_of_a_host_that_is_killed_vanish(stubborn: bool) -> None:
    ignore = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" if stubborn else ""
    server = (
        ignore
        + "child = subprocess.Popen(['sleep', '60']); say(f'{os.getpid()} {child.pid}\\n'); time.sleep(60)"
    )
    host = f"""
import sys, time
from tests.transports.servers import read_frame, transport
from mcp_actors.runtime.deadline import Deadline
wires = [transport({server!r}).open(Deadline.after(5)) for _ in range(2)]
for wire in wires:
    print(read_frame(wire).decode(), flush=True)
time.sleep(60)
"""
    process = subprocess.Popen([sys.executable, "-c", host], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    pids = [int(pid) for _ in range(2) for pid in process.stdout.readline().split()]
    reapers = [child.pid for child in psutil.Process(process.pid).children() if child.name() == "sh"]
    assert len(pids) == 4
    assert len(reapers) == 1
    process.kill()
    process.wait()
    process.stdout.close()
    assert eventually(lambda: not any(runs(pid) for pid in pids + reapers), 10.0)


@pytest.mark.requirement("runtime:fork")
def test_a_forked_child_holds_no_pipe_of_the_parent_and_harms_no_server() -> None:
    with served(ECHO) as wire:
        wire.send(b"before", None)
        assert read_frame(wire) == b"before"
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            # In the child: closing does nothing to the server, and the pipes are gone.
            wire.close(Deadline.after(1.0))
            os.write(writing, b"%d" % len(os.listdir("/dev/fd")))
            signal.pause()
        try:
            assert select.select([reading], [], [], BOUND)[0]
            descriptors = int(os.read(reading, 99))
            assert len(os.listdir("/dev/fd")) - descriptors >= 7
            wire.send(b"after", None)
            assert read_frame(wire) == b"after"
            # The server sees the end of its stdin although the child lives on.
            assert wire.close(Deadline.after(BOUND)).exit_code == 0
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(reading)
            os.close(writing)


# -- closing


def test_several_threads_may_close_at_once_and_hear_the_same() -> None:
    with served(ECHO) as wire:
        endings = []
        threads = [
            threading.Thread(target=lambda: endings.append(wire.close(Deadline.after(BOUND))))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(BOUND)
    assert len(endings) == 4
    assert {(ending.kind, ending.exit_code) for ending in endings} == {(EndKind.CLOSED, 0)}


def test_many_opens_and_closes_leave_nothing() -> None:
    threads, descriptors = threading.active_count(), len(os.listdir("/dev/fd"))
    for _ in range(20):
        with served(ECHO):
            pass
    assert (threading.active_count(), len(os.listdir("/dev/fd"))) == (threads, descriptors)
    assert not psutil.Process().children()
