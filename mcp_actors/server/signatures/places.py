"""Places inside a JSON value, and what a schema says of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from mcp_actors.protocol.codec import Json, JsonObject
from mcp_actors.schemas import Schemas, UnusableSchema
from mcp_actors.telemetry.redaction import looks_secret, printable

#: A name in an object, an index in an array, or None: some name, msgspec does not say which.
Step: TypeAlias = str | int | None
Path: TypeAlias = tuple[Step, ...]

MAX_PLACE: Final = 200
_STEP: Final = re.compile(r"\.([^.\[]+)|\[(\d+)\]|\[\.\.\.\]")
_MAX_OPTIONS: Final = 100

_schemas: Final = Schemas()


def path_of(text: str) -> Path:
    """The steps of ``$.users[0].name``, where ``[...]`` is any name."""
    return tuple(_step(found) for found in _STEP.finditer(text))


def _step(found: re.Match[str]) -> Step:
    if found[2] is not None:
        return int(found[2])
    return found[1]


def named(path: Path, start: str) -> str:
    """The place as text, for people."""
    return printable(start + "".join(map(_written, path)), MAX_PLACE)


def _written(step: Step) -> str:
    if step is None:
        return "[…]"
    return f"[{step}]" if isinstance(step, int) else f".{step}"


def found_at(value: Json, path: Path) -> Iterator[Json]:
    """What is there; nothing if the path does not lead anywhere, or not to one place only."""
    for step in path:
        holds = step in value if isinstance(value, dict) else _is_index(step, value)
        if not holds:
            return
        value = value[step]
    yield value


def _is_index(step: Step, value: Json) -> bool:
    return isinstance(step, int) and isinstance(value, list | tuple) and step < len(value)


def is_secret(place: str) -> bool:
    """Whether the place has a name under which secrets are kept, so that nobody repeats what is there."""
    return any(looks_secret(name) for name in re.findall(r"\w+", place))


def pinned(path: Path, schema: JsonObject, value: Json) -> Path:
    """The path with its unknown names filled in, if the schema complains of the same place."""
    if None not in path:
        return path
    try:
        fault = _schemas.fault(schema, value)
    except UnusableSchema:
        return path
    exact = fault.path if fault is not None else ()
    same = len(exact) == len(path) and all(
        mine is None or mine == theirs for mine, theirs in zip(path, exact, strict=True)
    )
    return exact if same else path


def schemas_at(schema: JsonObject, path: Path) -> list[JsonObject]:
    """All subschemas that may apply at a place; more than one where there are alternatives."""
    here = _alternatives(schema, schema)
    for step in path:
        below = [part for one in here for part in _below(one, step)]
        here = [option for part in below for option in _alternatives(part, schema)][:_MAX_OPTIONS]
    return here


def _alternatives(schema: JsonObject, root: JsonObject) -> list[JsonObject]:
    """The schema itself, or if it only points elsewhere, what it points to. References never form a ring."""
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return _alternatives(root["$defs"][reference.removeprefix("#/$defs/")], root)
    return [schema] + [one for part in schema.get("anyOf", ()) for one in _alternatives(part, root)]


def _below(schema: JsonObject, step: Step) -> Sequence[JsonObject]:
    if isinstance(step, int):
        first = schema.get("prefixItems", ())
        found = first[step] if step < len(first) else schema.get("items")
    else:
        found = schema.get("properties", {}).get(step, schema.get("additionalProperties"))
    return (found,) if isinstance(found, dict) else ()
