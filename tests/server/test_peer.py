"""Peer: one client, served by whoever brings something; a bug ends it, and nobody else."""

from __future__ import annotations

import contextvars
import logging
import threading
from typing import Any

import orjson
import pytest

from mcp_actors import NoAnswer, Principal, RequestCancelled, Server
from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.revisions import by_version
from mcp_actors.protocol.serving.entry import CAPABILITIES, VERSION
from mcp_actors.protocol.serving.events import Asked
from mcp_actors.protocol.serving.news import News
from mcp_actors.protocol.serving.profile import TASKS
from mcp_actors.protocol.serving.questions import Question, Unanswered
from mcp_actors.protocol.serving.terms import Job, Terms
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.slot import Slot
from mcp_actors.server.call import Call
from mcp_actors.server.context import Context
from mcp_actors.server.outlet import Outgoing
from mcp_actors.server.peer import Peer
from tests.client.features.ear import Ear
from tests.client.waiting import BOUND
from tests.server.talk import HANDSHAKE, STATELESS

REVISION = by_version(HANDSHAKE)
assert REVISION is not None
AGREED = Terms(REVISION, {"elicitation": {}})
FORM = {"type": "object", "properties": {}}


class Sink:
    """An outlet that keeps everything."""

    def __init__(self) -> None:
        self.sent = Ear()
        self.ended = Ear()
        self.let_go = Ear()

    def send(self, outgoing: Outgoing) -> None:
        self.sent(outgoing)

    def end(self, reason: str) -> None:
        self.ended(reason)

    def close_connection(self, about: int | str) -> bool:
        self.let_go(about)
        return True

    def answers(self, count: int) -> list[Any]:
        return [orjson.loads(one.frame) for one in self.sent.wait_for(count)]


class OneWay:
    """An outlet whose connections cannot be closed on their own."""

    def send(self, outgoing: Outgoing) -> None:
        del outgoing

    def end(self, reason: str) -> None:
        del reason


@pytest.fixture
def sink() -> Sink:
    return Sink()


@pytest.fixture
def peer(server: Server, sink: Sink) -> Peer:
    return Peer(server.host, sink, name="peer", agreed=AGREED)


def request(id_: int | str, method: str, **params: Any) -> jsonrpc.Message:
    message = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
    return jsonrpc.scan(orjson.dumps(message))


def call(id_: int | str, name: str) -> jsonrpc.Message:
    return request(id_, "tools/call", name=name)


def test_a_handler_sees_the_context_variables_of_the_moment_it_was_called_in(
    server: Server, peer: Peer, sink: Sink
) -> None:
    variable = contextvars.ContextVar[str]("variable", default="nothing")

    @server.tool(structured_output=False)
    def look() -> str:
        return variable.get()

    variable.set("here")
    peer.receive(call(1, "look"))
    [answer] = sink.answers(1)
    assert answer["result"]["content"][0]["text"] == "here"


def test_a_principal_is_known_to_the_handler_and_owns_its_tasks(
    server: Server, peer: Peer, sink: Sink
) -> None:
    @server.tool(structured_output=False, scopes=["read"], task_support="optional")
    def who(ctx: Context) -> str:
        assert ctx.principal is not None
        return ctx.principal.subject

    ada = Principal("ada", frozenset({"read"}))
    peer.receive(call(1, "who"), ada)
    peer.receive(call(2, "who"), Principal("bob"))
    answers = {one["id"]: one for one in sink.answers(2)}
    assert answers[1]["result"]["content"][0]["text"] == "ada"
    assert answers[2]["error"]["message"] == "this needs the scopes read"


def test_tasks_are_listed_for_their_owner_alone(server: Server, sink: Sink) -> None:
    server.add_tool(lambda: 1, name="work", task_support="optional")
    server.wsgi(authorization=object())  # type: ignore[arg-type]
    ada, bob = (Principal(name) for name in ("ada", "bob"))
    peer = Peer(server.host, sink, name="peer", principal=ada, agreed=AGREED)
    peer.receive(request(1, "tools/call", name="work", task={}))
    [created] = sink.answers(1)
    peer.receive(request(2, "tasks/list"))
    peer.receive(request(3, "tasks/list"), bob)
    listed = {one["id"]: one["result"]["tasks"] for one in sink.answers(3)[1:]}
    assert [task["taskId"] for task in listed[2]] == [created["result"]["task"]["taskId"]]
    assert listed[3] == []


