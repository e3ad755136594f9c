"""What is offered is answered, what is not offered is refused, and nothing but `Unanswered` comes out."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_actors.client.answering.desk import Desk, Unanswered
from mcp_actors.protocol.revisions import ALL, Revision, by_version
from mcp_actors.protocol.types import declares

NEWEST = ALL[0]
METHODS = ("roots/list", "sampling/createMessage", "elicitation/create")
REQUESTS: dict[str, dict[str, Any]] = {
    "roots/list": {},
    "sampling/createMessage": {"messages": [], "maxTokens": 1},
    "elicitation/create": {"message": "m", "requestedSchema": {"type": "object", "properties": {}}},
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def whole_desk() -> Desk:
    return Desk(
        roots=["/work"],
        sampling_handler=lambda _: "hello",
        elicitation_handler=lambda _: True,
        elicitation_modes=("url", "form"),
        sampling_tools=True,
    )


def refused(desk: Desk, method: str, params: Any = None, revision: Revision = NEWEST) -> Unanswered:
    with pytest.raises(Unanswered) as caught:
        desk.answer(method, params, revision)
    return caught.value


def test_a_desk_without_anybody_offers_and_serves_nothing() -> None:
    desk = Desk()
    assert desk.offer.capabilities(NEWEST) == {}
    assert not any(map(desk.serves, METHODS))
    assert all(refused(desk, method).code == -32601 for method in METHODS)


def test_a_whole_desk_offers_and_serves_everything() -> None:
    desk = whole_desk()
    assert all(map(desk.serves, METHODS))
    assert not desk.serves("ping")
    assert desk.offer.capabilities(NEWEST) == {
        "roots": {},
        "sampling": {"tools": {}},
        "elicitation": {"form": {}, "url": {}},
    }


@pytest.mark.requirement("feature:roots")
@pytest.mark.requirement("feature:sampling")
@pytest.mark.requirement("feature:elicitation")
@pytest.mark.parametrize("revision", ALL, ids=str)
@pytest.mark.parametrize("method", METHODS)
def test_what_a_revision_lets_a_server_ask_is_answered_and_nothing_else(
    method: str, revision: Revision
) -> None:
    desk = whole_desk()
    if method in revision.server_requests | revision.input_requests:
        assert isinstance(desk.answer(method, REQUESTS[method], revision), dict)
    else:
        assert refused(desk, method, REQUESTS[method], revision).code == -32601


@pytest.mark.parametrize("method", ["ping", "tasks/get", "tools/list", "initialize", "", "x" * 1000])
def test_a_method_that_nobody_serves_is_refused(method: str) -> None:
    problem = refused(whole_desk(), method, {}, ALL[1])
    assert problem.code == -32601
    assert len(problem.message) < 200


def test_pages_alone_are_not_served_where_only_forms_are_known() -> None:
    desk = Desk(elicitation_handler=lambda _: True, elicitation_modes=("url",))
    older = by_version("2025-06-18")
    assert older is not None
    assert refused(desk, "elicitation/create", REQUESTS["elicitation/create"], older).code == -32601


@pytest.mark.parametrize("params", [[], "x", 5])
def test_params_that_are_no_object_are_refused(params: Any) -> None:
    assert refused(whole_desk(), "roots/list", params).code == -32602


def test_capabilities_beyond_the_protocol_are_declared_as_a_copy() -> None:
    settings = {"x": {"deep": [1]}}
    desk = Desk(experimental=settings, extensions={"com.example/a": {}})
    settings["x"]["deep"].append(2)
    assert desk.offer.experimental == {"x": {"deep": [1]}}
    assert desk.offer.extensions == {"com.example/a": {}}


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"roots": "/work"}, TypeError),
        ({"roots": 5}, TypeError),
        ({"roots": ["http://x"]}, ValueError),
        ({"sampling_handler": "x"}, TypeError),
        ({"sampling_tools": True}, ValueError),
        ({"elicitation_handler": 5}, TypeError),
        ({"elicitation_modes": "form"}, TypeError),
        ({"elicitation_modes": None}, TypeError),
        ({"elicitation_modes": ()}, ValueError),
        ({"elicitation_modes": ("forms",)}, ValueError),
        ({"experimental": []}, TypeError),
        ({"experimental": {"a": 1}}, TypeError),
        ({"experimental": {1: {}}}, TypeError),
        ({"experimental": {"a": {"b": object()}}}, TypeError),
        ({"experimental": {"a": {"b": float("nan")}}}, ValueError),
        ({"extensions": {"tasks": {}}}, ValueError),
        ({"extensions": {"/tasks": {}}}, ValueError),
    ],
)
def test_a_mistake_is_told_when_the_desk_is_made(options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match=next(iter(options)).removesuffix("s")):
        Desk(**options)


async def answer_later(_: object) -> str:
    raise NotImplementedError


class Later:
    async def __call__(self, _: object) -> str:
        raise NotImplementedError


@pytest.mark.parametrize("handler", [answer_later, Later()])
@pytest.mark.parametrize("option", ["roots", "sampling_handler", "elicitation_handler"])
def test_a_coroutine_function_is_refused(option: str, handler: Any) -> None:
    with pytest.raises(TypeError, match="synchronous"):
        Desk(**{option: handler})


@pytest.mark.requirement("error:translate")
@pytest.mark.parametrize("failure", [ValueError, KeyError, SystemExit, KeyboardInterrupt, GeneratorExit])
@pytest.mark.parametrize(
    ("method", "option", "name"),
    [
        ("roots/list", "roots", "roots function"),
        ("sampling/createMessage", "sampling_handler", "sampling handler"),
        ("elicitation/create", "elicitation_handler", "elicitation handler"),
    ],
)
def test_a_failing_handler_is_an_error_that_names_the_type_alone(
    method: str, option: str, name: str, failure: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> Any:
        raise failure("password=hunter2")

    options: dict[str, Any] = {option: fail}
    with caplog.at_level(logging.WARNING, "mcp_actors.answering"):
        problem = refused(Desk(**options), method, REQUESTS[method])
    assert (problem.code, problem.message) == (-32603, f"the {name} failed: {failure.__name__}")
    assert isinstance(problem.__cause__, failure)
    assert (problem.data, problem.declined) == (None, False)
    assert "hunter2" not in str(problem)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.exc_info is not None


def test_even_a_mistake_of_our_own_is_unanswered(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> Any:
        raise MemoryError

    monkeypatch.setattr("mcp_actors.client.answering.roots.RootsDesk.answer", broken)
    problem = refused(Desk(roots=[]), "roots/list")
    assert (problem.code, problem.message) == (-32603, "the client failed: MemoryError")


def test_an_unanswered_question_says_why() -> None:
    assert str(Unanswered(-32601, "no such thing", {"a": 1})) == "no such thing (-32601)"


def outcome(desk: Desk, *request: Any) -> dict[str, Any] | Unanswered:
    try:
        return desk.answer(*request)
    except Unanswered as problem:
        return problem


NAMES = st.sampled_from(
    ["messages", "maxTokens", "message", "requestedSchema", "mode", "url", "tools", "role", "content", "type"]
)
WORDS = st.sampled_from(["form", "url", "user", "assistant", "text", "tool_use", "object", "https://x"])
#: Nearly the params of some request.
PARAMS = st.dictionaries(
    NAMES,
    st.recursive(
        WORDS | JSON,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
        max_leaves=8,
    ),
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from((*METHODS, "ping")), st.none() | JSON | PARAMS, st.sampled_from(ALL), JSON)
def test_whatever_a_server_sends_and_a_handler_returns_there_is_a_result_or_a_refusal(
    method: str, params: Any, revision: Revision, returned: Any
) -> None:
    desk = Desk(
        roots=lambda: returned,
        sampling_handler=lambda _: returned,
        elicitation_handler=lambda _: returned,
        elicitation_modes=("form", "url"),
    )
    result = outcome(desk, method, params, revision)
    if isinstance(result, Unanswered):
        assert result.code in (-1, -32601, -32602, -32603)
        assert not result.message.startswith("the client failed")
    else:
        assert declares(desk.offer.capabilities(revision), method.partition("/")[0])
