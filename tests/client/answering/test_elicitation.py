"""Elicitation: forms and pages in, what the user did out."""

from __future__ import annotations

import datetime
import logging
from typing import Any

import pytest

from mcp_actors.client.answering.desk import Desk, Unanswered
from mcp_actors.protocol.revisions import ALL, Revision
from mcp_actors.protocol.types import ElicitFormParams, ElicitResult, ElicitUrlParams

pytestmark = pytest.mark.requirement("feature:elicitation")

NEWEST = ALL[0]
WITH_FORMS = [revision for revision in ALL if revision.version >= "2025-06-18"]
WITH_PAGES = [revision for revision in ALL if revision.version >= "2025-11-25"]
PAGE = {"mode": "url", "message": "sign in", "url": "https://example.com/login", "elicitationId": "e1"}
PROPERTIES = {
    "name": {"type": "string", "minLength": 2},
    "age": {"type": "integer", "default": 18, "minimum": 0},
    "news": {"type": "boolean", "default": False},
    "colour": {"type": "string", "enum": ["r", "g"], "default": "g"},
    "days": {"type": "array", "items": {"type": "string", "enum": ["mo", "tu"]}, "default": ["mo"]},
    "score": {"type": "number"},
    "day": {"type": "string", "format": "date"},
}
DEFAULTS = {"age": 18, "news": False, "colour": "g", "days": ["mo"]}


def form(properties: Any = PROPERTIES, **more: Any) -> dict[str, Any]:
    return {
        "message": "who are you?",
        "requestedSchema": {"type": "object", "properties": properties, **more},
    }


def answered(given: Any, params: Any = None, revision: Revision = NEWEST, **options: Any) -> dict[str, Any]:
    desk = Desk(elicitation_handler=lambda _: given, **{"elicitation_modes": ("form", "url"), **options})
    return desk.answer("elicitation/create", form() if params is None else params, revision)


def refused(given: Any, params: Any = None, revision: Revision = NEWEST, **options: Any) -> Unanswered:
    with pytest.raises(Unanswered) as caught:
        answered(given, params, revision, **options)
    return caught.value


def test_the_handler_gets_a_form_or_a_page() -> None:
    seen: list[Any] = []
    desk = Desk(elicitation_handler=seen.append, elicitation_modes=("form", "url"))
    desk.answer("elicitation/create", form() | {"mode": "form"}, NEWEST)
    desk.answer("elicitation/create", PAGE, NEWEST)
    asked, page = seen
    assert isinstance(asked, ElicitFormParams)
    assert [field.name for field in asked.fields] == list(PROPERTIES)
    assert isinstance(page, ElicitUrlParams)
    assert (page.host, page.elicitation_id) == ("example.com", "e1")


@pytest.mark.parametrize("revision", WITH_FORMS, ids=str)
def test_a_mapping_is_accepted_and_completed_with_defaults(revision: Revision) -> None:
    given = {"name": "Ann", "age": 30}
    content = {**DEFAULTS, "name": "Ann", "age": 30}
    assert answered(given, revision=revision) == {"action": "accept", "content": content}
    assert given == {"name": "Ann", "age": 30}


@pytest.mark.parametrize("given", [{}, True])
def test_nothing_typed_means_the_defaults(given: Any) -> None:
    assert answered(given) == {"action": "accept", "content": DEFAULTS}


@pytest.mark.parametrize("given", [None, False])
@pytest.mark.parametrize("params", [form(), PAGE])
def test_no_is_no(given: Any, params: Any) -> None:
    assert answered(given, params) == {"action": "decline"}


@pytest.mark.parametrize("revision", WITH_PAGES, ids=str)
def test_consent_to_a_page_carries_no_content(revision: Revision) -> None:
    assert answered(True, PAGE, revision) == {"action": "accept"}
    assert answered(ElicitResult(action="accept"), PAGE, revision) == {"action": "accept"}
    assert answered(ElicitResult(action="cancel"), PAGE, revision) == {"action": "cancel"}


@pytest.mark.parametrize("given", [{}, {"a": 1}, "yes", 1, ElicitResult(action="accept", content={})])
def test_a_page_takes_consent_alone(given: Any) -> None:
    assert refused(given, PAGE).code == -32603


def test_a_result_is_taken_as_it_is() -> None:
    told = ElicitResult(action="accept", content={"name": "Ann"}, meta={"x": 1})
    assert answered(told) == {"action": "accept", "content": {"name": "Ann"}, "_meta": {"x": 1}}
    assert answered(ElicitResult(action="accept")) == {"action": "accept", "content": {}}
    assert answered(ElicitResult(action="decline", content={"name": "x"})) == {"action": "decline"}
    assert answered(ElicitResult(action="cancel")) == {"action": "cancel"}


