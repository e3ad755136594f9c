"""Bugs in the server itself: one session ends, one part is started again, and everything else goes on."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mcp_actors import NoAnswer, RequestCancelled, Server
from mcp_actors.protocol.serving.actions import Heard
from mcp_actors.protocol.serving.entry import LOG_LEVEL
from mcp_actors.protocol.serving.news import News
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.server import peer
from mcp_actors.server.context import Context
from mcp_actors.server.host import HANDS, TIMEKEEPER
from mcp_actors.server.line import Line
from mcp_actors.server.peer import Peer
from mcp_actors.server.tasks.memory_store import MemoryTaskStore
from tests.client.features.ear import Ear
from tests.client.waiting import BOUND, in_thread, opened_at_the_end, until
from tests.server.conftest import Connect, MakeServer, MakeTalk
from tests.server.http.driver import Driver
from tests.server.http.fake_peer import initialize, request
from tests.server.talk import HANDSHAKE

FORM = {"type": "object", "properties": {}}


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug in the machine: it cannot stand a certain notification."""

    def fail(_self: Peer, action: Any) -> None:
        if action.method == "notifications/planted":
            raise ZeroDivisionError("planted")

    monkeypatch.setitem(peer._PERFORM, Heard, fail)


@pytest.mark.usefixtures("planted")
@pytest.mark.requirement("error:translate")
def test_a_session_that_crashes_ends_alone(
    make_server: MakeServer, talk: MakeTalk, connect: Connect, caplog: pytest.LogCaptureFixture, era: str
) -> None:
    server, begun, ended = make_server(), threading.Event(), Ear()

    @server.tool(structured_output=False)
    def wait(ctx: Context) -> str:
        begun.set()
        try:
            ctx.sleep(60)
        except RequestCancelled as error:
            ended(str(error))
            raise
        return "never"

    @server.tool(structured_output=False)
    def greet() -> str:
        return "hello"

    other = connect(server, era)
    one = talk(server, era)
    one.ask("tools/call", name="wait")
    assert begun.wait(BOUND)
    with caplog.at_level(logging.ERROR, "mcp_actors.server"):
        one.tell("notifications/planted")
        assert one.at_end()
    assert ended.wait_for(1) == ["the session crashed"]
    assert "planted" in caplog.text
    assert "planted" not in str(one.heard)
    assert server.host.crashes == 1
    assert other.call_tool("greet").text == "hello"
    assert connect(server, era).call_tool("greet").text == "hello"
    until(lambda: len(server.host.lines) == 3)


@pytest.mark.usefixtures("planted")
def test_who_waits_for_an_answer_hears_of_the_crash(server: Server, talk: MakeTalk) -> None:
    ended = Ear()

    @server.tool()
    def ask(ctx: Context) -> None:
        for _ in range(2):
            try:
                ctx.elicit("Who?", FORM)
            except (NoAnswer, RequestCancelled) as error:
                ended(str(error))

    one = talk(server, HANDSHAKE, elicitation={})
    one.ask("tools/call", name="ask")
    assert one.read()["method"] == "elicitation/create"
    one.tell("notifications/planted")
    assert ended.wait_for(2) == ["the session crashed", "the session is over"]


@pytest.mark.requirement("runtime:supervisor:rest-for-one")
@pytest.mark.parametrize("child", [HANDS, TIMEKEEPER])
def test_a_part_that_crashes_is_started_again_and_the_server_goes_on(
    server: Server, connect: Connect, era: str, child: str
) -> None:
    @server.tool(structured_output=False)
    def greet() -> str:
        return "hello"

    heard = Ear()
    client = connect(server, era)
    client.on_tools_changed(heard)
    until(lambda: server.host._audience)
    ref = server.host._directory.get(child)
    assert ref is not None
    # None of them knows what to do with that.
    ref.tell(object())
    until(lambda: server.host._directory.get(child) not in (None, ref))
    until(lambda: server.host.hands is not None and server.host._directory.get(TIMEKEEPER) is not None)
    assert client.call_tool("greet").text == "hello"
    server.host.announce(News("tools"))
    heard.wait_for(1)


def crash_timekeeper(server: Server) -> None:
    """Have another one take its place."""
    ref = server.host._directory.get(TIMEKEEPER)
    assert ref is not None
    ref.tell(object())
    until(lambda: server.host._directory.get(TIMEKEEPER) not in (None, ref))


