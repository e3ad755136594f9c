"""Rounds of a future: no thread waits for the server, and there is one outcome, whenever it is cancelled."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextvars import ContextVar
from typing import Any

import pytest
from msgspec import Raw

from mcp_actors import Client, errors
from mcp_actors.client.futures import CallFuture, FutureCaller, Onward, Route, Settlements
from mcp_actors.client.outgoing import Outgoing
from mcp_actors.protocol.events import Called
from mcp_actors.protocol.outcomes import Completed
from mcp_actors.runtime.deadline import Deadline
from tests.client.relay import over_both_wires
from tests.client.test_rounds import fail, lose_the_second, named, never, script
from tests.client.toy_host import SILENCE, ToyHost, asking, form, sample, text
from tests.client.waiting import BOUND, in_thread, opened_at_the_end, until

MakeClient = Callable[..., Client]


@pytest.mark.requirement("feature:mrtr")
@over_both_wires
def test_a_future_lasts_through_all_rounds(host: ToyHost, make_client: MakeClient) -> None:
    user = ContextVar("user", default="nobody")
    seen = []

    def ask(_: object) -> dict[str, str]:
        seen.append((user.get(), threading.current_thread().name))
        return {"name": "Ada"}

    script(
        host, asking({"a": form(), "b": form()}, "1"), asking(None, "2"), asking({"c": form()}), text("done")
    )
    client = make_client(host, elicitation_handler=ask, name="later").wait_ready()
    token = user.set("Ada")
    future = client.submit_tool("greet", {"x": 1})
    user.reset(token)
    assert future.result(BOUND).text == "done"
    assert [name for name, _ in seen] == ["Ada"] * 3
    assert all(thread.startswith("later pool-") for _, thread in seen)
    heard = host.all_heard("tools/call")
    assert len({one["id"] for one in heard}) == 4
    assert [one["params"].get("requestState") for one in heard] == [None, "1", "2", None]
    assert [list(one["params"].get("inputResponses", ())) for one in heard] == [[], ["a", "b"], [], ["c"]]
    until(lambda: client.stats().in_flight == 0)


def test_a_future_keeps_its_place_while_a_handler_thinks(host: ToyHost, make_client: MakeClient) -> None:
    gate, thinking = threading.Event(), threading.Event()

    def think(_: object) -> None:
        thinking.set()
        gate.wait(BOUND)

    script(host, asking({"a": form()}), text("done"))
    client = make_client(host, elicitation_handler=think, max_in_flight=1).wait_ready()
    with opened_at_the_end(gate):
        future = client.submit_tool("greet")
        assert thinking.wait(BOUND)
        with pytest.raises(errors.Backpressure):
            client.submit_tool("greet")
        gate.set()
        assert future.result(BOUND).text == "done"


@pytest.mark.requirement("request:cancel-caller")
@pytest.mark.parametrize("questions", [{"a": form()}, {"a": form(), "b": form()}])
def test_cancelling_while_a_handler_thinks_asks_nobody_else(
    questions: dict[str, Any], host: ToyHost, make_client: MakeClient
) -> None:
    gate, thinking = threading.Event(), threading.Event()
    asked = []

    def think(_: object) -> None:
        asked.append(1)
        thinking.set()
        gate.wait(BOUND)

    script(host, asking(questions))
    client = make_client(host, elicitation_handler=think).wait_ready()
    with opened_at_the_end(gate):
        future = client.submit_tool("greet")
        assert thinking.wait(BOUND)
        assert future.cancel()
        with pytest.raises(CancelledError):
            future.result(BOUND)
    assert client._trees.value is not None
    settlements = client._trees.value.wiring.settlements
    until(lambda: not settlements._held)
    client.ping()
    assert (len(asked), len(host.all_heard("tools/call")), client.stats().in_flight) == (1, 1, 0)
    assert host.all_heard("notifications/cancelled") == []


@pytest.mark.requirement("request:cancel-caller")
def test_cancelling_in_a_later_round_takes_that_round_back(host: ToyHost, make_client: MakeClient) -> None:
    script(host, asking({"a": form()}), SILENCE)
    client = make_client(host, elicitation_handler=named).wait_ready()
    future = client.submit_tool("greet")
    second = host.await_heard("tools/call", 2)
    assert future.cancel()
    host.await_heard("notifications/cancelled", requestId=second["id"])
    client.ping()
    assert len(host.all_heard("notifications/cancelled")) == 1
    assert (client.stats().pending, client.stats().in_flight) == (0, 0)


@pytest.mark.stress
@pytest.mark.requirement("request:one-outcome")
def test_cancelling_between_rounds_leaves_nothing_in_flight(host: ToyHost, make_client: MakeClient) -> None:
    def answer(request: dict[str, Any]) -> Any:
        return SILENCE if "inputResponses" in request["params"] else asking({"a": form()})

    host.answers["tools/call"] = answer
    at_the_desk = threading.Event()

    def ask(_: object) -> None:
        at_the_desk.set()

    client = make_client(host, elicitation_handler=ask).wait_ready()
    for _ in range(50):
        at_the_desk.clear()
        future = client.submit_tool("greet")
        assert at_the_desk.wait(BOUND)
        assert future.cancel()
    # A round that had been sent when its future was cancelled is taken back.
    until(lambda: client.stats().pending == 0)
    assert client.stats().in_flight == 0


def test_the_deadline_is_one_for_all_rounds(host: ToyHost, make_client: MakeClient) -> None:
    script(host, asking({"a": form()}), SILENCE)
    client = make_client(host, elicitation_handler=named).wait_ready()
    error = client.submit_tool("greet", timeout=0.3).exception(BOUND)
    assert isinstance(error, errors.RequestTimeout)
    assert str(error).startswith("no answer to tools/call 'greet' within 0.3 s")
    host.await_heard("notifications/cancelled", requestId=host.await_heard("tools/call", 2)["id"])


def test_a_handler_that_thinks_too_long_is_told_so_in_the_end(host: ToyHost, make_client: MakeClient) -> None:
    gate, thinking = threading.Event(), threading.Event()

    def think(_: object) -> None:
        thinking.set()
        gate.wait(BOUND)

    script(host, asking({"a": form()}))
    client = make_client(host, elicitation_handler=think).wait_ready()
    with opened_at_the_end(gate):
        future = client.submit_tool("greet", timeout=0.05)
        assert thinking.wait(BOUND)
        with pytest.raises(TimeoutError):
            future.result(0.1)
    assert isinstance(future.exception(BOUND), errors.RequestTimeout)
    assert len(host.all_heard("tools/call")) == 1


@pytest.mark.requirement("request:one-outcome")
def test_closing_settles_a_future_whose_handler_thinks(host: ToyHost, make_client: MakeClient) -> None:
    gate, thinking = threading.Event(), threading.Event()

    def think(_: object) -> dict[str, str]:
        thinking.set()
        gate.wait(2 * BOUND)
        return {"name": "late"}

    script(host, asking({"a": form()}))
    client = make_client(host, elicitation_handler=think).wait_ready()
    with opened_at_the_end(gate):
        future = client.submit_tool("greet")
        outcomes: list[Any] = []
        future.add_done_callback(outcomes.append)
        assert thinking.wait(BOUND)
        client.close()
        assert isinstance(future.exception(0), errors.ClientClosed)
        gate.set()
    assert outcomes == [future]


@pytest.mark.parametrize(
    ("handlers", "answer", "kind"),
    [
        ({"sampling_handler": lambda _: None}, asking({"a": sample()}), errors.Cancelled),
        ({"elicitation_handler": fail}, asking({"a": form()}), errors.Cancelled),
        ({"elicitation_handler": never}, asking({"a": sample()}), errors.InvalidResponse),
        ({}, asking(), errors.InvalidResponse),
    ],
)
def test_a_question_without_an_answer_fails_the_future(
    handlers: dict[str, Any],
    answer: Any,
    kind: type[errors.McpError],
    host: ToyHost,
    make_client: MakeClient,
) -> None:
    script(host, answer)
    client = make_client(host, **handlers).wait_ready()
    error = client.submit_tool("greet").exception(BOUND)
    assert type(error) is kind
    client.ping()
    assert len(host.all_heard("tools/call")) == 1


@pytest.mark.requirement("security:limits")
def test_rounds_of_a_future_are_bounded_too(host: ToyHost, make_client: MakeClient) -> None:
    host.answers["tools/call"] = lambda _: asking({"a": form()})
    client = make_client(host, elicitation_handler=named).wait_ready()
    error = client.submit_tool("greet").exception(BOUND)
    assert isinstance(error, errors.InvalidResponse)
    assert error.details == {"max_rounds": 10}
    assert len(host.all_heard("tools/call")) == 11


def test_a_round_of_a_future_that_is_lost_is_not_sent_again(host: ToyHost, make_client: MakeClient) -> None:
    lose_the_second(host)
    client = make_client(host, elicitation_handler=named).wait_ready()
    error = client.submit_tool("greet", wait=True).exception(BOUND)
    assert isinstance(error, errors.ConnectionLost)
    assert error.outcome == "unknown"
    client.wait_ready()
    assert len(host.all_heard("tools/call")) == 2


def test_a_round_finds_the_connection_of_the_moment(host: ToyHost, make_client: MakeClient) -> None:
    gate, thinking = threading.Event(), threading.Event()

    def think(_: object) -> None:
        thinking.set()
        gate.wait(BOUND)

    script(host, asking({"a": form()}), text("done"))
    client = make_client(host, elicitation_handler=think).wait_ready()
    with opened_at_the_end(gate):
        future = client.submit_tool("greet", wait=True)
        assert thinking.wait(BOUND)
        host.drop()
        host.await_wires(2)
    assert future.result(BOUND).text == "done"


def test_many_futures_ask_at_once_and_none_is_lost(host: ToyHost, make_client: MakeClient) -> None:
    def answer(request: dict[str, Any]) -> Any:
        given = request["params"]
        return text(str(given["arguments"]["n"])) if "inputResponses" in given else asking({"a": form()})

    host.answers["tools/call"] = answer
    client = make_client(host, elicitation_handler=named).wait_ready()
    futures = [client.submit_tool("greet", {"n": number}) for number in range(200)]
    assert [future.result(BOUND).text for future in futures] == [str(number) for number in range(200)]


def test_a_task_that_nobody_offered_to_follow_fails_its_future(
    host: ToyHost, make_client: MakeClient
) -> None:
    times = {"createdAt": "a", "lastUpdatedAt": "b", "ttlMs": None}
    script(host, {"resultType": "task", "taskId": "t-1", "status": "working"} | times)
    error = make_client(host).submit_tool("greet").exception(BOUND)
    assert isinstance(error, errors.InvalidResponse)
    assert "result of type 'task', which this client did not" in str(error)


def test_handlers_of_futures_may_use_the_client(host: ToyHost, make_client: MakeClient) -> None:
    def ask(_: object) -> dict[str, str]:
        return {
            "name": in_thread(lambda: client.read_resource("toy:a").contents[0].raw["text"]).result(BOUND)
        }

    script(host, asking({"a": form()}), text("done"))
    client = make_client(host, elicitation_handler=ask).wait_ready()
    assert client.submit_tool("greet").result(BOUND).text == "done"
    answers = host.all_heard("tools/call")[1]["params"]["inputResponses"]
    assert answers["a"]["content"] == {"name": "A"}


@pytest.mark.requirement("request:cancel-caller")
@pytest.mark.parametrize("step", [1, 2])
def test_a_cancellation_that_overtakes_its_request_is_repeated_behind_it(
    step: int, host: ToyHost, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(host, asking({"a": form()}) if step == 2 else SILENCE, SILENCE)
    client = make_client(host, elicitation_handler=named)
    usual, steps = FutureCaller._call, []

    def cancel_first(caller: FutureCaller) -> bool:
        steps.append(1)
        if len(steps) == step:
            assert caller._future.cancel()
        return usual(caller)

    monkeypatch.setattr(FutureCaller, "_call", cancel_first)
    usual_greeting = host.answers["server/discover"]
    host.answers["server/discover"] = lambda _: SILENCE
    future = client.submit_tool("greet")
    greeting = host.await_heard("server/discover")
    host.reply(greeting, usual_greeting(greeting))
    heard = host.await_heard("tools/call", step)
    host.await_heard("notifications/cancelled", requestId=heard["id"])
    assert future.cancelled()
    until(lambda: (client.stats().pending, client.stats().in_flight) == (0, 0))


def _untold(_caller: FutureCaller, _seconds: float) -> Called:
    raise NotImplementedError


@pytest.mark.requirement("request:one-outcome")
def test_a_question_that_comes_when_the_tree_has_ended_is_not_asked() -> None:
    settlements = Settlements()
    settlements.finish_all()
    outcomes: list[Any] = []

    def finish(outcome: Any, _sent: bool) -> Any:
        outcomes.append(outcome)
        if isinstance(outcome, Completed):
            return Onward(never)
        raise errors.ClientClosed("the end")

    future: CallFuture[Any] = CallFuture()
    route = Route(_untold, finish, never)
    caller = FutureCaller(future, Outgoing("x", "x"), route, Deadline.after(BOUND), settlements)
    caller.set(Completed(Raw(b"{}")))
    settlements.work_off()
    assert isinstance(future.exception(0), errors.ClientClosed)
    assert len(outcomes) == 2
