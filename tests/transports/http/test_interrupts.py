"""Ctrl-C at each step of a call over HTTP: nothing is left behind, and nobody else is kept from anything."""

from __future__ import annotations

import gc
import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import count

import pytest

from mcp_actors import Client, errors
from mcp_actors.transports.http.grip import Grip
from tests.client.waiting import BOUND, in_thread, until
from tests.runtime.interruption import interrupted_at
from tests.servers.http_peer import HttpPeer, Turn, text
from tests.transports.http.conftest import ERAS, MakeClient, MakePeer, wire_of

pytestmark = [
    pytest.mark.requirement("transport:http", "request:cancel-caller"),
    # Between taking a connection and knowing of it nobody can close it but its own end; and the end of what
    # was only half made may complain.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(autouse=True)
def _garbage_has_its_time(_nothing_is_left_behind: None) -> Iterator[None]:
    """Afterwards it is no leak. Meanwhile the collector might come between any two steps, and what strikes
    while it closes things is swallowed by the interpreter, as it is everywhere."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()
    gc.collect()


def interrupt_each_step(client: Client, where: str) -> int:
    """Call, with an interrupt at the first step of these modules, then at the second, and so on to the last;
    how many there were. After each of them, others call as before."""
    path, wire = re.compile(f"/({where})[.]py$"), wire_of(client)
    call = partial(client.call_tool, "echo", {})
    call()
    missed = 0
    for step in count():
        hit = interrupted_at(step, path, call)
        # On a thread of its own: what is left locked would not end in time.
        assert in_thread(call).result(BOUND).text == "{}"
        until(lambda: not [one for one in wire._running if one.ids])
        until(lambda: (client.stats().pending, client.stats().in_flight) == (0, 0))
        assert wire_of(client) is wire
        # Now and then a call has fewer steps, because others took some of them.
        missed = 0 if hit else missed + 1
        if missed == 3:
            return step
    raise AssertionError


@pytest.mark.requirement("request:one-outcome")
@pytest.mark.parametrize("version", ERAS)
def test_an_interrupt_at_any_step_of_a_call_leaves_nothing(
    version: str, make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer(version, listens=False)
    assert interrupt_each_step(make_client(peer).wait_ready(), "mcp_actors/.*") > 100
    asked = [turn.message["id"] for turn in peer.turns("tools/call")]
    assert len(asked) == len(set(asked))


def test_an_interrupt_while_a_connection_is_taken_or_put_back_keeps_it_from_nobody(client: Client) -> None:
    assert interrupt_each_step(client, "threading|queue|http/pools") > 20


def test_an_interrupt_while_the_rest_of_a_stream_is_left_to_the_crew_keeps_it_from_nobody(
    peer: HttpPeer, client: Client
) -> None:
    def go_on(turn: Turn) -> None:
        turn.stream().answer(text("{}")).notify("notifications/message", level="info", data="more").end()

    peer.calls["echo"] = go_on
    assert interrupt_each_step(client, "threading|http/crew|http/loan") > 20


@pytest.mark.requirement("connection:recover")
def test_a_caller_who_is_interrupted_when_the_session_is_gone_leaves_the_end_of_the_wire_whole(
    make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer("2025-11-25", listens=False)
    client = make_client(peer).wait_ready()

    answers = list[str]()

    def call() -> None:
        with suppress(errors.ConnectionLost, errors.Unavailable):
            answers.append(client.call_tool("echo", {}).text)

    steps, hit = 0, True
    while hit:
        # Whoever calls next finds a wire that is over, or finds that out, or another wire.
        until(lambda: call() or answers)  # type: ignore[func-returns-value]
        answers.clear()
        peer.open_sessions.clear()
        hit = interrupted_at(steps, re.compile("/http/(wire|exchange)[.]py$"), call)
        steps += 1
    assert steps > 20


@pytest.mark.parametrize("step", ["pools.HTTPResponse", "pools.HeldPool._put_conn", "loan.reply_of"])
def test_an_interrupted_caller_closes_its_connection(
    step: str, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    held, hold = list[socket.socket](), Grip.hold

    def watched(grip: Grip, sock: socket.socket) -> None:
        held.append(sock)
        hold(grip, sock)

    client.call_tool("echo", {})
    monkeypatch.setattr(Grip, "hold", watched)
    with monkeypatch.context() as patched:
        patched.setattr(f"mcp_actors.transports.http.{step}", interrupt)
        with pytest.raises(KeyboardInterrupt):
            client.call_tool("echo", {})
    assert [sock.fileno() for sock in held] == [-1]
    assert client.call_tool("echo", {}).text == "{}"


def test_whoever_is_interrupted_while_it_begins_to_listen_holds_nobody_up(client: Client) -> None:
    tree = client._trees.value
    assert tree is not None
    departures = tree.wiring.board.departures
    assert departures is not None

    def listen() -> None:
        client.on_notification(lambda _: None, "notifications/message")()

    steps, hit = 0, True
    while hit:
        hit = interrupted_at(
            steps, re.compile("/(client/client|client/departures|ref|mailbox)[.]py$"), listen
        )
        until(lambda: not departures._wanted)
        steps += 1
    assert steps > 5
