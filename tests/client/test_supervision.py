"""Bugs of our own: an actor that dies is replaced, everybody is answered, and too many bugs end the tree."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors import Client, errors, telemetry
from mcp_actors.client.connection import ConnectionActor
from mcp_actors.client.futures import FutureCaller
from mcp_actors.runtime.actor import Actor
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.directory import Directory
from mcp_actors.runtime.supervisor import WhichChildren
from mcp_actors.runtime.tasks import TaskPool
from mcp_actors.telemetry.events import ChildRestarted, RequestEvent, RequestFailed, RequestStarted
from mcp_actors.transports.actor import TransportActor
from tests.client.toy_host import SILENCE, ToyHost, text
from tests.client.waiting import BOUND, in_thread, until

MakeClient = Callable[..., Client]
ACTORS: dict[str, type[Actor]] = {
    "transport": TransportActor,
    "pool": TaskPool,
    "connection": ConnectionActor,
}
#: Who is started anew when each of them fails.
REST = {
    "transport": {"transport", "pool", "connection"},
    "pool": {"pool", "connection"},
    "connection": {"connection"},
}


class PlantedBug(Exception):
    """What the tests break the actors with."""


class Poison:
    """A message that no actor survives while ``plant`` is in force."""


@pytest.fixture(autouse=True)
def _plant(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ACTORS.values():
        monkeypatch.setattr(kind, "handle", _poisonable(kind.handle))


def _poisonable(handle: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def guarded(self: Any, message: Any) -> Any:
        if isinstance(message, Poison):
            raise PlantedBug("planted")
        return handle(self, message)

    return guarded


def refs(client: Client) -> dict[str, Any]:
    tree = client._trees.value
    assert tree is not None
    return {name: tree.directory.get(name) for name in ACTORS}


def break_it(client: Client, actor: str) -> None:
    """Kill one actor, and wait until it has been replaced or given up."""
    tree = client._trees.value
    assert tree is not None
    before = client.stats().restarts
    refs(client)[actor].tell(Poison())
    until(lambda: client.stats().restarts > before)


@pytest.mark.requirement("error:matrix")
@pytest.mark.parametrize("actor", list(ACTORS))
def test_whoever_fails_is_replaced_with_those_built_upon_it_and_the_client_recovers(
    actor: str, client: Client, host: ToyHost
) -> None:
    before = refs(client)
    break_it(client, actor)
    assert client.call_tool("echo", {"a": 1}, wait=True).text == '{"a": 1}'
    after = refs(client)
    assert {name for name in ACTORS if after[name] is not before[name]} == REST[actor]
    stats = client.stats()
    assert (stats.restarts, stats.state, stats.pending, stats.in_flight) == (1, "ready", 0, 0)
    # A new connection never inherits a half-read stream.
    assert host.wires == 2


@pytest.mark.requirement("request:one-outcome")
@pytest.mark.parametrize("actor", list(ACTORS))
def test_everybody_who_waits_is_answered_once_when_an_actor_dies(
    actor: str, client: Client, host: ToyHost
) -> None:
    host.answers["tools/call"] = lambda _: SILENCE
    settled: list[Any] = []
    futures = [client.submit_tool("future") for _ in range(40)]
    for future in futures:
        future.add_done_callback(settled.append)
    calls = [in_thread(lambda: client.call_tool("call")) for _ in range(8)]
    host.await_heard("tools/call", 48)
    break_it(client, actor)
    for call in [*futures, *calls]:
        error = call.exception(BOUND)
        assert isinstance(error, errors.ConnectionLost)
        assert error.outcome == "unknown"
    why = (
        "the connection was closed" if actor == "transport" else "this client had to restart a part of itself"
    )
    assert str(error).startswith(f"tools/call 'call' lost its connection: {why}")
    until(lambda: len(settled) == 40)
    client.wait_ready()
    host.answers["tools/call"] = lambda _: text("fine")
    assert client.call_tool("echo").text == "fine"


@pytest.mark.parametrize("actor", list(ACTORS))
def test_those_who_wait_for_the_first_ready_go_on_waiting_through_a_restart(
    actor: str, host: ToyHost, make_client: MakeClient
) -> None:
    usual = host.answers["server/discover"]
    host.answers["server/discover"] = lambda _: SILENCE
    client = make_client(host)
    waiting = in_thread(client.wait_ready)
    calling = in_thread(lambda: client.call_tool("echo").text)
    host.await_heard("server/discover")
    until(lambda: client.stats().in_flight == 1)
    host.answers["server/discover"] = usual
    break_it(client, actor)
    assert waiting.result(BOUND) is client
    assert calling.result(BOUND) == "null"


def test_the_state_is_not_ready_while_a_connection_is_replaced(client: Client, host: ToyHost) -> None:
    host.answers["server/discover"] = lambda _: SILENCE
    break_it(client, "connection")
    host.await_wires(2)
    assert client.state in ("starting", "initializing")
    with pytest.raises(errors.Unavailable) as caught:
        client.call_tool("echo")
    assert caught.value.state in ("starting", "initializing")


@pytest.mark.requirement("telemetry:events")
def test_each_restart_is_told(client: Client) -> None:
    heard: list[ChildRestarted] = []
    detach = telemetry.attach(heard.append, ChildRestarted)
    try:
        break_it(client, "pool")
        client.wait_ready()
        assert telemetry.flush(BOUND)
    finally:
        detach()
    assert [(one.client, one.child, one.error) for one in heard] == [
        ("memory", "pool", "PlantedBug: planted")
    ]


@pytest.mark.requirement("error:matrix")
@pytest.mark.parametrize("actor", list(ACTORS))
def test_four_bugs_in_five_seconds_end_the_tree_and_start_begins_anew(
    actor: str, client: Client, host: ToyHost
) -> None:
    for _ in range(3):
        break_it(client, actor)
        client.wait_ready()
    host.answers["tools/call"] = lambda _: SILENCE
    future = client.submit_tool("future")
    call = in_thread(lambda: client.call_tool("call"))
    host.await_heard("tools/call", 2)
    break_it(client, actor)
    assert isinstance(future.exception(BOUND), errors.ConnectionLost)
    assert isinstance(call.exception(BOUND), errors.ConnectionLost)
    until(lambda: client.stats().parked)
    assert client.state == "backoff"
    uses: list[Callable[[], Any]] = [
        lambda: client.call_tool("echo"),
        lambda: client.call_tool("echo", wait=True),
        client.wait_ready,
        lambda: client.submit_tool("echo").result(BOUND),
    ]
    for use in uses:
        with pytest.raises(errors.Unavailable) as caught:
            use()
        assert "this client broke down: more than 3 failures in 5 s" in str(caught.value)
        assert "PlantedBug: planted" in str(caught.value)
        assert caught.value.state == "backoff"
    host.answers["tools/call"] = lambda _: text("new life")
    client.start().wait_ready()
    assert client.call_tool("echo").text == "new life"
    assert client.stats().restarts == 0


def test_a_tree_that_broke_down_can_be_closed(client: Client) -> None:
    for _ in range(4):
        break_it(client, "connection")
        until(lambda: client.stats().parked or client.state == "ready")
    client.close()
    assert client.state == "closing"


def test_a_bug_while_closing_does_not_hold_up_the_close(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise PlantedBug("in close")

    tree = client._trees.value
    assert tree is not None
    assert tree.wiring.board.machine is not None
    monkeypatch.setattr(tree.wiring.board.machine, "handle", fail)
    closing = in_thread(client.close)
    assert closing.result(BOUND) is None


def test_a_client_that_can_get_no_thread_says_so(
    host: ToyHost, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = make_client(host)
    usual = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name.startswith("memory"):
            raise RuntimeError("can't start new thread")
        usual(thread)

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(errors.StartFailed, match="can't start new thread"):
            client.call_tool("echo")
    assert client.call_tool("echo").text == "null"


def test_a_wire_that_can_get_no_reader_thread_is_tried_again(
    host: ToyHost, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = threading.Thread.start
    refused: list[threading.Thread] = []

    def refuse(thread: threading.Thread) -> None:
        if thread.name.startswith("mcp-reader") and not refused:
            refused.append(thread)
            raise RuntimeError("can't start new thread")
        usual(thread)

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        assert make_client(host).call_tool("echo").text == "null"
    assert host.wires >= 2


def test_a_handler_that_kills_the_connection_it_is_called_by_gets_its_answer(
    client: Client, host: ToyHost
) -> None:
    outcomes: list[Any] = []
    done = threading.Event()

    def handler(_: Any) -> None:
        refs(client)["connection"].tell(Poison())
        try:
            outcomes.append(client.call_tool("echo", wait=True).text)
        except errors.McpError as error:
            outcomes.append(error)
        done.set()

    client.on_notification(handler)
    host.notify("x")
    assert done.wait(2 * BOUND)
    assert outcomes[0] == "null" or isinstance(outcomes[0], errors.ConnectionLost)


@pytest.mark.requirement("request:one-outcome")
@pytest.mark.parametrize("place", ["in an action", "in the machine"])
def test_a_bug_between_the_end_of_a_call_and_its_answer_loses_no_answer(
    place: str, client: Client, host: ToyHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.answers["tools/call"] = lambda _: SILENCE
    futures = [client.submit_tool("future") for _ in range(3)]
    call = in_thread(lambda: client.call_tool("call"))
    host.await_heard("tools/call", 4)

    def fail(*_: Any) -> None:
        raise PlantedBug(place)

    tree = client._trees.value
    assert tree is not None
    machine = tree.wiring.board.machine
    assert machine is not None
    if place == "in the machine":
        monkeypatch.setattr(machine.attempts, "failed", fail)
    else:
        monkeypatch.setattr(tree.wiring.board, "lost", fail)
    host.ends[-1].close()
    for waiting in [*futures, call]:
        assert isinstance(waiting.exception(BOUND), errors.ConnectionLost)
    until(lambda: client.stats().in_flight == 0)


@pytest.mark.requirement("telemetry:events")
def test_the_requests_that_a_bug_ends_are_told_as_failed(client: Client, host: ToyHost) -> None:
    heard: list[RequestEvent] = []
    host.answers["tools/call"] = lambda _: SILENCE
    detach = telemetry.attach(heard.append, RequestEvent)
    try:
        future = client.submit_tool("future")
        host.await_heard("tools/call")
        break_it(client, "connection")
        assert isinstance(future.exception(BOUND), errors.ConnectionLost)
        assert telemetry.flush(BOUND)
    finally:
        detach()
    assert [type(event) for event in heard if event.method == "tools/call"] == [RequestStarted, RequestFailed]


def test_a_client_that_is_breaking_down_says_so_as_soon_as_it_is_known(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    ending = threading.Event()
    usual = TransportActor.terminate

    def terminate(actor: TransportActor, reason: Any) -> None:
        ending.set()
        gate.wait(BOUND)
        usual(actor, reason)

    monkeypatch.setattr(TransportActor, "terminate", terminate)
    for _ in range(4):
        client.wait_ready()
        break_it(client, "connection")
    assert ending.wait(BOUND)
    call = in_thread(lambda: client.call_tool("echo", wait=True))
    waiting = in_thread(client.wait_ready)
    gate.set()
    for use in (call, waiting):
        error = use.exception(BOUND)
        assert isinstance(error, errors.Unavailable)
        assert "this client broke down" in str(error)


def test_a_future_is_finished_though_whoever_closed_the_client_has_gone(
    client: Client, host: ToyHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, closed = threading.Event(), threading.Event()
    busy = threading.Semaphore(0)

    def occupy(_: Any) -> None:
        busy.release()
        gate.wait(2 * BOUND)

    # As many as the pool has workers, and each keeps one.
    for _ in range(32):
        client.submit_tool("echo").add_done_callback(occupy)
        assert busy.acquire(timeout=BOUND)
    host.answers["tools/call"] = lambda _: SILENCE
    future = client.submit_tool("slow")
    host.await_heard("tools/call", 33)
    tree = client._trees.value
    assert tree is not None
    machine = tree.wiring.board.machine
    assert machine is not None
    usual = machine.handle

    def hesitate(event: Any) -> Any:
        closed.wait(BOUND)
        return usual(event)

    monkeypatch.setattr(machine, "handle", hesitate)
    client.close(timeout=0.01)
    closed.set()
    assert isinstance(future.exception(BOUND), errors.ClientClosed)
    gate.set()
    client.close()


def test_a_connection_that_is_replaced_while_the_client_closes_opens_no_wire(
    client: Client, host: ToyHost
) -> None:
    tree = client._trees.value
    assert tree is not None
    tree.wiring.closing = True
    break_it(client, "connection")
    tree.supervisor.ask(WhichChildren(), Deadline.after(BOUND))
    client.close()
    assert host.wires == 1


class _GoneForOneLook(Directory):
    """What somebody sees who looks for the connection at the wrong moment."""

    def __init__(self, usual: Directory) -> None:
        super().__init__()
        self._usual = usual
        self._looked = False

    def get(self, name: str) -> Any:
        if name == "connection" and not self._looked:
            self._looked = True
            return None
        return self._usual.get(name)


def test_a_future_that_meets_a_restart_is_finished(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = client._trees.value
    assert tree is not None
    monkeypatch.setattr(tree, "directory", _GoneForOneLook(tree.directory))
    assert isinstance(client.submit_tool("echo").exception(BOUND), errors.Unavailable)


def test_a_call_that_meets_the_end_of_a_close_says_that_the_client_is_closed(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = client._trees.value
    assert tree is not None
    client.close()
    # As if they had found the tree just before.
    monkeypatch.setattr(client._trees, "get", lambda: tree)
    with pytest.raises(errors.ClientClosed):
        client.call_tool("echo")
    assert isinstance(client.submit_tool("echo").exception(BOUND), errors.ClientClosed)


def test_an_interrupt_in_submit_leaves_nothing_behind(
    client: Client, host: ToyHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = FutureCaller.send

    def interrupted(*arguments: Any, **options: Any) -> bool:
        usual(*arguments, **options)
        raise KeyboardInterrupt

    host.answers["tools/call"] = lambda _: SILENCE
    monkeypatch.setattr(FutureCaller, "send", interrupted)
    with pytest.raises(KeyboardInterrupt):
        client.submit_tool("slow")
    host.await_heard("notifications/cancelled")
    assert (client.stats().in_flight, client.stats().pending) == (0, 0)