def test_numbers_may_be_whole_or_not() -> None:
    assert answered({"score": 1.5})["content"]["score"] == 1.5
    assert answered({"score": 2})["content"]["score"] == 2
    assert answered({"age": 5.0})["content"]["age"] == 5.0


def test_what_has_an_obvious_json_form_gets_it() -> None:
    given = {"day": datetime.date(2024, 2, 29), "days": ("mo", "tu")}
    assert answered(given)["content"] == {**DEFAULTS, "day": "2024-02-29", "days": ["mo", "tu"]}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"name": "x"}, "name: "),
        ({"name": 5}, "name: "),
        ({"age": "hunter2"}, "age: "),
        ({"age": 1.5}, "age: "),
        ({"age": -1}, "age: "),
        ({"news": "hunter2"}, "news: "),
        ({"colour": "hunter2"}, "colour: "),
        ({"days": ["hunter2"]}, "days/0: "),
        ({"days": "mo"}, "days: "),
        ({"day": "hunter2"}, "day: "),
        ({"name": None}, "name: "),
        ({"nam": "hunter2"}, "nam: is no field of the form"),
        (ElicitResult(action="accept", content={"age": "hunter2"}), "age: "),
        (ElicitResult(action="accept", content=["hunter2"]), "no object"),  # type: ignore[arg-type]
    ],
)
def test_an_answer_that_does_not_fit_names_field_and_rule_and_not_the_value(
    given: Any, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "mcp_actors.answering"):
        problem = refused(given)
    assert problem.code == -32603
    assert problem.message.startswith("the answer does not fit the form: ")
    assert words in problem.message
    assert words in caplog.text
    assert "hunter2" not in problem.message + caplog.text


def test_a_field_that_must_be_there_must_be_there() -> None:
    problem = refused({}, form({"name": {"type": "string"}}, required=["name"]))
    assert '"name" is a required property' in problem.message
    told = ElicitResult(action="accept")
    assert refused(told, form({"n": {"type": "integer", "default": 1}}, required=["n"])).code == -32603


@pytest.mark.parametrize(
    "given",
    [5, "x", ["x"], ElicitResult(action="maybe"), {"name": object()}, {1: 2}, {"score": float("nan")}],  # type: ignore[arg-type]
)
def test_what_is_no_answer_is_a_failure_of_the_handler(given: Any) -> None:
    problem = refused(given)
    assert problem.code == -32603
    assert problem.message.startswith("the elicitation handler failed: ")


def never(_: object) -> Any:
    raise NotImplementedError


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"message": "m"},
        {"message": 5, "requestedSchema": {"type": "object"}},
        {"message": "m", "requestedSchema": []},
        form({"a": {"type": "object", "properties": {"b": {"type": "string"}}}}),
        form({"a": {"type": "array", "items": {"type": "object"}}}),
        form({"a": {"$ref": "https://example.com/x"}}),
        form({"a": {"type": "string", "$ref": "https://example.com/x"}}),
        form({"a": {"type": "string", "pattern": "["}}),
        form({}, **{"$schema": "https://example.com/mine"}),
        form() | {"mode": "page"},
        form() | {"mode": None},
        form() | {"mode": ["form"]},
        {"mode": "url", "message": "m"},
        {"mode": "url", "message": "m", "url": "file:///etc/passwd"},
        {"mode": "url", "message": "m", "url": "javascript:alert(1)"},
        {"mode": "url", "message": "m", "url": "https://"},
        {"mode": "url", "message": "m", "url": "https://bank.example@evil.example"},
    ],
)
def test_a_request_that_does_not_fit_never_reaches_the_handler(params: dict[str, Any]) -> None:
    desk = Desk(elicitation_handler=never, elicitation_modes=("form", "url"))
    with pytest.raises(Unanswered) as caught:
        desk.answer("elicitation/create", params, NEWEST)
    assert caught.value.code == -32602
    assert caught.value.message.startswith("elicitation/create: ")


def test_a_mode_that_was_not_offered_is_refused() -> None:
    assert refused(True, PAGE, elicitation_modes=("form",)).code == -32602
    assert refused(True, form(), elicitation_modes=("url",)).code == -32602
    older = next(revision for revision in ALL if revision.version == "2025-06-18")
    assert refused(True, PAGE, older).code == -32602


def test_a_form_that_is_too_much_work_fails_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_actors.schemas.checking.MAX_WORK", 1)
    assert "takes too long" in refused({}).message
