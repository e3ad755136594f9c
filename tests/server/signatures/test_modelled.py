"""Parameters and results that only pydantic understands."""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NewType

import msgspec
import pydantic
import pytest
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from mcp_actors.schemas import Schemas
from mcp_actors.server.signatures import (
    InvalidArguments,
    Signature,
    SignatureError,
    UnusableResult,
    prompt_arguments_of,
    signature_of,
)
from tests.server.signatures import namesakes


class User(BaseModel):
    """Somebody."""

    name: str
    age: int = Field(default=0, ge=0, description="in years")
    born: datetime.date | None = None
    friends: list[User] = []


class Aliased(BaseModel):
    model_config = ConfigDict(extra="forbid")
    own_name: str = Field(alias="ownName")


class Tree(BaseModel):
    """A model of a tree."""

    height: int


class Checked(BaseModel):
    n: int

    @pydantic.field_validator("n")
    @classmethod
    def even(cls, n: int) -> int:
        if n % 2:
            raise ValueError("n must be even")
        return n


class Odd:
    """Nothing that JSON knows."""


class Opaque(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    held: Odd


@dataclass
class Team:
    lead: User


@pydantic.dataclasses.dataclass
class Pair:
    left: int
    right: int


class Mixed(msgspec.Struct):
    user: User


Member = NewType("Member", User)


def taking(annotation: Any) -> Signature:
    def function(value: Any) -> None:
        raise NotImplementedError

    function.__annotations__ = {"value": annotation, "return": annotation}
    return signature_of(function)


def converted(annotation: Any, value: Any) -> Any:
    signature = taking(annotation)
    assert Schemas().check(signature.input_schema, {"value": value}) is None
    return signature.arguments({"value": value})["value"]


def complaint(annotation: Any, value: Any) -> str:
    with pytest.raises(InvalidArguments) as caught:
        taking(annotation).arguments({"value": value})
    return str(caught.value)


def doubled(text: Any) -> Any:
    return text * 2 if isinstance(text, str) else text


@pytest.mark.parametrize(
    ("annotation", "given", "value"),
    [
        (User, {"name": "ada", "age": 3.0}, User(name="ada", age=3)),
        (User, {"name": "ada", "born": "1815-12-10"}, User(name="ada", born=datetime.date(1815, 12, 10))),
        (list[User], [{"name": "ada"}], [User(name="ada")]),
        (dict[str, User], {"a": {"name": "ada"}}, {"a": User(name="ada")}),
        (User | None, None, None),
        (User | int, 3, 3),
        (Member, {"name": "ada"}, User(name="ada")),
        (Team, {"lead": {"name": "ada"}}, Team(User(name="ada"))),
        (Pair, {"left": 1, "right": 2}, Pair(1, 2)),
        (Aliased, {"ownName": "x"}, Aliased(ownName="x")),
        (Annotated[int, Field(ge=1)], 2.0, 2),
        (Annotated[str, BeforeValidator(doubled)], "ab", "abab"),
        (pydantic.PositiveInt, 3, 3),
    ],
)
def test_models_are_made_from_json(annotation: Any, given: Any, value: Any) -> None:
    made = converted(annotation, given)
    assert made == value
    assert type(made) is type(value)


@pytest.mark.parametrize(
    ("annotation", "given", "words"),
    [
        (User, {"name": "a", "age": "3"}, '`$.value.age`: it should be a valid integer, got a string ("3")'),
        (
            User,
            {"age": True},
            "`$.value.name` is missing; `$.value.age`: it should be a valid integer, got true",
        ),
        (User, {"name": None}, "`$.value.name`: it should be a valid string, got null"),
        (list[User], [{"name": "a", "age": -1}], "`$.value[0].age`: it should be greater than or equal to 0"),
        (User | int, "x", "`$.value`: it should be"),
        (User | int, {}, "`$.value.name` is missing; "),
        (Checked, {"n": 3}, "`$.value.n`: n must be even, got an integer (3)"),
        (Aliased, {"ownName": "x", "y": [1]}, "`$.value.y`: Extra inputs are not permitted, got an array"),
        (
            Annotated[int, Field(ge=1)],
            0,
            "`$.value`: it should be greater than or equal to 1, got an integer (0)",
        ),
        (User, [], "`$.value`: it should be an object, got an array"),
        (User, {"name": float("nan")}, "`$.value`: NaN and infinity have no JSON form"),
        (User, {"name": "\ud800"}, "`$.value`: it holds text that is not Unicode"),
    ],
)
def test_a_complaint_names_the_place(annotation: Any, given: Any, words: str) -> None:
    assert words in complaint(annotation, given)


def test_all_faults_of_all_models_are_named_and_secrets_are_not_repeated() -> None:
    class Login(BaseModel):
        password: int

    def function(one: Login, two: User, three: User | None = None) -> None:
        raise NotImplementedError

    signature = signature_of(function, names=locals())
    with pytest.raises(InvalidArguments) as caught:
        signature.arguments({"one": {"password": "hunter2"}, "two": {}})
    assert str(caught.value) == (
        "`$.one.password`: it should be a valid integer, got a string; `$.two.name` is missing"
    )


def test_a_model_nested_too_deep_is_refused() -> None:
    user: dict[str, Any] = {"name": "a"}
    for _ in range(100_000):
        user = {"name": "a", "friends": [user]}
    assert complaint(User, user) == "`$.value`: it is nested too deep"


def test_the_schema_is_without_titles_that_repeat_names() -> None:
    signature = taking(Annotated[User, "who"])
    assert signature.input_schema["properties"]["value"] == {"description": "who", "$ref": "#/$defs/User"}
    user = signature.input_schema["$defs"]["User"]
    assert user["title"] == "User"
    assert user["description"] == "Somebody."
    assert user["properties"]["age"] == {
        "type": "integer",
        "minimum": 0,
        "default": 0,
        "description": "in years",
    }


def test_only_the_functions_own_default_counts() -> None:
    def function(a: Annotated[int, Field(default=3)], b: User = User(name="ada")) -> None:  # noqa: B008
        raise NotImplementedError

    schema = signature_of(function).input_schema
    assert schema["required"] == ["a"]
    assert schema["properties"]["a"] == {"type": "integer"}
    assert schema["properties"]["b"]["default"] == {"name": "ada", "age": 0, "born": None, "friends": []}


def test_models_and_other_types_share_definitions_unless_they_differ() -> None:
    def function(ours: list[Tree], again: list[Tree], theirs: namesakes.Tree, user: list[User]) -> None:
        raise NotImplementedError

    def models(one: list[Tree], two: list[Tree]) -> None:
        raise NotImplementedError

    schema = signature_of(function).input_schema
    assert schema["properties"]["ours"] == {"type": "array", "items": {"$ref": "#/$defs/ours.Tree"}}
    assert schema["properties"]["theirs"] == {"$ref": "#/$defs/Tree"}
    fitting: dict[str, Any] = {"ours": [{"height": 1}], "again": [], "theirs": {"height": 0.5}, "user": []}
    assert Schemas().check(schema, fitting) is None
    assert Schemas().check(schema, fitting | {"ours": [{"height": 0.5}]}) is not None
    assert list(signature_of(models).input_schema["$defs"]) == ["Tree"]


def test_a_parameter_is_described_before_its_class() -> None:
    def function(a: Tree, b: Tree, c: Annotated[Tree, Field(description="from the field")]) -> None:
        """Plant.

        Args:
            b: from the docstring
            c: not this
        """

    properties = signature_of(function).input_schema["properties"]
    told = [properties[name].get("description") for name in "abc"]
    assert told == ["A model of a tree.", "from the docstring", "from the field"]


def test_a_field_as_default_is_refused_with_the_way_out() -> None:
    def function(n: int = Field(default=3, ge=1)) -> None:
        raise NotImplementedError

    with pytest.raises(SignatureError, match=r"`n`: write `Field\(…\)` into the annotation"):
        signature_of(function)


@pytest.mark.parametrize(
    ("annotation", "reason"),
    [
        (Mixed, "pydantic does not take it"),
        (Annotated[Callable[[], int], Field()], "JsonSchema|JSON"),
        (Opaque, "JsonSchema|JSON"),
    ],
)
def test_what_pydantic_does_not_take_is_refused(annotation: Any, reason: str) -> None:
    with pytest.raises(SignatureError, match=f"^`function`: parameter `value`: .*({reason})"):
        taking(annotation)


# -- results ----------------------------------------------------------------------------------------------


def test_a_model_is_an_object_and_a_list_of_them_is_wrapped() -> None:
    one, many = taking(User), taking(list[User])
    assert not one.wrapped_output
    assert many.wrapped_output
    assert one.structured(User(name="ada", born=datetime.date(1815, 12, 10)))["born"] == "1815-12-10"
    assert many.structured([{"name": "ada"}])["result"][0]["age"] == 0
    for signature, value in ((one, User(name="ada")), (many, [User(name="ada")])):
        assert signature.output_schema is not None
        assert Schemas().check(signature.output_schema, signature.structured(value)) is None


def test_aliases_are_written() -> None:
    assert taking(Aliased).structured(Aliased(ownName="x")) == {"ownName": "x"}


def test_a_model_where_none_was_promised_is_written_all_the_same() -> None:
    assert signature_of(lambda: None).structured([User(name="ada")])[0]["name"] == "ada"


class Silent(BaseModel):
    n: float

    @pydantic.field_serializer("n")
    def failing(self, n: float) -> float:
        raise ValueError(f"not {n}")


@pytest.mark.parametrize(
    ("annotation", "value", "words"),
    [
        (User, 5, "it should be"),
        (list[User], [{"name": 5}], r"`\$\[0\]\.name`: it should be a valid string, got an integer \(5\)"),
        (User, object(), "got a value of type object"),
        (list[Annotated[float, Field()]], [float("nan")], "it has no JSON form: NaN"),
        (Silent, Silent(n=1), "it has no JSON form"),
    ],
)
def test_a_result_of_another_kind_is_unusable(annotation: Any, value: Any, words: str) -> None:
    with pytest.raises(UnusableResult, match=words):
        taking(annotation).structured(value)


# -- texts ------------------------------------------------------------------------------------------------


def test_prompts_take_models_as_json_and_what_pydantic_reads_from_text() -> None:
    def prompt(user: User, n: Annotated[int, Field(ge=1)]) -> str:
        raise NotImplementedError

    signature = prompt_arguments_of(prompt)
    made = signature.arguments({"user": '{"name": "ada", "age": "3"}', "n": "7"})
    assert made == {"user": User(name="ada", age=3), "n": 7}
    with pytest.raises(InvalidArguments, match=r"`\$\.user`: it should be .*; `\$\.n`: it should be greater"):
        signature.arguments({"user": "ada", "n": "0"})


def test_a_text_that_is_no_json_may_be_what_the_model_wants() -> None:
    def prompt(when: Annotated[datetime.date, Field()]) -> str:
        raise NotImplementedError

    assert prompt_arguments_of(prompt).arguments({"when": "2026-01-31"}) == {
        "when": datetime.date(2026, 1, 31)
    }


# -- imports ----------------------------------------------------------------------------------------------

PROGRAM = """
import json, sys
from mcp_actors.server.signatures import signature_of
def add(a: int, b: int = 1) -> int: return a + b
schema = signature_of(add).input_schema
print(json.dumps([name for name in ("pydantic", "annotated_types", "jsonschema_rs") if name in sys.modules]))
"""


def test_plain_functions_need_no_pydantic() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, check=True, timeout=60)
    assert json.loads(ran.stdout) == []
