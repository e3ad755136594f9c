"""Forms: the flat schema of what a user is asked, from a Python type."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from mcp_actors.protocol import codec
from mcp_actors.protocol.codec import Json, JsonObject
from mcp_actors.schemas import Schemas, UnusableSchema

_SCHEMAS: Final = Schemas()
_PRIMITIVE: Final = frozenset({"string", "integer", "number", "boolean"})


def form_of(form: type | JsonObject) -> JsonObject:
    """The schema of a form. A JSON Schema is passed on as it is.

    Raises:
        TypeError: the type has no flat fields of primitive types, which is all that a form can hold; or the
            JSON Schema is no JSON.
        UnusableSchema: no content could be checked against it.
    """
    if isinstance(form, dict):
        codec.encode(form)
        _SCHEMAS.prepare(form)
        return form
    try:
        (schema,), definitions = msgspec.json.schema_components((form,), ref_template="{name}")
    except TypeError as error:
        raise TypeError(f"{_name(form)} cannot be a form: {error}") from None
    whole = _resolved(schema, definitions)
    if whole.get("type") != "object":
        raise TypeError(f"{_name(form)} cannot be a form: it has no named fields")
    fields = {name: _field(form, name, one, definitions) for name, one in whole.get("properties", {}).items()}
    return {"type": "object", "properties": fields, "required": list(whole.get("required", ()))}


def filled_in(form: type | JsonObject, content: Json) -> Any:
    """The content of a form as a value of its type, or as it is.

    Raises:
        DecodeFailed: it does not fit.
    """
    if not isinstance(form, dict):
        return codec.convert(content, form)
    try:
        fault = _SCHEMAS.check(form, content)
    except UnusableSchema as error:
        # The schema alone would do; with this content it would take too long.
        raise codec.DecodeFailed(str(error)) from None
    if fault is not None:
        raise codec.DecodeFailed(fault)
    return content


def _field(form: type, name: str, schema: JsonObject, definitions: dict[str, Any]) -> JsonObject:
    field = _resolved(schema, definitions)
    choices = [one for one in field.get("anyOf", ()) if one.get("type") != "null"]
    if len(choices) == 1:
        # An optional field is one that may be left empty.
        field = {**_resolved(choices[0], definitions), **{key: field[key] for key in field if key != "anyOf"}}
    if field.get("default", "") is None:
        del field["default"]
    # MCP, client/elicitation: what a user can choose from are texts.
    if all(isinstance(choice, str) for choice in field.get("enum", (0,))):
        field.setdefault("type", "string")
    if field.get("type") not in _PRIMITIVE and not _is_choice(field):
        raise TypeError(f"{_name(form)} cannot be a form: {name} is no text, number, boolean or choice")
    return field


def _is_choice(field: JsonObject) -> bool:
    return field.get("type") == "array" and "enum" in field.get("items", {})


def _resolved(schema: JsonObject, definitions: dict[str, Any]) -> JsonObject:
    while "$ref" in schema:
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**definitions[schema["$ref"]], **rest}
    if "items" in schema:
        schema = {**schema, "items": _resolved(schema["items"], definitions)}
    return dict(schema)


def _name(form: object) -> str:
    return getattr(form, "__name__", repr(form))
