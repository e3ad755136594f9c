"""Sessions of the handshake era: who gets one, who may use it, and when it ends."""

from __future__ import annotations

import re
import threading
from typing import Any

import pytest

from mcp_actors.protocol.http.rejections import Rejected
from mcp_actors.protocol.jsonrpc import Malformed
from mcp_actors.server.authorization.principal import Principal
from mcp_actors.server.http.sessions import SessionTable
from tests.server.http.conftest import MakeSite, Session, Site
from tests.server.http.driver import Elsewhere
from tests.server.http.fake_peer import FakePeer, initialize, notification, request

pytestmark = pytest.mark.requirement("transport:http")


def test_initialize_opens_a_session_whose_id_nobody_guesses(site: Site) -> None:
    one, other = site.post(initialize()), site.post(initialize())
    assert one.status == 200
    assert re.fullmatch(r"[0-9a-f]{64}", one.session)
    assert one.session != other.session
    assert one.json()["result"] == {"protocolVersion": "2025-11-25"}


def test_a_session_serves_calls_notifications_and_responses(site: Site) -> None:
    session = site.open()
    answer = session.post(request("echo", 1, {"a": 1}))
    assert answer.status == 200
    assert answer.header("Mcp-Session-Id") is None
    assert answer.json() == {"jsonrpc": "2.0", "id": 1, "result": {"a": 1}}
    for message in (notification("notifications/initialized"), {"jsonrpc": "2.0", "id": 1, "result": {}}):
        accepted = session.post(message)
        assert (accepted.status, accepted.read()) == (202, b"")
    assert len(session.peer.heard) == 4
    assert len(site.peers.made) == 1


def test_an_error_is_an_answer_like_any_other(site: Site) -> None:
    answer = site.open().post(request("fail", 1, {"code": -32601}))
    assert (answer.status, answer.code) == (200, -32601)


def test_a_version_header_of_the_handshake_era_is_fine_and_any_other_is_refused(site: Site) -> None:
    session = site.open()
    assert session.post(request("echo"), headers={"MCP-Protocol-Version": "2025-11-25"}).status == 200
    assert session.get(headers={"MCP-Protocol-Version": "1999-01-01"}).status == 400


@pytest.mark.requirement("security:limits")
def test_nothing_is_set_up_for_a_request_that_is_refused(site: Site) -> None:
    assert site.post(request("echo", 5)).json()["id"] == 5
    assert site.post([request("echo", 5), request("echo", 6)]).status == 400
    assert site.post(notification("notifications/initialized")).status == 400
    assert site.post(initialize(), headers={"Accept": "text/html"}).status == 406
    assert site.post(initialize(), headers={"Content-Type": "text/plain"}).status == 415
    assert site.post(b"{").status == 400
    assert site.get().status == 400
    assert site.request("DELETE").status == 400
    assert site.post(initialize(), headers={"Mcp-Session-Id": "x"}).status == 404
    assert site.peers.made == []


def test_a_session_that_is_unknown_is_not_found(site: Site) -> None:
    for id_ in ("unknown", "", "\x7f", "x" * 5000):
        headers = {"Mcp-Session-Id": id_}
        assert site.post(request("echo"), headers=headers).status == 404
        assert site.get(headers=headers).status == 404
        assert site.request("DELETE", headers=headers).status == 404


def test_a_handshake_that_fails_leaves_no_session(site: Site) -> None:
    answer = site.post(initialize(version=None))
    assert (answer.status, answer.header("Mcp-Session-Id")) == (200, None)
    assert answer.code == -32602
    assert len(site.app.desk.sessions) == 0
    assert site.peers.last.reasons == ["the handshake failed"]


def test_a_handshake_that_nobody_waits_for_leaves_no_session(make_site: MakeSite) -> None:
    away = threading.Event()
    site = make_site(scripts={"initialize": FakePeer.silence})
    waiting = Elsewhere(lambda: site.post(initialize(), **{"waitress.client_disconnected": away.is_set}))
    site.peers.hearing("initialize")
    assert len(site.app.desk.sessions) == 1
    away.set()
    waiting.result()
    assert len(site.app.desk.sessions) == 0


