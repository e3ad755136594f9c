"""Calls that are submitted together: one message to the connection, all of them or none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import Raw

from mcp_actors import Client, errors
from mcp_actors.client.calls import Manner
from mcp_actors.client.futures import CallFuture
from mcp_actors.client.outgoing import Outgoing, outgoing, tool_call
from mcp_actors.protocol import codec, events, types
from mcp_actors.runtime.ref import Ref
from tests.client.relay import over_both_wires
from tests.client.toy_host import SILENCE, VERSIONS, ToyHost, asking, form, text
from tests.client.waiting import BOUND, until

MakeClient = Callable[..., Client]
MakeHost = Callable[..., ToyHost]


def submit(client: Client, *requests: Outgoing, **manner: Any) -> list[CallFuture[Any]]:
    """Submit them together; what comes is plain JSON."""
    how = Manner(**({"seconds": BOUND} | manner))
    return client._calls.submit_together([(one, how, codec.decode) for one in requests])


def calls(count: int) -> list[Outgoing]:
    """Calls of a tool, numbered."""
    return [tool_call("echo", {"n": number}) for number in range(count)]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[events.CalledTogether]:
    """What was told to connections in one message."""
    found: list[events.CalledTogether] = []
    usual = Ref.tell

    def tell(self: Ref, message: object) -> bool:
        if isinstance(message, events.CalledTogether):
            found.append(message)
        return usual(self, message)

    monkeypatch.setattr(Ref, "tell", tell)
    return found


@pytest.mark.requirement("request:batch")
@over_both_wires
@pytest.mark.parametrize("version", VERSIONS)
def test_they_go_in_one_message_and_each_gets_its_own_answer(
    version: str, make_host: MakeHost, make_client: MakeClient, told: list[events.CalledTogether]
) -> None:
    host = make_host(version=version)
    host.answers["tools/call"] = lambda request: text(str(request["params"]["arguments"]["n"]))
    client = make_client(host).wait_ready()
    futures = submit(client, *calls(5), outgoing("tools/list"))
    found = [future.result(BOUND) for future in futures]
    assert [one["content"][0]["text"] for one in found[:5]] == ["0", "1", "2", "3", "4"]
    assert [one["name"] for one in found[5]["tools"]] == ["echo", "read"]
    assert [len(one.calls) for one in told] == [6]
    until(lambda: client.stats().in_flight == 0)


def test_there_is_room_for_all_of_them_or_none_is_sent(host: ToyHost, make_client: MakeClient) -> None:
    client = make_client(host, max_in_flight=3).wait_ready()
    host.answers["tools/call"] = lambda _: SILENCE
    with pytest.raises(errors.Backpressure):
        submit(client, *calls(4))
    assert client.stats().in_flight == 0
    client.ping()
    assert host.all_heard("tools/call") == []
    futures = submit(client, *calls(3))
    host.await_heard("tools/call", 3)
    assert all(future.cancel() for future in futures)
    assert client.stats().in_flight == 0


def test_before_the_client_is_ready_each_of_them_waits(host: ToyHost, make_client: MakeClient) -> None:
    futures = submit(make_client(host), *calls(3))
    assert [future.result(BOUND)["content"][0]["text"] for future in futures] == [
        '{"n": 0}',
        '{"n": 1}',
        '{"n": 2}',
    ]


def test_what_the_server_does_not_offer_fails_alone(make_host: MakeHost, make_client: MakeClient) -> None:
    client = make_client(make_host(capabilities={"tools": {}})).wait_ready()
    missing, fine = submit(client, outgoing("prompts/list"), *calls(1))
    assert isinstance(missing.exception(BOUND), errors.CapabilityMissing)
    assert fine.exception(BOUND) is None
    (alone,) = submit(client, outgoing("prompts/list"))
    assert isinstance(alone.exception(BOUND), errors.CapabilityMissing)


def test_each_of_them_can_be_cancelled_and_times_out_alone(client: Client, host: ToyHost) -> None:
    host.answers["tools/call"] = lambda _: SILENCE
    first, second = submit(client, *calls(2), seconds=0.3)
    heard = host.await_heard("tools/call", 1)
    assert first.cancel()
    host.await_heard("notifications/cancelled", requestId=heard["id"])
    assert isinstance(second.exception(BOUND), errors.RequestTimeout)


def test_in_backoff_each_of_them_is_refused(client: Client, host: ToyHost) -> None:
    host.refuse(1000)
    host.drop()
    until(lambda: client.state == "backoff")
    errors_ = [future.exception(BOUND) for future in submit(client, *calls(2))]
    assert [type(error) for error in errors_] == [errors.Unavailable] * 2


def test_a_connection_that_is_gone_leaves_no_future_behind(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = Ref.tell

    def tell(self: Ref, message: object) -> bool:
        return not isinstance(message, events.CalledTogether) and usual(self, message)

    monkeypatch.setattr(Ref, "tell", tell)
    found = [future.exception(BOUND) for future in submit(client, *calls(2))]
    assert [type(error) for error in found] == [errors.Unavailable] * 2
    assert client.stats().in_flight == 0


def test_an_interrupt_while_setting_out_leaves_no_place_taken(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tell(_self: Ref, message: object) -> bool:
        if isinstance(message, events.CalledTogether):
            raise KeyboardInterrupt
        return True

    with monkeypatch.context() as patch:
        patch.setattr(Ref, "tell", tell)
        with pytest.raises(KeyboardInterrupt):
            submit(client, *calls(2))
    assert client.stats().in_flight == 0


def test_a_closed_client_sends_none(client: Client) -> None:
    client.close()
    with pytest.raises(errors.ClientClosed, match="a batch was not sent: the client is closed"):
        submit(client, *calls(2))


def test_one_that_is_too_large_stops_all(host: ToyHost, make_client: MakeClient) -> None:
    client = make_client(host, max_frame_bytes=2000).wait_ready()
    with pytest.raises(ValueError, match="max_frame_bytes"):
        submit(client, *calls(1), tool_call("echo", {"x": "x" * 3000}))
    assert client.stats().in_flight == 0


def test_nothing_is_a_batch_too(client: Client) -> None:
    assert submit(client) == []


def test_questions_are_answered_in_a_batch_too(host: ToyHost, make_client: MakeClient) -> None:
    def answer(request: dict[str, Any]) -> Any:
        return text("done") if "inputResponses" in request["params"] else asking({"a": form()})

    host.answers["tools/call"] = answer
    client = make_client(host, elicitation_handler=lambda _: True).wait_ready()

    def reading(one: Outgoing) -> Callable[[Raw], Any]:
        return client._rounds.decoder(types.CallToolResult, one)

    batch = [(one, Manner(BOUND), reading(one)) for one in calls(3)]
    assert [one.result(BOUND).text for one in client._calls.submit_together(batch)] == ["done"] * 3
