"""JSON Schema checks: verdicts, bounds, and that nothing is ever fetched."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.schemas import checking as module
from mcp_actors.schemas.checking import Schemas, UnusableSchema

PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "ages": {"type": "array", "items": {"type": "integer"}}},
    "required": ["name"],
}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@pytest.fixture
def schemas() -> Schemas:
    return Schemas()


def test_a_value_that_fits_has_no_fault(schemas: Schemas) -> None:
    assert schemas.check(PERSON, {"name": "Ann", "ages": [1, 2]}) is None


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ({"name": 5}, '/name: 5 is not of type "string"'),
        ({"name": "A", "ages": [1, "x"]}, '/ages/1: "x" is not of type "integer"'),
        ({}, 'the value: "name" is a required property'),
        ([], 'the value: [] is not of type "object"'),
    ],
)
def test_a_fault_is_one_sentence_with_place_and_rule(schemas: Schemas, value: Any, sentence: str) -> None:
    assert schemas.check(PERSON, value) == sentence


def test_a_long_value_is_shortened_and_made_safe_for_a_terminal(schemas: Schemas) -> None:
    said = schemas.check({"type": "integer"}, "\x1b[2J" + "x" * 10_000)
    assert said is not None
    assert len(said) < 200
    assert "\x1b" not in said


def test_the_fault_itself_does_not_hold_the_value(schemas: Schemas) -> None:
    fault = schemas.fault({"properties": {"a": {"maxLength": 2}}}, {"a": "hunter2"})
    assert fault is not None
    assert (fault.path, fault.keyword, fault.place) == (("a",), "maxLength", "/a")
    assert "hunter2" not in fault.complaint


def test_what_no_schema_allows_is_said_so(schemas: Schemas) -> None:
    said = schemas.check({"properties": {"a": False}}, {"a": 1})
    assert said == "/a: nothing is allowed here"


@pytest.mark.parametrize(
    ("schema", "value", "fits"),
    [
        ({"type": "integer"}, 5.0, True),
        ({"type": "integer"}, 5.5, False),
        ({"type": "integer"}, 10**40, True),
        ({"type": "integer"}, True, False),
        ({"type": "number"}, 3, True),
        ({"const": 5}, 5.0, True),
        ({"enum": [1]}, True, False),
        ({"maximum": 10**30}, 10**31, False),
        ({"multipleOf": 0.1}, 0.3, True),
        ({"type": "string", "maxLength": 1}, "😀", True),
        ({"prefixItems": [{"type": "string"}]}, [1], False),
        ({"$defs": {"x": {"type": "string"}}, "$ref": "#/$defs/x"}, 1, False),
        ({"$defs": {"x": {"$anchor": "here", "type": "string"}}, "$ref": "#here"}, 1, False),
        ({"items": {"$ref": "#/prefixItems/0"}, "prefixItems": [{"type": "string"}]}, ["a", 1], False),
        ({"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": False}}, {"a": 1}, False),
        ({"$defs": {"a/b~": {"type": "string"}}, "$ref": "#/$defs/a~1b~0"}, 1, False),
        ({"$ref": "#/$defs/a%20b", "$defs": {"a b": {"type": "string"}}}, 1, False),
        ({"$ref": "#/$defs/x/y", "$defs": {"x": {"$id": "x", "y": {"type": "string"}}}}, 1, False),
        ({"unevaluatedProperties": False, "properties": {"a": {}}}, {"b": 1}, False),
    ],
)
def test_numbers_and_newer_keywords_mean_what_the_standard_says(
    schemas: Schemas, schema: dict[str, Any], value: Any, fits: bool
) -> None:
    assert (schemas.check(schema, value) is None) == fits


def test_text_that_is_not_unicode_is_a_fault(schemas: Schemas) -> None:
    assert schemas.check({"type": "string"}, "\ud800") == "the value: it holds text that is not Unicode"


@pytest.mark.parametrize("version", ["2020-12", "2019-09"])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_newer_dialects_are_known(schemas: Schemas, scheme: str, version: str) -> None:
    schema = {
        "$schema": f"{scheme}://json-schema.org/draft/{version}/schema",
        "dependentRequired": {"a": ["b"]},
    }
    assert schemas.check(schema, {"a": 1}) is not None


@pytest.mark.parametrize("number", ["04", "06", "07"])
@pytest.mark.parametrize("end", ["", "#"])
def test_older_dialects_are_judged_by_their_own_rules(schemas: Schemas, number: str, end: str) -> None:
    # Before 2020-12 an array of items means: one schema per place.
    schema = {"$schema": f"http://json-schema.org/draft-{number}/schema{end}", "items": [{"type": "string"}]}
    assert schemas.check(schema, ["a", 5]) is None
    assert schemas.check(schema, [5]) is not None
    with pytest.raises(UnusableSchema, match="not valid"):
        schemas.check({"items": [{"type": "string"}]}, [])


def test_the_names_of_draft_07_are_followed(schemas: Schemas) -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": {"a": {"$id": "#here", "type": "string"}},
        "items": {"$ref": "#here"},
    }
    assert schemas.check(schema, [1]) == '/0: 1 is not of type "string"'
    schema["definitions"]["a"] = {"$id": "#here", "not": {"$ref": "#here"}}  # type: ignore[index]  # a dict
    with pytest.raises(UnusableSchema, match="without end"):
        schemas.prepare(schema)


@pytest.mark.parametrize(
    "dialect", ["http://json-schema.org/draft-03/schema#", "https://example.com/mine", "", 5]
)
def test_an_unknown_dialect_is_refused(schemas: Schemas, dialect: Any) -> None:
    with pytest.raises(UnusableSchema, match="dialect"):
        schemas.check({"$schema": dialect}, 1)


FORMATS = [
    ("email", "ann@example.com", "ann"),
    ("uri", "https://example.com/a", "no uri"),
    ("date", "2024-02-29", "2023-02-29"),
    ("date-time", "2024-01-01T00:00:00Z", "yesterday"),
]


@pytest.mark.parametrize(("name", "good", "bad"), FORMATS)
@pytest.mark.parametrize(
    "dialect", ["https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"]
)
def test_formats_are_remarks_unless_asked_for(
    schemas: Schemas, name: str, good: str, bad: str, dialect: str
) -> None:
    schema = {"$schema": dialect, "type": "string", "format": name}
    assert schemas.check(schema, bad) is None
    assert schemas.check(schema, good, formats=True) is None
    assert schemas.check(schema, bad, formats=True) is not None


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "sting"},
        {"properties": []},
        {"minimum": "1"},
        {"multipleOf": 0},
        {"pattern": "["},
        {"$ref": "#/nowhere"},
        {"$ref": "#nobody"},
        {"items": {"$ref": "#/$defs/0/x"}, "$defs": {"x": {}}},
        {"title": "\ud800"},
        {"pattern": "(\\p{L}{100}){100}"},
    ],
)
def test_what_is_no_schema_is_refused(schemas: Schemas, schema: dict[str, Any]) -> None:
    with pytest.raises(UnusableSchema, match="not valid"):
        schemas.prepare(schema)


@pytest.mark.parametrize(
    "schema", [True, [], "x", None, {1: 2}, {"const": object()}, {"const": float("nan")}]
)
def test_what_is_not_even_json_is_refused(schemas: Schemas, schema: Any) -> None:
    with pytest.raises(UnusableSchema):
        schemas.prepare(schema)


@pytest.mark.requirement("security:limits")
@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"description": "x" * 256 * 1024}, "bytes"),
        ({"allOf": [{"pattern": f"a{n}"} for n in range(101)]}, "patterns"),
        ({"patternProperties": {f"a{n}": {} for n in range(101)}}, "patterns"),
        ({"$ref": "#"}, "without end"),
        ({"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}}}, "without end"),
        ({"$defs": {"a": {"$dynamicAnchor": "n", "not": {"$dynamicRef": "#n"}}}}, "without end"),
        ({"dependentSchemas": {"default": {"$ref": "#"}}}, "without end"),
        ({"$id": "https://x/a", "$defs": {"b": {"$id": "b", "if": {"$ref": "#"}}}}, "without end"),
    ],
)
def test_a_schema_out_of_bounds_is_refused(schemas: Schemas, schema: dict[str, Any], why: str) -> None:
    with pytest.raises(UnusableSchema, match=why):
        schemas.prepare(schema)


def nested(levels: int, inner: Any, wrap: Any = lambda held: {"items": held}) -> Any:
    for _ in range(levels):
        inner = wrap(inner)
    return inner


@pytest.mark.requirement("security:limits")
def test_a_schema_may_be_nested_64_levels_deep_and_no_deeper(schemas: Schemas) -> None:
    schemas.prepare(nested(63, {}))
    with pytest.raises(UnusableSchema, match="nested"):
        schemas.prepare(nested(64, {}))
    with pytest.raises(UnusableSchema):
        schemas.prepare(nested(100_000, {}))


def unfolding(levels: int, keyword: str) -> dict[str, Any]:
    """A small schema that doubles with every level."""
    defs: dict[str, Any] = {
        f"d{level}": {keyword: [{"$ref": f"#/$defs/d{level + 1}"}] * 2} for level in range(levels)
    }
    return {"$defs": defs | {f"d{levels}": {"type": "integer"}}, "$ref": "#/$defs/d0"}


@pytest.mark.requirement("security:limits")
@pytest.mark.parametrize("keyword", ["allOf", "prefixItems"])
def test_a_schema_that_unfolds_without_measure_is_refused(schemas: Schemas, keyword: str) -> None:
    schemas.prepare(unfolding(10, keyword))
    with pytest.raises(UnusableSchema, match="unfolds"):
        schemas.prepare(unfolding(40, keyword))


@pytest.mark.requirement("security:limits")
def test_a_long_chain_of_references_is_refused(schemas: Schemas) -> None:
    chain = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(2000)} | {"d2000": {}}
    with pytest.raises(UnusableSchema, match="in a row"):
        schemas.prepare({"$defs": chain, "$ref": "#/$defs/d0"})


TREE = {"type": "object", "properties": {"next": {"$ref": "#"}, "value": {"type": "integer"}}}
#: Two ways to go on at every level, so that a description by trial doubles with each.
AMBIGUOUS = {
    "anyOf": [
        {"properties": {"next": {"$ref": "#"}}, "required": ["a"]},
        {"properties": {"next": {"$ref": "#"}}, "required": ["b"]},
    ]
}


def linked(levels: int, inner: Any) -> Any:
    return nested(levels, inner, lambda held: {"next": held})


def test_recursion_that_goes_down_into_the_value_is_fine(schemas: Schemas) -> None:
    assert schemas.check(TREE, linked(100, {"value": 1})) is None
    assert schemas.check(TREE, linked(2, {"value": "x"})) == '/next/next/value: "x" is not of type "integer"'


def test_a_misfit_in_an_ambiguous_recursion_is_found_without_a_search_for_words(schemas: Schemas) -> None:
    assert schemas.check(AMBIGUOUS, linked(2, {})) is not None
    assert schemas.check(AMBIGUOUS, linked(150, {})) == "the value: it does not fit its schema"


@pytest.mark.requirement("security:limits")
def test_a_value_nested_without_measure_does_not_exhaust_the_stack(schemas: Schemas) -> None:
    said = schemas.check({"items": {"$ref": "#"}}, nested(100_000, [], lambda held: [held]))
    assert said == "the value: it is nested more than 200 levels deep"
    assert schemas.check({"items": {"$ref": "#"}}, nested(199, [], lambda held: [held])) is None


@pytest.mark.requirement("security:limits")
def test_too_much_work_is_refused(schemas: Schemas) -> None:
    heavy = {"items": unfolding(12, "allOf")} | {"$defs": unfolding(12, "allOf")["$defs"]}
    assert schemas.check(heavy, [1, 2, 3]) is None
    with pytest.raises(UnusableSchema, match="too long"):
        schemas.check(heavy, [1] * 200_000)


@pytest.mark.requirement("security:limits")
@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|a)*$", r"^(a*)*\1b$", "^(?!x)(a|aa)+(?=y)$"])
def test_a_catastrophic_pattern_ends(schemas: Schemas, pattern: str) -> None:
    assert schemas.check({"pattern": pattern}, "a" * 50_000 + "!") is not None


def test_patterns_may_look_around(schemas: Schemas) -> None:
    assert schemas.check({"pattern": r"^(?=.*\d)(?!admin)\w+$"}, "ann1") is None
    assert schemas.check({"pattern": r"^(?=.*\d)(?!admin)\w+$"}, "admin1") is not None


@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef", "$recursiveRef"])
@pytest.mark.parametrize("scheme", ["http", "https", "file", "urn"])
def test_a_reference_to_another_document_is_refused(schemas: Schemas, scheme: str, keyword: str) -> None:
    for schema in ({keyword: f"{scheme}://x/y"}, {"properties": {"default": {keyword: f"{scheme}://x/y"}}}):
        with pytest.raises(UnusableSchema, match="another document"):
            schemas.check(schema, {})


def test_a_relative_reference_is_refused_whatever_the_id(schemas: Schemas) -> None:
    with pytest.raises(UnusableSchema, match="another document"):
        schemas.check({"$id": "https://example.com/a", "$ref": "b.json"}, 1)


def test_what_only_looks_like_a_reference_is_data(schemas: Schemas) -> None:
    lookalike = {"$ref": "http://127.0.0.1/x"}
    assert (
        schemas.check({"enum": [lookalike], "default": lookalike, "examples": [lookalike]}, lookalike) is None
    )
    assert schemas.check({"properties": {"$ref": {"type": "string"}}}, {"$ref": "x"}) is None


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_nothing_connects_even_if_a_reference_slips_through(scheme: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        url = f"{scheme}://127.0.0.1:{listener.getsockname()[1]}/schema.json"
        for schema in ({"$ref": url}, {"$id": url, "$ref": "other"}, {"$dynamicRef": url}):
            with pytest.raises(UnusableSchema):
                module._validator(schema, formats=False)
        module._validator({"$id": url, "properties": {"a": {"$id": "b"}}}, formats=False)
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_no_file_is_opened_even_if_a_reference_slips_through(tmp_path: Path) -> None:
    # Whoever opens a FIFO for reading waits for a writer; there is none.
    pipe = tmp_path / "schema.json"
    os.mkfifo(pipe)
    with pytest.raises(UnusableSchema):
        module._validator({"$ref": pipe.as_uri()}, formats=False)


def test_the_cache_is_bounded_and_forgets_the_oldest(
    schemas: Schemas, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MAX_KEPT", 3)
    for limit in range(5):
        schemas.prepare({"maximum": limit})
    assert len(schemas._kept) == 3
    schemas.prepare({"maximum": 4})
    assert len(schemas._kept) == 3


def test_the_cache_is_bounded_in_bytes(schemas: Schemas, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_KEPT_BYTES", 1000)
    for letter in "abc":
        schemas.prepare({"description": letter * 400})
    assert len(schemas._kept) == 2
    schemas.prepare({"description": "d" * 2000})
    assert schemas._kept == {}


def test_a_schema_is_compiled_once_and_a_refusal_remembered(
    schemas: Schemas, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Any] = []
    compile_ = module._compile

    def counted(*args: Any) -> Any:
        calls.append(args)
        return compile_(*args)

    monkeypatch.setattr(module, "_compile", counted)
    for _ in range(3):
        schemas.check({"type": "string"}, "x")
        with pytest.raises(UnusableSchema):
            schemas.check({"type": "sting"}, "x")
    assert len(calls) == 2
    schemas.check({"type": "string"}, "x", formats=True)
    assert len(calls) == 3


def test_a_changed_schema_is_another_schema(schemas: Schemas) -> None:
    schema: dict[str, Any] = {"type": "string"}
    assert schemas.check(schema, "x") is None
    schema["type"] = "integer"
    assert schemas.check(schema, "x") is not None


def test_the_validator_is_imported_only_when_it_is_needed() -> None:
    program = (
        "import sys, mcp_actors.schemas.checking, mcp_actors.client.answering.desk as desk\n"
        "desk.Desk(elicitation_handler=print)\n"
        "assert 'jsonschema_rs' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


@given(VALUES)
def test_any_value_gets_a_verdict_and_fits_itself(value: Any) -> None:
    schemas = Schemas()
    assert schemas.check({}, value) is None
    assert schemas.check({"const": value}, value) is None
    assert schemas.check({"not": {}}, value) is not None
