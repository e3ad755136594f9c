"""Rounds: a server that asks back inside its result is answered, and asked again, within one deadline."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import pytest

from mcp_actors import Client, Progress, errors
from mcp_actors.client import results, tree
from mcp_actors.client.answering.consultation import Unanswered
from mcp_actors.protocol.types import CreateMessageParams, ElicitFormParams
from mcp_actors.runtime.tasks import TaskPool
from tests.client.relay import over_both_wires
from tests.client.test_interrupts import _one_interrupt_for_each_test, interrupt_when  # noqa: F401
from tests.client.toy_host import SILENCE, ToyHost, asking, form, sample, text
from tests.client.waiting import BOUND, in_thread, opened_at_the_end

MakeClient = Callable[..., Client]
MakeHost = Callable[..., ToyHost]

_PAGE = {"contents": [{"uri": "toy:a", "text": "A"}]}
_PROMPT = {"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}]}
_ASKS: dict[str, tuple[Callable[[Client], Any], Any]] = {
    "tools/call": (lambda client: client.call_tool("greet", {"a": [1, {}]}), text("hi")),
    "prompts/get": (lambda client: client.get_prompt("greet"), _PROMPT),
    "resources/read": (lambda client: client.read_resource("toy:a"), _PAGE),
}


def script(host: ToyHost, *answers: Any, method: str = "tools/call") -> None:
    """Let the host give these answers, one after the other."""
    left = iter(answers)
    host.answers[method] = lambda _: next(left)


def named(_: object) -> dict[str, str]:
    """A user who answers."""
    return {"name": "Ada"}


def never(_: object) -> Any:
    """A handler that nobody may ask."""
    raise NotImplementedError


@pytest.mark.requirement("feature:mrtr")
@over_both_wires
@pytest.mark.parametrize("method", _ASKS)
def test_a_question_is_answered_and_the_request_made_again(
    method: str, host: ToyHost, make_client: MakeClient
) -> None:
    ask, answer = _ASKS[method]
    script(host, asking({"who": form()}, "s-1"), answer, method=method)
    client = make_client(host, elicitation_handler=named)
    assert ask(client).raw == answer
    first, second = host.all_heard(method)
    assert second["id"] != first["id"]
    added = {"inputResponses": {"who": {"action": "accept", "content": {"name": "Ada"}}}}
    assert second["params"] == first["params"] | added | {"requestState": "s-1"}
    assert second["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] == {
        "elicitation": {"form": {}}
    }


@pytest.mark.requirement("feature:mrtr")
@over_both_wires
def test_each_round_echoes_its_own_state_and_no_answer_of_an_earlier_one(
    host: ToyHost, make_client: MakeClient
) -> None:
    script(
        host,
        asking({"a": form()}, "one"),
        asking({"b": form()}),
        asking(None, "three"),
        asking({"c": form()}, ""),
        text("done"),
    )
    client = make_client(host, elicitation_handler=lambda _: None)
    assert client.call_tool("greet").text == "done"
    said = {"action": "decline"}
    told = [
        {key: value for key, value in one["params"].items() if key in ("inputResponses", "requestState")}
        for one in host.all_heard("tools/call")
    ]
    assert told == [
        {},
        {"inputResponses": {"a": said}, "requestState": "one"},
        {"inputResponses": {"b": said}},
        {"requestState": "three"},
        {"inputResponses": {"c": said}, "requestState": ""},
    ]


@pytest.mark.parametrize(
    "state", ['"\\/\b\f\n\r\t', "\u2028\u0085\x00\x1f", "ü😀", "\ud800 alone", "x" * 70_000]
)
def test_a_state_comes_back_as_it_was_given(state: str, host: ToyHost, make_client: MakeClient) -> None:
    script(host, asking(None, state), text("done"))
    assert make_client(host).call_tool("greet").text == "done"
    assert host.all_heard("tools/call")[1]["params"]["requestState"] == state


@pytest.mark.requirement("feature:sampling")
@pytest.mark.requirement("feature:roots")
@pytest.mark.requirement("feature:elicitation")
def test_the_questions_of_a_round_are_answered_at_the_same_time_off_the_actors_threads(
    host: ToyHost, make_client: MakeClient
) -> None:
    together = threading.Barrier(2)
    threads = []

    def ask(_: ElicitFormParams) -> dict[str, str]:
        threads.append(threading.current_thread().name)
        together.wait(BOUND)
        return {"name": "Ada"}

    def think(request: CreateMessageParams) -> str:
        threads.append(threading.current_thread().name)
        together.wait(BOUND)
        return f"{request.max_tokens} tokens"

    script(host, asking({"1": sample(), "2": form(), "3": {"method": "roots/list"}}), text("done"))
    client = make_client(
        host, elicitation_handler=ask, sampling_handler=think, roots=["file:///srv"], name="asked"
    )
    assert client.call_tool("greet").text == "done"
    answers = host.all_heard("tools/call")[1]["params"]["inputResponses"]
    assert list(answers) == ["1", "2", "3"]
    assert answers["1"]["content"]["text"] == "10 tokens"
    assert answers["3"] == {"roots": [{"uri": "file:///srv"}]}
    assert all(name.startswith("asked pool-") for name in threads)


def test_handlers_see_the_callers_context(host: ToyHost, make_client: MakeClient) -> None:
    user = ContextVar("user", default="nobody")
    seen = []

    def ask(_: object) -> None:
        seen.append(user.get())
        user.set("changed")

    script(host, asking({"a": form(), "b": form()}), text("done"))
    client = make_client(host, elicitation_handler=ask)
    token = user.set("Ada")
    client.call_tool("greet")
    assert (seen, user.get()) == (["Ada", "Ada"], "Ada")
    user.reset(token)


@pytest.mark.requirement("security:limits")
def test_rounds_without_end_are_given_up_after_ten(host: ToyHost, make_client: MakeClient) -> None:
    host.answers["tools/call"] = lambda _: asking({"a": form()})
    client = make_client(host, elicitation_handler=named)
    with pytest.raises(errors.InvalidResponse) as caught:
        client.call_tool("greet")
    assert str(caught.value) == (
        "tools/call 'greet' was asked for input again after 10 rounds, more than max_rounds (10)"
    )
    assert caught.value.details == {"max_rounds": 10}
    assert len(host.all_heard("tools/call")) == 11
    client.ping()


def test_what_the_user_declines_is_an_answer(host: ToyHost, make_client: MakeClient) -> None:
    script(host, asking({"a": form()}), text("done"))
    assert make_client(host, elicitation_handler=lambda _: False).call_tool("greet").text == "done"
    assert host.all_heard("tools/call")[1]["params"]["inputResponses"] == {"a": {"action": "decline"}}


def fail(_: object) -> Any:
    """A handler that breaks."""
    raise LookupError("mine")


@pytest.mark.parametrize(
    ("handlers", "question", "reason"),
    [
        ({"sampling_handler": lambda _: None}, sample(), "User rejected sampling request (-1)"),
        ({"sampling_handler": fail}, sample(), "the sampling handler failed: LookupError (-32603)"),
        ({"elicitation_handler": fail}, form(), "the elicitation handler failed: LookupError (-32603)"),
    ],
)
def test_a_question_without_an_answer_ends_the_call(
    handlers: dict[str, Any], question: Any, reason: str, host: ToyHost, make_client: MakeClient
) -> None:
    script(host, asking({"a": question}))
    client = make_client(host, **handlers)
    with pytest.raises(errors.Cancelled) as caught:
        client.call_tool("greet")
    method = question["method"]
    assert str(caught.value) == f"tools/call 'greet' was given up: {method} has no answer: {reason}"
    assert isinstance(caught.value.__cause__, Unanswered)
    client.ping()
    assert len(host.all_heard("tools/call")) == 1
    assert (client.stats().pending, client.stats().in_flight) == (0, 0)


@pytest.mark.parametrize(
    "question",
    [
        sample(),
        {"method": "tools/call"},
        {"method": "x/y"},
        {"method": "elicitation/create", "params": {"mode": "url", "message": "x", "url": "https://x.y"}},
        {"method": "elicitation/create", "params": {"message": 5}},
    ],
)
def test_what_was_not_offered_may_not_be_asked(question: Any, host: ToyHost, make_client: MakeClient) -> None:
    script(host, asking({"a": question}))
    client = make_client(host, elicitation_handler=never)
    with pytest.raises(errors.InvalidResponse, match="did not offer"):
        client.call_tool("greet")
    client.ping()
    assert len(host.all_heard("tools/call")) == 1


def test_one_question_that_was_not_offered_keeps_the_others_from_being_asked(
    host: ToyHost, make_client: MakeClient
) -> None:
    asked: list[object] = []
    script(host, asking({"a": form(), "b": sample()}))
    client = make_client(host, elicitation_handler=asked.append)
    with pytest.raises(errors.InvalidResponse, match="sampling/createMessage, which this client did not"):
        client.call_tool("greet")
    client.close()
    assert asked == []


@pytest.mark.parametrize(
    "answer",
    [
        asking(),
        asking({}),
        {"resultType": "input_required", "inputRequests": {"a": {"params": {}}}},
        {"resultType": "input_required", "inputRequests": [form()]},
        {"resultType": "input_required", "requestState": 5},
        {"resultType": "task"},
        {"resultType": "verdict"},
    ],
)
def test_a_question_that_is_none_fails_its_call_alone(
    answer: Any, host: ToyHost, make_client: MakeClient
) -> None:
    script(host, answer)
    client = make_client(host, elicitation_handler=never)
    with pytest.raises(errors.InvalidResponse, match="tools/call 'greet'"):
        client.call_tool("greet")
    client.ping()


@pytest.mark.parametrize("answer", [asking({"a": form()}), asking(None, "s")])
def test_a_server_of_the_handshake_era_may_not_ask_back_in_a_result(
    answer: Any, make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(version="2025-11-25")
    script(host, answer)
    with pytest.raises(errors.InvalidResponse, match="type 'input_required', which this client did not"):
        make_client(host, elicitation_handler=never).call_tool("greet")


def test_the_deadline_holds_although_a_handler_still_thinks(host: ToyHost, make_client: MakeClient) -> None:
    gate, thought = threading.Event(), threading.Event()

    def think(_: object) -> None:
        gate.wait(BOUND)
        thought.set()

    script(host, asking({"a": form()}))
    client = make_client(host, elicitation_handler=think)
    with opened_at_the_end(gate):
        with pytest.raises(errors.RequestTimeout) as caught:
            client.call_tool("greet", timeout=0.2)
        assert str(caught.value) == (
            "no answer to tools/call 'greet' within 0.2 s: "
            "handlers of this client were still thinking about elicitation/create"
        )
    assert thought.wait(BOUND)
    client.ping()
    assert len(host.all_heard("tools/call")) == 1


def test_rounds_without_questions_share_the_deadline_too(host: ToyHost, make_client: MakeClient) -> None:
    host.answers["tools/call"] = lambda _: asking(None, "wait")
    client = make_client(host)
    with pytest.raises(errors.RequestTimeout, match="no answer to tools/call 'greet' within 0.2 s"):
        client.call_tool("greet", timeout=0.2)
    client.ping()
    # At 0, 50 and 150 ms, or later.
    assert len(host.all_heard("tools/call")) <= 3


def test_closing_ends_a_call_whose_handler_thinks(host: ToyHost, make_client: MakeClient) -> None:
    gate, thinking = threading.Event(), threading.Event()

    def think(_: object) -> None:
        thinking.set()
        gate.wait(2 * BOUND)

    script(host, asking({"a": form()}))
    client = make_client(host, elicitation_handler=think)
    with opened_at_the_end(gate):
        calling = in_thread(lambda: client.call_tool("greet", timeout=BOUND * 2))
        assert thinking.wait(BOUND)
        closing = in_thread(client.close)
        assert isinstance(calling.exception(BOUND), errors.ClientClosed)
        gate.set()
        closing.result(BOUND)


def test_ctrl_c_while_a_handler_thinks_means_that_nobody_asks_again(
    host: ToyHost, make_client: MakeClient
) -> None:
    gate, thinking = threading.Event(), threading.Event()

    def think(_: object) -> None:
        thinking.set()
        gate.wait(BOUND)

    script(host, asking({"a": form()}))
    client = make_client(host, elicitation_handler=think)
    with opened_at_the_end(gate):
        interrupt_when(lambda: thinking.wait(BOUND))
        with pytest.raises(KeyboardInterrupt):
            client.call_tool("greet")
    client.ping()
    assert len(host.all_heard("tools/call")) == 1
    assert client.stats().in_flight == 0


def lose_the_second(host: ToyHost) -> None:
    """Let the wire end under the second round, once."""

    def answer(request: dict[str, Any]) -> Any:
        if "inputResponses" not in request["params"]:
            return asking({"a": form()}, "s")
        if host.wires == 1:
            host.drop()
            return SILENCE
        return text("done")

    host.answers["tools/call"] = answer


def test_a_round_that_is_lost_is_not_sent_again(host: ToyHost, make_client: MakeClient) -> None:
    lose_the_second(host)
    client = make_client(host, elicitation_handler=named)
    client.list_tools()
    with pytest.raises(errors.ConnectionLost) as caught:
        client.call_tool("read", wait=True)
    assert caught.value.outcome == "unknown"
    client.wait_ready()
    assert len(host.all_heard("tools/call")) == 2


def test_a_round_that_is_lost_is_sent_again_if_the_caller_may_have_it_so(
    host: ToyHost, make_client: MakeClient
) -> None:
    lose_the_second(host)
    client = make_client(host, elicitation_handler=named)
    client.list_tools()
    assert client.call_tool("read", replay=True).text == "done"
    first, second, third = host.all_heard("tools/call")
    assert third["params"] == second["params"]
    assert len({one["id"] for one in (first, second, third)}) == 3


def test_each_round_reports_its_own_progress(host: ToyHost, make_client: MakeClient) -> None:
    def answer(request: dict[str, Any]) -> Any:
        again = "requestState" in request["params"]
        host.progress(request, 2 if again else 1)
        return text("done") if again else asking(None, "s")

    host.answers["tools/call"] = answer
    heard: list[Progress] = []
    assert make_client(host).call_tool("greet", on_progress=heard.append).text == "done"
    assert [one.progress for one in heard] == [1, 2]


def narrow(monkeypatch: pytest.MonkeyPatch, max_queued: int) -> None:
    """Let pools have one worker."""

    class Narrow(TaskPool):
        def __init__(self, **actor: Any) -> None:
            super().__init__(1, max_queued, **actor)

    monkeypatch.setattr(tree, "TaskPool", Narrow)


def test_a_question_that_nobody_waits_for_is_not_asked(
    host: ToyHost, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow(monkeypatch, max_queued=10)
    gate, asked = threading.Event(), []

    def think(_: object) -> None:
        asked.append(1)
        gate.wait(BOUND)

    script(host, asking({"a": form(), "b": form()}), text("later"))
    client = make_client(host, elicitation_handler=think)
    with opened_at_the_end(gate), pytest.raises(errors.RequestTimeout):
        client.call_tool("greet", timeout=0.2)
    # The one worker does this after whatever was left to do.
    assert client.submit_tool("greet").result(BOUND).text == "later"
    assert asked == [1]


def test_a_pool_without_room_is_said_so(
    host: ToyHost, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow(monkeypatch, max_queued=1)
    gate = threading.Event()
    script(host, asking({str(number): form() for number in range(3)}))
    client = make_client(host, elicitation_handler=lambda _: gate.wait(BOUND))
    with opened_at_the_end(gate), pytest.raises(errors.Backpressure) as caught:
        client.call_tool("greet")
    assert str(caught.value) == (
        "tools/call 'greet' was given up: "
        "no thread is free to answer elicitation/create (1 tasks running, 1 queued)"
    )


def test_an_answer_that_needed_questions_is_not_kept(host: ToyHost, make_client: MakeClient) -> None:
    kept = {"ttlMs": 60_000, "cacheScope": "private"}

    def answer(request: dict[str, Any]) -> Any:
        if request["params"]["uri"] == "toy:asks" and "inputResponses" not in request["params"]:
            return asking({"a": form()})
        return _PAGE | kept

    host.answers["resources/read"] = answer
    client = make_client(host, elicitation_handler=named)
    for uri in ("toy:plain", "toy:plain", "toy:asks", "toy:asks"):
        client.read_resource(uri)
    heard = [one["params"]["uri"] for one in host.all_heard("resources/read")]
    assert heard == ["toy:plain"] + ["toy:asks"] * 4


def test_a_complete_result_is_decoded_once(
    client: Client, host: ToyHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look_again(*_: object) -> Any:
        raise NotImplementedError

    monkeypatch.setattr(results, "_interim", look_again)
    host.answers["tools/call"] = lambda _: text("x") | {"resultType": "complete"}
    assert client.call_tool("echo").text == "x"


def test_an_answer_that_is_too_large_to_send_is_the_callers_to_know(
    host: ToyHost, make_client: MakeClient
) -> None:
    script(host, asking({"a": form()}), asking({"a": form()}))
    client = make_client(host, elicitation_handler=lambda _: {"name": "x" * 2000}, max_frame_bytes=1500)
    with pytest.raises(ValueError, match="more than max_frame_bytes"):
        client.call_tool("greet")
    with pytest.raises(ValueError, match="more than max_frame_bytes"):
        client.submit_tool("greet").result(BOUND)


def test_a_pool_that_breaks_under_its_handlers_ends_the_call(
    host: ToyHost, make_client: MakeClient, caplog: pytest.LogCaptureFixture
) -> None:
    gate, thinking = threading.Event(), threading.Event()

    def think(_: object) -> None:
        thinking.set()
        gate.wait(2 * BOUND)

    script(host, asking({"a": form()}))
    client = make_client(host, elicitation_handler=think).wait_ready()
    with opened_at_the_end(gate):
        calling = in_thread(lambda: client.call_tool("greet"))
        assert thinking.wait(BOUND)
        assert client._trees.value is not None
        pool = client._trees.value.pool
        assert pool is not None
        pool.tell("a bug")
        error = calling.exception(BOUND)
    assert isinstance(error, errors.Cancelled)
    assert str(error) == "tools/call 'greet' was given up: this client had to restart a part of itself"
    client.wait_ready()
    del caplog


@pytest.mark.parametrize("method", ["prompts/get", "resources/read"])
def test_only_tools_become_tasks(method: str, host: ToyHost, make_client: MakeClient) -> None:
    times = {"createdAt": "a", "lastUpdatedAt": "b", "ttlMs": None}
    script(host, {"resultType": "task", "taskId": "1", "status": "working"} | times, method=method)
    client = make_client(host, extensions={"io.modelcontextprotocol/tasks": {}})
    with pytest.raises(errors.InvalidResponse, match="type 'task', which this client did not offer"):
        _ASKS[method][0](client)
