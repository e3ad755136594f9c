"""`x-mcp-header`: which arguments of a tool are repeated in `Mcp-Param-*` headers (MCP 2026-07-28)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, Self, TypeAlias

from msgspec import Struct

from mcp_actors.protocol.codec import Json, JsonObject
from mcp_actors.protocol.http.header_values import NoHeaderForm, encode
from mcp_actors.protocol.types.tools import Tool

ANNOTATION: Final = "x-mcp-header"
PREFIX: Final = "Mcp-Param-"

Path: TypeAlias = tuple[str, ...]

_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_TYPES: Final = frozenset({"string", "integer", "boolean"})
#: Keywords whose members bear names of the author's choice, each with a schema.
_NAMED_SCHEMAS: Final = frozenset(
    {"patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
)
#: Keywords that hold values; what looks like an annotation there is part of a value.
_VALUES: Final = frozenset({"default", "const", "enum", "examples", "example"})
_QUOTED: Final = 80


class InvalidAnnotation(ValueError):
    """A tool whose annotations break the rules must not be offered over HTTP. ``reason`` says which does."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Mirrored(Struct, frozen=True):
    """One argument that is repeated in a header."""

    path: Path
    header: str
    type: str

    def value(self, arguments: Json) -> str | None:
        """The header's value, None if there is nothing to repeat."""
        found = arguments
        for key in self.path:
            if not isinstance(found, dict):
                return None
            found = found.get(key)
        if isinstance(found, float) and self.type == "integer" and found.is_integer():
            # For a schema 42.0 is an integer, so that the server waits for its header.
            found = int(found)
        if not isinstance(found, str | int):
            return None
        try:
            return encode(found)
        except NoHeaderForm:
            return None


class ParamHeaders(Struct, frozen=True):
    """The headers that repeat arguments of one tool."""

    mirrored: tuple[Mirrored, ...] = ()

    @classmethod
    def of(cls, schema: Json) -> Self:
        """Read the annotations of an input schema.

        Raises:
            InvalidAnnotation: one of them breaks the rules.
        """
        found: dict[str, Mirrored] = {}
        for place in _places(schema):
            if ANNOTATION not in place.schema:
                continue
            mirrored = _mirrored(place)
            other = found.setdefault(mirrored.header.lower(), mirrored)
            if other is not mirrored:
                raise InvalidAnnotation(f"{_at(other.path)} and {_at(mirrored.path)} share one header")
        return cls(tuple(found.values()))

    def __bool__(self) -> bool:
        return bool(self.mirrored)

    def headers(self, arguments: Json) -> dict[str, str]:
        """The headers for a call: one for each annotated argument that is there and not null.

        A value of another type than the schema's is repeated as what it is. What has no header form (a list,
        a fraction, an integer beyond 2^53 - 1) gets none; the server is the one to refuse it.
        """
        values = ((one.header, one.value(arguments)) for one in self.mirrored)
        return {header: value for header, value in values if value is not None}


class Dropped(Struct, frozen=True):
    """A tool that must not be offered."""

    name: str
    reason: str


class Surfaced(Struct, frozen=True):
    """The tools of a listing that may be offered over HTTP, and those that may not.

    ``headers`` holds what is to be repeated, by tool; tools without annotations are not in it.
    """

    kept: list[Tool]
    dropped: list[Dropped]
    headers: dict[str, ParamHeaders]


def surfaced(tools: Iterable[Tool]) -> Surfaced:
    """Sort out the tools whose annotations break the rules; one bad tool takes no other with it."""
    result = Surfaced([], [], {})
    for tool in tools:
        try:
            headers = ParamHeaders.of(tool.input_schema)
        except InvalidAnnotation as invalid:
            result.dropped.append(Dropped(tool.name, invalid.reason))
            continue
        result.kept.append(tool)
        if headers:
            result.headers[tool.name] = headers
    return result


class _Place(Struct, frozen=True):
    """A schema inside the input schema. ``path`` is None where not only ``properties`` lead."""

    schema: JsonObject
    path: Path | None


def _places(schema: Json) -> Iterator[_Place]:
    """The input schema and all schemas in it. Not recursive: a server decides how deep they nest."""
    waiting: list[tuple[Json, Path | None]] = [(schema, ())]
    while waiting:
        value, path = waiting.pop()
        if isinstance(value, list):
            waiting.extend((item, None) for item in reversed(value))
        elif isinstance(value, dict):
            yield _Place(value, path)
            waiting.extend(reversed(list(_below(value, path))))


def _below(schema: JsonObject, path: Path | None) -> Iterator[tuple[Json, Path | None]]:
    for keyword, value in schema.items():
        if keyword == "properties" and isinstance(value, dict):
            yield from ((item, None if path is None else (*path, key)) for key, item in value.items())
        elif keyword in _NAMED_SCHEMAS and isinstance(value, dict):
            yield from ((item, None) for item in value.values())
        elif keyword not in _VALUES and keyword != ANNOTATION:
            yield value, None


def _mirrored(place: _Place) -> Mirrored:
    name, type_ = place.schema[ANNOTATION], place.schema.get("type")
    if not place.path:
        raise InvalidAnnotation(f"the annotation {_quoted(name)} is not at a property, or not within reach")
    where = _at(place.path)
    if not isinstance(name, str) or not _TOKEN.fullmatch(name):
        raise InvalidAnnotation(f"{where} is annotated with {_quoted(name)}, which is no header's name")
    if not isinstance(type_, str) or type_ not in _TYPES:
        raise InvalidAnnotation(f"{where} is annotated, but of type {_quoted(type_)}")
    return Mirrored(place.path, PREFIX + name, type_)


def _at(path: Path) -> str:
    return f"argument {_quoted('.'.join(path))}"


def _quoted(value: Json) -> str:
    """What a server wrote, for an error's message: escaped, and not longer than a reader takes."""
    if not isinstance(value, str):
        return f"a {type(value).__name__}" if value is not None else "null"
    return ascii(value) if len(value) <= _QUOTED else ascii(value[:_QUOTED]) + "…"
