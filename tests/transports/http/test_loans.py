"""Exchanges that callers run themselves: who does what, and who leaves when."""

from __future__ import annotations

import json
import random
import signal
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from mcp_actors import Client, errors, telemetry
from mcp_actors.client.departures import Departures
from mcp_actors.protocol import types
from mcp_actors.protocol.connection import ConnectionMachine
from mcp_actors.protocol.conversation import Conversation
from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.events import Called, Departed
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.slot import Slot, WorkSlot
from mcp_actors.telemetry.events import RequestStarted, RequestStopped, TransportIo
from mcp_actors.transports.contract import Lends, SendVerdict
from mcp_actors.transports.http.connections import HeldConnection, Response
from mcp_actors.transports.http.crew import Crew
from mcp_actors.transports.http.engine import Engine, Errand
from mcp_actors.transports.http.grip import Grip
from mcp_actors.transports.http.loan import HttpLoan
from mcp_actors.transports.http.wire import HttpWire
from tests.client.waiting import BOUND, in_thread, opened_at_the_end, until
from tests.servers.http_peer import STATELESS, HttpPeer, Turn, text
from tests.transports.http.conftest import ERAS, MakeClient, MakePeer, wire_of
from tests.transports.http.test_ways import Authority, authority

__all__ = ["authority"]

pytestmark = pytest.mark.requirement("transport:http")


