"""Starting, waiting, closing: from everywhere, at any moment, any number of times."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from mcp_actors import Client, errors
from mcp_actors.client.connection import ConnectionActor
from mcp_actors.protocol.actions import Agreed
from mcp_actors.protocol.endings import EndKind
from tests.client.toy_host import HANDSHAKES, SILENCE, VERSIONS, ToyHost
from tests.client.waiting import BOUND, in_thread, opened_at_the_end, until

MakeClient = Callable[..., Client]
MakeHost = Callable[..., ToyHost]


def test_nothing_runs_until_the_client_is_used(host: ToyHost, make_client: MakeClient) -> None:
    client = make_client(host)
    assert client.state == "starting"
    assert client.crash_report is None
    assert client.stats().state == "starting"
    assert host.wires == 0
    client.close()
    assert host.wires == 0


@pytest.mark.requirement("connection:states")
def test_with_waits_until_ready_and_closes(host: ToyHost) -> None:
    with Client.memory(host) as client:
        assert str(client.state) == "ready"
        client.ping()
    assert str(client.state) == "closing"
    with pytest.raises(errors.ClientClosed):
        client.ping()


def test_with_raises_why_the_server_cannot_be_reached_and_leaves_nothing(host: ToyHost) -> None:
    host.refuse(1, EndKind.IMPOSSIBLE, "cannot start 'nonsense': no such command")
    with pytest.raises(errors.StartFailed, match="no such command"), Client.memory(host):
        raise NotImplementedError


def test_the_first_call_starts_the_client(host: ToyHost, make_client: MakeClient) -> None:
    client = make_client(host)
    assert client.call_tool("echo", {"a": 1}).text == '{"a": 1}'
    assert client.state == "ready"


def test_whoever_calls_in_the_very_moment_of_the_first_ready_finds_what_was_agreed(
    host: ToyHost, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    agreed, calls = ConnectionActor._agreed, list[Future[Any]]()
    client = make_client(host)

    def slowly(actor: ConnectionActor, action: Agreed) -> None:
        calls.append(in_thread(lambda: client.get_task("t")))
        # Somebody goes as far as one can before it is written down.
        until(lambda: calls[0].done() or actor.mailbox.depth)
        agreed(actor, action)

    monkeypatch.setattr(ConnectionActor, "_agreed", slowly)
    client.wait_ready()
    with pytest.raises(errors.CapabilityMissing):
        calls[0].result(BOUND)


def test_start_returns_at_once_and_may_be_repeated(make_host: MakeHost, make_client: MakeClient) -> None:
    host = make_host()
    host.answers["server/discover"] = lambda _: SILENCE
    client = make_client(host)
    assert client.start() is client
    client.start()
    host.await_heard("server/discover")
    assert client.state == "initializing"
    assert host.wires == 1


def test_wait_ready_gives_the_client_back(host: ToyHost, make_client: MakeClient) -> None:
    client = make_client(host)
    assert client.wait_ready() is client
    assert client.wait_ready(timeout=1) is client


def test_wait_ready_says_after_how_long_it_gave_up(host: ToyHost, make_client: MakeClient) -> None:
    host.answers["server/discover"] = lambda _: SILENCE
    client = make_client(host)
    with pytest.raises(errors.RequestTimeout) as caught:
        client.wait_ready(timeout=0.05)
    assert str(caught.value).splitlines()[0] == "memory was not ready within 0.05 s (state: initializing)"


@pytest.mark.requirement("connection:init-timeout")
def test_a_handshake_that_takes_too_long_leads_to_another_try(host: ToyHost, make_client: MakeClient) -> None:
    usual = host.answers["server/discover"]
    host.answers["server/discover"] = lambda request: SILENCE if host.wires == 1 else usual(request)
    client = make_client(host, init_timeout=0.05)
    client.wait_ready(BOUND)
    assert host.wires == 2
    assert client.crash_report is not None
    assert [one.reason for one in client.crash_report.restarts] == ["no handshake within 0.05 s"]
    assert host.all_heard("notifications/cancelled") == []


@pytest.mark.requirement("connection:park")
def test_a_server_that_was_never_ready_is_parked_after_three_tries(
    host: ToyHost, make_client: MakeClient
) -> None:
    host.refuse(3)
    client = make_client(host)
    with pytest.raises(errors.StartFailed) as caught:
        client.wait_ready()
    assert str(caught.value).splitlines()[0] == "memory could not be started in 3 attempts: nobody listens"
    assert caught.value.details == {"attempts": 3}
    assert (client.state, client.stats().parked, host.wires) == ("backoff", True, 0)
    with pytest.raises(errors.StartFailed):
        client.ping()


@pytest.mark.requirement("connection:park")
def test_start_has_a_parked_client_try_again(host: ToyHost, make_client: MakeClient) -> None:
    host.refuse(3)
    client = make_client(host)
    with pytest.raises(errors.StartFailed):
        client.wait_ready()
    client.start().wait_ready()
    assert client.state == "ready"
    assert not client.stats().parked


@pytest.mark.requirement("connection:backoff")
def test_a_server_that_fails_twice_is_waited_for(host: ToyHost, make_client: MakeClient) -> None:
    host.refuse(2)
    client = make_client(host)
    assert client.call_tool("echo").text == "null"
    assert host.wires == 1


@pytest.mark.requirement("connection:backoff")
def test_once_ready_a_server_is_tried_for_ever(host: ToyHost, make_client: MakeClient) -> None:
    client = make_client(host, backoff_max=0.01).wait_ready()
    host.refuse(12)
    host.drop()
    host.await_wires(2)
    client.wait_ready()
    assert client.stats().reconnects == 1
    assert not host.refusals


@pytest.mark.requirement("connection:recover")
@pytest.mark.parametrize("version", VERSIONS)
def test_after_a_loss_the_client_negotiates_and_lists_again_before_it_is_ready(
    version: str, make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(version=version)
    client = make_client(host).wait_ready()
    client.list_tools()
    client.list_prompts()
    greeting = "initialize" if version in HANDSHAKES else "server/discover"
    greetings = len(host.all_heard(greeting))
    host.drop()
    host.await_wires(2)
    client.call_tool("echo", wait=True)
    methods = [one["method"] for one in host.heard if one["method"] != "notifications/initialized"]
    assert len(host.all_heard(greeting)) == greetings + 1
    assert client.stats().reconnects == 1
    assert methods[-3:-1] in (["tools/list", "prompts/list"], ["prompts/list", "tools/list"])


@pytest.mark.requirement("connection:generation")
def test_what_an_earlier_wire_still_says_does_nothing(client: Client, host: ToyHost) -> None:
    host.answers["tools/call"] = lambda _: SILENCE
    lost = client.submit_tool("echo")
    first = host.await_heard("tools/call")
    host.drop()
    with pytest.raises(errors.ConnectionLost):
        lost.result(BOUND)
    host.await_wires(2)
    call = client.submit_tool("echo", wait=True)
    second = host.await_heard("tools/call", 2)
    assert second["id"] > first["id"]
    host.say({"jsonrpc": "2.0", "id": second["id"], "result": {"content": []}}, wire=0)
    host.reply(second, {"content": [{"type": "text", "text": "right"}]})
    assert call.result(BOUND).text == "right"


# Closing.


@pytest.mark.requirement("connection:stop")
def test_closing_twice_is_closing_once(client: Client) -> None:
    client.close()
    client.close()
    client.close(timeout=0.01)
    assert client.state == "closing"


@pytest.mark.requirement("connection:stop")
def test_four_threads_may_close_at_once_while_calls_are_in_flight(client: Client, host: ToyHost) -> None:
    host.answers["tools/call"] = lambda _: SILENCE
    calls = [in_thread(lambda: client.call_tool("echo")) for _ in range(4)]
    host.await_heard("tools/call", 4)
    closings = [in_thread(client.close) for _ in range(4)]
    for closing in closings:
        assert closing.result(BOUND) is None
    for call in calls:
        assert isinstance(call.exception(BOUND), errors.ClientClosed)


@pytest.mark.requirement("connection:stop")
def test_a_call_in_flight_says_that_the_client_was_closed(client: Client, host: ToyHost) -> None:
    host.answers["tools/call"] = lambda _: SILENCE
    call = in_thread(lambda: client.call_tool("echo"))
    host.await_heard("tools/call")
    client.close()
    with pytest.raises(errors.ClientClosed, match=r"tools/call 'echo' ended because the client was closed"):
        call.result(BOUND)


@pytest.mark.requirement("connection:stop")
def test_a_notification_handler_may_close_the_client(client: Client, host: ToyHost) -> None:
    closed = threading.Event()

    def handler(_: Any) -> None:
        client.close()
        closed.set()

    client.on_notification(handler)
    host.notify("notifications/message", level="info", data="x")
    assert closed.wait(BOUND)
    assert client.state == "closing"


@pytest.mark.requirement("connection:stop")
def test_on_progress_may_close_the_client(client: Client, host: ToyHost) -> None:
    def answer(request: dict[str, Any]) -> Any:
        host.progress(request, 1)
        return SILENCE

    host.answers["tools/call"] = answer
    with pytest.raises(errors.ClientClosed):
        client.call_tool("echo", on_progress=lambda _: client.close())


def test_a_done_callback_may_close_the_client(client: Client) -> None:
    closed = threading.Event()

    def callback(_: Any) -> None:
        client.close()
        closed.set()

    client.submit_tool("echo").add_done_callback(callback)
    assert closed.wait(BOUND)


@pytest.mark.requirement("connection:stop")
def test_closing_during_the_handshake_answers_those_who_wait(host: ToyHost, make_client: MakeClient) -> None:
    host.answers["server/discover"] = lambda _: SILENCE
    client = make_client(host)
    waiting = in_thread(client.wait_ready)
    calling = in_thread(lambda: client.call_tool("echo"))
    host.await_heard("server/discover")
    until(lambda: client.stats().in_flight == 1)
    client.close()
    assert isinstance(waiting.exception(BOUND), errors.ClientClosed)
    assert isinstance(calling.exception(BOUND), errors.ClientClosed)
    assert host.wires == 1


@pytest.mark.requirement("connection:stop")
def test_closing_during_backoff_is_prompt_and_nothing_is_opened_afterwards(
    host: ToyHost, make_client: MakeClient
) -> None:
    client = make_client(host, backoff_min=0.2, backoff_max=0.2).wait_ready()
    host.drop()
    until(lambda: client.state == "backoff")
    client.close()
    # Its tree is gone, so that nobody is left who could open anything.
    assert client.stats().mailboxes == {} or not any(
        thread.name.startswith("memory") for thread in threading.enumerate()
    )
    assert host.wires == 1


def test_a_closed_client_says_so_to_everybody(client: Client) -> None:
    client.close()
    uses: list[Callable[[], Any]] = [
        client.start,
        client.wait_ready,
        client.ping,
        client.list_tools,
        client.list_resources,
        client.list_prompts,
        lambda: client.call_tool("echo"),
        lambda: client.submit_tool("echo"),
        lambda: client.read_resource("toy:a"),
        lambda: client.get_prompt("greet"),
        lambda: client.request("tools/list"),
    ]
    for use in uses:
        with pytest.raises(errors.ClientClosed) as caught:
            use()
        assert str(caught.value).endswith("the client is closed")
        assert caught.value.type == "shutdown"
    assert client.stats().state == "closing"


def test_a_client_that_is_closed_while_it_is_being_started_stops(
    host: ToyHost, make_client: MakeClient
) -> None:
    for _ in range(20):
        client = make_client(host)
        gate = threading.Barrier(2)

        def start(client: Client = client, gate: threading.Barrier = gate) -> None:
            gate.wait(BOUND)
            client.ping()

        starting = in_thread(start)
        gate.wait(BOUND)
        client.close()
        assert starting.exception(BOUND) is None or isinstance(starting.exception(), errors.ClientClosed)


def test_closing_is_bounded_while_a_handler_is_stuck(client: Client, host: ToyHost) -> None:
    entered, gate = threading.Event(), threading.Event()

    def handler(_: Any) -> None:
        entered.set()
        gate.wait(BOUND)

    client.on_notification(handler)
    with opened_at_the_end(gate):
        host.notify("notifications/message", level="info", data="x")
        assert entered.wait(BOUND)
        client.close()
        assert client.state == "closing"
        assert not gate.is_set()


def test_the_representation_names_server_and_state(client: Client) -> None:
    assert repr(client) == "<Client memory (ready)>"
