"""The wire over our own stdin and stdout: never a blocking write, never a changed pipe, and how it ends."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_actors.protocol.endings import EndKind
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.transports.contract import OpenFailed, SendVerdict, WireEnded
from mcp_actors.transports.own_stdio.patience import PatientWrite
from mcp_actors.transports.own_stdio.takeover import take_over
from mcp_actors.transports.own_stdio.transport import OwnStdioTransport
from mcp_actors.transports.own_stdio.wire import Linger
from mcp_actors.transports.stdio.descriptors import close_quietly
from tests.transports.own_stdio.ends import BOUND, connected, read_to_end, socket_pair
from tests.transports.servers import eventually

pytestmark = pytest.mark.requirement("transport:stdio")

BIG = b"x" * 300_000


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """A pipe whose ends are closed afterwards."""
    ends = os.pipe()
    yield ends
    for fd in ends:
        os.close(fd)


# -- what happens to the descriptors


def test_the_pipes_stay_blocking_for_those_who_share_them() -> None:
    (stdin, to_server), (from_server, stdout) = os.pipe(), os.pipe()
    shared = os.dup(stdin), os.dup(stdout)
    wire = OwnStdioTransport(stdin=stdin, stdout=stdout).open(Deadline.after(BOUND))
    os.write(to_server, b"1\n")
    wire.wait()
    assert wire.read(None) == [b"1"]
    assert wire.send(BIG, None) is SendVerdict.QUEUED
    assert [os.get_blocking(fd) for fd in shared] == [True, True]
    wire.close(Deadline.after(BOUND))
    for fd in (stdin, stdout, to_server, from_server, *shared):
        os.close(fd)


def test_stdin_becomes_nothing_and_stdout_a_copy_of_stderr(pipe: tuple[int, int]) -> None:
    stdin, stdout = pipe
    ends = take_over(stdin, stdout)
    private = [ends.stdin, ends.stdout]
    assert os.path.samestat(os.fstat(stdin), os.stat(os.devnull))
    assert os.path.samestat(os.fstat(stdout), os.fstat(2))
    assert [os.get_inheritable(fd) for fd in (stdin, stdout, *private)] == [True, True, False, False]
    assert min(private) > 2
    close_quietly(*private)
    ends.bell.close()


def test_descriptors_that_are_closed_cannot_be_taken_over(pipe: tuple[int, int]) -> None:
    closed = os.dup(pipe[0])
    os.close(closed)
    before = len(os.listdir("/dev/fd"))
    for stdin, stdout in ((closed, pipe[1]), (pipe[0], closed)):
        with pytest.raises(OpenFailed, match="bad file descriptor") as failure:
            OwnStdioTransport(stdin=stdin, stdout=stdout).open(Deadline.after(BOUND))
        assert failure.value.ending.kind is EndKind.IMPOSSIBLE
    assert len(os.listdir("/dev/fd")) == before
    assert not os.path.samestat(os.fstat(pipe[0]), os.stat(os.devnull))


@pytest.mark.parametrize("spare", range(5))
def test_without_descriptors_the_open_is_refused_and_nothing_is_changed(
    pipe: tuple[int, int], spare: int
) -> None:
    before = len(os.listdir("/dev/fd"))
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, limits[1]))
    used: list[int] = []
    try:
        while True:
            used.append(os.dup(pipe[0]))
    except OSError:
        for fd in used[:spare]:
            os.close(fd)
    try:
        with pytest.raises(OpenFailed, match="too many open files") as failure:
            OwnStdioTransport(stdin=pipe[0], stdout=pipe[1]).open(Deadline.after(BOUND))
    finally:
        for fd in used[spare:]:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert failure.value.ending.kind is EndKind.REFUSED
    assert len(os.listdir("/dev/fd")) == before
    assert not os.path.samestat(os.fstat(pipe[0]), os.stat(os.devnull))


# -- reading


def test_reading_without_waiting_does_not_block() -> None:
    with connected() as (wire, client):
        assert wire.read(None) == []
        client.write(b'{"half":')
        assert eventually(lambda: wire.read(None) == [] and wire.stats().read_buffer_bytes > 0)
        client.write(b" 1}\n")
        wire.wait()
        assert wire.read(None) == [b'{"half": 1}']


@pytest.mark.parametrize("pair", [os.pipe, socket_pair])
def test_what_came_before_the_end_of_stdin_is_handed_out_first(pair: Any) -> None:
    with connected(pair=pair) as (wire, client):
        client.write(b"1\n2\n3")
        client.end_sending()
        frames, ended = read_to_end(wire)
        assert frames == [b"1", b"2", b"3"]
        assert (ended.ending.kind, ended.ending.reason) == (EndKind.EOF, "the client closed our stdin")
        assert wire.send(b"late", None) is SendVerdict.CLOSED
        assert wire.close(Deadline.after(BOUND)) == ended.ending


def test_a_socket_of_which_one_direction_ended_is_at_its_end() -> None:
    ours, theirs = socket.socketpair()
    stdin, stdout = ours.detach(), os.dup(2)
    wire = OwnStdioTransport(stdin=stdin, stdout=stdout).open(Deadline.after(BOUND))
    theirs.shutdown(socket.SHUT_WR)
    with pytest.raises(WireEnded, match="closed our stdin"):
        wire.wait()
    wire.close(Deadline.after(BOUND))
    theirs.close()
    os.close(stdin)
    os.close(stdout)


@pytest.mark.parametrize("content", [b"", b"1\n2", b"1\n2\n"])
def test_stdin_may_be_a_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "requests"
    path.write_bytes(content)
    stdin, stdout = os.open(path, os.O_RDONLY), os.open(tmp_path / "answers", os.O_CREAT | os.O_WRONLY)
    wire = OwnStdioTransport(stdin=stdin, stdout=stdout).open(Deadline.after(BOUND))
    assert wire.send(b"answer", None) is SendVerdict.SENT
    frames, ended = read_to_end(wire)
    assert (frames, ended.ending.kind) == (content.split(), EndKind.EOF)
    wire.close(Deadline.after(BOUND))
    assert (tmp_path / "answers").read_bytes() == b"answer\n"
    os.close(stdin)
    os.close(stdout)


def test_stdin_may_be_nothing() -> None:
    stdin, stdout = os.open(os.devnull, os.O_RDONLY), os.open(os.devnull, os.O_WRONLY)
    wire = OwnStdioTransport(stdin=stdin, stdout=stdout).open(Deadline.after(BOUND))
    assert read_to_end(wire)[1].ending.kind is EndKind.EOF
    wire.close(Deadline.after(BOUND))
    os.close(stdin)
    os.close(stdout)


def test_stdin_may_be_a_terminal_and_the_end_typed_there_is_used_up() -> None:
    keyboard, terminal = os.openpty()
    stdout = os.open(os.devnull, os.O_WRONLY)
    wire = OwnStdioTransport(stdin=terminal, stdout=stdout).open(Deadline.after(BOUND))
    os.write(keyboard, b"1\n\x04")
    frames, ended = read_to_end(wire)
    assert (frames, ended.ending.kind) == ([b"1"], EndKind.EOF)
    wire.close(Deadline.after(BOUND))
    for fd in (keyboard, terminal, stdout):
        os.close(fd)


def test_a_stdin_that_others_made_non_blocking_works_too() -> None:
    with connected() as (wire, client):
        os.set_blocking(wire._stdin, False)
        # As if somebody else had taken what was there.
        wire._readable = True
        assert wire.read(None) == []
        client.write(b"1\n")
        wire.wait()
        assert wire.read(None) == [b"1"]


def test_a_stdin_that_cannot_be_read_ends_the_wire(tmp_path: Path) -> None:
    stdin = os.open(tmp_path / "for writing", os.O_CREAT | os.O_WRONLY)
    stdout = os.open(os.devnull, os.O_WRONLY)
    wire = OwnStdioTransport(stdin=stdin, stdout=stdout).open(Deadline.after(BOUND))
    ending = read_to_end(wire)[1].ending
    assert (ending.kind, ending.reason) == (EndKind.BROKEN, "reading our stdin failed: bad file descriptor")
    wire.close(Deadline.after(BOUND))
    os.close(stdin)
    os.close(stdout)


@pytest.mark.requirement("flow:frame-limit")
def test_a_frame_above_the_limit_ends_the_wire_after_those_before_it() -> None:
    with connected(max_frame_bytes=10) as (wire, client):
        client.write(b"1\n" + b"y" * 11)
        frames, ended = read_to_end(wire)
    assert (frames, ended.ending.kind) == ([b"1"], EndKind.OVERSIZED)
    assert ended.ending.reason.startswith("the client sent a frame")


def test_a_broken_framing_ends_the_wire() -> None:
    with connected(framing="content-length") as (wire, client):
        client.write(b"Content-Length: x\r\n\r\n")
        ending = read_to_end(wire)[1].ending
    assert ending.kind is EndKind.BROKEN
    assert ending.reason.startswith("the client broke the framing: not a content length")


# -- writing


def test_a_stdout_that_nobody_reads_is_busy_and_blocks_nobody() -> None:
    with connected() as (wire, client):
        assert wire.send(BIG, 1) is SendVerdict.QUEUED
        assert wire.send(BIG, 2) is SendVerdict.BUSY
        assert not wire.flush(Deadline.after(0.0))
        reading = threading.Thread(target=lambda: client.receive(BOUND), daemon=True)
        reading.start()
        assert wire.flush(Deadline.after(BOUND))
        reading.join(BOUND)
        assert wire.send(b"after", 3) is SendVerdict.SENT
        assert client.receive(BOUND) == b"after"
        assert wire.stats().backlog_bytes == 0


def test_each_write_is_small_enough_not_to_block(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    write = PatientWrite(writing)
    taken = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            taken += write(writing, b"z" * 5000)
    # Room for less than a portion is no room.
    os.read(reading, 100)
    with pytest.raises(BlockingIOError):
        write(writing, b"z" * 5000)
    assert len(os.read(reading, 1 << 20)) == taken - 100
    # A reader that keeps up does not keep the writer for ever.
    assert write(writing, b"z" * 200_000) <= 64 * 1024


def test_a_stdout_that_others_made_non_blocking_works_too(monkeypatch: pytest.MonkeyPatch) -> None:
    class Optimist:
        def poll(self, _timeout: int) -> list[tuple[int, int]]:
            return [(0, 0)]

    with connected() as (wire, client):
        os.set_blocking(wire._stdout, False)
        # As if somebody else had filled the pipe after we looked.
        monkeypatch.setattr(wire._writer._write_now, "_poller", Optimist())
        assert wire.send(BIG, None) is SendVerdict.QUEUED
        assert wire.send(b"next", None) is SendVerdict.QUEUED
        assert not wire.flush(Deadline.after(0.0))
        reading = threading.Thread(target=lambda: (client.receive(BOUND), client.receive(BOUND)), daemon=True)
        reading.start()
        assert wire.flush(Deadline.after(BOUND))
        reading.join(BOUND)


@pytest.mark.parametrize("host", [signal.SIG_IGN, signal.SIG_DFL])
def test_a_reader_that_goes_away_ends_the_wire_without_a_signal(host: Any) -> None:
    before = signal.signal(signal.SIGPIPE, host)
    try:
        with connected() as (wire, client):
            client.end_reading()
            assert wire.send(b"1", 1) is SendVerdict.CLOSED
            client.write(b"unheard\n")
            ending = read_to_end(wire)[1].ending
            assert (ending.kind, ending.reason) == (EndKind.BROKEN, "the client no longer reads our stdout")
    finally:
        signal.signal(signal.SIGPIPE, before)


def test_a_reader_that_goes_away_is_noticed_before_anything_is_sent() -> None:
    with connected() as (wire, client):
        client.write(b"last\n")
        client.end_reading()
        frames, ended = read_to_end(wire)
        assert (frames, ended.ending.kind) == ([b"last"], EndKind.BROKEN)


def test_frames_that_were_not_completely_written_are_named_in_the_ending() -> None:
    with connected() as (wire, _client):
        wire.send(b"1", 1)
        wire.send(BIG, 2)
        assert wire.close(Deadline.after(0.0)).unsent == {2}


def test_what_was_sent_before_the_end_of_stdin_still_arrives() -> None:
    with connected() as (wire, client):
        wire.send(BIG, 1)
        client.end_sending()
        received: list[bytes] = []
        reading = threading.Thread(target=lambda: received.append(client.receive(BOUND)), daemon=True)
        reading.start()
        assert read_to_end(wire)[1].ending.unsent == frozenset()
        reading.join(BOUND)
        assert received == [BIG]


# -- closing


def test_closing_wakes_whoever_waits_and_any_number_of_closers_get_the_same_ending() -> None:
    with connected() as (wire, _client):
        ended: list[object] = []
        reader = threading.Thread(target=lambda: ended.append(read_to_end(wire)[1].ending), daemon=True)
        reader.start()
        closers = [
            threading.Thread(target=lambda: ended.append(wire.close(Deadline.after(BOUND))), daemon=True)
            for _ in range(3)
        ]
        for closer in closers:
            closer.start()
        for thread in (reader, *closers):
            thread.join(BOUND)
        assert len(ended) == 4
        assert len(set(ended)) == 1
        assert wire.close(Deadline.after(BOUND)).kind is EndKind.CLOSED


def test_a_reader_that_does_not_let_go_delays_closing_for_a_bounded_time() -> None:
    with connected() as (wire, _client):
        wire._reading.acquire()
        assert wire.close(Deadline.after(0.0)).kind is EndKind.CLOSED
        wire._reading.release()


def test_a_closer_that_has_no_time_leaves_the_closing_to_the_other() -> None:
    with connected() as (wire, _client):
        wire._closing.acquire()
        assert wire.close(Deadline.after(0.0)).kind is EndKind.CLOSED
        wire._closing.release()


def test_the_client_sees_the_end_when_the_wire_is_closed() -> None:
    with connected() as (wire, client):
        wire.close(Deadline.after(BOUND))
        with pytest.raises(EOFError):
            client.receive(BOUND)


@pytest.mark.requirement("runtime:fork")
def test_once_forgotten_the_wire_only_says_that_it_is_over() -> None:
    with connected() as (wire, _client):
        wire.forget()
        with pytest.raises(WireEnded):
            wire.wait()
        assert wire.close(Deadline.after(BOUND)).kind is EndKind.CLOSED
        # Here, where there was no fork, nobody has closed them yet.
        close_quietly(wire._stdin, wire._stdout)
        wire._bell.close()


# -- lingering


class Host:
    """What a host does at the end of stdin."""

    def __init__(self, seconds: float = BOUND) -> None:
        self.asked = threading.Event()
        self.linger = Linger(self.asked.set, seconds)


def test_at_the_end_of_stdin_there_is_time_for_answers() -> None:
    host = Host()
    with connected(linger=host.linger) as (wire, client):
        client.write(b"question\n")
        client.end_sending()
        ended: list[Any] = []
        reader = threading.Thread(target=lambda: ended.append(read_to_end(wire)), daemon=True)
        reader.start()
        assert host.asked.wait(BOUND)
        assert wire.send(b"answer", None) is SendVerdict.SENT
        assert client.receive(BOUND) == b"answer"
        assert wire.close(Deadline.after(BOUND)).kind is EndKind.EOF
        reader.join(BOUND)
        [(frames, end)] = ended
        assert (frames, end.ending.kind) == ([b"question"], EndKind.EOF)


def test_lingering_ends_by_itself() -> None:
    host = Host(0.01)
    with connected(linger=host.linger) as (wire, client):
        client.end_sending()
        assert read_to_end(wire)[1].ending.kind is EndKind.EOF
        assert host.asked.is_set()


def test_lingering_ends_when_the_client_is_gone_altogether() -> None:
    host = Host(600.0)
    with connected(linger=host.linger) as (wire, client):
        client.end_sending()
        reader = threading.Thread(target=read_to_end, args=(wire,), daemon=True)
        reader.start()
        assert host.asked.wait(BOUND)
        client.end_reading()
        reader.join(BOUND)
        assert not reader.is_alive()


def test_nobody_lingers_for_a_client_that_went_altogether() -> None:
    host = Host(600.0)
    with connected(linger=host.linger) as (wire, client):
        client.close()
        assert read_to_end(wire)[1].ending.kind is EndKind.BROKEN
        assert not host.asked.is_set()
