"""Streams of news and of answers: how they begin, break off and go on."""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Iterator
from typing import Any

import pytest

from mcp_actors import errors
from mcp_actors.transports.http.wire import HttpWire
from tests.client.features.ear import Ear
from tests.client.waiting import BOUND, in_thread, opened_at_the_end, until
from tests.servers.http_peer import META, HttpPeer, Turn, text
from tests.transports.http.conftest import MakeClient, MakePeer, wire_of

pytestmark = pytest.mark.requirement("transport:http")

LIMIT = 100_000


def mark(turn: Turn) -> dict[str, Any]:
    """What everything carries that is said in the stream that this request opened."""
    return {"_meta": {f"{META}subscriptionId": turn.message["id"]}}


@pytest.mark.requirement("feature:subscriptions")
def test_news_come_over_one_stream_that_is_opened_again_when_it_breaks(
    peer: HttpPeer, make_client: MakeClient
) -> None:
    peer.capabilities["tools"] = {"listChanged": True}
    streams: list[Any] = []

    def listen(turn: Turn) -> None:
        stream = turn.stream()
        granted = turn.params["notifications"]
        stream.notify("notifications/subscriptions/acknowledged", notifications=granted, **mark(turn))
        streams.append((turn, lambda: stream.notify("notifications/tools/list_changed", **mark(turn))))
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


