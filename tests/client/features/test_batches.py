"""Batches: calls collected in a with block and sent together, as one array where the revision has arrays."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors import Client, errors
from mcp_actors.protocol.connection import ConnectionMachine
from mcp_actors.protocol.events import NewsWanted
from tests.client.relay import over_both_wires
from tests.client.toy_host import SILENCE, VERSIONS, ToyHost
from tests.client.waiting import BOUND, opened_at_the_end, until

MakeClient = Callable[..., Client]
MakeHost = Callable[..., ToyHost]


def numbers(calls: list[Any]) -> list[str]:
    return [call.result(BOUND).text for call in calls]


@pytest.mark.requirement("request:batch")
@over_both_wires
@pytest.mark.parametrize("version", VERSIONS)
def test_one_array_goes_out_where_there_are_arrays_and_single_requests_elsewhere(
    version: str, make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(version=version)
    client = make_client(host).wait_ready()
    before = len(host.frames)
    with client.batch() as batch:
        calls = [batch.call_tool("echo", {"n": number}) for number in range(3)]
        listing = batch.request("tools/list")
        assert len(batch) == 4
    assert numbers(calls) == ['{"n": 0}', '{"n": 1}', '{"n": 2}']
    assert [one["name"] for one in listing.result(BOUND)["tools"]] == ["echo", "read"]
    sent = host.frames[before:]
    assert [len(one) for one in sent if isinstance(one, list)] == ([4] if version == "2025-03-26" else [])
    requests = [one for one in host.heard if one["method"] in ("tools/call", "tools/list")]
    assert [one["method"] for one in requests] == ["tools/call"] * 3 + ["tools/list"]
    assert len({one["id"] for one in requests}) == 4


@pytest.mark.requirement("request:batch")
@over_both_wires
@pytest.mark.parametrize("version", VERSIONS)
def test_one_call_alone_is_no_array(version: str, make_host: MakeHost, make_client: MakeClient) -> None:
    host = make_host(version=version)
    client = make_client(host).wait_ready()
    with client.batch() as batch:
        call = batch.call_tool("echo")
    assert call.result(BOUND).text == "null"
    assert not any(isinstance(one, list) for one in host.frames)


@pytest.mark.requirement("request:batch")
@over_both_wires
def test_an_error_in_the_block_sends_nothing(client: Client, host: ToyHost) -> None:
    def stumble() -> None:
        with client.batch() as batch:
            calls.append(batch.call_tool("echo"))
            raise ZeroDivisionError

    calls: list[Any] = []
    with pytest.raises(ZeroDivisionError):
        stumble()
    with pytest.raises(RuntimeError, match="was not sent yet"):
        calls[0].result(BOUND)
    client.ping()
    assert host.all_heard("tools/call") == []


@pytest.mark.requirement("request:batch")
@over_both_wires
def test_an_empty_batch_is_nothing(client: Client, host: ToyHost) -> None:
    with client.batch():
        pass
    client.ping()
    assert [one["method"] for one in host.heard] == ["server/discover"] * 2


@pytest.mark.requirement("request:batch")
@over_both_wires
@pytest.mark.parametrize("version", ["2026-07-28", "2025-03-26"])
def test_there_is_room_for_all_or_none_is_sent(
    version: str, make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(version=version)
    client = make_client(host, max_in_flight=2).wait_ready()
    batch = client.batch()
    for _ in range(3):
        batch.call_tool("echo")
    with pytest.raises(errors.Backpressure):
        batch.send()
    assert (len(batch), client.stats().in_flight) == (3, 0)
    client.ping()
    assert host.all_heard("tools/call") == []


@pytest.mark.requirement("request:batch")
@over_both_wires
@pytest.mark.parametrize("version", ["2026-07-28", "2025-03-26"])
def test_each_call_has_its_own_end(version: str, make_host: MakeHost, make_client: MakeClient) -> None:
    host = make_host(version=version)
    host.answers["tools/call"] = lambda request: (
        SILENCE if request["params"]["name"] != "good" else {"content": []}
    )
    client = make_client(host).wait_ready()
    with client.batch() as batch:
        good, late, dropped = (
            batch.call_tool("good"),
            batch.call_tool("late", timeout=0.05),
            batch.call_tool("dropped"),
        )
        bad = batch.request("no/such")
    assert good.result(BOUND).content == []
    assert dropped.future.cancel()
    assert isinstance(late.future.exception(BOUND), errors.RequestTimeout)
    assert isinstance(bad.future.exception(BOUND), errors.RemoteError)
    until(lambda: client.stats().in_flight == 0)


@pytest.mark.requirement("request:batch")
@over_both_wires
@pytest.mark.parametrize("version", ["2026-07-28", "2025-03-26"])
def test_a_loss_ends_all_of_them_once(version: str, make_host: MakeHost, make_client: MakeClient) -> None:
    host = make_host(version=version)
    host.answers["tools/call"] = lambda _: SILENCE
    client = make_client(host).wait_ready()
    with client.batch() as batch:
        calls = [batch.call_tool("echo") for _ in range(5)]
    host.await_heard("tools/call", 5)
    host.drop()
    for call in calls:
        error = call.future.exception(BOUND)
        assert isinstance(error, errors.ConnectionLost)
        assert error.outcome == "unknown"


@pytest.mark.requirement("request:batch")
@over_both_wires
@pytest.mark.requirement("request:one-outcome")
def test_a_batch_that_a_dying_connection_never_took_up_gets_its_answers(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, usual = threading.Event(), ConnectionMachine.handle

    def stumble(self: ConnectionMachine, event: Any) -> list[Any]:
        if isinstance(event, NewsWanted):
            gate.wait(BOUND)
            raise RuntimeError("a bug")
        return usual(self, event)

    monkeypatch.setattr(ConnectionMachine, "handle", stumble)
    with opened_at_the_end(gate):
        client.on_log(lambda _: None)
        with client.batch() as batch:
            calls = [batch.call_tool("echo") for _ in range(3)]
    for call in calls:
        error = call.future.exception(BOUND)
        assert isinstance(error, errors.ConnectionLost)
        assert error.outcome == "not_sent"
    client.wait_ready()
    assert client.stats().in_flight == 0


@pytest.mark.requirement("request:batch")
@over_both_wires
def test_a_mistake_in_one_call_is_told_before_anything_is_sent(client: Client, host: ToyHost) -> None:
    def stumble() -> None:
        with client.batch() as batch:
            batch.call_tool("echo")
            batch.call_tool("echo", {"x": object()})

    with pytest.raises(TypeError):
        stumble()
    client.ping()
    assert host.all_heard("tools/call") == []


@pytest.mark.requirement("request:batch")
@over_both_wires
@pytest.mark.parametrize("version", VERSIONS)
def test_a_batch_before_the_first_connection_waits_for_it(
    version: str, make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(version=version)
    with make_client(host).batch() as batch:
        calls = [batch.call_tool("echo", {"n": number}) for number in range(2)]
    assert sorted(numbers(calls)) == ['{"n": 0}', '{"n": 1}']