class Watch:
    """Which threads wrote requests over connections that were there, and what was left to the crew."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.askers: list[threading.Thread] = []
        self.left = 0
        ask, leave = HeldConnection.ask, HttpLoan._leave

        def watched_ask(connection: HeldConnection, *args: Any) -> Any:
            self.askers.append(threading.current_thread())
            return ask(connection, *args)

        def watched_leave(loan: HttpLoan, rest: Callable[[], None]) -> bool:
            self.left += 1
            return leave(loan, rest)

        monkeypatch.setattr(HeldConnection, "ask", watched_ask)
        monkeypatch.setattr(HttpLoan, "_leave", watched_leave)


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    return Watch(monkeypatch)


def nothing_runs(client: Client) -> bool:
    return not [one for one in wire_of(client)._running if one.ids]


def in_one_piece(turn: Turn) -> None:
    data = b'data: {"jsonrpc":"2.0","id":%d,"result":{"content":[]}}\n\n' % turn.message["id"]
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    turn.write(head + b"%x\r\n%s\r\n0\r\n\r\n" % (len(data), data))


# Who runs what.


@pytest.mark.parametrize("streams", [False, True], ids=["json", "sse"])
@pytest.mark.parametrize("version", ERAS)
def test_the_thread_that_waits_runs_the_exchange(
    version: str, streams: bool, make_peer: MakePeer, make_client: MakeClient, watch: Watch
) -> None:
    peer = make_peer(version)
    if streams:
        peer.calls["echo"] = in_one_piece
    client = make_client(peer).wait_ready()
    if not peer.modern:
        peer.await_listener()
    client.call_tool("echo", {})
    # The crew may still be at the end of its stream.
    until(lambda: nothing_runs(client))
    watch.askers.clear()
    watch.left = 0
    connections = peer.connections
    for _ in range(5):
        client.call_tool("echo", {})
    assert watch.askers == [threading.current_thread()] * 5
    assert watch.left == 0
    assert peer.connections == connections


def test_calls_wait_only_once_for_a_stream_that_begins_when_there_is_something_to_say(
    make_peer: MakePeer, make_client: MakeClient, watch: Watch
) -> None:
    peer = make_peer("2025-11-25")
    peer.on("GET", Turn.await_end)
    client = make_client(peer).wait_ready()
    peer.await_turns("GET")
    assert client.call_tool("echo", {}).text == "{}"
    assert watch.askers == []
    assert client.call_tool("echo", {}).text == "{}"
    assert watch.askers == [threading.current_thread()]


def test_calls_do_not_wait_for_ever_for_a_server_that_never_takes_the_last_word_of_the_handshake(
    make_peer: MakePeer, make_client: MakeClient, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_actors.transports.http.wire._TURN_SECONDS", 0.05)
    monkeypatch.setattr("mcp_actors.transports.http.wire._NOTICE_SECONDS", 0.1)
    peer = make_peer("2025-11-25")
    peer.on("notifications/initialized", Turn.await_end)
    client = make_client(peer).wait_ready()
    # Time is up for it as soon as somebody looks.
    until(lambda: client.call_tool("echo", {}) and threading.current_thread() in watch.askers)
    peer.await_listener()
    assert len(peer.turns("notifications/initialized")) == 1


def test_a_connection_that_is_not_there_is_made_by_the_crew(
    peer: HttpPeer, client: Client, watch: Watch
) -> None:
    peer.restart()
    assert client.call_tool("echo", {"n": 1}, wait=True).text == '{"n": 1}'
    assert threading.current_thread() not in watch.askers


def test_futures_and_calls_with_progress_are_the_crews(client: Client, watch: Watch) -> None:
    assert client.submit_tool("echo", {}).result(BOUND).text == "{}"
    assert client.call_tool("echo", {}, on_progress=lambda _: None).text == "{}"
    assert watch.askers == []


def test_what_lasts_beyond_the_call_is_the_crews(
    make_peer: MakePeer, make_client: MakeClient, watch: Watch
) -> None:
    peer = make_peer("2025-11-25")
    peer.capabilities["resources"] = {"subscribe": True}
    peer.on("resources/subscribe", lambda turn: turn.answer({}))
    client = make_client(peer).wait_ready()
    client.subscribe_resource("a:1")
    assert watch.askers == []


class Pass:
    """An authorizer that lets everybody through."""

    secrets = ()

    def headers(self, _attempt: object) -> dict[str, str]:
        return {"Authorization": "Bearer x"}

    def refused(self, _attempt: object, _refusal: object) -> bool:
        return False

    def answered(self, _attempt: object, _headers: object) -> None:
        return


@pytest.mark.parametrize(
    "options",
    [{"headers": lambda: {"A": "b"}}, {"headers": {"Host": "elsewhere"}}, {"auth": Pass()}],
    ids=["function", "host", "authorizer"],
)
def test_who_may_have_to_wait_for_others_leaves_it_to_the_crew(
    options: dict[str, Any], peer: HttpPeer, make_client: MakeClient, watch: Watch
) -> None:
    client = make_client(peer, **options).wait_ready()
    assert client.call_tool("echo", {}).text == "{}"
    assert watch.askers == []


@pytest.mark.requirement("security:oauth")
def test_with_a_token_at_hand_nobody_else_is_needed(
    peer: HttpPeer, make_client: MakeClient, watch: Watch
) -> None:
    client = make_client(peer, auth="a-token").wait_ready()
    client.call_tool("echo", {})
    assert client.call_tool("echo", {}).text == "{}"
    assert watch.askers[-1] is threading.current_thread()
    assert {turn.headers["authorization"] for turn in peer.turns("tools/call")} == {"Bearer a-token"}


@pytest.mark.requirement("security:oauth")
@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_token_is_said_to_be_so_whoever_sent_it(
    status: int, peer: HttpPeer, make_client: MakeClient, watch: Watch
) -> None:
    client = make_client(peer, auth="a-token").wait_ready()
    client.call_tool("echo", {})
    for own in (True, False):
        peer.once("tools/call", lambda turn: turn.status(status, WWW_Authenticate='Bearer realm="x"'))
        watch.askers.clear()
        with pytest.raises(errors.AuthorizationFailed, match=f"HTTP {status}"):
            client.call_tool("echo", {}, on_progress=None if own else lambda _: None)
        assert bool(watch.askers) == own
    until(lambda: nothing_runs(client))


def test_over_a_proxy_the_crew_asks(peer: HttpPeer, make_client: MakeClient, watch: Watch) -> None:
    # The peer is its own proxy: it does not care how it is addressed.
    proxy = f"http://127.0.0.1:{peer.port}"
    client = make_client(peer, proxies={"http": proxy}).wait_ready()
    assert client.call_tool("echo", {}).text == "{}"
    assert peer.turns("tools/call")[0].path.startswith("http://")
    assert watch.askers == []


@pytest.mark.parametrize("rest", ["", "/a|b", "/\u20ac?k=\u00e9|", "/%2f%20?k=%zz", "?x#y", "/../z;a"])
def test_a_request_says_the_same_whoever_writes_it(
    rest: str, peer: HttpPeer, make_client: MakeClient
) -> None:
    client = make_client(peer.url + rest, headers={"X-Mine": "yes"}).wait_ready()
    client.submit_tool("echo", {}).result(BOUND)
    client.call_tool("echo", {})
    first, second = peer.turns("tools/call")
    assert first.headers == second.headers
    assert (first.path, first.method) == (second.path, second.method)


def test_a_large_request_is_written_too(client: Client, watch: Watch) -> None:
    large = "x" * 200_000
    client.call_tool("echo", {})
    assert len(client.call_tool("echo", {"a": large}).text) > len(large)
    assert threading.current_thread() in watch.askers


def test_what_was_fetched_is_counted(client: Client) -> None:
    before = wire_of(client).stats()
    client.call_tool("echo", {}, timeout=60.0)
    after = wire_of(client).stats()
    assert (after.frames_in, after.frames_out) == (before.frames_in + 1, before.frames_out + 1)
    assert after.bytes_in > before.bytes_in
    # The machine hears of it, too, and long before the deadline.
    until(lambda: client.stats().pending == 0)


def test_a_wire_over_http_lends_and_refuses_when_it_is_over(client: Client) -> None:
    wire = wire_of(client)
    assert isinstance(wire, Lends)
    loan = wire.lend(b'{"jsonrpc":"2.0","id":77,"method":"ping"}', 77)
    client.close()
    assert loan is not None
    assert not loan.enter()
    assert wire.lend(b'{"jsonrpc":"2.0","id":78,"method":"ping"}', 78) is None


# Streams that have more to say.


@pytest.mark.requirement("feature:caching")
@pytest.mark.parametrize("pieces", ["together", "apart"])
def test_an_answer_does_not_overtake_what_came_before_it_in_its_stream(
    pieces: str, peer: HttpPeer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = json.dumps({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})

    def change(turn: Turn) -> None:
        events = [f"data: {data}\n\n".encode() for data in (changed, json.dumps(turn.result(text("done"))))]
        stream = turn.stream()
        for data in [b"".join(events)] if pieces == "together" else events:
            stream.write(data)
        stream.end()

    read = HttpWire.read

    def slowly(wire: HttpWire, limit: int | None) -> list[bytes]:
        threading.Event().wait(0.02)
        return read(wire, limit)

    peer.calls["change"] = change
    client.call_tool("echo", {})
    monkeypatch.setattr(HttpWire, "read", slowly)
    for n in range(1, 4):
        client.list_tools()
        assert len(peer.turns("tools/list")) == n
        assert client.call_tool("change").text == "done"


@pytest.mark.parametrize("pieces", ["together", "apart"])
def test_what_comes_after_the_answer_is_heard_and_not_waited_for(
    pieces: str, peer: HttpPeer, client: Client
) -> None:
    gate, heard = threading.Event(), threading.Event()
    client.on_notification(lambda _: heard.set(), "notifications/message")

    def work(turn: Turn) -> None:
        stream = turn.stream().answer(text("done"))
        if pieces == "apart":
            gate.wait(BOUND)
        stream.notify("notifications/message", level="info", data="afterwards").end()

    peer.calls["work"] = work
    client.call_tool("echo", {})
    assert client.call_tool("work").text == "done"
    gate.set()
    assert heard.wait(BOUND)
    assert client.call_tool("echo", {}).text == "{}"


def test_events_without_data_are_no_messages(peer: HttpPeer, client: Client, watch: Watch) -> None:
    def work(turn: Turn) -> None:
        turn.stream().send(id="1").send(retry=10).answer(text("done")).end()

    peer.calls["work"] = work
    client.call_tool("echo", {})
    assert client.call_tool("work").text == "done"
    assert threading.current_thread() in watch.askers


def test_an_answer_to_another_request_is_not_taken_for_this_ones(peer: HttpPeer, client: Client) -> None:
    def work(turn: Turn) -> None:
        stream = turn.stream()
        stream.send({"jsonrpc": "2.0", "id": turn.message["id"] + 1, "result": text("not yours")})
        stream.answer(text("yours")).end()

    peer.calls["work"] = work
    client.call_tool("echo", {})
    assert client.call_tool("work").text == "yours"


def test_an_answer_in_an_array_is_found(make_peer: MakePeer, make_client: MakeClient) -> None:
    peer = make_peer("2025-03-26")
    heard = threading.Event()
    news = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}}
    peer.calls["work"] = lambda turn: turn.json([news, turn.result(text("found"))])
    client = make_client(peer).wait_ready()
    client.on_notification(lambda _: heard.set(), "notifications/message")
    client.call_tool("echo", {})
    assert client.call_tool("work").text == "found"
    assert heard.wait(BOUND)


def test_a_stream_that_breaks_before_the_answer_is_resumed_by_the_crew(
    make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer("2025-11-25")
    asked: list[Turn] = []

    def work(turn: Turn) -> None:
        asked.append(turn)
        turn.stream().send(id="e1", retry=10)
        turn.drop()

    def resume(turn: Turn) -> None:
        if turn.headers.get("last-event-id") == "e1":
            stream = turn.stream()
            stream.send(asked[0].result(text("resumed"))).end()
        else:
            peer.serve(turn)

    peer.calls["work"] = work
    peer.on("GET", resume)
    client = make_client(peer).wait_ready()
    client.call_tool("echo", {})
    assert client.call_tool("work").text == "resumed"


# Detours.


def test_a_redirect_is_followed_by_the_crew(peer: HttpPeer, client: Client, watch: Watch) -> None:
    client.call_tool("echo", {})
    peer.once("tools/call", lambda turn: turn.status(307, Location="/elsewhere"))
    watch.left = 0
    assert client.call_tool("echo", {"n": 2}).text == '{"n": 2}'
    assert watch.left == 1
    assert [turn.path for turn in peer.turns("tools/call")[1:]] == ["/mcp", "/elsewhere"]


def test_a_connection_that_the_server_closes_after_the_answer_is_not_used_again(
    peer: HttpPeer, client: Client
) -> None:
    def last(turn: Turn) -> None:
        turn.json(turn.result(text("bye")), Connection="close")
        turn.drop()

    peer.calls["last"] = last
    client.call_tool("echo", {})
    for _ in range(3):
        assert client.call_tool("last").text == "bye"
        assert client.call_tool("echo", {}).text == "{}"


def test_a_connection_that_breaks_before_all_was_written_is_no_loss(
    peer: HttpPeer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.call_tool("echo", {})
    broken: list[object] = []

    def ask(connection: HeldConnection, *_: Any) -> Any:
        assert connection.grip is not None
        connection.grip.begin()
        broken.append(connection)
        raise BrokenPipeError

    monkeypatch.setattr(HeldConnection, "ask", ask)
    assert client.call_tool("echo", {"n": 2}).text == '{"n": 2}'
    assert len(broken) == 1
    assert len(peer.turns("tools/call")) == 2


@pytest.mark.parametrize("detour", ["dial", "redirect", "stream"])
def test_where_no_thread_can_be_had_the_call_says_so(
    detour: str, peer: HttpPeer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.call_tool("echo", {})
    if detour == "dial":
        monkeypatch.setattr("mcp_actors.transports.http.pools.HeldPool._idle", lambda _: None)
    elif detour == "redirect":
        peer.once("tools/call", lambda turn: turn.status(307, Location="/elsewhere"))
    else:
        peer.once("tools/call", lambda turn: turn.stream().notify("notifications/message").end())
    with monkeypatch.context() as patched:
        patched.setattr(Crew, "run", lambda *_: False)
        with pytest.raises(errors.ConnectionLost, match="no thread could be had") as caught:
            client.call_tool("echo", {})
    assert caught.value.outcome == ("not_sent" if detour == "dial" else "unknown")
    until(lambda: nothing_runs(client))
    assert client.call_tool("echo", {}).text == "{}"


# Who leaves when.


@pytest.mark.parametrize("version", ERAS)
def test_an_interrupt_takes_the_request_back(
    version: str, make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer(version)
    cut = threading.Event()

    def work(turn: Turn) -> None:
        main = threading.main_thread().ident
        assert main is not None
        signal.pthread_kill(main, signal.SIGINT)
        turn.await_end()
        cut.set()

    peer.calls["work"] = work
    client = make_client(peer).wait_ready()
    client.call_tool("echo", {})
    with pytest.raises(KeyboardInterrupt):
        client.call_tool("work")
    assert cut.wait(BOUND)
    if not peer.modern:
        peer.await_turns("notifications/cancelled")
    until(lambda: nothing_runs(client) and client.stats().pending == 0)
    assert client.call_tool("echo", {}).text == "{}"


def test_a_server_that_cancels_elsewhere_frees_the_caller_at_once(
    make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer("2025-11-25")
    peer.calls["work"] = lambda turn: turn.await_end()
    client = make_client(peer).wait_ready()
    news = peer.await_listener()
    client.call_tool("echo", {})
    call = in_thread(lambda: client.call_tool("work"))
    asked = peer.await_turns("tools/call", 2)
    news.notify("notifications/cancelled", requestId=asked.message["id"], reason="no")
    with pytest.raises(errors.Cancelled):
        call.result(BOUND)
    until(lambda: nothing_runs(client))


@pytest.mark.requirement("request:timeout")
def test_a_caller_leaves_in_time_also_if_nobody_tells_it_to(
    peer: HttpPeer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer.calls["work"] = lambda turn: turn.await_end()
    client.call_tool("echo", {})
    with monkeypatch.context() as patched:
        patched.setattr(Conversation, "expire", lambda *_: None)
        patched.setattr("mcp_actors.client.calls._GRACE", 0.1)
        with pytest.raises((errors.RequestTimeout, errors.ConnectionLost)):
            client.call_tool("work", timeout=0.1)
    assert client.call_tool("echo", {}).text == "{}"


def test_a_call_without_a_deadline_is_answered(client: Client) -> None:
    client.call_tool("echo", {})
    assert client.call_tool("echo", {}, timeout=float(10**12)).text == "{}"


@pytest.mark.parametrize("entered", [False, True])
def test_a_loan_that_is_stopped_before_it_began_leaves_nothing(
    entered: bool, peer: HttpPeer, client: Client
) -> None:
    wire = wire_of(client)
    loan = wire.lend(b'{"jsonrpc":"2.0","id":77,"method":"ping"}', 77)
    assert loan is not None
    if entered:
        assert loan.enter()
        assert not nothing_runs(client)
    loan.stop()
    assert nothing_runs(client)
    assert loan.run(Deadline.after(BOUND)) is None
    assert peer.turns("ping") == []


def test_closing_waits_for_callers_to_let_go(peer: HttpPeer, client: Client) -> None:
    peer.calls["work"] = lambda turn: turn.await_end()
    client.call_tool("echo", {})
    wire = wire_of(client)
    calls = [in_thread(lambda: client.call_tool("work")) for _ in range(4)]
    peer.await_turns("tools/call", 5)
    client.close()
    assert not [one for one in wire._running if one.lent]
    for call in calls:
        with pytest.raises(errors.ClientClosed):
            call.result(BOUND)


def test_closing_waits_for_a_caller_who_is_slow_to_let_go(client: Client) -> None:
    wire, order = wire_of(client), list[str]()
    loan = wire.lend(b'{"jsonrpc":"2.0","id":77,"method":"ping"}', 77)
    assert loan is not None
    assert loan.enter()

    def close() -> None:
        client.close()
        order.append("closed")

    closing = in_thread(close)
    until(lambda: wire._over)
    threading.Event().wait(0.1)
    order.append("let go")
    assert loan.run(Deadline.after(BOUND)) is None
    closing.result(BOUND)
    assert order == ["let go", "closed"]


@pytest.mark.requirement("flow:mailbox-bound")
def test_callers_who_wait_for_nobody_do_not_fill_the_mailbox(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    callers, constant = 80, 128
    tree, gate, waiting = client._trees.value, threading.Event(), set[int]()
    assert tree is not None
    assert tree.connection is not None
    listen, handle = WorkSlot._listen, ConnectionMachine.handle

    def watched(slot: WorkSlot[Any], deadline: Deadline) -> None:
        waiting.add(threading.get_ident())
        listen(slot, deadline)

    def held_up(machine: ConnectionMachine, event: Any) -> Any:
        gate.wait(4 * BOUND)
        return handle(machine, event)

    def call_on() -> None:
        while not gate.is_set():
            client.call_tool("echo", {}, timeout=60.0)

    client.call_tool("echo", {})
    monkeypatch.setattr(WorkSlot, "_listen", watched)
    monkeypatch.setattr(ConnectionMachine, "handle", held_up)
    with opened_at_the_end(gate):
        work = [in_thread(call_on) for _ in range(callers)]
        # Everybody has gone as far as one can without the connection.
        until(lambda: len(waiting) == callers, time.monotonic() + 4 * BOUND, lambda: f"{len(waiting)} wait")
        gate.set()
        for one in work:
            one.result(4 * BOUND)
    assert 64 < tree.connection.greatest_mailbox_depth <= 1 + callers + constant


def test_only_so_many_exchanges_are_lent_at_once(
    peer: HttpPeer, client: Client, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_actors.transports.http.wire._MOST_LENT", 1)
    gate = threading.Event()

    def work(turn: Turn) -> None:
        gate.wait(BOUND)
        turn.answer(text("done"))

    peer.calls["work"] = work
    client.call_tool("echo", {})
    until(lambda: nothing_runs(client))
    with opened_at_the_end(gate):
        call = in_thread(lambda: client.call_tool("work").text)
        peer.await_turns("tools/call", 2)
        watch.askers.clear()
        assert client.call_tool("echo", {}).text == "{}"
        assert watch.askers == []
        gate.set()
        assert call.result(BOUND) == "done"
    until(lambda: nothing_runs(client))
    assert client.call_tool("echo", {}).text == "{}"
    assert watch.askers == [threading.current_thread()]


@pytest.mark.requirement("connection:recover")
@pytest.mark.parametrize("again", [False, True], ids=["first", "again"])
def test_no_caller_overtakes_the_last_word_of_the_handshake(
    again: bool, make_peer: MakePeer, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer = make_peer("2025-11-25", listens=False)
    client = make_client(peer)
    send, listen = HttpWire.send, Slot._listen
    calls, waits = list[Future[Any]](), threading.Event()

    def watched(slot: Slot[Any], deadline: Deadline) -> None:
        if threading.current_thread().name == "test-caller":
            waits.set()
        listen(slot, deadline)

    def last_word(wire: HttpWire, frame: bytes, token: int | None) -> SendVerdict:
        if b"notifications/initialized" in frame:
            calls.append(in_thread(lambda: client.call_tool("echo", {}, wait=True)))
            # Somebody calls just now, and goes as far as one can.
            until(lambda: waits.is_set() or calls[0].done())
        return send(wire, frame, token)

    if again:
        client.wait_ready()
        peer.restart()
    monkeypatch.setattr(Slot, "_listen", watched)
    monkeypatch.setattr(HttpWire, "send", last_word)
    if again:
        wire_of(client).finish(Ending(EndKind.EOF, "the test ended it"))
    client.start()
    until(lambda: calls)
    assert calls[0].result(BOUND).text == "{}"
    heard = [turn.rpc for turn in peer.heard if turn.rpc in ("notifications/initialized", "tools/call")]
    assert heard == [*["notifications/initialized"] * (1 + again), "tools/call"]


class Pause:
    """Something that happens to a caller between setting out and telling the connection of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
        self.times = 0
        depart = Departures.depart

        def paused(departures: Departures, called: Called, slot: Any) -> Departed | None:
            departed = depart(departures, called, slot)
            self.times += 1
            if departed is not None and self.times == 1:
                happens()
            return departed

        monkeypatch.setattr(Departures, "depart", paused)


