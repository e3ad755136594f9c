"""HTTP+SSE of 2024-11-05: one stream for all answers, and POSTs that carry the questions."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_actors.protocol.jsonrpc import Malformed
from mcp_actors.server.authorization.principal import Principal
from tests.server.http.conftest import MakeSite, Site
from tests.server.http.driver import Answer
from tests.server.http.fake_peer import FakePeer, initialize, request
from tests.server.http.test_sessions import Gate

pytestmark = pytest.mark.requirement("transport:sse")


def opened(site: Site, **options: Any) -> tuple[Answer, dict[str, str]]:
    """The stream, and where to post to."""
    stream = site.get("/sse", **options)
    assert stream.streams
    event = stream.event()
    assert event.event == "endpoint"
    path, _, query = event.data.decode().partition("?")
    return stream, {"path": path, "QUERY_STRING": query}


def test_answers_to_posts_come_over_the_stream(site: Site) -> None:
    stream, where = opened(site)
    assert where["path"] == "/messages"
    for message in (initialize("2024-11-05"), request("progress", 2), request("cancelled", 3)):
        # Clients of that time accept whatever comes.
        accepted = site.post(message, headers={"Accept": "*/*"}, **where)
        assert (accepted.status, accepted.read()) == (202, b"")
    assert stream.message()["result"] == {"protocolVersion": "2024-11-05"}
    assert [stream.message().get("id") for _ in range(3)] == [None, None, 2]
    site.peers.last.tell(None, "alone")
    assert stream.message()["params"] == {"n": "alone"}
    stream.close()


def test_the_session_ends_with_its_stream(site: Site) -> None:
    stream, where = opened(site)
    stream.close()
    assert site.peers.last.reasons == ["the client closed its stream"]
    assert site.post(request("echo"), **where).status == 404
    assert site.app.desk.places.streams == 0
    assert len(site.app.desk.legacy) == 0


def test_a_mounted_app_names_its_address_as_clients_see_it(site: Site) -> None:
    stream, where = opened(site, SCRIPT_NAME="/a\xc3\xa4")
    assert where["path"] == "/a%C3%A4/messages"
    stream.close()


def test_a_post_without_a_session_or_of_an_unknown_one_is_refused(site: Site) -> None:
    assert site.post(request("echo"), "/messages").status == 400
    assert site.post(request("echo"), "/messages", QUERY_STRING="session_id=a&session_id=b").status == 400
    assert site.post(request("echo"), "/messages", QUERY_STRING="session_id=a").status == 404


def test_sessions_of_one_transport_are_none_of_the_other(site: Site) -> None:
    stream, where = opened(site)
    id_ = where["QUERY_STRING"].partition("=")[2]
    assert site.post(request("echo"), headers={"Mcp-Session-Id": id_}).status == 404
    other = site.open()
    assert site.post(request("echo"), "/messages", QUERY_STRING=f"session_id={other.id}").status == 404
    stream.close()


def test_a_session_is_of_use_only_to_whoever_opened_it(make_site: MakeSite) -> None:
    site = make_site(options={"authorization": Gate()})
    stream, where = opened(site, headers={"Authorization": "me"})
    assert site.post(request("echo"), headers={"Authorization": "you"}, **where).status == 404
    assert site.post(request("echo"), headers={"Authorization": "me"}, **where).status == 202
    assert site.peers.last.heard[-1][1] == Principal("me")
    stream.close()


def test_a_body_that_is_no_message_is_refused_and_the_session_lives_on(site: Site) -> None:
    stream, where = opened(site)
    assert site.post(b"{", **where).status == 400
    assert site.post(request("echo"), headers={"Content-Type": "text/plain"}, **where).status == 415
    assert site.post(request("echo"), **where).status == 202
    stream.close()


def test_a_body_that_was_to_answer_a_question_reaches_whoever_asked(site: Site) -> None:
    stream, where = opened(site)
    assert site.post({"jsonrpc": "2.0", "id": 1, "result": {}, "error": {}}, **where).status == 400
    [(message, _, _)] = site.peers.last.heard
    assert message == Malformed("a response with both a result and an error", 1, told=True)
    stream.close()


def test_each_address_has_its_method(site: Site) -> None:
    assert site.post(request("echo"), "/sse").status == 405
    assert site.get("/messages").status == 405
    assert site.get("/sse", headers={"Accept": "application/json"}).status == 406


@pytest.mark.requirement("security:limits")
def test_these_streams_are_counted_too(make_site: MakeSite) -> None:
    site = make_site(max_streams=1)
    stream, _ = opened(site)
    assert site.get("/sse").status == 503
    stream.close()
    site = make_site(max_sessions=1)
    stream, _ = opened(site)
    assert site.get("/sse").status == 503
    assert site.app.desk.places.streams == 1
    stream.close()


@pytest.mark.requirement("security:limits")
def test_a_client_that_does_not_read_misses_news_but_no_answer_in_silence(make_site: MakeSite) -> None:
    site = make_site(max_queued=2)
    stream, _ = opened(site)
    peer = site.peers.last
    for number in range(5):
        peer.tell(None, number)
    assert [stream.message()["params"]["n"] for _ in range(2)] == [0, 1]
    for number in range(5):
        peer.answer(number)
    assert len(stream.rest()) == 2
    assert peer.outlet.close_connection(1) is False


@pytest.mark.parametrize("settings", [{"legacy_sse": False}, {"stateless": True}])
def test_the_transport_can_be_left_out_and_needs_sessions(
    make_site: MakeSite, settings: dict[str, bool]
) -> None:
    site = make_site(**settings)
    assert site.get("/sse").status == 404
    assert site.post(request("echo"), "/messages").status == 404


def test_a_sweep_never_ends_a_session_whose_stream_is_open(site: Site) -> None:
    stream, _ = opened(site)
    assert site.app.desk.legacy.sweep(10.0**9) == 0
    stream.close()


def test_its_peer_can_end_it(site: Site) -> None:
    site.peers.scripts["end"] = lambda peer, _message: FakePeer.stop(peer)
    stream, where = opened(site)
    site.post(request("end"), **where).read()
    assert stream.rest() == []
