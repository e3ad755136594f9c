"""Arguments that come as text: of prompts and of resource templates."""

from __future__ import annotations

import datetime
import enum
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta

from mcp_actors.protocol.types import PromptArgument
from mcp_actors.server.signatures import (
    InvalidArguments,
    SignatureError,
    prompt_arguments_of,
    template_arguments_of,
)


class Context:
    """Stands for what the server gives to functions."""


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1


@dataclass
class Point:
    x: int
    y: int = 0


def greet(name: str, times: int = 1, context: Context | None = None) -> str:
    """Greet somebody.

    Args:
        name: Who.
    """
    return f"{name} {times} {context}"


def converted(annotation: Any, text: str) -> Any:
    def prompt(value: Any) -> str:
        raise NotImplementedError

    prompt.__annotations__ = {"value": annotation}
    return prompt_arguments_of(prompt).arguments({"value": text})["value"]


@pytest.mark.requirement("feature:prompts")
def test_a_prompt_lists_its_arguments() -> None:
    signature = prompt_arguments_of(greet, Context)
    assert signature.description == "Greet somebody."
    assert signature.context_parameter == "context"
    assert signature.declared == [
        PromptArgument(name="name", description="Who.", required=True),
        PromptArgument(name="times", required=False),
    ]
    made = signature.arguments({"name": "ada", "times": "2"})
    assert signature.call(greet, made, "here") == "ada 2 here"


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (str, "5", "5"),
        (str, '"quoted"', '"quoted"'),
        (Any, "5", "5"),
        (str | None, "null", "null"),
        (int, "5", 5),
        (int, "5.0", 5),
        (float, "5", 5.0),
        (int | None, "null", None),
        (bool, "true", True),
        (bool, "False", False),
        (bool, "1", True),
        (int | str, "5", 5),
        (int | str, "five", "five"),
        (Literal["a", "1"], "1", "1"),
        (Literal["a", "1"], '"a"', "a"),
        (Colour, "red", Colour.RED),
        (Level, "1", Level.LOW),
        (list[int], "[1, 2]", [1, 2]),
        (dict[str, int], '{"a": 1}', {"a": 1}),
        (Point, '{"x": 1}', Point(1)),
        (datetime.date, "2026-01-31", datetime.date(2026, 1, 31)),
        (datetime.timedelta, "PT1H", datetime.timedelta(hours=1)),
        (bytes, "YQ==", b"a"),
        (Annotated[str, Meta(max_length=2)], "ab", "ab"),
    ],
)
def test_texts_become_what_the_annotation_says(annotation: Any, text: str, value: Any) -> None:
    made = converted(annotation, text)
    assert made == value
    assert type(made) is type(value)


@pytest.mark.parametrize(
    ("annotation", "text", "words"),
    [
        (int, "five", '`$.value`: expected an integer, got a string ("five")'),
        (int, "\ud800", "`$.value`: it holds text that is not Unicode"),
        (bool, "maybe", '`$.value`: expected true or false, got a string ("maybe")'),
        (list[int], '[1, "x"]', '`$.value[1]`: expected an integer, got a string ("x")'),
        (list[int], "1, 2", '`$.value`: expected an array, got a string ("1, 2")'),
        (Point, '{"y": 1}', "`$.value`: `x` is missing"),
        (Colour, "green", '`$.value`: expected "blue" or "red", got "green"'),
        (Annotated[str, Meta(max_length=2)], "abc", "`$.value`: expected a string of length <= 2"),
        (datetime.date, "soon", '`$.value`: expected a date such as "2026-01-31", got "soon"'),
    ],
)
def test_a_text_that_does_not_fit_is_complained_of(annotation: Any, text: str, words: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        converted(annotation, text)
    assert words in str(caught.value)


@pytest.mark.requirement("feature:prompts")
def test_missing_and_unknown_arguments_of_a_prompt_are_named() -> None:
    signature = prompt_arguments_of(greet, Context)
    with pytest.raises(InvalidArguments) as caught:
        signature.arguments({"nam": "ada"})
    assert str(caught.value) == "unknown argument `nam` (known are `name`, `times`); missing argument `name`"


def test_a_value_that_is_no_text_is_taken_as_json() -> None:
    given: dict[str, Any] = {"name": 5, "times": 2}
    with pytest.raises(InvalidArguments, match=r"`\$\.name`: expected a string, got an integer \(5\)"):
        prompt_arguments_of(greet, Context).arguments(given)


def test_the_few_texts_that_a_parameter_may_have_are_known() -> None:
    def prompt(
        a: bool, b: Colour | None, c: Literal["x", 1, None], d: int, e: list[Colour], f: str = "x"
    ) -> str:
        raise NotImplementedError

    assert prompt_arguments_of(prompt).choices == {
        "a": ("true", "false"),
        "b": ("blue", "red"),
        "c": ("1", "x"),
    }


def test_a_prompt_may_have_types_local_to_its_definition() -> None:
    @dataclass
    class Local:
        n: int

    def prompt(value: Local) -> str:
        raise NotImplementedError

    signature = prompt_arguments_of(prompt, names=locals())
    assert signature.arguments({"value": '{"n": 1}'}) == {"value": Local(1)}


# -- templates --------------------------------------------------------------------------------------------


def read(path: str, line: int = 0, context: Context | None = None) -> str:
    raise NotImplementedError


@pytest.mark.requirement("feature:resources")
def test_the_variables_of_a_template_are_the_parameters() -> None:
    signature = template_arguments_of(read, {"path", "line"}, Context)
    assert signature.arguments({"path": "a/b", "line": "3"}) == {"path": "a/b", "line": 3}
    assert template_arguments_of(read, {"path"}, Context).arguments({"path": "1"}) == {"path": "1"}


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"path", "page", "column"}, "`read`: no parameter for `column`, `page` of the template"),
        (
            {"line"},
            "`read`: the template has no variable for `path`: add one, or give the parameter a default",
        ),
        ({"path", "context"}, "`read`: no parameter for `context` of the template"),
    ],
)
def test_variables_and_parameters_that_differ_are_refused(variables: set[str], words: str) -> None:
    with pytest.raises(SignatureError) as caught:
        template_arguments_of(read, variables, Context)
    assert str(caught.value) == words


def test_further_keywords_take_further_variables_but_not_the_context() -> None:
    def anything(context: Context, **rest: int) -> str:
        raise NotImplementedError

    signature = template_arguments_of(anything, {"a"}, Context, names=locals())
    assert signature.arguments({"a": "3"}) == {"a": 3}
    with pytest.raises(SignatureError, match="no parameter for `context`"):
        template_arguments_of(anything, {"context"}, Context)
