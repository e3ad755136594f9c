"""Text to JSON, as the input schema of a tool wants it. Pure.

Only the types of a schema are looked at: what is a well-formed number may still be out of range, which the
server says better.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

Schema = Mapping[str, Any]

_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
#: The one that says most comes first: what fits none of them is text, if text is allowed.
_ORDER: Final = ("integer", "number", "boolean", "array", "object", "null")
_WANTED: Final = {
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "array": "a JSON array, or the key once for each item",
    "object": "a JSON object",
    "null": "null",
}
#: Schemas refer to schemas, and a server may make a circle of them.
_MOST: Final = 64


class Unfit(Exception):
    """The text does not say what the schema wants; the message does."""


def read_json(text: str) -> Any:
    """The value of a JSON text, without the numbers that only Python knows. Raises `ValueError`."""
    try:
        return json.loads(text, parse_constant=_no_constant, parse_float=_finite)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def converted(texts: Sequence[str], key: str, schema: Schema) -> Any:
    """What was given for ``key`` as JSON. Several texts are the items of an array. Raises `Unfit`."""
    wanted = _property(key, schema)
    branches = _branches(wanted, schema)
    types = _types(branches)
    if len(texts) == 1:
        return _one(texts[0], types, branches, schema)
    if "array" not in types:
        raise Unfit(f"was given {len(texts)} times")
    return [_item(text, branches, schema) for text in texts]


def type_names(key: str, schema: Schema) -> tuple[str, ...]:
    """The types that ``key`` may have, by their names in JSON Schema; empty when any will do."""
    return _types(_branches(_property(key, schema), schema))


def _property(key: str, schema: Schema) -> Schema:
    properties = schema.get("properties")
    found = properties.get(key) if isinstance(properties, Mapping) else None
    if found is None:
        found = schema.get("additionalProperties")
    return found if isinstance(found, Mapping) else {}


def _branches(wanted: Schema, root: Schema) -> list[Schema]:
    """The schema itself and every alternative inside it, breadth first."""
    found = [wanted]
    for here in found:
        inside: list[Any] = [_referred(here.get("$ref"), root)]
        for word in ("anyOf", "oneOf", "allOf"):
            inside += here[word] if isinstance(here.get(word), list) else []
        found += [one for one in inside if isinstance(one, Mapping)][: _MOST - len(found)]
    return found


def _referred(reference: object, root: Schema) -> Schema | None:
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    here: Any = root
    for step in reference[2:].split("/"):
        step = step.replace("~1", "/").replace("~0", "~")
        here = here.get(step) if isinstance(here, Mapping) else None
    return here if isinstance(here, Mapping) else None


def _types(branches: Sequence[Schema]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for branch in branches:
        named = branch.get("type")
        names = named if isinstance(named, list) else [named]
        if named is None:
            names = [_type_of(value) for value in _values(branch)]
        found.update(dict.fromkeys(name for name in names if isinstance(name, str)))
    return tuple(found)


def _values(branch: Schema) -> list[Any]:
    listed = branch.get("enum")
    values = list(listed) if isinstance(listed, list) else []
    return [*values, branch["const"]] if "const" in branch else values


def _type_of(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _one(text: str, types: Sequence[str], branches: Sequence[Schema], root: Schema) -> Any:
    if not types:
        return text
    for name in _ORDER:
        if name not in types or ("string" in types and _is_rather_text(text, name)):
            continue
        try:
            return _array(text, branches, root) if name == "array" else _READERS[name](text)
        except Unfit:
            continue
    if "string" in types:
        return text
    wanted = " or ".join(_WANTED.get(name, name) for name in types)
    raise Unfit(f"must be {wanted}, not {text!r}")


def _is_rather_text(text: str, name: str) -> bool:
    """Where text is allowed, null is a word, and what has no brackets is no array of one item."""
    return name == "null" or (name == "array" and not text.lstrip().startswith("["))


def _array(text: str, branches: Sequence[Schema], root: Schema) -> list[Any]:
    """A whole array as JSON, or its only item."""
    if text.lstrip().startswith("["):
        value: list[Any] = _json(text, list)
        return value
    return [_item(text, branches, root)]


def _item(text: str, branches: Sequence[Schema], root: Schema) -> Any:
    items = [branch["items"] for branch in branches if isinstance(branch.get("items"), Mapping)]
    inside = [one for schema in items[:1] for one in _branches(schema, root)]
    types = _types(inside)
    # An item that is an array itself is written as JSON: repeating the key makes one array, not two.
    if "array" in types and not text.lstrip().startswith("[") and "string" not in types:
        raise Unfit(f"must be a JSON array in each place, not {text!r}")
    return _one(text, types, inside, root)


def _integer(text: str) -> int:
    if _INTEGER.fullmatch(text) is None:
        raise Unfit
    try:
        return int(text)
    except ValueError:
        raise Unfit from None


def _number(text: str) -> int | float:
    if _INTEGER.fullmatch(text):
        return _integer(text)
    if _NUMBER.fullmatch(text) is None or not math.isfinite(number := float(text)):
        raise Unfit
    return number


def _boolean(text: str) -> bool:
    match text.lower():
        case "true":
            return True
        case "false":
            return False
    raise Unfit


def _null(text: str) -> None:
    if text not in ("null", ""):
        raise Unfit


def _json(text: str, kind: type) -> Any:
    try:
        value = read_json(text)
    except ValueError:
        value = None
    if not isinstance(value, kind):
        raise Unfit
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large")
    return number


_READERS: Final = {
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "object": lambda text: _json(text, dict),
    "null": _null,
}
