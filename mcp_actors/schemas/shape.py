"""How much work a JSON Schema can cause, judged before it is compiled: nesting, patterns, references."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from msgspec import Struct, field

from mcp_actors.protocol.codec import Json, JsonObject

MAX_BYTES: Final = 256 * 1024
MAX_DEPTH: Final = 64
MAX_PATTERNS: Final = 100
#: Subschemas after each reference is replaced by what it refers to; recursion counts once.
MAX_WEIGHT: Final = 100_000
#: The longest way through subschemas and references. Python and the validator both walk it on their stacks.
MAX_STEPS: Final = 256

_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_ANCHORS: Final = ("$anchor", "$dynamicAnchor")
#: Their values are data, whatever they look like.
_OPAQUE: Final = frozenset({"const", "enum", "default", "examples", "required", "type"})
_DEFINITIONS: Final = frozenset({"$defs", "definitions"})
#: Names to schemas.
_MAPS: Final = _DEFINITIONS | {"properties", "patternProperties", "dependentSchemas", "dependencies"}
#: These judge the same value as the schema they stand in; all others judge a part of it.
_IN_PLACE: Final = frozenset(
    {"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"}
)
#: Looking around and back is what the linear matcher cannot do.
_BACKTRACKING: Final = re.compile(r"\(\?[=!<]|\\[1-9k]")
_BACKTRACKING_WEIGHT: Final = 1000


class UnusableSchema(ValueError):
    """A schema that this package does not validate against; the message says why."""


class Shape(Struct, frozen=True):
    """The schema's ``weight`` in visits, and how many recursive references one round of it comes to."""

    weight: int
    recursions: int


def judge(schema: JsonObject) -> Shape:
    """The shape of a schema that is within bounds.

    Raises:
        UnusableSchema: it is not.
    """
    if depth(schema, MAX_DEPTH) > MAX_DEPTH:
        raise UnusableSchema(f"the schema is nested more than {MAX_DEPTH} levels deep")
    places = _Survey(schema).places
    _refuse_endless(places)
    return _Scales(places).weigh(id(schema))


def depth(value: Json, limit: int) -> int:
    """How deep arrays and objects are nested; counting ends above ``limit``."""
    level = [value] if isinstance(value, dict | list | tuple) else []
    for here in range(limit + 1):
        if not level:
            return here
        level = [
            held
            for one in level
            for held in (one.values() if isinstance(one, dict) else one)
            if isinstance(held, dict | list | tuple)
        ]
    return limit + 1


class _Place(Struct):
    """One subschema: what it costs alone, and where it leads, by identity."""

    weight: int
    inside: list[int] = field(default_factory=list)
    below: list[int] = field(default_factory=list)


class _Survey:
    """All subschemas of a document, each once, and the ways between them."""

    def __init__(self, root: JsonObject) -> None:
        self.places: dict[int, _Place] = {}
        self._anchors = _anchors(root)
        self._patterns = 0
        self._waiting: list[tuple[JsonObject, JsonObject]] = [(root, root)]
        while self._waiting:
            schema, resource = self._waiting.pop()
            if id(schema) not in self.places:
                self._visit(schema, _resource(schema, resource))

    def _visit(self, schema: JsonObject, resource: JsonObject) -> None:
        place = self.places[id(schema)] = _Place(self._own_weight(schema))
        for key, part in _parts(schema):
            self._waiting.append((part, resource))
            if key not in _DEFINITIONS:
                (place.inside if key in _IN_PLACE else place.below).append(id(part))
        for key in _REFERENCES:
            reference = schema.get(key)
            if isinstance(reference, str):
                for target, home in self._targets(reference, resource):
                    self._waiting.append((target, home))
                    place.inside.append(id(target))

    def _own_weight(self, schema: JsonObject) -> int:
        patterns = [schema["pattern"]] if isinstance(schema.get("pattern"), str) else []
        named = schema.get("patternProperties")
        patterns += named if isinstance(named, dict) else ()
        self._patterns += len(patterns)
        if self._patterns > MAX_PATTERNS:
            raise UnusableSchema(f"the schema has more than {MAX_PATTERNS} patterns")
        matching = sum(_BACKTRACKING_WEIGHT if _BACKTRACKING.search(one) else 1 for one in patterns)
        listed = sum(len(held) for held in schema.values() if isinstance(held, dict | list))
        return 1 + matching + listed // 4

    def _targets(self, reference: str, resource: JsonObject) -> Iterator[tuple[JsonObject, JsonObject]]:
        if not reference.startswith("#"):
            # MCP 2026-07-28, server/tools: never fetched, and refused instead of taken for "anything goes".
            raise UnusableSchema(f"the schema refers to another document: {reference[:80]!r}")
        fragment = unquote(reference[1:])
        if fragment and not fragment.startswith("/"):
            yield from self._anchors.get(fragment, ())
        elif (found := _pointed(fragment, resource)) is not None:
            yield found


