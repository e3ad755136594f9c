"""POSTs of 2026-07-28: each stands alone, answered in JSON or as a stream."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.server.http.conftest import MakeSite, Site
from tests.server.http.driver import Answer, Elsewhere
from tests.server.http.fake_peer import META, MODERN, FakePeer, described, notification, request

pytestmark = pytest.mark.requirement("transport:http")


def ask(site: Site, method: str, params: Any = None, **options: Any) -> Answer:
    message, headers = described(method, params=params)
    return site.post(message, headers=headers | options.pop("headers", {}), **options)


def test_an_answer_that_comes_first_is_plain_json(site: Site) -> None:
    answer = ask(site, "echo", {"a": 1})
    assert answer.status == 200
    assert answer.header("Cache-Control") == "no-store"
    assert answer.header("Mcp-Session-Id") is None
    assert answer.json()["result"]["a"] == 1
    (peer,) = site.peers.made
    assert peer.heard[0][2], "the peer is not told that the message is modern"
    assert peer.reasons == ["the answer was given"]
    assert (peer.cancelled, peer.assume) == ([], None)


@pytest.mark.parametrize(
    ("code", "status"), [(-32602, 400), (-32601, 404), (-32021, 400), (-32022, 400), (-32603, 200), (5, 200)]
)
def test_the_status_follows_the_error(site: Site, code: int, status: int) -> None:
    answer = ask(site, "fail", {"code": code})
    assert answer.status == status
    assert answer.json()["id"] == 1


def test_news_before_the_answer_make_it_a_stream(site: Site) -> None:
    answer = ask(site, "progress")
    assert answer.status == 200
    assert answer.header("Content-Type") == "text/event-stream"
    assert answer.header("X-Accel-Buffering") == "no"
    assert answer.header("Cache-Control") == "no-store"
    events = answer.rest()
    assert [event.id for event in events] == [None] * 3
    assert b'"n":1' in events[0].data
    assert b'"n":2' in events[1].data
    assert b'"done":true' in events[2].data
    assert site.peers.last.reasons == ["the answer was given"]


def test_an_answer_that_takes_long_becomes_a_stream_with_signs_of_life(make_site: MakeSite) -> None:
    site = make_site(sse_after=0.01)
    answer = ask(site, "silence")
    assert answer.streams
    assert answer.piece() == answer.piece() == b": keep-alive\n\n"
    site.peers.last.answer(1, {"late": True})
    assert answer.message()["result"] == {"late": True}
    assert answer.rest() == []
    assert site.peers.last.reasons == ["the answer was given"]


def test_a_stream_that_the_client_closes_is_a_cancellation(site: Site) -> None:
    site.peers.scripts["work"] = lambda peer, message: peer.tell(message.id)
    answer = ask(site, "work")
    answer.message()
    answer.close()
    answer.close()
    peer = site.peers.last
    assert peer.cancelled == [1]
    assert peer.reasons == ["the client closed the connection"] * 2


def test_a_client_that_goes_away_while_its_answer_is_worked_on_is_noticed(site: Site) -> None:
    away = threading.Event()
    waiting = Elsewhere(lambda: ask(site, "silence", **{"waitress.client_disconnected": away.is_set}))
    peer = site.peers.hearing("silence")
    assert not waiting.done
    assert peer.cancelled == []
    away.set()
    assert waiting.result().read() == b""
    assert peer.cancelled == [1]


def test_a_client_that_goes_away_during_a_silent_stream_is_noticed(make_site: MakeSite) -> None:
    away = threading.Event()
    site = make_site(sse_after=0.01, keep_alive=60)
    answer = ask(site, "silence", **{"waitress.client_disconnected": away.is_set})
    answer.piece()
    away.set()
    assert answer.rest() == []
    assert site.peers.last.cancelled == [1]


def test_a_request_that_ends_without_an_answer_ends_its_stream(site: Site) -> None:
    answer = ask(site, "cancelled")
    assert answer.streams
    assert answer.read() == b""


def test_a_peer_that_ends_at_once_is_a_server_that_is_being_stopped(site: Site) -> None:
    site.peers.scripts["end"] = lambda peer, _message: peer.outlet.end("stopped")
    answer = ask(site, "end")
    assert (answer.status, answer.header("Retry-After")) == (503, "1")
    assert answer.code == -32603


def test_a_peer_that_ends_in_mid_stream_ends_the_stream(site: Site) -> None:
    def end(peer: FakePeer, message: Any) -> None:
        peer.tell(message.id)
        peer.outlet.end("stopped")
        peer.tell(message.id, "nobody hears it")

    site.peers.scripts["end"] = end
    assert len(ask(site, "end").rest()) == 1


def test_a_notification_is_accepted_and_its_peer_let_go(site: Site) -> None:
    answer = site.post(notification("notifications/x"), headers={"MCP-Protocol-Version": MODERN})
    assert (answer.status, answer.read()) == (202, b"")
    assert site.peers.last.stopped == 1


def test_an_invalid_meta_reaches_the_peer_which_says_what_is_wrong(site: Site) -> None:
    answer = site.post(request("fail", 3, {"code": -32602}), headers={"MCP-Protocol-Version": MODERN})
    assert answer.status == 400
    assert answer.json()["id"] == 3


def test_headers_that_differ_from_the_body_reach_nobody(site: Site) -> None:
    message, headers = described("echo", id="x")
    for wrong in ({"Mcp-Method": "other"}, {"Mcp-Method": None}, {"MCP-Protocol-Version": None}):
        answer = site.post(message, headers=headers | wrong)
        assert answer.status == 400
        body = answer.json()
        assert (body["error"]["code"], body["id"]) == (-32020, "x")
    assert site.peers.made == []


def test_get_and_delete_are_not_of_this_revision(site: Site) -> None:
    for method in ("GET", "DELETE"):
        answer = site.request(method, headers={"MCP-Protocol-Version": MODERN, "Mcp-Session-Id": "x"})
        assert (answer.status, answer.header("Allow")) == (405, "POST")


def test_a_session_id_is_ignored(site: Site) -> None:
    assert ask(site, "echo", headers={"Mcp-Session-Id": "whatever"}).status == 200


# Streams that last.


def listening(peer: FakePeer, message: Any) -> None:
    peer.tell(message.id, "acknowledged")


@pytest.mark.requirement("security:limits")
def test_streams_that_last_are_counted_and_calls_are_not(make_site: MakeSite) -> None:
    site = make_site(max_streams=1, scripts={"subscriptions/listen": listening})
    stream = ask(site, "subscriptions/listen")
    assert stream.streams
    refused = ask(site, "subscriptions/listen")
    assert refused.status == 503
    assert refused.header("Retry-After") is not None
    assert refused.json()["id"] == 1
    assert ask(site, "progress").rest()
    stream.close()
    assert ask(site, "subscriptions/listen").streams
    assert len(site.peers.made) == 3


def test_a_refused_subscription_gives_its_place_back(make_site: MakeSite) -> None:
    site = make_site(
        max_streams=1, scripts={"subscriptions/listen": lambda peer, message: peer.refuse(message.id, -32601)}
    )
    for _ in range(3):
        assert ask(site, "subscriptions/listen").status == 404


def test_a_peer_that_cannot_be_made_gives_the_place_back_and_tells_nothing(
    make_site: MakeSite, caplog: pytest.LogCaptureFixture
) -> None:
    site = make_site(max_streams=1)
    site.app._peers = lambda *_args, **_options: 1 / 0  # type: ignore[assignment]
    for _ in range(2):
        answer = ask(site, "subscriptions/listen")
        assert answer.status == 500
        assert answer.json() == {
            "jsonrpc": "2.0",
            "error": {"code": -32603, "message": "the server failed"},
        }
    assert "ZeroDivisionError" in caplog.text


# A client that does not read.


@pytest.mark.requirement("security:limits")
def test_news_of_a_call_are_dropped_when_nobody_reads_them_but_its_answer_is_not(
    make_site: MakeSite, caplog: pytest.LogCaptureFixture
) -> None:
    def flood(peer: FakePeer, message: Any) -> None:
        for number in range(10):
            peer.tell(message.id, number)
        peer.answer(message.id)

    site = make_site(max_queued=3, scripts={"flood": flood})
    events = ask(site, "flood").rest()
    assert len(events) == 4
    assert b'"result"' in events[-1].data
    assert caplog.text.count("does not read") == 1


@pytest.mark.requirement("security:limits")
def test_a_subscription_that_nobody_reads_is_ended_rather_than_thinned(make_site: MakeSite) -> None:
    def flood(peer: FakePeer, message: Any) -> None:
        for number in range(10):
            peer.tell(message.id, number)

    site = make_site(max_queued_bytes=200, scripts={"subscriptions/listen": flood})
    assert 0 < len(ask(site, "subscriptions/listen").rest()) < 10
    assert site.peers.last.cancelled == [1]


# The handshake era without sessions.


@pytest.fixture
def stateless(make_site: MakeSite) -> Site:
    return make_site(stateless=True)


def test_without_sessions_initialize_opens_none(stateless: Site) -> None:
    answer = stateless.post(request("initialize", 0, {"protocolVersion": "2025-11-25"}))
    assert answer.header("Mcp-Session-Id") is None
    assert answer.json()["result"] == {"protocolVersion": "2025-11-25"}
    assert stateless.peers.last.assume is None


def test_without_sessions_each_post_is_served_in_the_version_that_it_names(stateless: Site) -> None:
    for version in ("2025-06-18", "2025-11-25"):
        answer = stateless.post(request("echo"), headers={"MCP-Protocol-Version": version})
        assert answer.json()["result"] == {}
        assert stateless.peers.last.assume == version
        assert not stateless.peers.last.heard[0][2]
    stateless.post(request("echo")).read()
    assert stateless.peers.last.assume == "2025-03-26"
    assert stateless.post(notification("notifications/initialized")).status == 202
    assert len(stateless.peers.made) == 4


def test_without_sessions_a_batch_is_answered_as_one(stateless: Site) -> None:
    answer = stateless.post([request("echo", 1), request("echo", 2)])
    assert [one["id"] for one in answer.json()] == [1, 2]


def test_without_sessions_errors_have_no_status_of_their_own(stateless: Site) -> None:
    assert stateless.post(request("fail", 1, {"code": -32601})).status == 200


def test_without_sessions_a_client_that_leaves_cancels_nothing(stateless: Site) -> None:
    stateless.peers.scripts["work"] = lambda peer, message: peer.tell(message.id)
    stateless.post(request("work")).close()
    peer = stateless.peers.last
    assert (peer.cancelled, peer.reasons, peer.stopped) == ([], [], 1)


def test_without_sessions_there_is_nothing_to_answer_listen_to_or_end(stateless: Site) -> None:
    assert stateless.post({"jsonrpc": "2.0", "id": 1, "result": {}}).status == 400
    assert stateless.get(headers={"Mcp-Session-Id": "x"}).status == 405
    assert stateless.request("DELETE", headers={"Mcp-Session-Id": "x"}).status == 405
    assert stateless.peers.made == []


def test_a_connection_of_this_era_cannot_be_closed_for_later(site: Site) -> None:
    def close(peer: FakePeer, message: Any) -> None:
        peer.answer(message.id, {"closed": peer.outlet.close_connection(message.id, 10)})

    site.peers.scripts["close"] = close
    assert ask(site, "close").json()["result"] == {"closed": False}


def test_the_version_is_looked_for_in_the_body_too(site: Site) -> None:
    message, _ = described("echo")
    assert message["params"]["_meta"][META + "protocolVersion"] == MODERN
    assert site.post(message).code == -32020
