"""Sessions that several processes serve: each app here stands for one, and shares a store with the others."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors import Context, Server
from mcp_actors.server.authorization.principal import Principal
from mcp_actors.server.http.event_store import MemoryEventStore
from mcp_actors.server.http.session_store import MemorySessionStore
from tests.server.conftest import MakeServer
from tests.server.http.conftest import MakeSite
from tests.server.http.driver import Answer, Driver, Elsewhere
from tests.server.http.fake_peer import NEWEST, initialize, notification, request
from tests.server.http.test_sessions import Gate

pytestmark = pytest.mark.requirement("transport:http")

NOTES = "notes://all"
TOY = {"name": "toy", "version": "7"}


class Process:
    """A server with an app, as one of several processes that serve the same address."""

    def __init__(self, server: Server, **options: Any) -> None:
        self.server = server
        server.add_tool(lambda text: text, name="echo")
        server.add_tool(_client, name="client")
        server.add_resource(NOTES, lambda: "none")
        self.app = server.wsgi(**{"keep_alive": 0.05, "look_every": 0.01, **options})
        self._driver = Driver(self.app)

    def post(self, message: Any, session: str | None = None) -> Answer:
        return self._driver.post(message, headers={"Mcp-Session-Id": session})

    def get(self, session: str, **headers: str) -> Answer:
        return self._driver.get(headers={"Mcp-Session-Id": session, **headers})

    def delete(self, session: str) -> Answer:
        return self._driver.request("DELETE", headers={"Mcp-Session-Id": session})

    def shake_hands(self) -> str:
        params = {"protocolVersion": NEWEST, "capabilities": {"roots": {}}, "clientInfo": TOY}
        hello = self.post(request("initialize", 0, params))
        session = hello.session
        hello.read()
        assert self.post(notification("notifications/initialized"), session).status == 202
        return session

    def call(self, session: str, tool: str, id: int = 1, **arguments: Any) -> str:
        params = {"name": tool, "arguments": arguments}
        answer = self.post(request("tools/call", id, params), session).json()
        return str(answer["result"]["content"][0]["text"])


def _client(context: Context) -> str:
    """Who calls, and what it can do."""
    assert context.client_info is not None
    return f"{context.client_info['name']} {sorted(context.client_capabilities)}"


Start = Callable[..., Process]


@pytest.fixture
def store() -> MemorySessionStore:
    return MemorySessionStore()


@pytest.fixture
def start(make_server: MakeServer, store: MemorySessionStore) -> Start:
    def start(**options: Any) -> Process:
        return Process(make_server(), **{"session_store": store, **options})

    return start


def test_a_client_goes_on_in_another_process(start: Start) -> None:
    one, other = start(), start()
    session = one.shake_hands()
    assert other.call(session, "echo", text="there") == "there"
    assert other.call(session, "client", 2) == "toy ['roots']"
    assert one.call(session, "echo", 3, text="here") == "here"


def test_without_a_store_sessions_live_in_one_process(start: Start) -> None:
    one, other = start(session_store=None), start(session_store=None)
    assert other.post(request("ping"), one.shake_hands()).status == 404


def test_what_a_client_set_in_one_process_holds_in_the_other(start: Start) -> None:
    one, other = start(), start()
    session = one.shake_hands()
    one.post(request("resources/subscribe", 1, {"uri": NOTES}), session).read()
    stream = other.get(session)
    assert stream.status == 200
    other.server.resource_updated(NOTES)
    assert stream.message()["params"] == {"uri": NOTES}
    stream.close()


def test_a_session_that_was_ended_in_one_process_is_over_in_all(start: Start) -> None:
    one, other = start(), start()
    session = one.shake_hands()
    other.call(session, "echo", text="there")
    stream = other.get(session)
    assert one.delete(session).status == 204
    assert other.post(request("ping"), session).status == 404
    stream.rest()


def test_a_session_outlives_the_process_in_which_it_began(start: Start) -> None:
    one = start()
    session = one.shake_hands()
    one.server.close()
    assert start().call(session, "echo", text="still there") == "still there"


def test_two_requests_that_come_first_at_once_find_one_session(
    start: Start, store: MemorySessionStore
) -> None:
    session = start().shake_hands()
    meeting = threading.Barrier(2)

    class Slow(MemorySessionStore):
        def load(self, id: str) -> bytes | None:
            meeting.wait(5)
            return store.load(id)

    other = start(session_store=Slow())
    calls = [Elsewhere(lambda n=n: other.call(session, "echo", n, text=str(n))) for n in range(2)]  # type: ignore[misc]
    assert [call.result() for call in calls] == ["0", "1"]
    assert len(other.app.desk.sessions) == 1


@pytest.mark.requirement("security:limits")
def test_a_process_takes_over_no_more_sessions_than_it_may_have(start: Start) -> None:
    one, full = start(), start(max_sessions=1)
    first, second = one.shake_hands(), one.shake_hands()
    assert full.call(first, "echo", text="a") == "a"
    answer = full.post(request("ping"), second)
    assert (answer.status, answer.header("Retry-After") is None) == (503, False)


def test_a_session_of_a_revision_that_is_not_spoken_here_is_none(
    start: Start, make_server: MakeServer, store: MemorySessionStore
) -> None:
    session = start().shake_hands()
    older = make_server(protocols=["2026-07-28", "2025-06-18"])
    other = Process(older, session_store=store)
    assert other.post(request("ping"), session).status == 404
    assert len(other.app.desk.sessions) == 0


@pytest.mark.requirement("security:limits")
@pytest.mark.parametrize("id", ["x", "0" * 63, "0" * 65, "G" * 64, "../" + "0" * 61])
def test_what_cannot_be_an_id_is_not_looked_for(id: str, start: Start) -> None:
    class Watched(MemorySessionStore):
        def load(self, id: str) -> bytes | None:
            raise AssertionError(id)

    assert start(session_store=Watched()).post(request("ping"), id).status == 404


def test_a_stream_that_broke_in_one_process_is_resumed_in_the_other(start: Start) -> None:
    events = MemoryEventStore()
    one, other = start(event_store=events), start(event_store=events)
    session = one.shake_hands()
    stream = one.get(session)
    beginning = stream.event().id
    assert beginning is not None
    one.server.add_tool(lambda: "", name="new")
    assert stream.message()["method"] == "notifications/tools/list_changed"
    stream.close()
    again = other.get(session, **{"Last-Event-ID": beginning})
    assert b"list_changed" in again.rest()[-1].data


def test_streams_of_two_processes_are_never_taken_for_each_other(start: Start) -> None:
    events = MemoryEventStore()
    one, other = start(event_store=events), start(event_store=events)
    session = one.shake_hands()
    streams = [process.get(session) for process in (one, other)]
    ids = [stream.event().id for stream in streams]
    assert None not in ids
    assert ids[0] != ids[1]
    for stream in streams:
        stream.close()


# A store that fails.


class Broken(MemorySessionStore):
    """Fails at what it is told to."""

    def __init__(self, *at: str) -> None:
        super().__init__()
        self.at = at

    def load(self, id: str) -> bytes | None:
        if "load" in self.at:
            raise ConnectionError("the store is away: redis://:hunter2@cache")
        return b"{" if "decode" in self.at else super().load(id)

    def save(self, id: str, record: bytes) -> None:
        if "save" in self.at:
            raise ConnectionError("the store is away")
        super().save(id, record)

    def forget(self, id: str) -> None:
        if "forget" in self.at:
            raise ConnectionError("the store is away")
        super().forget(id)


@pytest.mark.parametrize("fault", ["load", "decode"])
def test_while_the_store_cannot_say_nobody_is_told_that_his_session_is_over(
    fault: str, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    broken = Broken()
    process = start(session_store=broken)
    session = process.shake_hands()
    broken.at = (fault,)
    answer = process.post(request("ping"), session)
    assert (answer.status, answer.header("Retry-After")) == (503, "1")
    assert b"hunter2" not in answer.read()
    broken.at = ()
    assert process.call(session, "echo", text="back") == "back"
    assert "a session store failed" in caplog.text


def test_what_could_not_be_saved_is_saved_with_the_next_request(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    broken = Broken()
    one, other = start(session_store=broken), start(session_store=broken)
    session = one.shake_hands()
    broken.at = ("save",)
    assert one.post(request("resources/subscribe", 1, {"uri": NOTES}), session).status == 200
    broken.at = ()
    one.call(session, "echo", 2, text="")
    stream = other.get(session)
    other.server.resource_updated(NOTES)
    assert stream.message()["params"] == {"uri": NOTES}
    stream.close()
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


def test_a_session_ends_here_though_the_store_cannot_be_told(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    broken = Broken("forget")
    process = start(session_store=broken)
    session = process.shake_hands()
    assert process.delete(session).status == 204
    assert len(process.app.desk.sessions) == 0
    assert "may go on elsewhere" in caplog.text


def test_what_does_not_change_is_saved_once(start: Start) -> None:
    class Counting(MemorySessionStore):
        saved = 0

        def save(self, id: str, record: bytes) -> None:
            self.saved += 1
            super().save(id, record)

    counting = Counting()
    one, other = start(session_store=counting), start(session_store=counting)
    session = one.shake_hands()
    for process in (one, other):
        for number in range(3):
            process.call(session, "echo", number, text="")
    assert counting.saved == 1


@pytest.mark.requirement("security:resource-server")
def test_nobody_goes_on_with_the_session_of_another(make_site: MakeSite, store: MemorySessionStore) -> None:
    one, other = (make_site(options={"authorization": Gate(), "session_store": store}) for _ in range(2))
    session = one.post(initialize(), headers={"Authorization": "me"}).session
    for name, status in (("you", 404), ("me", 200), ("you", 404)):
        headers = {"Authorization": name, "Mcp-Session-Id": session}
        assert other.post(request("echo"), headers=headers).status == status
    assert other.peers.last.principal == Principal("me")


# The store in memory.


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_record_is_kept_for_as_long_as_it_is_used() -> None:
    clock = Clock()
    store = MemorySessionStore(idle=10, clock=clock)
    store.save("a", b"1")
    store.save("b", b"2")
    clock.now = 9
    assert store.load("a") == b"1"
    clock.now = 18
    assert (store.load("a"), store.load("b"), len(store)) == (b"1", None, 1)
    clock.now = 28
    store.save("c", b"3")
    assert (store.load("a"), len(store)) == (None, 1)
    store.forget("c")
    store.forget("c")
    assert (store.load("c"), len(store)) == (None, 0)


@pytest.mark.requirement("security:limits")
def test_the_record_that_was_not_used_for_the_longest_time_makes_room() -> None:
    store = MemorySessionStore(max_sessions=2)
    store.save("a", b"1")
    store.save("b", b"2")
    store.save("a", b"3")
    store.save("c", b"4")
    assert [store.load(id) for id in "abc"] == [b"3", None, b"4"]
