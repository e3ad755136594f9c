"""Whole clients over HTTP, both eras: calls, progress, questions of the server, headers, caching."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from mcp_actors import Client, Progress, errors
from mcp_actors.protocol import types
from tests.client.waiting import BOUND, in_thread, opened_at_the_end, until
from tests.servers.http_peer import META, STATELESS, HttpPeer, Turn, text
from tests.transports.http.conftest import ERAS, MakeClient, MakePeer

pytestmark = pytest.mark.requirement("transport:http")

HANDSHAKES = ("2025-11-25", "2025-06-18", "2025-03-26")


@pytest.mark.parametrize("streams", [False, True], ids=["json", "sse"])
@pytest.mark.parametrize("version", (STATELESS, *HANDSHAKES))
def test_a_call_is_answered(version: str, streams: bool, make_peer: MakePeer, make_client: MakeClient) -> None:
    client = make_client(make_peer(version, streams=streams)).wait_ready()
    assert client.protocol_version == version
    assert [tool.name for tool in client.list_tools()] == ["echo"]
    assert client.call_tool("echo", {"a": 1}).text == '{"a": 1}'


@pytest.mark.parametrize("streams", [False, True], ids=["json", "sse"])
def test_calls_one_after_the_other_share_a_connection(
    streams: bool, make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer(streams=streams)
    client = make_client(peer).wait_ready()
    for number in range(20):
        client.call_tool("echo", {"n": number})
    assert peer.connections == 1


@pytest.mark.parametrize("version", ERAS)
def test_fifty_threads_get_their_own_answers(
    version: str, make_peer: MakePeer, make_client: MakeClient
) -> None:
    client = make_client(make_peer(version)).wait_ready()
    calls = [in_thread(lambda n=n: client.call_tool("echo", {"n": n}).text) for n in range(50)]  # type: ignore[misc]
    assert [call.result(BOUND) for call in calls] == [f'{{"n": {n}}}' for n in range(50)]


@pytest.mark.parametrize("version", ERAS)
def test_progress_comes_before_the_answer(version: str, make_peer: MakePeer, make_client: MakeClient) -> None:
    peer = make_peer(version)

    def work(turn: Turn) -> None:
        stream = turn.stream()
        token = turn.params["_meta"]["progressToken"]
        for step in range(3):
            stream.notify("notifications/progress", progressToken=token, progress=step)
        stream.answer(text("done")).end()

    peer.calls["work"] = work
    heard: list[Progress] = []
    assert make_client(peer).call_tool("work", on_progress=heard.append).text == "done"
    assert [one.progress for one in heard] == [0, 1, 2]


def test_what_the_server_asks_in_a_stream_is_answered_by_a_post(
    make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer("2025-11-25")
    ask = {"jsonrpc": "2.0", "id": "q", "method": "roots/list"}

    def work(turn: Turn) -> None:
        stream = turn.stream()
        stream.send(ask)
        until(lambda: [one for one in peer.heard if one.message and one.message.get("id") == "q"])
        stream.answer(text("thanks")).end()

    peer.calls["work"] = work
    client = make_client(peer, roots=["file:///tmp"])
    assert client.call_tool("work").text == "thanks"
    (answer,) = [one for one in peer.heard if one.message and one.message.get("id") == "q"]
    assert answer.message["result"]["roots"][0]["uri"] == "file:///tmp"
    assert answer.headers["mcp-session-id"] == "session-1-of-a-test"


def test_what_the_server_needs_first_is_given_in_another_round(
    peer: HttpPeer, make_client: MakeClient
) -> None:
    def work(turn: Turn) -> None:
        given = turn.params.get("inputResponses")
        if given is None:
            form = {"message": "who?", "requestedSchema": {"type": "object", "properties": {}}}
            asked = {"who": {"method": "elicitation/create", "params": {"mode": "form", **form}}}
            turn.answer({"resultType": "input_required", "inputRequests": asked, "requestState": "s"})
        else:
            turn.answer(text(given["who"]["action"]))

    peer.calls["work"] = work

    def decline(_form: types.ElicitParams) -> bool:
        return False

    client = make_client(peer, elicitation_handler=decline)
    assert client.call_tool("work").text == "decline"
    assert len(peer.turns("tools/call")) == 2


def test_news_come_over_one_stream_that_is_opened_again_when_it_breaks(
    peer: HttpPeer, make_client: MakeClient
) -> None:
    peer.capabilities["tools"] = {"listChanged": True}
    streams: list[Any] = []

    def listen(turn: Turn) -> None:
        stream = turn.stream()
        mark = {"_meta": {f"{META}subscriptionId": turn.message["id"]}}
        stream.notify("notifications/subscriptions/acknowledged", notifications=turn.params["notifications"], **mark)
        streams.append((turn, lambda: stream.notify("notifications/tools/list_changed", **mark)))
        turn.await_end()

    peer.on("subscriptions/listen", listen)
    client = make_client(peer)
    changes, gaps = threading.Semaphore(0), threading.Semaphore(0)
    client.on_tools_changed(lambda *_: changes.release())
    client.on_gap(lambda *_: gaps.release())
    client.wait_ready()
    until(lambda: streams)
    streams[0][1]()
    assert changes.acquire(timeout=BOUND)
    assert len(peer.turns("subscriptions/listen")) == 1
    streams[0][0].reset()
    assert gaps.acquire(timeout=BOUND)
    until(lambda: len(streams) == 2)
    streams[1][1]()
    assert changes.acquire(timeout=BOUND)
    assert client.call_tool("echo", {}).text == "{}"
    assert len(peer.turns("server/discover")) == 1


def test_news_of_the_handshake_era_come_over_the_stream_that_get_opens(
    make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer("2025-11-25")
    client = make_client(peer)
    changes = threading.Semaphore(0)
    client.on_tools_changed(lambda *_: changes.release())
    client.wait_ready()
    peer.await_listener().notify("notifications/tools/list_changed")
    assert changes.acquire(timeout=BOUND)
    assert peer.turns("GET")[0].headers["accept"] == "text/event-stream"


def test_a_stream_of_news_is_resumed_after_its_last_event_when_the_server_says_so(
    make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer("2025-11-25")
    client = make_client(peer)
    changes = threading.Semaphore(0)
    client.on_tools_changed(lambda *_: changes.release())
    client.wait_ready()
    stream = peer.await_listener()
    stream.send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}, id="7", retry=1)
    assert changes.acquire(timeout=BOUND)
    stream.end()
    assert peer.await_turns("GET", 2).headers["last-event-id"] == "7"
    peer.await_listener(2).notify("notifications/tools/list_changed")
    assert changes.acquire(timeout=BOUND)


def test_a_broken_stream_of_an_answer_is_resumed(make_peer: MakePeer, make_client: MakeClient) -> None:
    peer = make_peer("2025-11-25", listens=False)
    calls: list[Turn] = []

    def work(turn: Turn) -> None:
        calls.append(turn)
        turn.stream().send(id="a-1", retry=1)
        turn.drop()

    def rest(turn: Turn) -> None:
        if turn.headers.get("last-event-id") == "a-1":
            turn.stream().send(calls[0].result(text("after all"))).end()
        else:
            turn.status(405)

    peer.calls["work"] = work
    peer.on("GET", rest)
    assert make_client(peer).call_tool("work").text == "after all"
    assert len(peer.turns("tools/call")) == 1
    assert peer.turns("GET")[-1].headers["mcp-session-id"] == "session-1-of-a-test"


def test_everything_after_initialize_names_session_and_version(
    make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer("2025-11-25")
    client = make_client(peer).wait_ready()
    client.call_tool("echo", {})
    peer.await_listener()
    client.close()
    first = peer.turns("initialize")[0]
    assert "mcp-session-id" not in first.headers
    assert "mcp-protocol-version" not in first.headers
    after = peer.heard[peer.heard.index(first) + 1 :]
    assert {turn.rpc or turn.method for turn in after} == {
        "notifications/initialized",
        "tools/call",
        "GET",
        "DELETE",
    }
    for turn in after:
        assert turn.headers["mcp-session-id"] == "session-1-of-a-test"
        assert turn.headers["mcp-protocol-version"] == "2025-11-25"
    assert after[0].rpc == "notifications/initialized"
    assert peer.open_sessions == set()


def test_requests_of_the_stateless_era_say_in_headers_what_they_are(
    peer: HttpPeer, client: Client
) -> None:
    peer.tools[0]["inputSchema"]["properties"] = {"region": {"type": "string", "x-mcp-header": "Region"}}
    client.list_tools()
    client.call_tool("echo", {"region": "Österreich"})
    headers = peer.turns("tools/call")[0].headers
    assert headers["mcp-protocol-version"] == STATELESS
    assert headers["mcp-method"] == "tools/call"
    assert headers["mcp-name"] == "echo"
    assert headers["mcp-param-region"] == "=?base64?w5ZzdGVycmVpY2g=?="
    assert "mcp-session-id" not in headers
    assert {turn.method for turn in peer.heard} == {"POST"}


def test_tools_whose_header_annotations_break_the_rules_are_left_out(peer: HttpPeer, client: Client) -> None:
    bad = {"type": "object", "properties": {"n": {"type": "number", "x-mcp-header": "N"}}}
    peer.tools.append({"name": "bad", "inputSchema": bad})
    assert [tool.name for tool in client.list_tools()] == ["echo"]


@pytest.mark.parametrize("kind", ["mapping", "function"])
def test_headers_of_the_user_go_with_every_request(
    kind: str, make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer("2025-11-25")
    mine = {"X-Mine": "yes", "accept": "text/html", "mcp-session-id": "stolen"}
    client = make_client(peer, headers=mine if kind == "mapping" else lambda: mine).wait_ready()
    client.call_tool("echo", {})
    client.close()
    assert {turn.headers.get("x-mine") for turn in peer.heard} == {"yes"}
    assert {turn.headers["accept"] for turn in peer.turns("POST")} == {"application/json, text/event-stream"}
    assert "stolen" not in {turn.headers.get("mcp-session-id") for turn in peer.heard}


def test_a_function_for_headers_is_asked_for_each_request_and_its_failure_is_that_calls(
    peer: HttpPeer, make_client: MakeClient
) -> None:
    state = {"n": 0, "fails": False}

    def headers() -> dict[str, str]:
        state["n"] += 1
        if state["fails"]:
            raise RuntimeError("no token today")
        return {"X-Number": str(state["n"])}

    client = make_client(peer, headers=headers).wait_ready()
    client.call_tool("echo", {})
    assert [turn.headers["x-number"] for turn in peer.heard] == ["1", "2"]
    state["fails"] = True
    with pytest.raises(errors.ConnectionLost, match="no token today") as caught:
        client.call_tool("echo", {})
    assert caught.value.outcome == "not_sent"
    state["fails"] = False
    assert client.call_tool("echo", {}).text == "{}"


@pytest.mark.parametrize(
    "headers", [{"A\r\nB": "c"}, {"A": "b\r\nC: d"}, {"A": "b\n c"}, {"A b": "c"}, {"A": "€"}]
)
def test_headers_that_are_none_are_refused_at_once(headers: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="header"):
        Client.http("http://127.0.0.1:1/", headers=headers)


def test_a_listing_is_kept_for_as_long_as_the_server_allows(peer: HttpPeer, client: Client) -> None:
    client.list_tools()
    client.list_tools()
    assert len(peer.turns("tools/list")) == 1
    client.list_tools(fresh=True)
    assert len(peer.turns("tools/list")) == 2


def test_a_batch_is_one_post_in_the_revision_that_has_arrays(
    make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer("2025-03-26")
    client = make_client(peer).wait_ready()
    with client.batch() as batch:
        calls = [batch.call_tool("echo", {"n": n}) for n in range(3)]
    assert [call.result().text for call in calls] == ["one of many"] * 3
    (turn,) = [turn for turn in peer.heard if isinstance(turn.message, list)]
    assert len(turn.message) == 3
    assert turn.headers["mcp-session-id"] == "session-1-of-a-test"


def test_the_answers_to_a_batch_may_come_in_a_stream_one_by_one(
    make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer("2025-03-26")

    def stream(turn: Turn) -> None:
        if not isinstance(turn.message, list):
            peer.serve(turn)
            return
        stream = turn.stream()
        for one in reversed(turn.message[1:]):
            stream.send({"jsonrpc": "2.0", "id": one["id"], "result": text(str(one["id"]))})
        stream.end()

    client = make_client(peer).wait_ready()
    peer.on("POST", stream)
    with client.batch() as batch:
        calls = [batch.call_tool("echo") for _ in range(3)]
    assert calls[2].result().text != calls[1].result().text
    # One answer never came: that is the fault of one call.
    with pytest.raises(errors.ConnectionLost, match="before the answer"):
        calls[0].result()
    assert client.call_tool("echo", {}).text == "{}"


def test_a_batch_that_fails_fails_every_call_of_it(make_peer: MakePeer, make_client: MakeClient) -> None:
    peer = make_peer("2025-03-26")
    client = make_client(peer).wait_ready()
    peer.once("POST", lambda turn: turn.status(500), lambda turn: turn.json([{"jsonrpc": "2.0", "id": turn.message[1]["id"], "result": text("b")}]))
    for _ in range(2):
        with client.batch() as batch:
            first, second = batch.call_tool("echo"), batch.call_tool("echo")
        with pytest.raises(errors.ConnectionLost):
            first.result()
    assert second.result().text == "b"


def test_calls_do_not_overtake_the_end_of_the_handshake(make_peer: MakePeer, make_client: MakeClient) -> None:
    peer = make_peer("2025-11-25")
    gate = threading.Event()

    def slowly(turn: Turn) -> None:
        gate.wait(BOUND)
        turn.status(202)

    peer.on("notifications/initialized", slowly)
    client = make_client(peer).wait_ready()
    with opened_at_the_end(gate):
        call = in_thread(lambda: client.call_tool("echo", {}).text)
        peer.await_turns("notifications/initialized")
        assert peer.turns("tools/call") == []
    assert call.result(BOUND) == "{}"
