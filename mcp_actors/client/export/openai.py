"""Tools for OpenAI's chat completions and responses."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, Literal

from mcp_actors.client.export.combining import accepts_null, declared
from mcp_actors.client.export.described import Described, description_of, with_names
from mcp_actors.client.export.schema import object_schema
from mcp_actors.client.export.vocabulary import types_of, values_of
from mcp_actors.protocol.codec import JsonObject

#: Bounds of strict schemas.
MAX_PROPERTIES: Final = 5_000
MAX_LEVELS: Final = 10
MAX_ENUM_VALUES: Final = 1_000

_FORMATS: Final = frozenset(
    ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")
)
_KEPT: Final = (
    "title",
    "description",
    "type",
    "enum",
    "const",
    "multipleOf",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minItems",
    "maxItems",
)
# Groups that look around or refer back: the grammar that guides the model cannot express them.
_LOOKS_AROUND: Final = re.compile(r"\(\?|\\[1-9]")


def to_openai(
    tools: Iterable[Described] | Described,
    *,
    strict: bool = False,
    api: Literal["chat", "responses"] = "chat",
) -> list[JsonObject]:
    """The tools as OpenAI takes them: ``tools=to_openai(client.list_tools())``.

    Each definition says whether it is strict, because the responses API takes silence for yes. With
    ``strict=True`` an optional argument becomes one that may be null, and a tool whose arguments cannot be
    described strictly (an object of any content, for example) stays as it is.
    """
    if api not in ("chat", "responses"):
        raise ValueError(f"api must be 'chat' or 'responses', not {api!r}")
    functions = [_function(name, tool, strict) for name, tool in with_names(tools)]
    if api == "responses":
        return [{"type": "function", **function} for function in functions]
    return [{"type": "function", "function": function} for function in functions]


def _function(name: str, tool: Described, strict: bool) -> JsonObject:
    parameters = object_schema(tool.input_schema)
    stricter = strict_schema(parameters) if strict else None
    return {
        "name": name,
        **description_of(tool),
        "parameters": parameters if stricter is None else stricter,
        "strict": stricter is not None,
    }


def strict_schema(schema: JsonObject) -> JsonObject | None:
    """The schema of an object, as the strict mode wants it; None if it cannot be said that way."""
    try:
        return _Tightening().arguments(schema)
    except _Loose:
        return None


class _Loose(Exception):
    """A schema that the strict mode has no words for."""


class _Tightening:
    """One walk through a cleaned schema, counting what the API counts."""

    def __init__(self) -> None:
        self._properties = 0
        self._values = 0

    def arguments(self, schema: JsonObject) -> JsonObject:
        """The root: an object without properties means no arguments."""
        return self._object(schema, 1)

    def _node(self, schema: JsonObject, level: int) -> JsonObject:
        kind = schema.get("type")
        choices = schema.get("anyOf") or schema.get("oneOf")
        if choices:
            return self._choice(schema, choices, level)
        if isinstance(kind, list) and ("object" in kind or "array" in kind):
            return {"anyOf": [self._node(schema | {"type": one}, level) for one in kind]}
        if kind == "object":
            if not schema.get("properties") and schema.get("additionalProperties") is not False:
                raise _Loose
            return self._object(schema, level + 1)
        if kind == "array":
            if "items" not in schema or "prefixItems" in schema:
                raise _Loose
            return self._plain(schema) | {"items": self._node(schema["items"], level)}
        return self._scalar(schema)

    def _object(self, schema: JsonObject, level: int) -> JsonObject:
        properties = declared(schema)
        self._properties += len(properties)
        open_ended = schema.get("additionalProperties", False) is not False or "patternProperties" in schema
        if open_ended or level > MAX_LEVELS or self._properties > MAX_PROPERTIES:
            raise _Loose
        required = schema.get("required", ())
        tight = {name: self._node(member, level) for name, member in properties.items()}
        return self._plain(schema) | {
            "properties": {
                name: member if name in required else _nullable(member) for name, member in tight.items()
            },
            "required": list(tight),
            "additionalProperties": False,
        }

    def _choice(self, schema: JsonObject, choices: list[JsonObject], level: int) -> JsonObject:
        if "type" in schema or "properties" in schema:
            raise _Loose
        return self._plain(schema) | {"anyOf": [self._node(choice, level) for choice in choices]}

    def _scalar(self, schema: JsonObject) -> JsonObject:
        plain = self._plain(schema)
        kinds = types_of(schema)
        if not kinds or "object" in kinds or "array" in kinds:
            raise _Loose
        return plain | {"type": kinds[0] if len(kinds) == 1 else kinds}

    def _plain(self, schema: JsonObject) -> JsonObject:
        self._values += len(schema.get("enum", ()))
        if self._values > MAX_ENUM_VALUES:
            raise _Loose
        plain: JsonObject = {key: schema[key] for key in _KEPT if key in schema}
        if schema.get("format") in _FORMATS:
            plain["format"] = schema["format"]
        if "pattern" in schema and not _LOOKS_AROUND.search(schema["pattern"]):
            plain["pattern"] = schema["pattern"]
        return plain


def _nullable(schema: JsonObject) -> JsonObject:
    """The schema of an argument that may be left out, where nothing may be left out."""
    if accepts_null(schema):
        return schema
    if "anyOf" in schema:
        return schema | {"anyOf": [*schema["anyOf"], {"type": "null"}]}
    kinds = types_of(schema)
    if kinds[0] in ("object", "array"):
        return {"anyOf": [schema, {"type": "null"}]}
    open_ended = {key: value for key, value in schema.items() if key not in ("const", "enum")}
    values = values_of(schema)
    types = list(dict.fromkeys([*kinds, "null"]))
    return open_ended | {"type": types} | ({"enum": [*values, None]} if values else {})
