"""Cleaning a server's JSON Schema: valid 2020-12, without references, and of bounded size. Never in place."""

from __future__ import annotations

from copy import deepcopy
from typing import Final
from urllib.parse import unquote

from mcp_actors.client.export.combining import declared, flattened, merged
from mcp_actors.client.export.vocabulary import CHECKS, LISTS, MAPS, SCHEMAS, known_types
from mcp_actors.protocol.codec import Json, JsonObject

#: Bounds on what a server can make us build: levels, places, and how often a reference may hold itself.
MAX_DEPTH: Final = 16
MAX_PLACES: Final = 5_000
MAX_UNROLLED: Final = 2
# A long text or list counts as so many places more.
_TEXT_PER_PLACE: Final = 200

#: What the arguments of a tool may say at their top level.
_ROOT: Final = (
    "title",
    "description",
    "properties",
    "required",
    "additionalProperties",
    "patternProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
)
_IMPOSSIBLE: Final[tuple[Json, ...]] = (False, {"not": {}}, {"not": True})


def object_schema(schema: Json) -> JsonObject:
    """The schema of a tool's arguments: an object, with nothing at its top level that combines schemas.

    No API takes ``anyOf`` and the like there. Their properties are gathered; a property is required if every
    choice requires it.
    """
    root = flattened(cleaned(schema))
    kept = {key: root[key] for key in _ROOT if key in root}
    return {"type": "object"} | kept | {"properties": declared(root)}


def cleaned(schema: Json) -> JsonObject:
    """A copy that is valid JSON Schema 2020-12. Words that are unknown, misused or negative (``not``, ``if``)
    are left out, references are replaced by what they refer to, ``allOf`` by what it amounts to."""
    return _Cleaner(schema).node(schema, 0, ())


class _Cleaner:
    """One walk through a schema."""

    def __init__(self, root: Json) -> None:
        self._root = root
        self._left = MAX_PLACES

    def node(self, schema: Json, depth: int, trail: tuple[str, ...]) -> JsonObject:
        """The copy of one schema. ``trail`` holds the references that led here."""
        self._left -= 1
        if not isinstance(schema, dict) or depth > MAX_DEPTH or self._left < 0:
            return {}
        own = self._keywords(schema, depth, trail)
        for part in self._sub_schemas(schema.get("allOf"), depth, trail):
            own = merged(part, own)
        if isinstance(schema.get("$ref"), str):
            own = merged(self._referred(schema["$ref"], depth, trail), own)
        if "array" in own.get("type", ()) and not own.keys() & {"items", "prefixItems"}:
            own["items"] = {}
        return own

    def _referred(self, reference: str, depth: int, trail: tuple[str, ...]) -> JsonObject:
        target = _target(self._root, reference)
        if trail.count(reference) < MAX_UNROLLED:
            return self.node(target, depth + 1, (*trail, reference))
        return _typed(target) if isinstance(target, dict) else {}

    def _keywords(self, schema: JsonObject, depth: int, trail: tuple[str, ...]) -> JsonObject:
        own: JsonObject = {}
        for key, value in schema.items():
            if key in CHECKS and CHECKS[key](value):
                self._left -= len(value) // _TEXT_PER_PLACE if isinstance(value, str | list) else 0
                own[key] = deepcopy(value)
            elif key in SCHEMAS and isinstance(value, dict | bool):
                own[key] = self.node(value, depth + 1, trail)
            elif key in LISTS and (found := self._sub_schemas(value, depth, trail)):
                own[key] = found
            elif key in MAPS and isinstance(value, dict):
                own[key] = self._members(value, depth, trail)
        tuple_items = self._sub_schemas(schema.get("items"), depth, trail)
        return own | ({"prefixItems": tuple_items} if tuple_items else {}) | _typed(schema)

    def _members(self, value: JsonObject, depth: int, trail: tuple[str, ...]) -> JsonObject:
        return {
            name: self.node(member, depth + 1, trail)
            for name, member in value.items()
            if isinstance(member, dict | bool)
        }

    def _sub_schemas(self, value: Json, depth: int, trail: tuple[str, ...]) -> list[JsonObject]:
        choices = value if isinstance(value, list) else []
        return [
            self.node(one, depth + 1, trail)
            for one in choices
            if isinstance(one, dict | bool) and one not in _IMPOSSIBLE
        ]


def _typed(schema: JsonObject) -> JsonObject:
    """The type that a schema names, with OpenAPI's ``nullable`` in JSON Schema's words."""
    types = known_types(schema.get("type"))
    if types and schema.get("nullable") is True and "null" not in types:
        types.append("null")
    return {"type": types[0] if len(types) == 1 else types} if types else {}


def _target(root: Json, reference: str) -> Json:
    """What a pointer into the same document refers to; None if there is nothing, or it leads elsewhere."""
    # No reference is ever fetched: a server does not tell us where to connect to.
    if reference != "#" and not reference.startswith("#/"):
        return None
    here = root
    for step in reference[1:].split("/")[1:]:
        key = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(here, dict):
            here = here.get(key)
        elif isinstance(here, list) and key.isdecimal() and int(key) < len(here):
            here = here[int(key)]
        else:
            return None
    return here
