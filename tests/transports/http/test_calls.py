"""Whole clients over HTTP, both eras: calls, progress, questions of the server, headers, caching."""

from __future__ import annotations

import threading

import pytest

from mcp_actors import Client, Progress, errors
from mcp_actors.protocol import types
from tests.client.waiting import BOUND, in_thread, opened_at_the_end, until
from tests.servers.http_peer import STATELESS, HttpPeer, Turn, text
from tests.transports.http.conftest import ERAS, MakeClient, MakePeer

pytestmark = pytest.mark.requirement("transport:http")

HANDSHAKES = ("2025-11-25", "2025-06-18", "2025-03-26")


@pytest.mark.parametrize("streams", [False, True], ids=["json", "sse"])
@pytest.mark.parametrize("version", [STATELESS, *HANDSHAKES])
def test_a_call_is_answered(
    version: str, streams: bool, make_peer: MakePeer, make_client: MakeClient
) -> None:
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
    # A call may begin before the end of the last stream has come, which takes another connection.
    assert peer.connections <= (3 if streams else 1)


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


def test_what_a_stateless_server_asks_in_a_stream_is_not_answered(
    peer: HttpPeer, make_client: MakeClient
) -> None:
    def work(turn: Turn) -> None:
        stream = turn.stream()
        for method in ("ping", "roots/list"):
            stream.send({"jsonrpc": "2.0", "id": method, "method": method})
        stream.answer(text("done")).end()

    peer.calls["work"] = work
    client = make_client(peer, roots=["file:///tmp"])
    assert client.call_tool("work").text == "done"
    assert client.call_tool("echo", {}).text == "{}"
    assert {turn.rpc for turn in peer.heard} == {"server/discover", "tools/call"}


@pytest.mark.requirement("feature:mrtr")
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


def test_requests_of_the_stateless_era_say_in_headers_what_they_are(peer: HttpPeer, client: Client) -> None:
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