def _parts(schema: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """The subschemas of a schema, each with the keyword that holds it."""
    for key, held in schema.items():
        if key in _OPAQUE:
            continue
        if isinstance(held, dict):
            held = held.values() if key in _MAPS else (held,)
        elif not isinstance(held, list):
            continue
        yield from ((key, one) for one in held if isinstance(one, dict))


def _resource(schema: JsonObject, outer: JsonObject) -> JsonObject:
    """The document that ``#`` means inside a schema: one with an id of its own starts a new one."""
    name = schema.get("$id", schema.get("id"))
    return schema if isinstance(name, str) and not name.startswith("#") else outer


def _anchors(root: JsonObject) -> dict[str, list[tuple[JsonObject, JsonObject]]]:
    """Every schema that bears a name, wherever it stands. Which of several is meant makes no difference."""
    found: dict[str, list[tuple[JsonObject, JsonObject]]] = defaultdict(list)
    waiting: list[tuple[Json, JsonObject]] = [(root, root)]
    while waiting:
        value, resource = waiting.pop()
        if isinstance(value, dict):
            resource = _resource(value, resource)
            for name in _names(value):
                found[name].append((value, resource))
            waiting += ((held, resource) for held in value.values())
        elif isinstance(value, list):
            waiting += ((held, resource) for held in value)
    return found


def _names(schema: JsonObject) -> Iterator[str]:
    yield from (schema[key] for key in _ANCHORS if isinstance(schema.get(key), str))
    name = schema.get("$id", schema.get("id"))
    if isinstance(name, str) and name.startswith("#"):
        yield name[1:]


def _pointed(fragment: str, resource: JsonObject) -> tuple[JsonObject, JsonObject] | None:
    """What a JSON pointer leads to; None if to nothing, of which the validator complains itself."""
    here: Json = resource
    for step in fragment.split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(here, list) and step.isdecimal() and int(step) < len(here):
            here = here[int(step)]
        elif isinstance(here, dict) and step in here:
            here = here[step]
        else:
            return None
        if isinstance(here, dict):
            resource = _resource(here, resource)
    return (here, resource) if isinstance(here, dict) else None


def _refuse_endless(places: dict[int, _Place]) -> None:
    """A schema must not come back to itself without having gone down into the value: it would never end."""
    leading_here = dict.fromkeys(places, 0)
    for place in places.values():
        for target in place.inside:
            leading_here[target] += 1
    free = [key for key, count in leading_here.items() if not count]
    for key in free:
        for target in places[key].inside:
            leading_here[target] -= 1
            if not leading_here[target]:
                free.append(target)
    if len(free) < len(places):
        raise UnusableSchema("the schema refers to itself without end")


class _Scales:
    """Weighs subschemas with all that they lead to."""

    def __init__(self, places: dict[int, _Place]) -> None:
        self._places = places
        self._known: dict[int, Shape] = {}
        self._path: set[int] = set()

    def weigh(self, key: int) -> Shape:
        if key in self._path:
            # The validator remembers what it has judged in a recursion, so that this does not multiply.
            return Shape(1, 1)
        known = self._known.get(key)
        if known is None:
            if len(self._path) == MAX_STEPS:
                raise UnusableSchema(f"the schema leads through more than {MAX_STEPS} subschemas in a row")
            self._path.add(key)
            known = self._known[key] = self._sum(self._places[key])
            self._path.discard(key)
        return known

    def _sum(self, place: _Place) -> Shape:
        parts = [self.weigh(target) for target in (*place.inside, *place.below)]
        weight = place.weight + sum(part.weight for part in parts)
        if weight > MAX_WEIGHT:
            raise UnusableSchema(f"the schema unfolds to more than {MAX_WEIGHT} subschemas")
        return Shape(weight, sum(part.recursions for part in parts))