@pytest.mark.requirement("runtime:supervisor:rest-for-one")
def test_a_client_that_never_finishes_its_handshake_is_sent_away_after_a_crash_of_the_timekeeper_too(
    make_server: MakeServer, talk: MakeTalk
) -> None:
    server = make_server(init_timeout=0.3)
    one = talk(server)
    one.call(
        "initialize", protocolVersion=HANDSHAKE, capabilities={}, clientInfo={"name": "t", "version": "1"}
    )
    until(lambda: server.host._agenda.due)
    crash_timekeeper(server)
    assert one.at_end()


@pytest.mark.requirement("runtime:supervisor:rest-for-one")
def test_a_tool_that_takes_too_long_is_answered_for_after_a_crash_of_the_timekeeper_too(
    server: Server, talk: MakeTalk, era: str
) -> None:
    gate = threading.Event()

    @server.tool(timeout=0.3)
    def dawdle() -> None:
        gate.wait(BOUND)

    one = talk(server, era)
    with opened_at_the_end(gate):
        running = one.ask("tools/call", name="dawdle")
        until(lambda: any("timeout" in key for key in list(server.host._agenda.due)))  # type: ignore[operator]
        crash_timekeeper(server)
        [text] = one.answer_to(running)["result"]["content"]
    assert text["text"] == "tool 'dawdle' took longer than 0.3 s"


def test_what_waited_for_a_worker_is_done_by_those_who_follow(
    make_server: MakeServer, talk: MakeTalk, era: str
) -> None:
    server, gate, begun = make_server(threads=1), threading.Event(), threading.Event()

    @server.tool()
    def block() -> None:
        begun.set()
        gate.wait(BOUND)

    @server.tool(structured_output=False)
    def greet() -> str:
        return "hello"

    one = talk(server, era)
    with opened_at_the_end(gate):
        blocking = one.ask("tools/call", name="block")
        assert begun.wait(BOUND)
        waiting = one.ask("tools/call", name="greet")
        hands = server.host.hands
        assert hands is not None
        until(lambda: hands.stats().queued == 1)
        ref = server.host._directory.get(HANDS)
        assert ref is not None
        ref.tell(object())
        until(lambda: server.host.hands is not hands)
        gate.set()
        answers = {message["id"]: message for message in (one.read(), one.read())}
    assert answers[waiting]["result"]["content"][0]["text"] == "hello"
    assert "result" in answers[blocking]


def test_what_changes_after_it_was_said_does_not_end_the_session(
    server: Server, talk: MakeTalk, era: str
) -> None:
    began, turn, gate = threading.Event(), threading.Event(), threading.Event()
    changing: dict[str, Any] = {}

    @server.tool(structured_output=False)
    def tell(ctx: Context) -> str:
        began.set()
        turn.wait(BOUND)
        ctx.warning(changing)
        changing["x"] = object()
        gate.set()
        return "told"

    one = talk(server, era)
    level = {"_meta": {LOG_LEVEL: "debug"}} if era != HANDSHAKE else {}
    with opened_at_the_end(turn, gate):
        asked = one.ask("tools/call", name="tell", **level)
        assert began.wait(BOUND)
        [line] = [kept for kept in server.host.lines if isinstance(kept, Line)]

        def hold() -> None:
            # This thread has the session's turn: what is said waits.
            turn.set()
            gate.wait(BOUND)

        in_thread(lambda: line.peer.receive_all((), hold))
        assert one.answer_to(asked)["result"]["content"][0]["text"] == "told"
    [said] = one.heard
    assert said["params"]["data"] == {}
    assert server.host.crashes == 0


def test_a_uri_that_is_none_is_the_callers_own_mistake(server: Server, connect: Connect, era: str) -> None:
    server.add_resource("demo://x", lambda: "x", name="x")
    client = connect(server, era)
    client.subscribe_resource("demo://x")
    until(lambda: server.host._audience)
    with pytest.raises(TypeError, match="the uri of a resource must be a string, not PosixPath"):
        server.resource_updated(Path("/x"))  # type: ignore[arg-type]
    client.list_resources()
    assert server.host.crashes == 0


class FailingStore(MemoryTaskStore):
    """A store that cannot be reached when the test says so."""

    failing = False
    swept = 0

    def update(self, task_id: str, change: Any) -> Any:
        if self.failing:
            raise ConnectionError("planted")
        return super().update(task_id, change)

    def expire(self, now: float) -> Any:
        self.swept += 1
        if self.failing:
            raise ConnectionError("planted")
        return super().expire(now)


@pytest.fixture
def failing(make_server: MakeServer) -> tuple[Server, FailingStore]:
    store = FailingStore()
    server = make_server(task_store=store)

    @server.tool(task_support="required")
    def linger(ctx: Context) -> None:
        ctx.elicit("Who?", FORM, timeout=BOUND)

    return server, store


