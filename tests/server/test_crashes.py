"""Bugs in the server itself: one session ends, one part is started again, and everything else goes on."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest

from mcp_actors import NoAnswer, RequestCancelled, Server
from mcp_actors.protocol.serving.actions import Heard
from mcp_actors.protocol.serving.news import News
from mcp_actors.server import peer
from mcp_actors.server.context import Context
from mcp_actors.server.host import HANDS, TIMEKEEPER
from mcp_actors.server.peer import Peer
from tests.client.features.ear import Ear
from tests.client.waiting import BOUND, opened_at_the_end, until
from tests.server.conftest import Connect, MakeServer, MakeTalk
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
