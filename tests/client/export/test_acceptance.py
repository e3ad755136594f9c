"""Whatever a server says, every export is one that its API accepts."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import jsonschema_rs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_actors.client.export import names_for, restored, to_anthropic, to_gemini, to_openai
from mcp_actors.client.export.schema import MAX_DEPTH, MAX_PLACES, object_schema
from tests.client.export.apis import (
    accepted_by_anthropic,
    accepted_by_gemini,
    accepted_by_openai,
    accepted_by_responses,
    nodes,
    tool,
)
from tests.client.export.wild import input_schemas, names

patiently = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@patiently
@given(input_schemas)
def test_every_api_accepts_whatever_a_server_describes(schema: dict[str, Any]) -> None:
    before = deepcopy(schema)
    described = tool(schema)
    assert accepted_by_openai(to_openai(described)[0])
    assert accepted_by_responses(to_openai(described, strict=True, api="responses")[0])
    assert accepted_by_anthropic(to_anthropic(described)[0])
    assert accepted_by_gemini(to_gemini(described)[0])
    assert schema == before


@given(st.lists(names, max_size=6))
def test_exported_names_are_legal_and_different_and_lead_back(several: list[str]) -> None:
    tools = [tool(name=name) for name in several]
    exported = [definition["name"] for definition in to_anthropic(tools)]
    assert [definition["name"] for definition in to_gemini(tools)] == exported
    assert [definition["function"]["name"] for definition in to_openai(tools)] == exported
    assert len(set(exported)) == len(several)
    assert [names_for(tools)[name] for name in exported] == several
    assert all(accepted_by_gemini(declaration) for declaration in to_gemini(tools))


@given(st.lists(names, max_size=6, unique=True), st.randoms())
def test_an_exported_name_does_not_depend_on_the_order_of_the_tools(several: list[str], random: Any) -> None:
    shuffled = random.sample(several, len(several))
    assert names_for([tool(name=name) for name in several]) == names_for(
        [tool(name=name) for name in shuffled]
    )


scalars = st.sampled_from(
    [
        ({"type": "string"}, "x"),
        ({"type": "integer", "minimum": 0}, 3),
        ({"type": ["string", "null"]}, None),
        ({"enum": ["a", "b"]}, "b"),
        ({"const": 7}, 7),
        ({"anyOf": [{"type": "boolean"}, {"type": "number"}]}, 1.5),
        ({"type": "array", "items": {"type": "string"}}, ["x", "y"]),
    ]
)


def objects(members: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Object schemas, each with a value that fits: the required members, and some of the others."""

    def build(drawn: dict[str, tuple[Any, bool, bool]]) -> tuple[Any, Any]:
        schema = {
            "type": "object",
            "properties": {key: member[0] for key, (member, _, _) in drawn.items()},
            "required": [key for key, (_, required, _) in drawn.items() if required],
            "additionalProperties": False,
        }
        value = {key: member[1] for key, (member, required, given) in drawn.items() if required or given}
        return schema, value

    each = st.tuples(members, st.booleans(), st.booleans())
    return st.dictionaries(st.sampled_from(["a", "b c", "d.e", "from"]), each, max_size=4).map(build)


pairs = objects(st.recursive(scalars, objects, max_leaves=6))


def as_strict(schema: dict[str, Any], value: Any) -> Any:
    """What a model says in the strict mode: null for everything that is left out."""
    if not isinstance(value, dict):
        return value
    members = schema["properties"].items()
    return {key: as_strict(member, value[key]) if key in value else None for key, member in members}


@patiently
@given(pairs)
def test_what_a_model_answers_strictly_becomes_what_the_server_wants(pair: tuple[Any, Any]) -> None:
    schema, value = pair
    (definition,) = to_openai(tool(schema), strict=True)
    said = as_strict(schema, value)
    assert definition["function"]["strict"] is True
    assert jsonschema_rs.is_valid(definition["function"]["parameters"], said)
    back = restored(schema, said)
    assert jsonschema_rs.is_valid(schema, back)
    # Where the server itself takes null, null and nothing are the same to a model.
    assert without_nulls(back) == without_nulls(value)


def without_nulls(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: without_nulls(item) for key, item in value.items() if item is not None}


@patiently
@given(pairs)
def test_arguments_that_fit_the_servers_schema_fit_the_exported_one(pair: tuple[Any, Any]) -> None:
    schema, value = pair
    exported = to_anthropic(tool(schema))[0]["input_schema"]
    renamed = dict(zip(schema["properties"], exported["properties"], strict=True))
    said = {renamed[key]: item for key, item in value.items()}
    assert jsonschema_rs.is_valid(exported, said)
    assert restored(schema, said) == value


def test_a_schema_that_multiplies_at_every_level_does_not_explode() -> None:
    levels = 60
    definitions: dict[str, Any] = {
        f"L{level}": {
            "type": "object",
            "properties": {key: {"$ref": f"#/$defs/L{level + 1}"} for key in "abcd"},
        }
        for level in range(levels)
    }
    schema = {"$ref": "#/$defs/L0", "$defs": definitions}
    made = object_schema(schema)
    assert sum(1 for _ in nodes(made)) <= MAX_PLACES
    assert accepted_by_gemini(to_gemini(tool(schema))[0])


def test_a_long_list_that_is_referred_to_often_does_not_explode() -> None:
    schema = {
        "properties": {f"p{number}": {"$ref": "#/$defs/Long"} for number in range(1_000)},
        "$defs": {"Long": {"enum": [f"value {number}" for number in range(20_000)]}},
    }
    values = sum(len(node.get("enum", ())) for node in nodes(object_schema(schema)))
    assert values <= MAX_PLACES * 200


def test_a_schema_that_is_nested_too_deep_is_cut() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(3 * MAX_DEPTH):
        schema = {"type": "object", "properties": {"deeper": schema}}
    assert accepted_by_openai(to_openai(tool(schema))[0])
    assert sum(1 for _ in nodes(object_schema(schema))) == MAX_DEPTH + 2