def test_a_handshake_whose_last_word_may_be_lost_goes_on_as_if_it_was_heard(
    make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer("2025-11-25")
    peer.once("notifications/initialized", Turn.reset)
    client = make_client(peer).wait_ready()
    peer.await_listener()
    assert client.call_tool("echo", {}).text == "{}"


def test_a_handshake_whose_last_word_could_not_be_said_is_begun_anew(
    make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer, failed = make_peer("2025-11-25"), threading.Event()

    def headers() -> dict[str, str]:
        if peer.turns("initialize") and not failed.is_set():
            failed.set()
            raise RuntimeError("no token today")
        return {}

    client = make_client(peer, headers=headers).wait_ready()
    until(lambda: peer.turns("notifications/initialized"))
    peer.await_listener()
    assert client.call_tool("echo", {}, wait=True).text == "{}"
    assert len(peer.turns("initialize")) == 2


@pytest.fixture
def awaited(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Somebody waits for a stream of news to be open, for as long as it takes."""
    event, make = threading.Event(), HttpWire.__init__

    class Listening(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            del timeout
            event.set()
            return super().wait(BOUND)

    def made(wire: HttpWire, *args: Any) -> None:
        make(wire, *args)
        wire.listening = Listening()
        wire.listening.set()

    monkeypatch.setattr(HttpWire, "__init__", made)
    with opened_at_the_end(event):
        yield event


def test_the_first_call_finds_the_stream_open_over_which_its_server_asks_back(
    make_peer: MakePeer, make_client: MakeClient, awaited: threading.Event
) -> None:
    order = list[str]()

    def listen(turn: Turn) -> None:
        awaited.wait(BOUND)
        order.append("stream")
        peer.serve(turn)

    def work(turn: Turn) -> None:
        order.append("call")
        turn.answer(text("done"))

    peer = make_peer("2025-11-25")
    peer.on("GET", listen)
    peer.calls["work"] = work
    assert make_client(peer).wait_ready().call_tool("work").text == "done"
    assert order == ["stream", "call"]


@pytest.mark.requirement("feature:subscriptions")
def test_whoever_calls_after_beginning_to_listen_is_told_what_the_call_changes(
    peer: HttpPeer, make_client: MakeClient, awaited: threading.Event
) -> None:
    peer.capabilities["tools"] = {"listChanged": True}
    order = list[str]()

    def listen(turn: Turn) -> None:
        stream = turn.stream()
        # The response has begun, but the client is not yet among those who are told of changes.
        awaited.wait(BOUND)
        order.append("listen")
        stream.notify("notifications/subscriptions/acknowledged", notifications={}, **mark(turn))
        turn.await_end()

    def learn(turn: Turn) -> None:
        order.append("learn")
        turn.answer(text("done"))

    peer.on("subscriptions/listen", listen)
    peer.calls["learn"] = learn
    client = make_client(peer).wait_ready()
    client.call_tool("echo", {})
    client.on_tools_changed(lambda *_: None)
    assert client.call_tool("learn").text == "done"
    assert order == ["listen", "learn"]
    # Nobody waits for a stream that goes on: what comes now is sent by its caller again.
    assert wire_of(client).listening.is_set()


@pytest.mark.requirement("feature:subscriptions")
@pytest.mark.parametrize("status", [200, 404, 500])
def test_nobody_waits_for_a_stream_that_a_server_does_not_offer(
    status: int, peer: HttpPeer, make_client: MakeClient
) -> None:
    peer.capabilities["tools"] = {"listChanged": True}
    peer.on("subscriptions/listen", lambda turn: turn.refuse(-32601, "no such stream", status))
    client = make_client(peer).wait_ready()
    wire = wire_of(client)
    client.on_tools_changed(lambda *_: None)
    peer.await_turns("subscriptions/listen")
    assert client.call_tool("echo", {}).text == "{}"
    until(wire.listening.is_set)


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


def test_who_listens_for_news_hears_of_a_stream_that_could_not_be_resumed(
    make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer("2025-11-25")
    client, gaps = make_client(peer), Ear()
    client.on_gap(gaps)
    client.wait_ready()
    # Without the id of an event nobody can tell where it broke off.
    peer.await_listener().send({"jsonrpc": "2.0", "method": "notifications/x"}, retry=1).end()
    peer.await_listener(2)
    assert [gap.reason for gap in gaps.wait_for(1)] == ["the stream of news broke and could not be resumed"]
    peer.await_listener(2).send({"jsonrpc": "2.0", "method": "notifications/x"}, id="7", retry=1).end()
    assert peer.await_turns("GET", 3).headers["last-event-id"] == "7"
    peer.await_listener(3)
    client.ping()
    assert len(gaps.heard) == 1
    assert client.stats().reconnects == 0


def test_a_stream_whose_last_event_the_server_forgot_begins_anew_with_a_gap(
    make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer("2025-11-25")
    client, gaps = make_client(peer), Ear()
    client.on_gap(gaps)
    client.wait_ready()
    stream = peer.await_listener()
    peer.once("GET", lambda turn: turn.status(400, b"no such event"))
    stream.send({"jsonrpc": "2.0", "method": "notifications/x"}, id="7", retry=1).end()
    peer.await_listener(2)
    gaps.wait_for(1)
    assert "last-event-id" not in peer.turns("GET")[-1].headers
    assert client.stats().reconnects == 0


def test_who_listens_for_news_hears_that_there_is_no_stream_any_more(
    make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer("2025-11-25")
    client, gaps = make_client(peer), Ear()
    client.on_gap(gaps)
    client.wait_ready()
    stream = peer.await_listener()
    peer.on("GET", lambda turn: turn.status(405))
    stream.send(retry=1).end()
    gaps.wait_for(1)
    assert client.call_tool("echo", {}).text == "{}"


def test_a_stream_of_news_outlives_a_failure_of_the_function_for_headers(
    make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer, failures = make_peer("2025-11-25"), list[Exception]()

    def headers() -> dict[str, str]:
        if failures:
            raise failures.pop()
        return {}

    client, changes = make_client(peer, headers=headers), Ear()
    client.on_tools_changed(changes)
    client.wait_ready()
    stream = peer.await_listener()
    failures.append(RuntimeError("no token for once"))
    stream.send(retry=1).end()
    peer.await_listener(2).notify("notifications/tools/list_changed")
    changes.wait_for(1)
    assert failures == []


def test_a_second_stream_of_a_session_is_asked_for_until_the_first_is_over_for_the_server(
    make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer("2025-11-25")
    client, changes = make_client(peer), Ear()
    client.on_tools_changed(changes)
    client.wait_ready()
    stream = peer.await_listener()
    peer.once("GET", *[lambda turn: turn.status(409)] * 2)
    stream.send(retry=1).end()
    peer.await_listener(2).notify("notifications/tools/list_changed")
    changes.wait_for(1)


@pytest.mark.parametrize("status", [400, 404])
def test_a_stream_of_a_session_that_is_gone_ends_it_also_without_a_last_event(
    status: int, make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer("2025-11-25")
    client, gaps = make_client(peer), Ear()
    client.on_gap(gaps)
    client.wait_ready()
    stream = peer.await_listener()
    peer.once("GET", lambda turn: turn.status(status, b"unknown session"))
    stream.send(retry=1).end()
    peer.await_listener(2)
    assert [gap.reason for gap in gaps.wait_for(1)] == ["the connection was lost"]
    assert len(peer.turns("initialize")) == 2
    assert client.call_tool("echo", {}).text == "{}"


@pytest.mark.requirement("connection:recover")
def test_a_server_that_is_started_anew_before_the_first_stream_was_there_is_noticed(
    make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer("2025-11-25")
    peer.once("GET", Turn.reset, lambda turn: turn.status(404))
    client = make_client(peer).wait_ready()
    peer.await_listener()
    assert len(peer.turns("initialize")) == 2
    assert client.call_tool("echo", {}, wait=True).text == "{}"


def test_a_refusal_of_a_stream_that_does_not_end_is_none_to_be_read(
    make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer("2025-11-25")
    client = make_client(peer, max_frame_bytes=2000).wait_ready()
    stream = peer.await_listener()
    peer.once("GET", lambda turn: turn.status(400, b"session" * 1000))
    stream.send(id="7", retry=1).end()
    peer.await_listener(2)
    assert "last-event-id" not in peer.turns("GET")[-1].headers
    assert client.call_tool("echo", {}).text == "{}"


def test_the_rest_of_an_answer_is_not_waited_for_where_nobody_listens_any_more(
    make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer("2025-11-25", listens=False)
    begun = threading.Event()

    def work(turn: Turn) -> None:
        turn.stream().send(id="1", retry=1)
        begun.set()
        turn.await_end()

    peer.calls["work"] = work
    client = make_client(peer, request_timeout=60.0)
    call = in_thread(lambda: client.call_tool("work"))
    assert begun.wait(BOUND)
    peer.stop()
    error = call.exception(BOUND)
    assert isinstance(error, errors.ConnectionLost)
    assert error.outcome == "unknown"


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_events_of_a_compressed_stream_are_heard_as_they_come(
    encoding: str, peer: HttpPeer, make_client: MakeClient
) -> None:
    heard = threading.Event()

    def work(turn: Turn) -> None:
        compressor = zlib.compressobj(wbits=31 if encoding == "gzip" else 15)

        def say(message: Any) -> None:
            data = compressor.compress(f"data: {json.dumps(message)}\n\n".encode())
            stream.write(data + compressor.flush(zlib.Z_SYNC_FLUSH))

        stream = turn.stream(Content_Encoding=encoding)
        say({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}})
        assert heard.wait(BOUND)
        say(turn.result(text("done")))
        stream.write(compressor.flush()).end()

    peer.calls["work"] = work
    client = make_client(peer, log_handler=lambda *_: heard.set())
    with opened_at_the_end(heard):
        assert client.call_tool("work").text == "done"


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


def test_a_server_that_asks_for_time_is_given_it_before_the_rest_of_an_answer(
    make_peer: MakePeer, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    rests: list[float] = []
    monkeypatch.setattr("mcp_actors.transports.http.grip.Grip.rest", lambda _, seconds: rests.append(seconds))
    peer = make_peer("2025-11-25", listens=False)
    calls: list[Turn] = []

    def work(turn: Turn) -> None:
        calls.append(turn)
        turn.stream().send(id="a-1", retry=7000).end()

    peer.calls["work"] = work
    client = make_client(peer).wait_ready()
    peer.await_turns("GET")
    # The next one has no event before it breaks: both the id and the time stay what they were.
    peer.once("GET", lambda turn: turn.stream().end())
    peer.on("GET", lambda turn: turn.stream().send(calls[0].result(text("after all"))).end())
    assert client.call_tool("work").text == "after all"
    assert [turn.headers["last-event-id"] for turn in peer.turns("GET")[1:]] == ["a-1", "a-1"]
    assert len(rests) == 2
    assert min(rests) >= 7.0


def test_a_stream_that_breaks_again_and_again_is_resumed_a_few_times_only(
    make_peer: MakePeer, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_actors.transports.http.grip.Grip.rest", lambda *_: False)
    peer = make_peer("2025-11-25", listens=False)

    def work(turn: Turn) -> None:
        turn.stream().send(id="1", retry=0)
        turn.drop()

    peer.calls["work"] = work
    client = make_client(peer).wait_ready()
    peer.await_turns("GET")
    peer.on("GET", lambda turn: turn.drop())
    with pytest.raises(errors.ConnectionLost, match="before the answer"):
        client.call_tool("work")
    assert 2 <= len(peer.turns("GET")) <= 6
    assert {turn.headers["last-event-id"] for turn in peer.turns("GET")[1:]} == {"1"}


def test_a_stream_of_news_that_ends_at_once_is_not_asked_for_in_a_storm(
    make_peer: MakePeer, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    rests: list[float] = []

    def rest(_grip: Any, seconds: float) -> bool:
        rests.append(seconds)
        return len(rests) > 20

    monkeypatch.setattr("mcp_actors.transports.http.grip.Grip.rest", rest)
    peer = make_peer("2025-11-25")
    peer.on("GET", lambda turn: turn.stream().send(retry=0).end())
    make_client(peer).wait_ready()
    peer.await_turns("GET", 21)
    assert rests[0] >= 0.1
    assert sum(rests) > 10


def test_an_answer_in_the_stream_of_news_is_nobodys(make_peer: MakePeer, make_client: MakeClient) -> None:
    peer = make_peer("2025-11-25")
    gate = threading.Event()

    def work(turn: Turn) -> None:
        peer.await_listener().send(turn.result(text("from elsewhere")))
        peer.await_listener().notify("notifications/tools/list_changed")
        gate.wait(BOUND)
        turn.answer(text("mine"))

    peer.calls["work"] = work
    client = make_client(peer)
    client.on_tools_changed(lambda *_: gate.set())
    assert client.call_tool("work").text == "mine"


def test_an_oversized_event_of_news_is_lost_alone(make_peer: MakePeer, make_client: MakeClient) -> None:
    peer = make_peer("2025-11-25")
    client = make_client(peer, max_frame_bytes=LIMIT).wait_ready()
    stream = peer.await_listener()
    stream.send(id="9", retry=0)
    stream.write(b"data: " + b"x" * (LIMIT + 10))
    assert "last-event-id" not in peer.await_turns("GET", 2).headers
    assert client.call_tool("echo", {}).text == "{}"
    assert len(peer.turns("initialize")) == 1
