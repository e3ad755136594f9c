"""Several calls in one POST, which only 2025-03-26 has."""

from __future__ import annotations

import pytest

from mcp_actors import errors
from tests.servers.http_peer import Turn, text
from tests.transports.http.conftest import MakeClient, MakePeer

pytestmark = pytest.mark.requirement("transport:http")


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
    peer.once(
        "POST",
        lambda turn: turn.status(500),
        lambda turn: turn.json([{"jsonrpc": "2.0", "id": turn.message[1]["id"], "result": text("b")}]),
    )
    for _ in range(2):
        with client.batch() as batch:
            first, second = batch.call_tool("echo"), batch.call_tool("echo")
        with pytest.raises(errors.ConnectionLost):
            first.result()
    assert second.result().text == "b"


def test_giving_up_one_call_of_a_batch_leaves_the_others(
    make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer("2025-03-26")
    client = make_client(peer).wait_ready()

    def slowly(turn: Turn) -> None:
        peer.await_turns("notifications/cancelled")
        peer.serve(turn)

    peer.once("POST", slowly)
    with client.batch() as batch:
        calls = [batch.call_tool("echo") for _ in range(3)]
    assert calls[1].future.cancel()
    assert [calls[0].result().text, calls[2].result().text] == ["one of many"] * 2


def test_a_batch_that_is_refused_is_refused_for_every_call_of_it(
    make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer("2025-03-26")
    client = make_client(peer).wait_ready()
    error = {"code": -32600, "message": "no arrays, please"}
    peer.once("POST", lambda turn: turn.json({"jsonrpc": "2.0", "id": None, "error": error}, 400))
    with client.batch() as batch:
        calls = [batch.call_tool("echo") for _ in range(3)]
    for call in calls:
        with pytest.raises(errors.RemoteError, match="no arrays, please"):
            call.result()
