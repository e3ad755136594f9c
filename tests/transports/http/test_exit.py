"""Programs that end without closing their client over HTTP, and calls that are interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.client.waiting import BOUND, until
from tests.servers.http_peer import HttpPeer, Turn
from tests.transports.http.conftest import ERAS, MakeClient, MakePeer

ROOT = Path(__file__).parents[3]

pytestmark = [pytest.mark.requirement("runtime:exit"), pytest.mark.requirement("transport:http")]

both_eras = pytest.mark.parametrize("version", ERAS)


@pytest.fixture
def make_host(make_peer: MakePeer) -> Callable[[str], HttpPeer]:
    """Makes servers with a tool that never answers."""

    def make(version: str) -> HttpPeer:
        peer = make_peer(version)
        peer.calls["hang"] = lambda turn: turn.await_end()
        return peer

    return make


@contextmanager
def program(scenario: str, peer: HttpPeer) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.transports.http.exiting", scenario, peer.url],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@both_eras
@pytest.mark.parametrize(
    ("scenario", "code", "words"),
    [
        ("forgets", 0, []),
        ("forgets_a_future", 0, []),
        ("forgets_a_calling_thread", 0, []),
        ("forgets_a_stuck_handler", 0, []),
        ("raises", 1, ["LookupError: the program's own error"]),
    ],
)
def test_a_program_that_forgets_to_close_ends_and_takes_its_leave(
    version: str, scenario: str, code: int, words: list[str], make_host: Callable[[str], HttpPeer]
) -> None:
    peer = make_host(version)
    with program(scenario, peer) as process:
        _, complaints = process.communicate(timeout=4 * BOUND)
        assert process.returncode == code, complaints
        assert complaints.strip().splitlines()[-1:] == words
        assert complaints.count("Traceback") == len(words)
    assert peer.open_sessions == set()
    assert len(peer.turns("DELETE")) == (not peer.modern)
    until(lambda: not peer._socks)


def test_a_server_that_does_not_let_go_does_not_hold_up_the_end(
    make_host: Callable[[str], HttpPeer],
) -> None:
    peer = make_host("2025-11-25")
    peer.on("DELETE", lambda turn: turn.await_end())
    with program("forgets", peer) as process:
        _, complaints = process.communicate(timeout=4 * BOUND)
        assert (process.returncode, complaints) == (0, "")


@both_eras
def test_ctrl_c_ends_a_program_in_the_middle_of_a_call(
    version: str, make_host: Callable[[str], HttpPeer]
) -> None:
    peer = make_host(version)
    with program("calls", peer) as process:
        peer.await_turns("tools/call")
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate(timeout=4 * BOUND)
        assert process.returncode == -signal.SIGINT
        assert complaints.strip().splitlines()[-1] == "KeyboardInterrupt"
        assert complaints.count("Traceback") == 1
    until(lambda: not peer._socks)


@pytest.mark.requirement("request:cancel-caller")
@both_eras
def test_ctrl_c_in_a_call_cancels_it_and_leaves_the_client_usable(
    version: str, make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer, cut = make_peer(version), threading.Event()

    def work(turn: Turn) -> None:
        main = threading.main_thread().ident
        assert main is not None
        signal.pthread_kill(main, signal.SIGINT)
        turn.await_end()
        cut.set()

    peer.calls["work"] = work
    client = make_client(peer).wait_ready()
    with pytest.raises(KeyboardInterrupt):
        client.call_tool("work")
    assert cut.wait(BOUND)
    if not peer.modern:
        # There the end of the connection alone would not tell the server.
        told = peer.await_turns("notifications/cancelled")
        assert told.params["requestId"] == peer.turns("tools/call")[0].message["id"]
    assert client.call_tool("echo", {}).text == "{}"
    assert client.stats().reconnects == 0
