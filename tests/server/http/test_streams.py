"""Streams of a session: which message goes where, and how a broken one is resumed."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from mcp_actors.server.http.event_store import StoredEvent
from tests.server.http.conftest import MakeSite, Session, Site
from tests.server.http.driver import Elsewhere
from tests.server.http.fake_peer import FakePeer, notification, request

pytestmark = pytest.mark.requirement("transport:http")


# The stream "0" is that of the GET, "1" that of `initialize`; those of the tests come after.


def numbers(events: Any) -> list[Any]:
    """What was told, in order, without the events that only say where to resume."""
    found = [json.loads(event.data) for event in events if event.data]
    return [one["params"]["n"] if "params" in one else "answer" for one in found]


def tell(peer: FakePeer, message: Any) -> None:
    """A call that is under way: one event, and no answer yet."""
    peer.tell(message.id, 1)


@pytest.fixture
def session(site: Site) -> Session:
    site.peers.scripts["work"] = tell
    return site.open()


# The stream of a POST.


def test_a_stream_opens_with_an_event_to_resume_from(session: Session) -> None:
    answer = session.post(request("progress"))
    assert answer.streams
    events = answer.rest()
    assert [(event.id, event.retry, bool(event.data)) for event in events] == [
        ("2-0", 1000, False),
        ("2-1", None, True),
        ("2-2", None, True),
        ("2-3", None, True),
    ]
    assert numbers(events) == [1, 2, "answer"]


def test_before_2025_11_25_no_event_is_without_data(site: Site) -> None:
    events = site.open("2025-06-18").post(request("progress")).rest()
    assert [event.id for event in events] == ["2-1", "2-2", "2-3"]


def test_a_call_that_takes_long_becomes_a_stream(make_site: MakeSite) -> None:
    session = make_site(sse_after=0.01).open("2025-06-18")
    answer = session.post(request("silence"))
    assert answer.piece() == b": open\n\n"
    assert answer.piece() == b": keep-alive\n\n"
    session.peer.answer(1)
    assert answer.event().id == "2-1"
    assert answer.rest() == []


def test_an_answer_at_the_last_moment_is_still_plain_json(make_site: MakeSite) -> None:
    site = make_site(sse_after=0.01)
    session = site.open()
    streams = site.app.desk.sessions.find(session.id, None).streams
    begin = streams.begin

    def late(connection: Any) -> bool:
        session.peer.answer(1, {"late": True})
        return begin(connection)

    streams.begin = late  # type: ignore[method-assign]
    assert session.post(request("silence")).json()["result"] == {"late": True}


def test_a_call_that_is_cancelled_ends_its_stream(session: Session) -> None:
    events = session.post(request("cancelled")).rest()
    assert [event.data for event in events] == [b""]
    assert session.post(request("echo")).status == 200


def test_several_calls_of_a_session_do_not_mix(site: Site, session: Session) -> None:
    one, other = session.post(request("work", 1)), session.post(request("work", "1"))
    session.peer.tell("1", "other")
    session.peer.answer(1)
    session.peer.answer("1")
    assert numbers(one.rest()) == [1, "answer"]
    assert numbers(other.rest()) == [1, "other", "answer"]
    assert len(site.peers.made) == 1


def test_what_belongs_to_no_open_request_is_dropped(session: Session) -> None:
    session.peer.tell(99)
    answer = session.post(request("progress", 99))
    assert numbers(answer.rest()) == [1, 2, "answer"]
    session.peer.tell(99)
    stream = session.get()
    session.peer.tell(None, "x")
    assert numbers([stream.event(), stream.event()]) == ["x"]
    stream.close()


# Resuming.


def test_a_broken_call_goes_on_and_is_resumed_where_it_broke(session: Session) -> None:
    broken = session.post(request("work"))
    broken.event()
    last = broken.event().id
    broken.close()
    session.peer.tell(1, 2)
    session.peer.tell(1, 3)
    assert (session.peer.cancelled, session.peer.reasons) == ([], [])
    again = session.get(last)
    assert numbers([again.event(), again.event(), again.event()]) == [2, 3]
    session.peer.tell(1, 4)
    session.peer.answer(1)
    assert numbers(again.rest()) == [4, "answer"]


def test_an_answer_that_came_while_nobody_was_connected_waits(session: Session) -> None:
    session.post(request("work")).close()
    session.peer.answer(1)
    assert numbers(session.get("2-0").rest()) == [1, "answer"]
    assert numbers(session.get("2-1").rest()) == ["answer"]
    assert session.get("2-2").status == 400


def test_a_stream_that_is_resumed_repeats_its_own_events_alone(session: Session) -> None:
    session.post(request("work", 1)).close()
    session.post(request("work", 2)).close()
    session.peer.tell(2, "two")
    session.peer.tell(None, "alone")
    session.peer.answer(1)
    session.peer.answer(2)
    assert numbers(session.get("2-0").rest()) == [1, "answer"]
    assert numbers(session.get("3-0").rest()) == [1, "two", "answer"]


def test_whoever_resumes_takes_the_stream_from_a_connection_that_is_still_open(session: Session) -> None:
    first = session.post(request("work"))
    second = session.get("2-0")
    assert numbers(first.rest()) == [1]
    session.peer.answer(1)
    assert numbers(second.rest()) == [1, "answer"]


@pytest.mark.parametrize("last", ["9-0", "1-1-1", "x", "", "-", "1-", "1-" + "9" * 5000, "١-١"])
def test_what_nobody_knows_cannot_be_resumed(session: Session, last: str) -> None:
    assert session.get(last).status == 400


def test_a_call_whose_client_left_before_anything_was_said_runs_on_for_nobody(site: Site) -> None:
    away = threading.Event()
    session = site.open()
    waiting = Elsewhere(
        lambda: session.post(request("silence"), **{"waitress.client_disconnected": away.is_set})
    )
    site.peers.hearing("silence")
    away.set()
    assert waiting.result().read() == b""
    session.peer.tell(1)
    session.peer.answer(1)
    assert session.get("2-0").status == 400
    assert session.post(request("echo", 1)).status == 200
    assert session.peer.cancelled == []


# Polling (SEP-1699).


def test_a_call_can_close_its_connection_and_be_fetched_later(site: Site) -> None:
    closed = []

    def poll(peer: FakePeer, message: Any) -> None:
        closed.append(peer.outlet.close_connection(message.id, 250))
        closed.append(peer.outlet.close_connection(message.id))

    site.peers.scripts["poll"] = poll
    session = site.open()
    events = session.post(request("poll")).rest()
    assert [(event.id, event.retry, event.data) for event in events] == [("2-0", 1000, b""), (None, 250, b"")]
    assert closed == [True, False]
    session.peer.answer(1)
    assert numbers(session.get("2-0").rest()) == ["answer"]


def test_a_connection_in_mid_stream_is_closed_after_what_was_said(session: Session) -> None:
    answer = session.post(request("work"))
    assert session.peer.outlet.close_connection(1)
    events = answer.rest()
    assert numbers(events) == [1]
    assert events[-1].retry == 1000


def test_a_client_that_knows_no_event_keeps_its_connection(site: Site) -> None:
    site.peers.scripts["poll"] = lambda peer, message: peer.answer(
        message.id, {"closed": peer.outlet.close_connection(message.id)}
    )
    assert site.open("2025-06-18").post(request("poll")).json()["result"] == {"closed": False}
    assert site.open("2025-11-25").peer.outlet.close_connection("unknown") is False


def test_a_client_of_an_older_revision_that_knows_an_event_can_resume_too(site: Site) -> None:
    site.peers.scripts["work"] = tell
    session = site.open("2025-06-18")
    answer = session.post(request("work"))
    assert session.peer.outlet.close_connection(1)
    assert numbers(answer.rest()) == [1]
    session.peer.answer(1)
    assert numbers(session.get("2-1").rest()) == ["answer"]


# The stream of the GET.


def test_what_stands_alone_goes_over_the_get_and_nowhere_else(session: Session) -> None:
    stream = session.get()
    assert stream.streams
    assert stream.event().id == "0-0"
    session.peer.tell(None, "a")
    call = session.post(request("progress"))
    assert numbers(call.rest()) == [1, 2, "answer"]
    session.peer.tell(None, "b")
    assert numbers([stream.event(), stream.event()]) == ["a", "b"]
    stream.close()


def test_the_headers_of_a_get_go_out_before_anything_is_said(site: Site) -> None:
    stream = site.open("2025-06-18").get()
    assert stream.piece() == b": open\n\n"
    assert stream.piece() == b": keep-alive\n\n"
    stream.close()


def test_a_second_get_is_one_too_many(session: Session) -> None:
    stream = session.get()
    assert session.get().status == 409
    stream.close()
    session.get().close()


def test_what_is_said_while_nobody_listens_waits_for_the_get(session: Session) -> None:
    session.peer.tell(None, "a")
    stream = session.get()
    session.peer.tell(None, "b")
    assert numbers([stream.event(), stream.event(), stream.event()]) == ["a", "b"]
    stream.close()
    session.peer.tell(None, "c")
    again = session.get()
    assert numbers([again.event(), again.event()]) == ["c"]
    again.close()


def test_what_a_broken_get_did_not_write_goes_to_the_next(session: Session) -> None:
    stream = session.get()
    session.peer.tell(None, "a")
    assert numbers([stream.event(), stream.event()]) == ["a"]
    session.peer.tell(None, "b")
    session.peer.tell(None, "c")
    stream.close()
    again = session.get()
    assert numbers([again.event(), again.event(), again.event()]) == ["b", "c"]
    again.close()


def test_a_get_is_resumed_like_any_other_stream(session: Session) -> None:
    stream = session.get()
    session.peer.tell(None, "a")
    session.peer.tell(None, "b")
    assert [stream.event().id, stream.event().id] == ["0-0", "0-1"]
    again = session.get("0-1")
    assert stream.rest()[-1].id == "0-2"
    assert numbers([again.event(), again.event()]) == ["b"]
    session.peer.tell(None, "c")
    assert numbers([again.event()]) == ["c"]
    again.close()


@pytest.mark.requirement("security:limits")
def test_gets_hold_a_thread_and_are_counted(make_site: MakeSite) -> None:
    site = make_site(max_streams=1)
    one, other = site.open(), site.open()
    stream = one.get()
    refused = other.get()
    assert (refused.status, refused.header("Retry-After")) == (503, "5")
    assert one.get().status == 503
    assert other.post(request("echo")).status == 200
    stream.close()
    assert other.get("9-9").status == 400
    other.get().close()
    assert site.app.desk.places.streams == 0


# What is kept has bounds.


@pytest.mark.requirement("security:limits")
def test_only_the_newest_events_are_kept(make_site: MakeSite) -> None:
    site = make_site(max_events=3)
    session = site.open()
    for number in range(10):
        session.peer.tell(None, number)
    stream = session.get()
    assert numbers([stream.event() for _ in range(4)]) == [7, 8, 9]
    stream.close()


@pytest.mark.requirement("security:limits")
def test_what_other_sessions_say_makes_room_and_the_stream_goes_on_with_what_is_left(
    make_site: MakeSite, caplog: pytest.LogCaptureFixture
) -> None:
    # Of three events of any session, as long as they are small.
    site = make_site(max_total_event_bytes=2000, scripts={"work": tell})
    one, other = site.open(), site.open()
    call = one.post(request("work"))
    for number in range(2, 5):
        one.peer.tell(1, number)
    call.close()
    other.peer.tell(None, "elsewhere")
    other.peer.tell(None, "elsewhere")
    again = one.get("2-1")
    assert "goes on without 2 events" in caplog.text
    one.peer.answer(1)
    assert numbers(again.rest()) == [4, "answer"]


@pytest.mark.requirement("security:limits")
def test_a_call_of_which_nothing_is_left_cannot_be_resumed(make_site: MakeSite) -> None:
    site = make_site(max_total_event_bytes=2000, scripts={"work": tell})
    one, other = site.open(), site.open()
    call = one.post(request("work"))
    call.close()
    one.peer.answer(1)
    for _ in range(3):
        other.peer.tell(None, "elsewhere")
    answer = one.get("2-1")
    assert (answer.status, answer.json()["error"]["message"]) == (
        400,
        "nothing is left of that stream after that event",
    )


@pytest.mark.requirement("security:limits")
def test_a_client_that_does_not_read_is_hung_up_on_and_fetches_the_rest(make_site: MakeSite) -> None:
    site = make_site(max_queued=3, scripts={"work": tell})
    session = site.open()
    answer = session.post(request("work"))
    for number in range(2, 9):
        session.peer.tell(1, number)
    session.peer.answer(1)
    events = answer.rest()
    # The first one had been taken already when the others came.
    assert numbers(events) == [1, 2, 3, 4]
    assert events[-1].retry == 1000
    assert numbers(session.get("2-4").rest()) == [5, 6, 7, 8, "answer"]


class BadStore:
    """A store of somebody's own that fails."""

    def append(self, session: str, stream: str, event: StoredEvent) -> None:
        raise OSError(f"no disk for {session} {stream} {event}")

    def after(self, session: str, stream: str, number: int) -> list[StoredEvent]:
        raise OSError(f"no disk with {session} {stream} {number}")

    def forget(self, session: str) -> None: ...


def test_a_store_that_fails_costs_nothing_but_resuming(
    make_site: MakeSite, caplog: pytest.LogCaptureFixture
) -> None:
    session = make_site(options={"store": BadStore()}).open()
    assert numbers(session.post(request("progress")).rest()) == [1, 2, "answer"]
    session.peer.tell(None, "lost")
    stream = session.get()
    session.peer.tell(None, "heard")
    assert numbers([stream.event(), stream.event()]) == ["heard"]
    stream.close()
    assert session.get("2-0").status == 400
    assert "no disk" in caplog.text


def test_a_session_that_ended_meanwhile_is_not_found(site: Site) -> None:
    session = site.open()
    found = site.app.desk.sessions.find(session.id, None)
    found.streams.end("over")
    site.app.desk.sessions._sessions[session.id] = found
    for answer in (session.post(request("echo")), session.get(), session.get("0-0")):
        assert answer.status == 404
    assert session.post(notification("x")).status == 202