def test_nobody_hears_of_the_tasks_of_others(server: Server) -> None:
    server.add_tool(lambda: 1, name="work", task_support="optional")
    meta = {VERSION: STATELESS, CAPABILITIES: {"extensions": {TASKS: {}}}}
    wanted = {"taskIds": ["7"], "toolsListChanged": True}
    sinks = {name: Sink() for name in ("ada", "bob")}
    for name, sink in sinks.items():
        one = Peer(server.host, sink, name=name, principal=Principal(name))
        one.receive(request(1, "subscriptions/listen", notifications=wanted, _meta=meta))
    server.host.announce(News("task", "7", {"status": "completed"}, owner=Principal("ada").binding))
    server.host.announce(News("tools"))
    heard = {name: sink.answers(3 if name == "ada" else 2)[1:] for name, sink in sinks.items()}
    assert [one["method"] for one in heard["ada"]] == [
        "notifications/tasks",
        "notifications/tools/list_changed",
    ]
    assert [one["method"] for one in heard["bob"]] == ["notifications/tools/list_changed"]


def test_a_connection_can_be_let_go_of_where_that_is_possible(server: Server, peer: Peer, sink: Sink) -> None:
    @server.tool()
    def rest(ctx: Context) -> None:
        ctx.close_connection()

    peer.receive(call("seven", "rest"))
    sink.answers(1)
    assert sink.let_go.heard == ["seven"]
    Peer(server.host, OneWay(), name="other").close_connection(1)


def test_a_request_that_nobody_wants_any_more_is_cancelled_without_a_word(
    server: Server, peer: Peer, sink: Sink
) -> None:
    begun, ended = threading.Event(), Ear()

    @server.tool()
    def wait(ctx: Context) -> None:
        begun.set()
        try:
            ctx.sleep(60)
        except RequestCancelled as error:
            ended(str(error))
            raise

    peer.receive(call(1, "wait"))
    assert begun.wait(BOUND)
    assert (peer.state, peer.busy, peer.running, peer.version) == ("ready", True, 1, HANDSHAKE)
    peer.cancel(1, "the stream was closed")
    assert ended.wait_for(1) == ["the stream was closed"]
    assert not peer.busy
    assert sink.sent.heard == []


def test_a_peer_that_is_gone_sends_nothing_and_ends_once(server: Server, peer: Peer, sink: Sink) -> None:
    server.add_tool(lambda: 1, name="one")
    for _ in range(2):
        peer.gone("the wire broke")
    peer.receive(call(1, "one"))
    peer.stop()
    assert peer.closed
    assert (peer.state, sink.sent.heard, sink.ended.heard) == ("closed", [], [])
    assert Peer(server.host, sink, name="fresh").version is None


def test_a_peer_that_is_stopped_lets_what_runs_end(server: Server, peer: Peer, sink: Sink) -> None:
    gate, begun, idle = threading.Event(), threading.Event(), Ear()

    @server.tool(structured_output=False)
    def finish() -> str:
        begun.set()
        return "finished" if gate.wait(BOUND) else "late"

    peer.receive(call(1, "finish"))
    assert begun.wait(BOUND)
    peer.stop(BOUND)
    peer.when_idle(lambda: idle("idle"))
    assert peer.state == "closing"
    peer.receive(call(2, "finish"))
    [refused] = sink.answers(1)
    assert refused["error"]["message"] == "the server is shutting down"
    assert idle.heard == []
    gate.set()
    assert sink.answers(2)[1]["result"]["content"][0]["text"] == "finished"
    sink.ended.wait_for(1)
    idle.wait_for(1)
    assert peer.closed


def test_a_handler_that_never_ends_is_answered_for_when_its_time_is_over(
    server: Server, peer: Peer, sink: Sink
) -> None:
    gate, begun = threading.Event(), threading.Event()

    @server.tool()
    def hang() -> None:
        begun.set()
        gate.wait(BOUND)

    peer.receive(call(1, "hang"))
    assert begun.wait(BOUND)
    peer.stop(0.01)
    [answer] = sink.answers(1)
    assert answer["error"]["message"] == "the server was stopped"
    sink.ended.wait_for(1)
    gate.set()


