"""The life of a server: started at first use, closed once, by whomever, whatever runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from mcp_actors import Client, Server, errors
from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.server import host
from mcp_actors.server.context import Context
from mcp_actors.server.host import HANDS, TIMEKEEPER
from mcp_actors.server.line import Line
from mcp_actors.transports.contract import OpenFailed, SendVerdict
from mcp_actors.transports.memory import GivenEnd, memory_pair
from tests.client.features.ear import Ear
from tests.client.waiting import BOUND, in_thread, opened_at_the_end, until
from tests.server.conftest import Connect, MakeServer, MakeTalk
from tests.server.talk import HANDSHAKE


def test_nothing_runs_until_it_is_served(server: Server) -> None:
    before = threading.active_count()
    server.add_tool(lambda: 1, name="one")
    server.wsgi()
    assert threading.active_count() == before
    assert server._hosts.value is None


def test_a_server_is_a_context(make_server: MakeServer) -> None:
    with make_server() as server:
        host = server.host
        assert server.start() is server
        assert server.host is host
    assert host.stopping


def test_closing_is_idempotent_and_final(make_server: MakeServer, connect: Connect, era: str) -> None:
    server = make_server()
    client = connect(server, era)
    client.ping()
    for _ in range(3):
        server.close()
    with pytest.raises(errors.McpError):
        client.ping(timeout=0.5)
    for use in (server.start, lambda: server.host):
        with pytest.raises(RuntimeError, match="server 'demo' was closed"):
            use()
    with pytest.raises(errors.StartFailed, match="server 'demo' was closed"):
        connect(server, era)


def test_a_server_that_was_never_used_closes(make_server: MakeServer) -> None:
    server = make_server()
    server.close()
    with pytest.raises(RuntimeError, match="was closed"):
        server.start()


@pytest.mark.stress
def test_several_threads_may_close_at_once(make_server: MakeServer, connect: Connect, era: str) -> None:
    for _ in range(5):
        server = make_server()
        connect(server, era)
        host = server.host
        for closing in [in_thread(server.close) for _ in range(4)]:
            closing.result(2 * BOUND)
        assert not any(isinstance(one, Line) for one in host.lines)


def test_what_runs_is_answered_before_the_end(make_server: MakeServer, talk: MakeTalk, era: str) -> None:
    server, gate, begun = make_server(), threading.Event(), threading.Event()

    @server.tool(structured_output=False)
    def finish() -> str:
        begun.set()
        return "finished" if gate.wait(BOUND) else "late"

    one = talk(server, era)
    running = one.ask("tools/call", name="finish")
    assert begun.wait(BOUND)
    with opened_at_the_end(gate):
        closing = in_thread(server.close)
        [line] = [one for one in server._hosts.value.lines if isinstance(one, Line)]  # type: ignore[union-attr]
        until(lambda: line.peer.state == "closing")
        refused = one.tool("finish")
        assert refused["error"]["message"] == "the server is shutting down"
        gate.set()
        assert one.answer_to(running)["result"]["content"][0]["text"] == "finished"
        closing.result(BOUND)
    assert one.at_end()


@pytest.mark.parametrize("how", ["close", "leave"])
def test_a_handler_may_close_its_server_and_is_answered(
    make_server: MakeServer, talk: MakeTalk, era: str, how: str
) -> None:
    server = make_server()

    @server.tool(structured_output=False)
    def shut_down() -> str:
        if how == "close":
            server.close(timeout=10 * BOUND)
        else:
            with server:
                pass
        return "good bye"

    one = talk(server, era)
    assert one.tool("shut_down")["result"]["content"][0]["text"] == "good bye"
    assert one.at_end()
    host = server._hosts.value
    assert host is not None
    until(lambda: host.stopping and not host._supervisor.is_alive)
    with pytest.raises(RuntimeError, match="was closed"):
        server.start()


def test_several_handlers_may_close_their_server_and_are_answered(
    make_server: MakeServer, talk: MakeTalk, era: str
) -> None:
    server, together = make_server(), threading.Barrier(3, timeout=BOUND)

    @server.tool(structured_output=False)
    def shut_down() -> str:
        together.wait()
        server.close(timeout=10 * BOUND)
        together.wait()
        return "good bye"

    one = talk(server, era)
    for _ in range(3):
        one.ask("tools/call", name="shut_down")
    answers = [one.read()["result"]["content"][0]["text"] for _ in range(3)]
    assert answers == ["good bye"] * 3
    assert one.at_end()


def test_a_handler_that_closes_its_server_and_does_not_end_is_not_waited_for(
    make_server: MakeServer, talk: MakeTalk, era: str
) -> None:
    gone, server, gate = threading.Event(), make_server(lifespan=lambda _: leaving(gone)), threading.Event()

    @server.tool(structured_output=False)
    def shut_down() -> str:
        server.close(timeout=1.2)
        gate.wait(2 * BOUND)
        return "too late"

    one = talk(server, era)
    with opened_at_the_end(gate):
        answer = one.tool("shut_down")
        assert answer["error"]["message"] == "the server was stopped"
        assert one.at_end()
        assert gone.wait(BOUND)


@contextmanager
def leaving(gone: threading.Event) -> Iterator[None]:
    yield
    gone.set()


def test_what_hears_a_notification_and_what_runs_as_a_task_may_close_the_server(
    make_server: MakeServer, talk: MakeTalk
) -> None:
    for how in ("notification", "task"):
        server = make_server()

        def shut_down(params: Any = None, server: Server = server) -> None:
            del params
            server.close(timeout=10 * BOUND)

        server.on_notification("notifications/bye")(shut_down)
        server.add_tool(lambda shut_down=shut_down: shut_down(), name="bye", task_support="required")
        one = talk(server, HANDSHAKE)
        if how == "task":
            assert one.call("tools/call", name="bye", task={})["result"]
        else:
            one.tell("notifications/bye")
        assert one.at_end()


def test_a_handler_can_close_its_server_where_no_thread_is_to_be_had(
    make_server: MakeServer, talk: MakeTalk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    server = make_server()

    @server.tool(structured_output=False)
    def shut_down() -> str:
        def refuse(*_args: Any, **_options: Any) -> Any:
            raise RuntimeError("can't start new thread")

        with monkeypatch.context() as patched:
            patched.setattr(host, "threading", SimpleNamespace(Thread=refuse))
            server.close(timeout=10 * BOUND)
        return "good bye"

    one = talk(server, HANDSHAKE)
    assert one.tool("shut_down")["result"]["content"][0]["text"] == "good bye"
    assert one.at_end()
    assert "cannot be closed before the process ends: can't start new thread" in caplog.text


def test_a_client_that_waits_for_a_question_is_let_go_at_the_end(
    make_server: MakeServer, talk: MakeTalk
) -> None:
    server = make_server()

    @server.tool()
    def ask(ctx: Context) -> None:
        ctx.elicit("Who?", {"type": "object", "properties": {}})

    one = talk(server, HANDSHAKE, elicitation={})
    one.ask("tools/call", name="ask")
    one.read()
    in_thread(lambda: server.close(timeout=1.1)).result(BOUND)
    assert one.at_end()


def test_clients_come_and_go_and_leave_nothing(server: Server, era: str) -> None:
    server.start()
    for _ in range(10):
        with Client.memory(server, protocol=era) as client:
            client.ping()
    until(lambda: not any(isinstance(one, Line) for one in server.host.lines))
    assert not server.host._audience


class Deaf:
    """A wire that does not end when it is told to."""

    label = "deaf"

    def __init__(self) -> None:
        self.gate = threading.Event()

    def open(self, deadline: Deadline) -> object:
        del deadline
        self.gate.wait(2 * BOUND)
        raise OpenFailed(Ending(EndKind.REFUSED, "never mind"))


def test_a_wire_that_does_not_end_is_not_waited_for(make_server: MakeServer) -> None:
    server, deaf = make_server(), Deaf()
    line = Line(server.host, deaf, name="deaf")  # type: ignore[arg-type]
    line.open()
    with opened_at_the_end(deaf.gate):
        assert not line.join(Deadline.after(0.01))
        server.close(timeout=0.05)
    assert line.wait() == "never mind"


def test_a_wire_that_cannot_be_opened_is_over(server: Server) -> None:
    deaf = Deaf()
    deaf.gate.set()
    line = Line(server.host, deaf, name="deaf")  # type: ignore[arg-type]
    line.open()
    assert line.wait() == "never mind"
    assert line.join(Deadline.after(BOUND))
    assert not server.host.keeps(line)


def test_a_client_that_comes_while_the_server_closes_is_sent_away(make_server: MakeServer) -> None:
    server = make_server()
    host = server.host
    server.close()
    wire, end = memory_pair()
    Line(host, GivenEnd(end), name="late").open()
    until(lambda: wire.send(b"{}", None) is SendVerdict.CLOSED)


def test_without_a_timekeeper_nobody_is_told_and_nothing_breaks(make_server: MakeServer) -> None:
    server = make_server()
    host = server.host
    server.close()
    assert host._directory.get(TIMEKEEPER) is None
    assert host._directory.get(HANDS) is None
    host.wake("key", 0.0, lambda: None)
    host.let_sleep("key")
    assert host.employ([lambda: None]) == 0
    server.resource_updated("a:/")
    server.add_tool(lambda: 1, name="late")


def test_a_server_does_not_hear_notifications_after_its_end(make_server: MakeServer) -> None:
    server, heard = make_server(), Ear()
    server.on_notification("x")(heard)
    host = server.host
    peer: Any = SimpleNamespace(host=host, client="one")
    host.heard(peer, "x", {"n": 1})
    assert heard.wait_for(1) == [{"n": 1}]
    server.close()
    host.heard(peer, "x", {"n": 2})
    assert heard.wait_for(1) == [{"n": 1}]