def test_a_store_that_fails_is_swept_again(
    failing: tuple[Server, FailingStore], talk: MakeTalk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_actors.server.task_calls._SWEEP_SECONDS", 0.01)
    server, store = failing
    talk(server, HANDSHAKE, elicitation={}).call("tools/call", name="linger", task={})
    store.failing = True
    swept = store.swept
    until(lambda: store.swept >= swept + 3)
    store.failing = False


def test_a_store_that_fails_keeps_no_server_from_its_end(
    failing: tuple[Server, FailingStore], talk: MakeTalk
) -> None:
    server, store = failing
    one = talk(server, HANDSHAKE, elicitation={})
    one.call("tools/call", name="linger", task={})
    store.failing = True
    in_thread(lambda: server.close(timeout=1.5)).result(2 * BOUND)
    assert one.at_end()


def test_a_store_that_fails_to_keep_an_answer_ends_no_session(
    failing: tuple[Server, FailingStore], talk: MakeTalk
) -> None:
    server, store = failing
    one = talk(server, HANDSHAKE, elicitation={})
    task = one.call("tools/call", name="linger", task={})["result"]["task"]["taskId"]
    one.ask("tasks/result", taskId=task)
    question = one.read()
    while question.get("method") != "elicitation/create":
        question = one.read()
    store.failing = True
    one.send({"id": question["id"], "result": {"action": "decline"}})
    assert one.call("ping")["result"] == {}
    store.failing = False
    assert server.host.crashes == 0


def test_an_answer_for_which_there_is_no_room_is_told_as_one(make_server: MakeServer, talk: MakeTalk) -> None:
    server, found = make_server(task_store=MemoryTaskStore(max_bytes=20_000)), Ear()

    @server.tool(task_support="required")
    def ask(ctx: Context) -> None:
        try:
            ctx.elicit("Who?", FORM)
        except NoAnswer as error:
            found(str(error))

    one = talk(server, HANDSHAKE, elicitation={})
    task = one.call("tools/call", name="ask", task={})["result"]["task"]["taskId"]
    one.ask("tasks/result", taskId=task)
    question = one.read()
    while question.get("method") != "elicitation/create":
        question = one.read()
    content = {"name": "a" * 40_000}
    one.send({"id": question["id"], "result": {"action": "accept", "content": content}})
    [told] = found.wait_for(1)
    assert "it cannot be kept: " in told
    assert server.host.crashes == 0


def end_the_tree(server: Server) -> None:
    """More failures than a supervisor stands."""
    host = server.host
    while host._supervisor.is_alive:
        ref = host._directory.get(HANDS)
        if ref is None or not ref.tell(object()):
            continue
        ref.join(Deadline.after(BOUND))
    assert host._supervisor.join(Deadline.after(BOUND))


@pytest.mark.requirement("runtime:supervisor:intensity")
def test_a_server_whose_tree_ended_answers_who_waits_and_begins_anew(
    make_server: MakeServer, talk: MakeTalk, connect: Connect, era: str
) -> None:
    left = Ear()

    @contextmanager
    def life(_server: Server) -> Iterator[None]:
        yield
        left("left")

    server, gate, begun = make_server(lifespan=life), threading.Event(), threading.Event()

    @server.tool()
    def block() -> None:
        begun.set()
        gate.wait(2 * BOUND)

    @server.tool(structured_output=False)
    def greet() -> str:
        return "hello"

    one = talk(server, era)
    with opened_at_the_end(gate):
        blocked = one.ask("tools/call", name="block")
        assert begun.wait(BOUND)
        first = server.host
        end_the_tree(server)
        assert one.answer_to(blocked)["error"]["message"] == "the server was stopped"
        assert one.at_end()
        assert left.wait_for(1) == ["left"]
        assert connect(server, era).call_tool("greet").text == "hello"
        assert server.host is not first
    server.close()
    assert left.wait_for(2) == ["left"] * 2


@pytest.mark.requirement("runtime:supervisor:intensity")
def test_clients_over_http_begin_new_sessions_when_the_tree_has_ended(server: Server) -> None:
    server.add_tool(lambda: "hello", name="greet")
    driver = Driver(server.wsgi())
    opened = driver.post(initialize())
    call = request("tools/call", 2, {"name": "greet"})
    old = {"headers": {"Mcp-Session-Id": opened.session}}
    assert "result" in driver.post(call, **old).json()
    end_the_tree(server)
    until(lambda: server._hosts.value is None)
    until(lambda: driver.post(call, **old).status == 404)
    new = {"headers": {"Mcp-Session-Id": driver.post(initialize()).session}}
    assert "result" in driver.post(call, **new).json()
