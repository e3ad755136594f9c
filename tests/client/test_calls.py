"""One blocking call: its answer, its deadline, and what a lost or missing connection means for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from mcp_actors import Client, errors
from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.types import Tool
from tests.client.toy_host import SILENCE, VERSIONS, ToyHost, text, tool
from tests.client.waiting import BOUND, in_thread, until

MakeClient = Callable[..., Client]
MakeHost = Callable[..., ToyHost]
_ENDING = Ending(EndKind.BROKEN, "the server is gone")


@pytest.mark.requirement("request:one-outcome")
def test_many_callers_get_each_its_own_answer_whatever_the_order(client: Client, host: ToyHost) -> None:
    host.answers["tools/call"] = lambda _: SILENCE
    calls = [
        in_thread(lambda number=number: client.call_tool("echo", {"n": number}).text)  # type: ignore[misc]
        for number in range(32)
    ]
    host.await_heard("tools/call", 32)
    requests = host.all_heard("tools/call")
    for request in requests[1::2] + requests[::2][::-1]:
        host.reply(request, text(str(request["params"]["arguments"]["n"])))
        host.reply(request, text("a second answer to the same request"))
    assert [call.result(BOUND) for call in calls] == [str(number) for number in range(32)]
    until(lambda: client.stats().unknown_responses == 32)
    assert client.stats().pending == 0


@pytest.mark.requirement("request:ids")
def test_ids_only_grow_also_over_reconnects(client: Client, host: ToyHost) -> None:
    for wire in range(1, 4):
        client.call_tool("echo")
        host.drop()
        host.await_wires(wire + 1)
        client.wait_ready()
    ids = [one["id"] for one in host.heard if "id" in one]
    assert ids == sorted(set(ids))


@pytest.mark.requirement("request:unknown-id")
@pytest.mark.parametrize(
    "wrong",
    [str, float, lambda _: True, lambda _: None, lambda _: "", lambda id_: -id_, lambda id_: id_ + 2**70],
)
def test_an_answer_that_nobody_waits_for_is_counted_and_harmless(
    wrong: Callable[[int], Any], client: Client, host: ToyHost
) -> None:
    host.answers["tools/call"] = lambda _: SILENCE
    call = client.submit_tool("echo")
    request = host.await_heard("tools/call")
    host.say({"jsonrpc": "2.0", "id": wrong(request["id"]), "result": text("wrong")})
    until(lambda: client.stats().unknown_responses + client.stats().violations == 1)
    host.reply(request, text("right"))
    assert call.result(BOUND).text == "right"


@pytest.mark.requirement("request:timeout")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_deadline_cancels_upstream_once_and_drops_the_late_answer(
    version: str, make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(version=version)
    client = make_client(host).wait_ready()
    host.answers["tools/call"] = lambda _: SILENCE
    with pytest.raises(errors.RequestTimeout) as caught:
        client.call_tool("slow", timeout=0.05)
    assert str(caught.value).splitlines()[0] == "no answer to tools/call 'slow' within 0.05 s (state: ready)"
    assert isinstance(caught.value, TimeoutError)
    request = host.await_heard("tools/call")
    host.await_heard("notifications/cancelled", requestId=request["id"])
    host.reply(request, text("late"))
    host.answers["tools/call"] = lambda _: text("next")
    assert client.call_tool("quick").text == "next"
    assert client.stats().late_responses == 1
    assert len(host.all_heard("notifications/cancelled")) == 1


@pytest.mark.requirement("request:no-leak")
@pytest.mark.requirement("request:tombstones")
def test_five_hundred_timeouts_leave_only_tombstones(client: Client, host: ToyHost) -> None:
    host.answers["tools/call"] = lambda _: SILENCE
    futures = [client.submit_tool("slow", timeout=0.01) for _ in range(500)]
    assert all(isinstance(future.exception(BOUND), errors.RequestTimeout) for future in futures)
    until(lambda: client.stats().in_flight == 0)
    stats = client.stats()
    assert (stats.pending, stats.tombstones) == (0, 500)
    assert client._trees.value is not None
    machine = client._trees.value.wiring.board.machine
    assert machine is not None
    for _ in range(4):
        machine.conversation.tombstones.sweep()
    assert client.stats().tombstones == 0


@pytest.mark.requirement("request:server-cancelled")
def test_a_server_may_cancel_the_one_call_it_names(client: Client, host: ToyHost) -> None:
    host.answers["tools/call"] = lambda _: SILENCE
    first, second = client.submit_tool("a"), client.submit_tool("b")
    host.await_heard("tools/call", 2)
    one, other = host.all_heard("tools/call")
    host.notify("notifications/cancelled", requestId=one["id"], reason="shutting a door")
    with pytest.raises(errors.Cancelled) as caught:
        first.result(BOUND)
    assert str(caught.value) == "tools/call 'a' was cancelled by the server: shutting a door"
    host.reply(other, text("b"))
    assert second.result(BOUND).text == "b"
    assert client.state == "ready"


@pytest.mark.requirement("request:lost")
def test_a_loss_fails_every_call_in_flight_and_repeats_none(client: Client, host: ToyHost) -> None:
    host.answers["tools/call"] = lambda _: SILENCE
    calls = [in_thread(lambda: client.call_tool("echo")) for _ in range(8)]
    host.await_heard("tools/call", 8)
    host.drop()
    for call in calls:
        error = call.exception(BOUND)
        assert isinstance(error, errors.ConnectionLost)
        assert isinstance(error, ConnectionError)
        assert (error.outcome, error.retryable) == ("unknown", False)
        assert str(error).splitlines()[0] == (
            "tools/call 'echo' lost its connection: the server exited with code 7; it may or may not have run"
        )
    client.ping(wait=True)
    assert len(host.all_heard("tools/call")) == 8


@pytest.mark.requirement("connection:unavailable")
@pytest.mark.parametrize("how", ["blocking", "future"])
def test_who_waits_is_not_told_of_a_wire_that_is_just_going(client: Client, host: ToyHost, how: str) -> None:
    # Nothing can be written any more, but the end of the wire is not told yet.
    host.ends[-1].wire._incoming.end(_ENDING, drop=False)
    if how == "blocking":
        call: Future[Any] = in_thread(lambda: client.call_tool("echo", {"n": 1}, wait=True))
    else:
        call = client.submit_tool("echo", {"n": 1}, wait=True)
    tree = client._trees.value
    until(lambda: tree is not None and len(tree.wiring.board.machine.waiters) == 1)  # type: ignore[union-attr]
    host.drop()
    assert not call.result(BOUND).is_error
    assert len(host.all_heard("tools/call")) == 1


@pytest.mark.requirement("request:lost")
def test_a_call_on_a_wire_that_is_known_to_be_gone_was_not_sent(client: Client, host: ToyHost) -> None:
    gone = threading.Event()
    wire = client._trees.value.wiring.links.of(1)  # type: ignore[union-attr]
    assert wire is not None
    # The wire refuses before its end is told: the reader has no permit to find out.
    host.answers["tools/call"] = lambda _: gone.set() or SILENCE  # type: ignore[func-returns-value]
    host.ends[-1].wire._incoming.end(_ENDING, drop=False)
    with pytest.raises(errors.ConnectionLost) as caught:
        client.call_tool("echo")
    assert (caught.value.outcome, caught.value.retryable) == ("not_sent", True)
    assert "it was not sent" in str(caught.value)
    assert not gone.is_set()


@pytest.mark.requirement("request:lost")
@pytest.mark.parametrize(
    ("hints", "sent"),
    [({"readOnlyHint": True}, 2), ({"idempotentHint": True}, 2), ({"destructiveHint": True}, 1), ({}, 1)],
)
def test_a_lost_call_is_replayed_only_if_the_last_listing_allows_it(
    hints: dict[str, bool], sent: int, client: Client, host: ToyHost
) -> None:
    host.answers["tools/list"] = lambda _: {"tools": [tool("risky", **hints)]}
    client.list_tools()
    host.answers["tools/call"] = lambda _: host.drop() or SILENCE if host.wires == 1 else text("again")  # type: ignore[func-returns-value]
    if sent == 2:
        assert client.call_tool("risky", replay=True).text == "again"
    else:
        with pytest.raises(errors.ConnectionLost):
            client.call_tool("risky", replay=True)
        client.ping(wait=True)
    assert len(host.all_heard("tools/call")) == sent


@pytest.mark.requirement("request:lost")
def test_nothing_is_replayed_unasked_or_before_a_listing(client: Client, host: ToyHost) -> None:
    host.answers["tools/call"] = lambda _: host.drop() or SILENCE  # type: ignore[func-returns-value]
    with pytest.raises(errors.ConnectionLost):
        client.call_tool("read", replay=True)
    host.await_wires(2)
    client.wait_ready()
    client.list_tools()
    with pytest.raises(errors.ConnectionLost):
        client.call_tool("read")
    assert len(host.all_heard("tools/call")) == 2


def test_a_step_of_the_wall_clock_changes_nothing(
    client: Client, host: ToyHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.answers["tools/call"] = lambda _: SILENCE
    call = client.submit_tool("echo", timeout=0.1)
    monkeypatch.setattr(time, "time", lambda: 0.0)
    host.reply(host.await_heard("tools/call"), text("in time"))
    assert call.result(BOUND).text == "in time"
    with pytest.raises(errors.RequestTimeout):
        client.call_tool("echo", timeout=0.05)


# Not ready.


@pytest.mark.requirement("connection:unavailable")
def test_after_the_first_ready_a_call_while_not_ready_fails_at_once(
    host: ToyHost, make_client: MakeClient
) -> None:
    client = make_client(host, backoff_min=60, backoff_max=60).wait_ready()
    host.drop()
    until(lambda: client.state == "backoff")
    with pytest.raises(errors.Unavailable) as caught:
        client.call_tool("echo")
    error = caught.value
    assert (error.state, error.type, error.retryable) == ("backoff", "state", True)
    assert error.retry_after is not None
    assert 0 < error.retry_after <= 60
    assert str(error).startswith(
        "tools/call 'echo' was not sent: memory is not ready (state: backoff); next try in "
    )
    assert str(error).splitlines()[0].endswith(" s: the server exited with code 7")
    with pytest.raises(errors.Unavailable):
        client.submit_tool("echo").result(BOUND)
    with pytest.raises(errors.Unavailable):
        client.list_tools()


@pytest.mark.requirement("connection:unavailable")
def test_wait_waits_inside_the_deadline(host: ToyHost, make_client: MakeClient) -> None:
    client = make_client(host, backoff_min=60, backoff_max=60).wait_ready()
    host.drop()
    until(lambda: client.state == "backoff")
    calls: list[Callable[[], Any]] = [
        lambda: client.call_tool("echo", wait=True, timeout=0.05),
        lambda: client.submit_tool("echo", wait=True, timeout=0.05).result(BOUND),
    ]
    for call in calls:
        with pytest.raises(errors.RequestTimeout) as caught:
            call()
        assert str(caught.value).splitlines()[0] == (
            "tools/call 'echo' was not sent: memory was not ready within 0.05 s (state: backoff): "
            "the server exited with code 7"
        )


@pytest.mark.requirement("connection:unavailable")
def test_wait_goes_on_when_the_server_is_back(host: ToyHost, make_client: MakeClient) -> None:
    client = make_client(host).wait_ready()
    usual = host.answers["server/discover"]
    host.answers["server/discover"] = lambda _: SILENCE
    host.drop()
    host.await_heard("server/discover", 2)
    waits: list[Callable[[], Any]] = [
        lambda: client.call_tool("echo", wait=True),
        lambda: client.list_tools(wait=True),
        lambda: client.list_resources(wait=True),
        lambda: client.list_prompts(wait=True),
        lambda: client.read_resource("toy:a", wait=True),
        lambda: client.get_prompt("greet", wait=True),
        lambda: client.request("tools/list", wait=True),
        lambda: client.submit_tool("echo", wait=True).result(BOUND),
        lambda: client.ping(wait=True),
    ]
    calls = [in_thread(wait) for wait in waits]
    until(lambda: client.stats().in_flight == len(waits))
    host.answers["server/discover"] = usual
    request = host.await_heard("server/discover", 2)
    host.reply(request, usual(request))
    for call in calls:
        call.result(BOUND)


@pytest.mark.requirement("flow:frame-limit")
def test_an_answer_above_the_frame_limit_fails_the_call_and_the_next_works(
    host: ToyHost, make_client: MakeClient
) -> None:
    client = make_client(host, max_frame_bytes=1000).wait_ready()
    host.answers["tools/call"] = lambda _: text("x" * 2000)
    with pytest.raises(errors.FrameTooLarge, match="above the limit of 1000 bytes"):
        client.call_tool("echo")
    host.answers["tools/call"] = lambda _: text("small")
    assert client.call_tool("echo", wait=True).text == "small"
    assert client.stats().reconnects == 1


def test_a_server_without_tools_is_not_asked_for_any(make_host: MakeHost, make_client: MakeClient) -> None:
    host = make_host(capabilities={"prompts": {}})
    client = make_client(host)
    with pytest.raises(errors.CapabilityMissing) as caught:
        client.call_tool("echo")
    assert str(caught.value) == "tools/call 'echo' was not sent: memory does not offer tools"
    assert (caught.value.type, caught.value.details) == ("capability", {"capability": "tools"})
    for use in (client.list_tools, client.list_resources):
        with pytest.raises(errors.CapabilityMissing):
            use()
    assert isinstance(client.submit_tool("echo").exception(BOUND), errors.CapabilityMissing)
    assert [one["method"] for one in host.heard] == ["server/discover"]


def test_a_listing_is_typed(client: Client) -> None:
    listed = client.list_tools()
    assert all(isinstance(one, Tool) for one in listed)
    assert listed[1].annotations is not None
    assert listed[1].annotations.read_only_hint