def lose_the_wire(client: Client, *, replaced: bool) -> None:
    wire = wire_of(client)
    wire.finish(Ending(EndKind.EOF, "the test ended it"))
    until(lambda: client.state != "ready" or wire_of(client) is not wire)
    if replaced:
        until(lambda: client.state == "ready")


@pytest.mark.requirement("request:one-outcome", "request:lost")
@pytest.mark.parametrize(("replaced", "outcome"), [(False, "not_sent"), (True, "unknown")])
def test_a_wire_that_ends_while_a_caller_sets_out_is_a_lost_request(
    replaced: bool, outcome: str, peer: HttpPeer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.call_tool("echo", {})
    Pause(monkeypatch, lambda: lose_the_wire(client, replaced=replaced))
    with pytest.raises(errors.ConnectionLost) as caught:
        client.call_tool("echo", {"n": 2})
    assert caught.value.outcome == outcome
    assert client.call_tool("echo", {"n": 3}, wait=True).text == '{"n": 3}'
    assert [turn.params["arguments"] for turn in peer.turns("tools/call")] == [{}, {"n": 3}]
    until(lambda: nothing_runs(client) and client.stats().pending == 0)


@pytest.mark.requirement("request:lost")
def test_who_waits_for_another_wire_then_sends_it_once(
    peer: HttpPeer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.call_tool("echo", {})
    Pause(monkeypatch, lambda: lose_the_wire(client, replaced=False))
    assert client.call_tool("echo", {"n": 2}, wait=True).text == '{"n": 2}'
    assert len(peer.turns("tools/call")) == 2


@pytest.mark.requirement("connection:stop")
def test_a_client_that_is_closed_while_a_caller_sets_out_says_so(
    peer: HttpPeer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.call_tool("echo", {})
    Pause(monkeypatch, client.close)
    with pytest.raises(errors.ClientClosed):
        client.call_tool("echo", {"n": 2})
    assert len(peer.turns("tools/call")) == 1


@pytest.mark.requirement("request:cancel-caller")
@pytest.mark.parametrize("version", ERAS)
def test_an_interrupt_while_a_caller_sets_out_leaves_nothing(
    version: str, make_peer: MakePeer, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer = make_peer(version)
    client = make_client(peer).wait_ready()
    client.call_tool("echo", {})

    def interrupt() -> None:
        raise KeyboardInterrupt

    pause = Pause(monkeypatch, interrupt)
    with pytest.raises(KeyboardInterrupt):
        client.call_tool("echo", {"n": 2})
    assert pause.times == 1
    assert nothing_runs(client)
    assert client.call_tool("echo", {"n": 3}).text == '{"n": 3}'
    assert len(peer.turns("tools/call")) == 2


@pytest.mark.requirement("request:cancel-caller")
@pytest.mark.parametrize(
    "step", ["mcp_actors.client.loans.Fetching.run", f"{HttpWire.__module__}.HttpWire.count"]
)
def test_an_interrupt_on_the_way_into_an_exchange_leaves_nothing(
    step: str, peer: HttpPeer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    client.call_tool("echo", {})
    until(lambda: nothing_runs(client))
    with monkeypatch.context() as patched:
        patched.setattr(step, interrupt)
        with pytest.raises(KeyboardInterrupt):
            client.call_tool("echo", {"n": 2})
    assert nothing_runs(client)
    assert client.call_tool("echo", {"n": 3}).text == '{"n": 3}'
    assert len(peer.turns("tools/call")) == 2


@pytest.mark.requirement("request:one-outcome")
@pytest.mark.parametrize("known", [True, False], ids=["known", "queued"])
def test_a_connection_that_crashes_leaves_nobody_waiting_for_their_own_exchange(
    known: bool, peer: HttpPeer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer.calls["work"] = lambda turn: turn.await_end()
    client.call_tool("echo", {})
    gate, again = threading.Event(), threading.Event()
    tree, handle = client._trees.value, ConnectionMachine.handle
    assert tree is not None
    assert tree.connection is not None

    def fail(_machine: ConnectionMachine, _event: object) -> None:
        monkeypatch.setattr(ConnectionMachine, "handle", handle)
        gate.wait(BOUND)
        raise RuntimeError("planted")

    def introduce(turn: Turn) -> None:
        again.wait(BOUND)
        peer.serve(turn)

    peer.on("server/discover", introduce)
    with opened_at_the_end(gate, again):
        if not known:
            monkeypatch.setattr(ConnectionMachine, "handle", fail)
            tree.connection.tell("anything")
        calls = [in_thread(lambda: client.call_tool("work")) for _ in range(3)]
        peer.await_turns("tools/call", 4)
        if known:
            until(lambda: client.stats().pending == 3)
            monkeypatch.setattr(ConnectionMachine, "handle", fail)
            tree.connection.tell("anything")
        gate.set()
        for call in calls:
            with pytest.raises(errors.ConnectionLost) as caught:
                call.result(BOUND)
            assert caught.value.outcome == "unknown"
        # Nobody sets out for a connection that is not there.
        assert tree.wiring.board.departures is None
        again.set()
        assert client.call_tool("echo", {"n": 1}, wait=True).text == '{"n": 1}'


@pytest.mark.requirement("telemetry:events")
def test_what_callers_send_themselves_is_told_from_its_beginning(client: Client) -> None:
    heard: list[object] = []
    detach = telemetry.attach(heard.append)
    # What is told of a call may come after the call; the second one finds the connection that it needs.
    for _ in range(2):
        heard.clear()
        client.call_tool("echo", {})
        until(lambda: any(isinstance(one, RequestStopped) for one in heard))
    detach()
    (started,) = (one for one in heard if isinstance(one, RequestStarted))
    (stopped,) = (one for one in heard if isinstance(one, RequestStopped))
    assert (started.method, started.correlation_id) == ("tools/call", stopped.correlation_id)
    assert [one.direction for one in heard if isinstance(one, TransportIo)] == ["out", "in"]


@pytest.mark.stress
@pytest.mark.requirement("request:one-outcome")
@pytest.mark.parametrize("version", ERAS)
def test_answers_and_deadlines_race_and_each_call_ends_once(
    version: str, make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer(version)
    luck = random.Random(7)

    def work(turn: Turn) -> None:
        threading.Event().wait(turn.params["arguments"]["after"])
        turn.answer(text(turn.params["arguments"]))

    peer.calls["work"] = work
    client = make_client(peer).wait_ready()

    def some_calls(delays: list[float]) -> int:
        late = 0
        for after in delays:
            try:
                result = client.call_tool("work", {"after": after}, timeout=0.02)
                assert result.text == f'{{"after": {after}}}'
            except errors.RequestTimeout:
                late += 1
        return late

    plans = [[luck.choice((0.001, 0.0195, 0.02, 0.0205, 0.03)) for _ in range(12)] for _ in range(6)]
    for call in [in_thread(lambda plan=plan: some_calls(plan)) for plan in plans]:  # type: ignore[misc]
        call.result(4 * BOUND)
    until(lambda: client.stats().pending == 0)
    until(lambda: nothing_runs(client))
    assert client.call_tool("echo", {}).text == "{}"


@pytest.mark.parametrize("form", ["json", "sse"])
def test_over_tls_it_is_the_same(
    form: str, make_peer: MakePeer, make_client: MakeClient, authority: Authority, watch: Watch
) -> None:
    peer = make_peer(tls=authority[1])
    client = make_client(peer, verify=str(authority[0])).wait_ready()
    gate = threading.Event()

    def apart(turn: Turn) -> None:
        stream = turn.stream().answer(text("done"))
        gate.wait(BOUND)
        stream.end()

    if form == "sse":
        peer.calls["echo"] = apart
    client.call_tool("echo", {})
    client.call_tool("echo", {})
    gate.set()
    assert threading.current_thread() in watch.askers


def test_if_all_connections_are_in_use_the_crew_makes_another(client: Client, watch: Watch) -> None:
    client.call_tool("echo", {})
    watch.askers.clear()
    (way,) = wire_of(client)._engine._ways.values()
    assert way.pool.pool is not None
    in_use = [way.pool.pool.get_nowait() for _ in range(way.pool.pool.qsize())]
    assert client.call_tool("echo", {}).text == "{}"
    assert watch.askers == []
    for connection in filter(None, in_use):
        connection.close()


@pytest.mark.parametrize("there", [b"", b"\r\n", b"\r\n0\r\n\r\n"], ids=repr)
def test_what_is_left_of_a_response_is_looked_at_without_waiting(there: bytes) -> None:
    one, other = socket.socketpair()
    with one, other:
        one.settimeout(BOUND)
        other.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx" + there)
        response = Response(one, method="POST")
        response.begin()
        assert response.read1() == b"x"
        assert response.at_hand() == response.at_hand() == there
        assert one.gettimeout() == BOUND
        response.close()
        assert response.at_hand() == b""


# Heads.


def test_a_header_with_a_line_break_is_not_written(peer: HttpPeer) -> None:
    engine = Engine(None, None, BOUND)
    errand = Errand("POST", peer.url, {}, b"{}")
    for name, value in {"A": "b\r\nC: d", "B\n": "c", "C": "d\re"}.items():
        with pytest.raises(ValueError, match="line break"):
            engine.post(errand, {name: value}, Grip(), BOUND)
    engine.close()


def test_without_a_connection_nothing_is_written(peer: HttpPeer) -> None:
    engine = Engine(None, None, BOUND)
    errand = Errand("POST", peer.url, {}, b"{}")
    assert engine.post(errand, {}, Grip(), BOUND) is None
    engine.close()
    assert engine.post(errand, {}, Grip(), BOUND) is None
    assert peer.connections == 0


def test_a_connection_that_was_idle_for_long_is_not_trusted(
    client: Client, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.call_tool("echo", {})
    watch.askers.clear()
    monkeypatch.setattr(HeldConnection, "is_stale", True)
    assert client.call_tool("echo", {}).text == "{}"
    assert watch.askers == []


def test_results_of_every_kind_are_the_same_as_elsewhere(client: Client) -> None:
    own: types.CallToolResult = client.call_tool("echo", {"a": 1})
    other = client.submit_tool("echo", {"a": 1}).result(BOUND)
    assert own == other
    for call in (lambda: client.request("no/such", {}), lambda: client.get_prompt("no")):
        with pytest.raises(errors.RemoteError):
            call()
    assert client.protocol_version == STATELESS
