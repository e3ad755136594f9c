"""Schemas as servers may send them: sensible, old, broken and hostile. Not a test."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import strategies as st

#: Words with the values that they should have, now and in earlier drafts, and some that they should not.
_PLAIN: Final = {
    "title": st.text(max_size=5),
    "description": st.text(max_size=5),
    "format": st.sampled_from(["uri", "date-time", "int32", "date", "float"]),
    "pattern": st.sampled_from(["^a", "(?=b)c", "x"]),
    "enum": st.lists(
        st.sampled_from(["", "a", "b", 1, 2.5, None, True, {"k": 1}]), max_size=4, unique_by=repr
    ),
    "const": st.sampled_from(["", "a", 0, None, False, [], {}]),
    "default": st.sampled_from([None, "a", 1]),
    "minimum": st.integers(-3, 3),
    "exclusiveMinimum": st.sampled_from([0, True, False, "1"]),
    "multipleOf": st.sampled_from([1, 0, -1]),
    "minLength": st.sampled_from([0, 1, -1, 1.5, True]),
    "maxItems": st.integers(0, 3),
    "uniqueItems": st.booleans(),
    "required": st.one_of(st.lists(st.sampled_from("abc"), max_size=3), st.booleans(), st.just({})),
    "nullable": st.booleans(),
    "$schema": st.just("http://json-schema.org/draft-07/schema#"),
    "$ref": st.sampled_from(
        ["#", "#/$defs/A", "#/definitions/B", "#/properties/a", "#x", "http://a.example/s", "#/0"]
    ),
    "type": st.one_of(
        st.sampled_from(
            ["string", "integer", "number", "boolean", "object", "array", "null", "FLOAT", "any"]
        ),
        st.lists(st.sampled_from(["string", "null", "object", "array", "int"]), max_size=3),
        st.none(),
    ),
    "x-vendor": st.integers(),
}
_KEYS: Final = st.sampled_from(["a", "b", "c", "", "filter[id]", "é", "9", "a-b", "a.b", "from", "z" * 70])


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, max_size=3)
    named = st.dictionaries(_KEYS, inner, max_size=3)
    deep: dict[str, st.SearchStrategy[Any]] = {
        **dict.fromkeys(("anyOf", "oneOf", "allOf", "prefixItems"), several),
        **dict.fromkeys(
            ("properties", "patternProperties", "$defs", "definitions"), st.one_of(named, several)
        ),
        **dict.fromkeys(("items", "additionalProperties", "contains"), st.one_of(inner, several)),
        **dict.fromkeys(("not", "if", "then"), inner),
    }
    return st.fixed_dictionaries({}, optional={**_PLAIN, **deep})


#: Anything that may stand where a schema belongs.
schemas: Final = st.recursive(
    st.one_of(st.fixed_dictionaries({}, optional=_PLAIN), st.booleans(), st.none(), st.just("object")),
    _nested,
    max_leaves=12,
)
#: What a server may send as `inputSchema`: at least an object.
input_schemas: Final = schemas.filter(lambda schema: isinstance(schema, dict))
names: Final = st.text(st.sampled_from("ab_-./ é9"), max_size=6) | st.sampled_from(
    ["x" * 64, "x" * 65, "x" * 200]
)
