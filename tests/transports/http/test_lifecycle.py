"""Sessions, restarts, endings: what becomes of a client over HTTP when its server comes and goes."""

from __future__ import annotations

import socket
import threading
import time
from typing import Any

import pytest
from msgspec import structs

from mcp_actors import Client, errors
from tests.client.waiting import BOUND, in_thread, until
from tests.servers.http_peer import STATELESS, HttpPeer, Turn
from tests.transports.http.conftest import ERAS, MakeClient, MakePeer, wire_of

pytestmark = pytest.mark.requirement("transport:http")


def hang(turn: Turn) -> None:
    """Neither answer nor close, as long as the client does not."""
    turn.await_end()


@pytest.mark.parametrize("version", ERAS)
def test_a_client_serves_again_after_its_server_was_restarted(
    version: str, make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer(version)
    client = make_client(peer).wait_ready()
    client.call_tool("echo", {})
    peer.restart()
    assert client.call_tool("echo", {"n": 2}, wait=True).text == '{"n": 2}'


@pytest.mark.parametrize("status", [404, 400])
def test_a_session_that_the_server_forgot_is_replaced(
    status: int, make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer("2025-11-25")
    peer.forgets_with = status
    client = make_client(peer).wait_ready()
    client.list_tools()
    peer.open_sessions.clear()
    with pytest.raises(errors.ConnectionLost, match="ended the session") as caught:
        client.call_tool("echo", {})
    assert caught.value.outcome == "not_sent"
    assert client.call_tool("echo", {}, wait=True).text == "{}"
    assert peer.turns("tools/call")[-1].headers["mcp-session-id"] == "session-2-of-a-test"
    assert "mcp-session-id" not in peer.turns("initialize")[1].headers
    # What was listed before is listed again.
    assert len(peer.turns("tools/list")) == 2
    # Nobody says goodbye to a session that is gone.
    assert peer.turns("DELETE") == []


@pytest.mark.requirement("request:one-outcome")
def test_of_several_calls_each_hears_that_its_session_is_gone(
    make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer("2025-11-25")
    client = make_client(peer).wait_ready()
    wire, everybody, first = wire_of(client), threading.Barrier(4), threading.Lock()

    def forget(turn: Turn) -> None:
        everybody.wait(BOUND)
        if not first.acquire(blocking=False):
            # The others are told when their caller's wire is known to be over.
            until(lambda: wire._over)
        turn.status(404, b"no such session")

    peer.calls["work"] = forget
    calls = [in_thread(lambda: client.call_tool("work")) for _ in range(4)]
    for call in calls:
        with pytest.raises(errors.ConnectionLost, match="ended the session") as caught:
            call.result(BOUND)
        assert caught.value.outcome == "not_sent"
    assert client.call_tool("echo", {}, wait=True).text == "{}"


def test_a_call_without_an_end_does_not_hold_up_the_next_session(
    make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer("2025-11-25")
    client = make_client(peer).wait_ready()
    peer.calls["work"] = lambda turn: turn.await_end()
    endless = in_thread(lambda: client.call_tool("work"))
    peer.await_turns("tools/call")
    peer.open_sessions.clear()
    assert client.call_tool("echo", {}, wait=True).text == "{}"
    with pytest.raises(errors.ConnectionLost) as caught:
        endless.result(BOUND)
    assert caught.value.outcome == "unknown"


def test_a_call_that_would_rather_wait_does_not_notice_a_new_session(
    make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer("2025-11-25")
    client = make_client(peer).wait_ready()
    for _ in range(3):
        peer.open_sessions.clear()
        assert client.call_tool("echo", {}, wait=True).text == "{}"


@pytest.mark.parametrize("status", [404, 400])
def test_sessions_that_end_at_once_do_not_make_a_storm(
    status: int, make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer("2025-11-25")
    client = make_client(peer, backoff_min=0.1, backoff_max=5.0).wait_ready()
    peer.on("tools/call", lambda turn: turn.status(status, b"no such session"))
    end = time.monotonic() + 0.8
    while time.monotonic() < end:
        with pytest.raises((errors.ConnectionLost, errors.Unavailable)):
            client.call_tool("echo", {}, timeout=0.5)
        threading.Event().wait(0.005)
    assert len(peer.turns("initialize")) <= 5


@pytest.mark.parametrize("version", ERAS)
def test_a_server_that_is_gone_is_waited_for(
    version: str, make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer(version)
    client = make_client(peer).wait_ready()
    peer.stop()
    with pytest.raises((errors.ConnectionLost, errors.Unavailable)):
        client.call_tool("echo", {})
    until(lambda: client.state != "ready")
    call = in_thread(lambda: client.call_tool("echo", {}, wait=True).text)
    peer.restart()
    assert call.result(BOUND) == "{}"


def test_the_loss_of_the_server_is_noticed_under_load(peer: HttpPeer, client: Client) -> None:
    def call_until_it_is_known() -> None:
        while True:
            try:
                client.call_tool("echo", {})
            except errors.ConnectionLost:
                continue
            except errors.Unavailable:
                return

    callers = [in_thread(call_until_it_is_known) for _ in range(8)]
    peer.await_turns("tools/call", 50)
    peer.stop()
    for caller in callers:
        caller.result(BOUND)


@pytest.mark.parametrize("version", ERAS)
def test_closing_ends_calls_and_streams_at_once(
    version: str, make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer(version)
    ended = threading.Semaphore(0)

    def work(turn: Turn) -> None:
        turn.stream()
        turn.await_end()
        ended.release()

    peer.calls["work"] = work
    client = make_client(peer).wait_ready()
    calls = [in_thread(lambda: client.call_tool("work")) for _ in range(5)]
    peer.await_turns("tools/call", 5)
    if not peer.modern:
        peer.await_listener()
    client.close()
    for call in calls:
        with pytest.raises(errors.ClientClosed):
            call.result(BOUND)
        assert ended.acquire(timeout=BOUND)
    assert len(peer.turns("DELETE")) == (0 if peer.modern else 1)
    assert peer.open_sessions == set()


def test_a_server_that_does_not_let_us_say_goodbye_holds_nobody_up(
    make_peer: MakePeer, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_actors.transports.http.farewell._SECONDS", 0.2)
    peer = make_peer("2025-11-25")
    dripping = threading.Event()

    def drip(turn: Turn) -> None:
        turn.write(b"HTTP/1.1 200 OK\r\n")
        dripping.set()
        turn.over = True
        try:
            while True:
                turn.write(b"X: y\r\n")
                threading.Event().wait(0.02)
        except OSError:
            return

    peer.on("DELETE", drip)
    client = make_client(peer).wait_ready()
    client.close()
    assert dripping.is_set()


def test_whoever_cannot_have_headers_leaves_without_a_goodbye_and_without_waiting(
    make_peer: MakePeer, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A healthy farewell never takes so long.
    monkeypatch.setattr("mcp_actors.transports.http.farewell._SECONDS", 4 * BOUND)
    peer, failing = make_peer("2025-11-25"), threading.Event()

    def headers() -> dict[str, str]:
        if failing.is_set():
            raise RuntimeError("no token today")
        return {}

    client = make_client(peer, headers=headers).wait_ready()
    peer.await_listener()
    failing.set()
    in_thread(lambda: client.close(4 * BOUND)).result(BOUND)
    assert peer.turns("DELETE") == []


@pytest.mark.parametrize("phase", ["connect", "tls", "headers"])
def test_closing_does_not_wait_for_whoever_is_being_connected_to(phase: str, make_client: MakeClient) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server:
        address = server.getsockname()
        # A queue that is full leaves the next one waiting.
        queued = [socket.socket() for _ in range(2 if phase == "connect" else 0)]
        for sock in queued:
            sock.setblocking(False)
            sock.connect_ex(address)
        scheme = "https" if phase == "tls" else "http"
        client = make_client(f"{scheme}://127.0.0.1:{address[1]}/", init_timeout=60.0)
        call = in_thread(lambda: client.call_tool("echo", {}, timeout=60.0))
        until(lambda: [one for one in threading.enumerate() if one.name.startswith("mcp-http-")])
        threading.Event().wait(0.1)
        client.close()
        with pytest.raises(errors.ClientClosed):
            call.result(BOUND)
        left = [one for one in threading.enumerate() if one.name.startswith("mcp-http-")]
        for thread in left:
            thread.join(1.0)
        assert not [one for one in left if one.is_alive()]
        for sock in queued:
            sock.close()


def test_more_streams_than_callers_leave_room_for_a_call(
    make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer("2025-11-25")
    client = make_client(peer, max_in_flight=1).wait_ready()
    peer.await_listener()
    assert client.call_tool("echo", {}).text == "{}"


# Which era.


def refuse(code: int, status: int, data: Any = None) -> Any:
    return lambda turn: turn.refuse(code, "no", status, data)


def refuse_in_a_stream(turn: Turn) -> None:
    error = {"code": -32600, "message": "no session"}
    turn.stream().send({"jsonrpc": "2.0", "id": None, "error": error}).end()


LEGACY = {
    "400 empty": lambda turn: turn.status(400),
    "404 html": lambda turn: turn.status(404, b"<html>", "text/html"),
    "405": lambda turn: turn.status(405),
    "404 -32601": refuse(-32601, 404),
    "200 -32601": refuse(-32601, 200),
    "200 -32602": refuse(-32602, 200),
    "400 -32600": refuse(-32600, 400),
    "200 nonsense": lambda turn: turn.answer({"hello": "world"}),
    "200 older versions": lambda turn: turn.answer({"supportedVersions": ["2025-11-25"], "capabilities": {}}),
    "200 html": lambda turn: turn.status(200, b"<html>", "text/html"),
    "500 -32603": refuse(-32603, 500),
    "stream of nothing": lambda turn: turn.stream().end(),
    "stream without id": refuse_in_a_stream,
}


@pytest.mark.requirement("negotiation:era")
@pytest.mark.parametrize("case", LEGACY)
def test_a_server_that_does_not_know_the_probe_is_of_the_handshake_era(
    case: str, make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer("2025-11-25")
    peer.on("server/discover", LEGACY[case])
    client = make_client(peer).wait_ready()
    assert client.protocol_version == "2025-11-25"
    assert client.call_tool("echo", {}).text == "{}"


@pytest.mark.requirement("negotiation:era")
def test_a_modern_refusal_is_no_reason_to_fall_back(peer: HttpPeer, make_client: MakeClient) -> None:
    data = {"supported": [STATELESS], "requested": "2099-01-01"}
    peer.once("server/discover", refuse(-32022, 400, data))
    assert make_client(peer).wait_ready().protocol_version == STATELESS
    assert peer.turns("initialize") == []


@pytest.mark.requirement("negotiation:era")
@pytest.mark.parametrize("outage", [500, 502, 503, 429, "a broken head", "a broken stream"])
def test_an_outage_says_nothing_about_the_era(
    outage: int | str, peer: HttpPeer, make_client: MakeClient
) -> None:
    def fail(turn: Turn) -> None:
        if isinstance(outage, int):
            turn.status(outage)
        elif outage == "a broken head":
            turn.write(b"HTTP/1.1 404 Not Found\r\nContent-")
            turn.drop()
        else:
            turn.stream()
            turn.drop()

    peer.once("server/discover", fail)
    assert make_client(peer).wait_ready().protocol_version == STATELESS
    assert peer.turns("initialize") == []


@pytest.mark.requirement("negotiation:era")
@pytest.mark.parametrize("code", [-32020, -32022])
def test_a_server_that_became_stateless_is_asked_for_its_era_again(
    code: int, make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer("2025-11-25")
    client = make_client(peer).wait_ready()
    peer.version = STATELESS
    data = {"supported": [STATELESS], "requested": "2025-11-25"}
    peer.once("tools/call", refuse(code, 400, data if code == -32022 else None))
    with pytest.raises(errors.ConnectionLost) as caught:
        client.call_tool("echo", {})
    assert caught.value.outcome == "not_sent"
    assert client.call_tool("echo", {}, wait=True).text == "{}"
    assert client.protocol_version == STATELESS


@pytest.mark.requirement("negotiation:era")
def test_a_server_that_was_stateless_is_asked_for_its_era_again(peer: HttpPeer, client: Client) -> None:
    client.call_tool("echo", {})
    peer.version = "2025-11-25"
    with pytest.raises(errors.ConnectionLost) as caught:
        client.call_tool("echo", {})
    assert caught.value.outcome == "not_sent"
    assert client.call_tool("echo", {}, wait=True).text == "{}"
    assert client.protocol_version == "2025-11-25"


@pytest.mark.parametrize("status", [401, 403])
def test_who_is_not_let_in_is_told_at_once(status: int, peer: HttpPeer, make_client: MakeClient) -> None:
    peer.on("server/discover", lambda turn: turn.status(status))
    with pytest.raises(errors.AuthorizationFailed, match=f"HTTP {status}"):
        make_client(peer).wait_ready()
    assert len(peer.heard) == 1


@pytest.mark.requirement("negotiation:era")
def test_a_probe_that_nobody_answers_is_an_outage_and_tells_nothing_about_the_era(
    peer: HttpPeer, make_client: MakeClient
) -> None:
    ended = threading.Event()

    def ignore(turn: Turn) -> None:
        turn.await_end()
        ended.set()

    peer.once("server/discover", ignore)
    client = make_client(peer, init_timeout=0.3)
    client._policy = structs.replace(client._policy, probe_timeout=0.01)
    client.wait_ready()
    assert ended.wait(BOUND)
    assert client.protocol_version == STATELESS
    assert len(peer.turns("server/discover")) == 2
    assert peer.turns("initialize") == []


@pytest.mark.requirement("negotiation:era")
def test_a_server_that_cannot_be_reached_at_first_is_still_asked_for_its_era(
    peer: HttpPeer, make_client: MakeClient
) -> None:
    peer.stop()
    client = make_client(peer, max_failed_starts=100).start()
    until(lambda: client.state == "backoff")
    peer.restart()
    assert client.wait_ready().protocol_version == STATELESS
    assert peer.turns("initialize") == []


def test_a_call_that_the_server_did_not_see_says_so(peer: HttpPeer, client: Client) -> None:
    streaming = threading.Event()

    def work(turn: Turn) -> None:
        turn.stream()
        streaming.set()
        turn.await_end()

    peer.calls["work"] = work
    call = in_thread(lambda: client.call_tool("work").text)
    assert streaming.wait(BOUND)
    # Somebody is still connected, so that a refused connection is that call's own fault.
    peer._server.close()
    peer._thread.join(BOUND)
    # The connection that the handshake left is closed, too.
    idle = peer.turns("server/discover")[0]
    if idle.connection != peer.turns("tools/call")[0].connection:
        idle.drop()
        until(lambda: idle.sock.fileno() == -1)
    with pytest.raises(errors.ConnectionLost, match="refused the connection") as caught:
        client.call_tool("echo", {})
    assert caught.value.outcome == "not_sent"
    assert client.state == "ready"
    peer._listen(peer.port)
    assert client.call_tool("echo", {}).text == "{}"
    assert not call.done()
