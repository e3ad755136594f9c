"""`x-mcp-header`: valid annotations repeat arguments, one invalid annotation costs its tool and no other."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_actors.protocol.http.header_values import MAX_INTEGER, decode
from mcp_actors.protocol.http.param_headers import (
    Dropped,
    InvalidAnnotation,
    Mirrored,
    ParamHeaders,
    surfaced,
)
from mcp_actors.protocol.types.tools import Tool

pytestmark = pytest.mark.requirement("transport:http")

REGION = {"type": "string", "x-mcp-header": "Region"}


def schema_of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def annotated(type_: Any = "string", name: Any = "Region") -> dict[str, Any]:
    return {"type": type_, "x-mcp-header": name}


def headers_of(schema: dict[str, Any], arguments: Any) -> dict[str, str]:
    return ParamHeaders.of(schema).headers(arguments)


# What is repeated.


@pytest.mark.parametrize(
    ("type_", "value", "header"),
    [
        ("string", "us west 1", "us west 1"),
        ("string", "", ""),
        ("string", " padded ", "=?base64?IHBhZGRlZCA=?="),
        ("integer", 42, "42"),
        ("integer", -MAX_INTEGER, "-9007199254740991"),
        ("integer", 42.0, "42"),
        ("boolean", True, "true"),
        ("boolean", False, "false"),
        ("integer", "42", "42"),
        ("string", 7, "7"),
        ("string", True, "true"),
    ],
)
def test_a_value_is_repeated_as_what_it_is(type_: str, value: Any, header: str) -> None:
    assert headers_of(schema_of(a=annotated(type_)), {"a": value}) == {"Mcp-Param-Region": header}


@pytest.mark.parametrize(
    "arguments",
    [
        None,
        [],
        {},
        {"a": None},
        {"a": []},
        {"a": {}},
        {"a": 1.5},
        {"a": MAX_INTEGER + 1},
        {"a": 1e300},
        {"a": "\ud800"},
        {"b": "x"},
    ],
)
def test_what_is_not_there_or_has_no_header_form_gets_no_header(arguments: Any) -> None:
    assert headers_of(schema_of(a=annotated("integer")), arguments) == {}


def test_a_fraction_without_a_fraction_is_an_integer_only_where_one_is_declared() -> None:
    assert headers_of(schema_of(a=annotated("string")), {"a": 42.0}) == {}


def test_nested_properties_are_found_at_their_exact_path() -> None:
    schema = schema_of(
        where=schema_of(region=REGION), flag=annotated("boolean", "Flag"), plain={"type": "string"}
    )
    found = ParamHeaders.of(schema)
    assert set(found.mirrored) == {
        Mirrored(("where", "region"), "Mcp-Param-Region", "string"),
        Mirrored(("flag",), "Mcp-Param-Flag", "boolean"),
    }
    assert found.headers({"where": {"region": "eu"}, "flag": True, "region": "us", "plain": "x"}) == {
        "Mcp-Param-Region": "eu",
        "Mcp-Param-Flag": "true",
    }
    assert found.headers({"where": "eu"}) == {}


def test_a_schema_without_annotations_repeats_nothing() -> None:
    assert not ParamHeaders.of(schema_of(a={"type": "string"}))
    assert ParamHeaders.of(schema_of(a=REGION))


def test_the_name_of_a_standard_header_is_as_good_as_any() -> None:
    assert headers_of(schema_of(a=annotated(name="Method")), {"a": "x"}) == {"Mcp-Param-Method": "x"}


# What is invalid.


@pytest.mark.parametrize(
    "name",
    [
        "",
        "My Region",
        "Region:",
        "Régión",
        "a\r\nb",
        "a\tb",
        "a\n",
        "a(b)",
        "a/b",
        "\x00",
        7,
        None,
        True,
        ["Region"],
        {},
    ],
)
def test_an_annotation_has_to_be_the_name_of_a_header(name: Any) -> None:
    with pytest.raises(InvalidAnnotation, match="no header's name"):
        ParamHeaders.of(schema_of(a=annotated(name=name)))


@pytest.mark.parametrize(
    "type_", ["number", "object", "array", "null", "text", None, ["string"], ["string", "null"], {}, 1]
)
def test_the_type_has_to_be_string_integer_or_boolean(type_: Any) -> None:
    with pytest.raises(InvalidAnnotation, match="of type"):
        ParamHeaders.of(schema_of(a=annotated(type_)))


def test_a_property_without_a_type_cannot_be_annotated() -> None:
    with pytest.raises(InvalidAnnotation, match="of type null"):
        ParamHeaders.of(schema_of(a={"x-mcp-header": "Region", "enum": ["a"]}))


@pytest.mark.parametrize("other", ["Region", "region", "REGION"])
def test_two_arguments_cannot_share_a_header(other: str) -> None:
    with pytest.raises(InvalidAnnotation, match=r"argument 'a' and argument 'b\.c' share one header"):
        ParamHeaders.of(schema_of(a=REGION, b=schema_of(c=annotated(name=other))))


@pytest.mark.parametrize(
    "keyword",
    [
        "items",
        "contains",
        "not",
        "if",
        "then",
        "else",
        "additionalProperties",
        "unevaluatedProperties",
        "additionalItems",
        "unevaluatedItems",
        "propertyNames",
        "contentSchema",
        "x-something",
    ],
)
def test_an_annotation_behind_a_keyword_other_than_properties_is_out_of_reach(keyword: str) -> None:
    for hidden in (REGION, schema_of(a=REGION), {"type": "array", "items": REGION}):
        for schema in ({keyword: hidden}, schema_of(b={keyword: hidden})):
            with pytest.raises(InvalidAnnotation, match="not within reach"):
                ParamHeaders.of(schema)


@pytest.mark.parametrize("keyword", ["oneOf", "anyOf", "allOf", "prefixItems", "items"])
def test_an_annotation_in_a_list_of_schemas_is_out_of_reach(keyword: str) -> None:
    with pytest.raises(InvalidAnnotation, match="not within reach"):
        ParamHeaders.of(schema_of(b={keyword: [{"type": "string"}, schema_of(a=REGION)]}))


@pytest.mark.parametrize(
    "keyword", ["patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"]
)
def test_an_annotation_in_a_named_schema_is_out_of_reach(keyword: str) -> None:
    with pytest.raises(InvalidAnnotation, match="not within reach"):
        ParamHeaders.of(
            {"type": "object", keyword: {"Place": REGION}, "properties": {"a": {"$ref": "#/$defs/Place"}}}
        )


def test_a_property_that_is_a_list_of_schemas_is_no_property() -> None:
    with pytest.raises(InvalidAnnotation, match="not within reach"):
        ParamHeaders.of(schema_of(a=[REGION]))


def test_the_whole_input_cannot_be_annotated() -> None:
    with pytest.raises(InvalidAnnotation, match="'Region' is not at a property"):
        ParamHeaders.of({"type": "string", "x-mcp-header": "Region"})


@pytest.mark.parametrize("keyword", ["default", "const", "enum", "examples", "example"])
def test_a_value_that_looks_like_an_annotation_is_none(keyword: str) -> None:
    value = [REGION] if keyword in ("enum", "examples") else REGION
    assert not ParamHeaders.of(schema_of(b={"type": "object", keyword: value}))


def test_a_property_may_be_named_like_a_keyword() -> None:
    names = {
        "x-mcp-header": {"type": "string"},
        "properties": annotated(name="A"),
        "items": annotated(name="B"),
    }
    assert headers_of(schema_of(**names), {"properties": "a", "items": "b"}) == {
        "Mcp-Param-A": "a",
        "Mcp-Param-B": "b",
    }
    assert not ParamHeaders.of({"$defs": {"x-mcp-header": {"type": "string"}}})


@pytest.mark.parametrize(
    "schema",
    [None, True, [], {"properties": []}, {"properties": None}, {"$defs": [1]}, {"properties": {"a": True}}],
)
def test_a_schema_of_an_odd_shape_has_no_annotations(schema: Any) -> None:
    assert not ParamHeaders.of(schema)


@pytest.mark.requirement("security:limits")
def test_no_depth_is_too_deep() -> None:
    schema: dict[str, Any] = {"type": "string", "x-mcp-header": "Region"}
    arguments: Any = "eu"
    for _ in range(5000):
        schema, arguments = {"properties": {"a": schema}}, {"a": arguments}
    assert headers_of(schema, arguments) == {"Mcp-Param-Region": "eu"}


def test_a_reason_escapes_and_shortens_what_the_server_wrote() -> None:
    with pytest.raises(InvalidAnnotation) as invalid:
        ParamHeaders.of(schema_of(a=annotated(name="\x1b" + "x" * 1000)))
    assert "\x1b" not in invalid.value.reason
    assert len(invalid.value.reason) < 200


def tool(name: str, **properties: Any) -> Tool:
    return Tool(name=name, input_schema=schema_of(**properties))


def test_one_bad_tool_takes_no_other_with_it() -> None:
    good, plain, bad = tool("good", a=REGION), tool("plain"), tool("bad", a=annotated("number"))
    result = surfaced([good, bad, plain])
    assert result.kept == [good, plain]
    assert result.dropped == [Dropped("bad", "argument 'a' is annotated, but of type 'number'")]
    assert result.headers == {"good": ParamHeaders.of(good.input_schema)}


# Against a naive reading of the rules, on schemas made of a few keywords.

values = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=2)
leaves = st.builds(
    annotated,
    st.sampled_from(["string", "string", "integer", "integer", "boolean", "number"]),
    st.sampled_from(["A", "B", "C", "D", "a", ""]),
) | st.just({"type": "string"})


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    properties = st.dictionaries(st.sampled_from("xy"), inner).map(lambda found: {"properties": found})
    alternatives = st.lists(inner, max_size=2).map(lambda found: {"anyOf": found})
    return properties | properties | properties | alternatives | inner.map(lambda found: {"items": found})


schemas = nested(st.recursive(leaves, nested, max_leaves=4))
inputs = st.dictionaries(
    st.sampled_from("xy"),
    values | st.lists(values, max_size=1) | st.dictionaries(st.sampled_from("xy"), values),
)


def naive(
    schema: Any, value: Any, *, reachable: bool = True, root: bool = True
) -> list[tuple[str, Any]] | None:
    """Header names with the values at their places; None if an annotation is invalid. Duplicates stay."""
    found: list[tuple[str, Any]] = []
    if "x-mcp-header" in schema:
        name = schema["x-mcp-header"]
        if root or not reachable or not name or schema["type"] == "number":
            return None
        found.append((name, value))
    below = [
        naive(part, value.get(key) if isinstance(value, dict) else None, reachable=reachable, root=False)
        for key, part in schema.get("properties", {}).items()
    ]
    hidden = schema.get("anyOf", []) + [schema[key] for key in ("items",) if key in schema]
    below += [naive(part, None, reachable=False, root=False) for part in hidden]
    for part in below:
        if part is None:
            return None
        found += part
    names = [name.lower() for name, _ in found]
    return found if len(set(names)) == len(names) else None


@settings(max_examples=300)
@given(schemas, inputs | values)
def test_any_schema_is_read_as_the_rules_say(schema: Any, arguments: Any) -> None:
    expected = naive(schema, arguments)
    if expected is None:
        with pytest.raises(InvalidAnnotation):
            ParamHeaders.of(schema)
        return
    headers = ParamHeaders.of(schema).headers(arguments)
    strings = {f"Mcp-Param-{name}": value for name, value in expected if isinstance(value, str)}
    assert {name: decode(headers[name]) for name in strings} == strings
    absent = {
        f"Mcp-Param-{name}" for name, value in expected if value is None or isinstance(value, list | dict)
    }
    assert absent & headers.keys() == set()
    assert headers.keys() <= {f"Mcp-Param-{name}" for name, _ in expected}
