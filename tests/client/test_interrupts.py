"""KeyboardInterrupt in a thread that waits: the request is taken back, and the client stays usable."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mcp_actors import Client
from tests.client.toy_host import SILENCE, ToyHost, text
from tests.client.waiting import BOUND, in_thread, until

MakeClient = Callable[..., Client]


_interrupted = threading.Event()


@pytest.fixture(autouse=True)
def _one_interrupt_for_each_test() -> Iterator[None]:
    def interrupt(_number: int, _frame: object) -> None:
        if not _interrupted.is_set():
            _interrupted.set()
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    _interrupted.clear()
    yield
    _interrupted.set()
    signal.signal(signal.SIGINT, before)


def interrupt_when(ready: Callable[[], Any]) -> None:
    """Press Ctrl-C as soon as ``ready`` has returned."""

    def press() -> None:
        ready()
        # Python does not notice a signal that comes in the instant between leaving its lock and waiting for
        # another, until that wait is over; a second press is noticed.
        while not _interrupted.is_set():
            signal.pthread_kill(_main_thread(), signal.SIGINT)
            _interrupted.wait(0.02)

    in_thread(press)


def _main_thread() -> int:
    ident = threading.main_thread().ident
    assert ident is not None
    return ident


@pytest.mark.requirement("request:cancel-caller")
def test_ctrl_c_in_a_call_cancels_upstream_and_the_client_stays_usable(client: Client, host: ToyHost) -> None:
    host.answers["tools/call"] = lambda _: SILENCE
    interrupt_when(lambda: host.await_heard("tools/call"))
    with pytest.raises(KeyboardInterrupt):
        client.call_tool("slow")
    request = host.await_heard("tools/call")
    host.await_heard("notifications/cancelled", requestId=request["id"], reason="interrupted")
    host.reply(request, text("late"))
    host.answers["tools/call"] = lambda _: text("usable")
    assert client.call_tool("echo").text == "usable"
    assert (client.stats().pending, client.stats().in_flight) == (0, 0)


@pytest.mark.requirement("request:cancel-caller")
def test_ctrl_c_in_a_call_with_progress(client: Client, host: ToyHost) -> None:
    seen = threading.Event()

    def answer(request: dict[str, Any]) -> Any:
        host.progress(request, 1)
        return SILENCE

    host.answers["tools/call"] = answer
    interrupt_when(lambda: seen.wait(BOUND))
    with pytest.raises(KeyboardInterrupt):
        client.call_tool("slow", on_progress=lambda _: seen.set())
    request = host.await_heard("tools/call")
    host.await_heard("notifications/cancelled", requestId=request["id"], reason="interrupted")
    client.ping()


def test_ctrl_c_while_waiting_for_the_first_ready(host: ToyHost, make_client: MakeClient) -> None:
    usual = host.answers["server/discover"]
    host.answers["server/discover"] = lambda _: SILENCE
    client = make_client(host).start()
    assert client._trees.value is not None
    machine = client._trees.value.wiring.board.machine
    assert machine is not None
    interrupt_when(lambda: until(lambda: len(machine.waiters)))
    with pytest.raises(KeyboardInterrupt):
        client.wait_ready()
    request = host.await_heard("server/discover")
    host.reply(request, usual(request))
    client.wait_ready()
    assert host.wires == 1


def test_ctrl_c_inside_with_closes_the_client(host: ToyHost) -> None:
    host.answers["server/discover"] = lambda _: SILENCE
    client = Client.memory(host)
    interrupt_when(lambda: host.await_heard("server/discover"))
    with pytest.raises(KeyboardInterrupt), client:
        raise NotImplementedError
    assert client.state == "closing"


def test_ctrl_c_while_waiting_for_room(host: ToyHost, make_client: MakeClient) -> None:
    client = make_client(host, max_in_flight=1).wait_ready()
    host.answers["tools/call"] = lambda _: SILENCE
    future = client.submit_tool("first")
    host.await_heard("tools/call")
    assert client._trees.value is not None
    admission = client._trees.value.admission
    interrupt_when(lambda: until(lambda: admission._waiting))
    with pytest.raises(KeyboardInterrupt):
        client.call_tool("second", wait=True)
    assert future.cancel()
    host.answers["tools/call"] = lambda _: text("room")
    assert client.call_tool("third").text == "room"


def test_ctrl_c_while_waiting_for_a_future_leaves_the_future_alone(client: Client, host: ToyHost) -> None:
    host.answers["tools/call"] = lambda _: SILENCE
    future = client.submit_tool("slow")
    request = host.await_heard("tools/call")
    interrupt_when(lambda: until(lambda: future._condition._waiters))  # type: ignore[attr-defined]
    with pytest.raises(KeyboardInterrupt):
        future.result(BOUND)
    host.reply(request, text("x"))
    assert future.result(BOUND).text == "x"