def test_a_question_of_a_call_that_is_over_is_not_asked(peer: Peer) -> None:
    slot: Slot[Any] = Slot()
    over = Call(peer, Job(1, "tools/call", {}, AGREED), None, None)
    peer.bring_for(over, Asked(Question(slot, "elicitation/create", {}, 1, 1.0)))
    assert slot.wait(Deadline.after(BOUND)) == Unanswered("the session is over")


def test_a_forked_child_forgets_its_parents_clients(server: Server, peer: Peer, sink: Sink) -> None:
    server.add_tool(lambda: 1, name="one")
    peer.forget()
    peer.receive(call(1, "one"))
    assert sink.sent.heard == []


def test_a_question_that_is_not_answered_though_its_timer_is_late_is_given_up(
    server: Server, peer: Peer, sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_actors.server.call._GRACE", -0.02)
    found = Ear()

    @server.tool()
    def ask(ctx: Context) -> None:
        try:
            ctx.elicit("Who?", FORM, timeout=0.03)
        except NoAnswer as error:
            found(str(error))

    monkeypatch.setattr(server.host, "wake", lambda *_: None)
    peer.receive(call(1, "ask"))
    assert found.wait_for(1) == ["the client did not answer elicitation/create in time"]
    taken_back = sink.answers(3)[1]
    assert taken_back["method"] == "notifications/cancelled"


def test_whoever_is_interrupted_while_it_waits_takes_its_question_back(
    peer: Peer, sink: Sink, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_self: Any, _deadline: Any) -> Any:
        raise KeyboardInterrupt

    @server.tool(structured_output=False)
    def ask(ctx: Context) -> str:
        with monkeypatch.context() as patch:
            patch.setattr("mcp_actors.server.call.Slot.wait", interrupt)
            with pytest.raises(KeyboardInterrupt):
                ctx.elicit("Who?", FORM)
        return "went on"

    peer.receive(call(1, "ask"))
    asked, taken_back, answer = sink.answers(3)
    assert (asked["method"], taken_back["method"]) == ("elicitation/create", "notifications/cancelled")
    assert answer["result"]["content"][0]["text"] == "went on"


def test_who_says_much_waits_for_his_turn_and_not_for_ever(
    server: Server, peer: Peer, sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_actors.server.call._TURN_SECONDS", 0.02)
    crowded = iter([True, False])
    monkeypatch.setattr(Peer, "crowded", property(lambda _self: next(crowded, True)))

    @server.tool(structured_output=False)
    def talk(ctx: Context) -> str:
        ctx.warning("after a while")
        ctx.warning("never")
        return "done"

    peer.receive(call(1, "talk"))
    said, answer = sink.answers(2)
    assert said["params"]["data"] == "after a while"
    assert "result" in answer


def test_a_filter_that_raises_costs_nobody_his_answer(server: Server, peer: Peer, sink: Sink) -> None:
    def refuse(_record: logging.LogRecord) -> bool:
        raise RuntimeError("a filter of the host's")

    server.middleware(lambda *_: 1 / 0)
    server.add_tool(lambda: 1, name="one")
    logger = logging.getLogger("mcp_actors.server")
    logger.addFilter(refuse)
    try:
        peer.receive(call(1, "one"))
        assert sink.answers(1)[0]["error"]["code"] == -32603
    finally:
        logger.removeFilter(refuse)


def test_the_calls_of_an_array_are_forgotten_with_their_answers(server: Server, sink: Sink) -> None:
    @server.tool(structured_output=False)
    def hello() -> str:
        return "hello"

    revision = by_version("2025-03-26")
    assert revision is not None
    peer = Peer(server.host, sink, name="peer", agreed=Terms(revision, {}))
    params = {"name": "hello"}
    batch = [{"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params} for id_ in (1, 2, 3)]
    peer.receive(jsonrpc.scan(orjson.dumps(batch)))
    [answers] = sink.answers(1)
    assert {one["id"] for one in answers} == {1, 2, 3}
    assert peer._calls == {}
