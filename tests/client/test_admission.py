"""At most ``max_in_flight`` callers: the next fails at once, or waits if it asked to."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors import Client, errors
from mcp_actors.client.options import ClientOptions
from mcp_actors.transports.memory import MemoryTransport
from tests.client.toy_host import SILENCE, ToyHost, text
from tests.client.waiting import BOUND, in_thread, opened_at_the_end, until

MakeClient = Callable[..., Client]


@pytest.mark.requirement("request:admission")
def test_one_caller_too_many_is_told_so(host: ToyHost, make_client: MakeClient) -> None:
    client = make_client(host, max_in_flight=2).wait_ready()
    host.answers["tools/call"] = lambda _: SILENCE
    futures = [client.submit_tool("echo") for _ in range(2)]
    uses: list[Callable[[], Any]] = [lambda: client.call_tool("echo"), lambda: client.submit_tool("echo")]
    for use in uses:
        with pytest.raises(errors.Backpressure) as caught:
            use()
        assert str(caught.value) == ("tools/call 'echo' was not sent: max_in_flight (2) is reached")
        assert (caught.value.type, caught.value.retryable) == ("backpressure", True)
    assert client.stats().greatest_in_flight == 2
    assert all(future.cancel() for future in futures)
    host.answers["tools/call"] = lambda _: text("room")
    assert client.call_tool("echo").text == "room"


@pytest.mark.requirement("request:admission")
def test_wait_waits_for_room(host: ToyHost, make_client: MakeClient) -> None:
    client = make_client(host, max_in_flight=1).wait_ready()
    host.answers["tools/call"] = lambda _: SILENCE
    first = client.submit_tool("first")
    second = in_thread(lambda: client.call_tool("second", wait=True).text)
    host.reply(host.await_heard("tools/call"), text("1"))
    assert first.result(BOUND).text == "1"
    host.reply(host.await_heard("tools/call", 2), text("2"))
    assert second.result(BOUND) == "2"


@pytest.mark.requirement("request:admission")
def test_waiting_for_room_ends_at_the_deadline(host: ToyHost, make_client: MakeClient) -> None:
    client = make_client(host, max_in_flight=1).wait_ready()
    host.answers["tools/call"] = lambda _: SILENCE
    client.submit_tool("first")
    with pytest.raises(errors.Backpressure, match=r"max_in_flight \(1\) is reached"):
        client.call_tool("second", wait=True, timeout=0.05)
    assert len(host.all_heard("tools/call")) == 1


@pytest.mark.requirement("request:admission")
def test_whoever_waits_for_room_is_told_of_the_close(host: ToyHost, make_client: MakeClient) -> None:
    client = make_client(host, max_in_flight=1).wait_ready()
    host.answers["tools/call"] = lambda _: SILENCE
    client.submit_tool("first")
    second = in_thread(lambda: client.call_tool("second", wait=True))
    until(lambda: client.stats().in_flight == 1)
    client.close()
    assert isinstance(second.exception(BOUND), errors.ClientClosed)


def test_every_way_out_leaves_room_behind(host: ToyHost, make_client: MakeClient) -> None:
    client = make_client(host, max_in_flight=1).wait_ready()
    host.answers["tools/call"] = lambda _: SILENCE
    with pytest.raises(errors.RequestTimeout):
        client.call_tool("slow", timeout=0.01)
    with pytest.raises(TypeError):
        client.call_tool("x", {"a": object()})
    with pytest.raises(errors.RequestTimeout):
        client.submit_tool("slow", timeout=0.01).result(BOUND)
    until(lambda: client.stats().in_flight == 0)
    client.submit_tool("x").cancel()
    host.answers.pop("tools/call")
    with pytest.raises(errors.RemoteError):
        client.call_tool("x")
    assert client.stats().in_flight == 0


@pytest.mark.requirement("request:busy")
def test_a_wire_that_stays_busy_ends_in_backpressure_and_the_client_stays_usable(host: ToyHost) -> None:
    gate = threading.Event()
    # While the host is stuck in the first call it reads nothing, and the second call fills the wire.
    host.answers["tools/call"] = lambda _: text(str(gate.wait(2 * BOUND)))
    with Client(MemoryTransport(host, high_water=5_000), ClientOptions()) as client, opened_at_the_end(gate):
        futures = [client.submit_tool("fill")]
        host.await_heard("tools/call")
        futures += [client.submit_tool("fill", {"a": "x" * 4_500})]
        with pytest.raises(errors.Backpressure) as caught:
            client.call_tool("echo", {"a": "x" * 4_500})
        assert str(caught.value) == (
            "tools/call 'echo' was not sent: memory did not read its input through 3 attempts"
        )
        assert caught.value.details == {"attempts": 3}
        gate.set()
        assert [future.result(BOUND).text for future in futures] == ["True", "True"]
        assert client.call_tool("echo").text == "True"