def test_delete_ends_the_session_and_everything_in_it(site: Site) -> None:
    session = site.open()
    stream = session.get()
    stream.event()
    answer = session.delete()
    assert (answer.status, answer.read()) == (204, b"")
    assert stream.rest() == []
    assert session.peer.reasons == ["the client ended the session"]
    assert session.post(request("echo")).status == 404
    assert session.delete().status == 404


def test_a_session_that_its_peer_ends_is_gone(site: Site) -> None:
    session = site.open()
    waiting = Elsewhere(lambda: session.post(request("silence")))
    site.peers.hearing("silence")
    session.peer.outlet.end("enough")
    session.peer.outlet.end("enough")
    session.peer.tell(None, "nobody hears it")
    answer = waiting.result()
    assert (answer.status, answer.header("Retry-After")) == (503, "1")
    assert session.post(request("echo")).status == 404


@pytest.mark.requirement("security:limits")
def test_there_are_not_more_sessions_than_may_be(make_site: MakeSite) -> None:
    site = make_site(max_sessions=2)
    first = site.open()
    site.open()
    refused = site.post(initialize())
    assert refused.status == 503
    assert refused.header("Retry-After") is not None
    assert len(site.peers.made) == 2
    first.delete()
    site.open()


def test_batches_belong_to_one_revision(site: Site) -> None:
    batch = [request("echo", 1), notification("x"), request("echo", "1")]
    answer = site.open("2025-03-26").post(batch)
    assert [one["id"] for one in answer.json()] == [1, "1"]
    assert site.open("2025-06-18").post(batch).status == 400
    assert site.open("2025-03-26").post([notification("x"), notification("y")]).status == 202


def test_a_batch_must_not_open_a_session(site: Site) -> None:
    assert site.post([initialize()]).status == 400
    assert site.peers.made == []


def test_the_id_of_a_request_that_is_not_answered_yet_is_taken(site: Site) -> None:
    session = site.open()
    waiting = Elsewhere(lambda: session.post(request("silence", 7)))
    site.peers.hearing("silence")
    refused = session.post(request("echo", 7))
    assert refused.status == 400
    assert refused.json()["id"] == 7
    assert session.post(request("echo", "7")).json()["id"] == "7"
    session.peer.answer(7)
    assert waiting.result().json()["id"] == 7
    assert session.post(request("echo", 7)).status == 200


# Idle sessions.


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(site: Site) -> Clock:
    clock = Clock()
    desk = site.app.desk
    desk.clock = clock
    desk.sessions = SessionTable(2, 1800.0, clock)
    return clock


def test_sessions_that_nobody_uses_are_ended(site: Site, clock: Clock) -> None:
    used, unused = site.open(), site.open()
    clock.now += 1799
    assert used.post(request("echo")).status == 200
    site.app.sweep(clock.now)
    assert len(site.app.desk.sessions) == 2
    clock.now += 1
    site.app.sweep(clock.now)
    assert unused.peer.reasons == ["nobody used the session"]
    assert unused.post(request("echo")).status == 404
    assert used.post(request("echo")).status == 200


@pytest.mark.parametrize("how", ["stream", "call", "task"])
def test_a_session_in_which_something_is_under_way_is_used(site: Site, clock: Clock, how: str) -> None:
    session = site.open()
    stream = session.get() if how == "stream" else None
    waiting = Elsewhere(lambda: session.post(request("silence"))) if how == "call" else None
    if waiting is not None:
        site.peers.hearing("silence")
    session.peer.busy = how == "task"
    clock.now += 5000
    site.app.sweep(clock.now)
    assert len(site.app.desk.sessions) == 1
    if stream is not None:
        stream.close()
    if waiting is not None:
        session.peer.answer(1)
        waiting.result()
    session.peer.busy = False
    clock.now += 1799
    site.app.sweep(clock.now)
    assert len(site.app.desk.sessions) == 1
    clock.now += 1
    site.app.sweep(clock.now)
    assert len(site.app.desk.sessions) == 0


