"""What a function returns: the schema it promises, and the JSON that it comes to."""

from __future__ import annotations

from inspect import Parameter
from types import NoneType
from typing import Any, Final, NoReturn, get_args, get_origin

from msgspec import Struct

from mcp_actors.protocol.codec import Json, JsonObject
from mcp_actors.protocol.types import Content, Value
from mcp_actors.server.signatures.annotations import alternatives, bare, parts
from mcp_actors.server.signatures.kinds import Kind, Kinds, Unfounded

_RETURN: Final = "return"
#: Read by people and models as they are; a schema would add nothing.
_UNSTRUCTURED: Final = (str, Any, object, None, NoneType, NoReturn)
_ANYTHING: Final = Kinds({_RETURN: Any})[_RETURN]


class Outcome(Struct, frozen=True):
    """What becomes of a returned value. ``wrapped``: it goes into ``{"result": …}``, being no object."""

    kind: Kind = _ANYTHING
    schema: JsonObject | None = None
    wrapped: bool = False

    def write(self, value: object) -> Json:
        """The JSON form.

        Raises:
            UnusableResult: there is none, or not the promised one.
        """
        written = self.kind.write(value)
        return {"result": written} if self.wrapped else written


def outcome_of(annotation: Any, content_types: tuple[type, ...], wanted: bool | None) -> Outcome:
    """What a return annotation promises; nothing if it is missing, content, or none that JSON knows.

    Args:
        content_types: classes that stand for content blocks and not for data.
        wanted: True: there must be a schema; False: there must be none.

    Raises:
        Unfounded: a schema is wanted, and there is none.
    """
    if wanted is False:
        return Outcome()
    reason = _why_not(annotation, content_types)
    if reason is not None or (not wanted and _says_nothing(annotation)):
        if wanted:
            raise Unfounded(_RETURN, reason or "")
        return Outcome()
    try:
        return _promised(Kinds({_RETURN: annotation}, "serialization"))
    except Unfounded:
        if wanted:
            raise
        return Outcome()


def _says_nothing(annotation: Any) -> bool:
    """Text, anything at all, and a list of anything: whoever returns images and texts side by side."""
    plain = bare(annotation)
    listed = plain is list or (get_origin(plain) is list and get_args(plain) == (Any,))
    return listed or any(plain is one for one in _UNSTRUCTURED)


def _why_not(annotation: Any, content_types: tuple[type, ...]) -> str | None:
    if annotation is Parameter.empty:
        return "there is no annotation to take it from"
    blocks = (Content, Value, *content_types)
    if any(isinstance(one, type) and issubclass(one, blocks) for one in _members(annotation)):
        return "content blocks are no data"
    return None


def _members(annotation: Any) -> list[Any]:
    return [part for one in alternatives(annotation) for part in parts(one)]


def _promised(kinds: Kinds) -> Outcome:
    schema, definitions = kinds.schema(_RETURN), kinds.definitions
    inlined = _inlined(schema, definitions)
    if inlined.get("type") == "object":
        return Outcome(kinds[_RETURN], inlined)
    whole = {"type": "object", "properties": {"result": schema}, "required": ["result"]}
    return Outcome(kinds[_RETURN], whole | ({"$defs": definitions} if definitions else {}), wrapped=True)


def _inlined(schema: JsonObject, definitions: JsonObject) -> JsonObject:
    """The schema with what it refers to put in its place: up to 2025-11-25 an object's must say so itself."""
    reference = schema.get("$ref")
    if reference is None:
        return schema | ({"$defs": definitions} if definitions else {})
    name = reference.removeprefix("#/$defs/")
    remarks = {key: held for key, held in schema.items() if key != "$ref"}
    others = {key: held for key, held in definitions.items() if key != name}
    if _refers(reference, definitions):
        others = definitions
    target: JsonObject = definitions[name]
    return target | remarks | ({"$defs": others} if others else {})


def _refers(reference: str, schema: Json) -> bool:
    if isinstance(schema, dict):
        return schema.get("$ref") == reference or any(_refers(reference, held) for held in schema.values())
    return isinstance(schema, list) and any(_refers(reference, held) for held in schema)