def test_without_anybody_to_sweep_idle_sessions_make_room_for_new_ones(site: Site, clock: Clock) -> None:
    site.open()
    site.open()
    assert site.post(initialize()).status == 503
    clock.now += 1800
    site.open()
    assert len(site.app.desk.sessions) == 1


def test_a_session_that_cannot_be_made_takes_no_place(site: Site, clock: Clock) -> None:
    table = site.app.desk.sessions
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            table.create(lambda _id: 1 / 0)  # type: ignore[arg-type,return-value]
    site.open()
    site.open()
    with pytest.raises(Rejected):
        table.create(lambda _id: 1 / 0)  # type: ignore[arg-type,return-value]
    assert clock.now


# Whose session it is.


def test_a_body_that_was_to_answer_a_question_reaches_whoever_asked(make_site: MakeSite) -> None:
    site = make_site(options={"authorization": Gate()})
    mine = {"Authorization": "me"}
    opened = site.post(initialize(), headers=mine)
    session = Session(site, opened.session, site.peers.last)
    session.peer.heard.clear()
    malformed = {"jsonrpc": "2.0", "id": 1, "result": {}, "error": {}}
    for headers in (mine, {"Authorization": "you"}):
        refused = session.post(malformed, headers=headers)
        assert (refused.status, refused.json()["error"]["code"]) == (400, -32600)
    assert site.post(malformed, headers=mine).status == 400
    reason = "a response with both a result and an error"
    assert session.peer.heard == [(Malformed(reason, 1, told=True), Principal("me"), False)]


class Gate:
    """Lets everybody in who says a name."""

    metadata_document: dict[str, Any] = {}
    metadata_paths = ()

    def admit(self, headers: Any, *, method: str, url: str) -> Principal:
        del method, url
        return Principal(headers["authorization"])

    def forbid(self, principal: Any, needed: Any) -> Any:
        raise NotImplementedError


@pytest.mark.requirement("security:resource-server")
def test_a_session_is_of_use_only_to_whoever_opened_it(make_site: MakeSite) -> None:
    site = make_site(options={"authorization": Gate()})
    mine, yours = {"Authorization": "me"}, {"Authorization": "you"}
    opened = site.post(initialize(), headers=mine)
    session = Session(site, opened.session, site.peers.last)
    assert site.peers.last.principal == Principal("me")
    assert session.post(request("echo"), headers=mine).status == 200
    assert session.peer.heard[-1][1] == Principal("me")
    assert session.post(request("echo"), headers=yours).status == 404
    assert session.get(headers=yours).status == 404
    assert session.get("0-0", headers=yours).status == 404
    assert session.delete(headers=yours).status == 404
    assert session.delete(headers=mine).status == 204


@pytest.mark.requirement("security:limits")
def test_one_owner_cannot_have_all_sessions(make_site: MakeSite) -> None:
    site = make_site(options={"authorization": Gate()}, max_sessions=4, max_client_sessions=2)
    mine, yours = {"Authorization": "me"}, {"Authorization": "you"}
    opened = [site.post(initialize(), headers=mine) for _ in range(3)]
    assert [answer.status for answer in opened] == [200, 200, 503]
    assert opened[2].header("Retry-After") is not None
    assert "2 sessions of this client are open" in opened[2].json()["error"]["message"]
    assert [site.post(initialize(), headers=yours).status for _ in range(2)] == [200, 200]
    assert Session(site, opened[0].session, site.peers.made[0]).delete(headers=mine).status == 204
    assert site.post(initialize(), headers=mine).status == 200
    # A handshake that fails owns nothing.
    Session(site, opened[1].session, site.peers.made[1]).delete(headers=mine)
    for _ in range(3):
        assert site.post(initialize(None), headers=mine).status == 200
    assert site.post(initialize(), headers=mine).status == 200


def test_what_nobody_could_make_counts_for_nobody() -> None:
    table: SessionTable[Any] = SessionTable(3, 1800.0, lambda: 0.0, 1)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            table.create(lambda _id: 1 / 0, "me")
    assert (len(table), table._owned) == (0, {})
