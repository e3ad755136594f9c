"""The fields of an elicitation form, read from the flat JSON Schema that describes them."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from mcp_actors.protocol.codec import DecodeFailed, Json, JsonObject

Kind: TypeAlias = Literal["string", "number", "integer", "boolean", "choice", "choices"]
Choices: TypeAlias = tuple[tuple[str, str], ...]

_PRIMITIVES: Final[dict[str, Kind]] = {
    "string": "string",
    "number": "number",
    "integer": "integer",
    "boolean": "boolean",
}


class FormField(msgspec.Struct, frozen=True, kw_only=True):
    """One question of a form.

    ``kind`` says what answers it: a string, a number, an integer, a boolean, one of ``choices`` or a list of
    them; a choice is a pair of the value to send and the title to show. ``schema`` is the whole of it.
    """

    name: str
    kind: Kind
    schema: JsonObject
    required: bool = False
    title: str | None = None
    description: str | None = None
    default: Json = None
    choices: Choices = ()
    format: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None

    @property
    def label(self) -> str:
        """The name to show to people."""
        return self.title or self.name


class _Hints(msgspec.Struct, rename="camel"):
    """What a field may say beside its kind, and of which type."""

    title: str | None = None
    description: str | None = None
    format: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None


def read_fields(schema: JsonObject) -> list[FormField]:
    """The fields in the order of the schema.

    Raises:
        DecodeFailed: it is no flat object of primitive fields; the message names the place.
    """
    if schema.get("type") != "object":
        raise DecodeFailed("a form's schema must have the type `object` - at `$.requestedSchema.type`")
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, dict):
        raise DecodeFailed("expected `object` - at `$.requestedSchema.properties`")
    if not isinstance(required, list):
        raise DecodeFailed("expected `array` - at `$.requestedSchema.required`")
    return [_field(name, held, name in required) for name, held in properties.items()]


def defaults(schema: JsonObject) -> JsonObject:
    """The default of every field that has one."""
    return {field.name: field.default for field in read_fields(schema) if field.default is not None}


def _field(name: str, schema: Json, required: bool) -> FormField:
    place = f"$.requestedSchema.properties.{name}"
    if not isinstance(schema, dict):
        raise DecodeFailed(f"expected `object` - at `{place}`")
    try:
        hints = msgspec.convert(schema, _Hints)
    except msgspec.ValidationError as error:
        raise DecodeFailed(f"{error} - in `{place}`") from None
    kind, choices = _answer(schema, place)
    return FormField(
        name=name,
        kind=kind,
        schema=schema,
        required=required,
        default=schema.get("default"),
        choices=choices,
        **msgspec.structs.asdict(hints),
    )


def _answer(schema: JsonObject, place: str) -> tuple[Kind, Choices]:
    """What kind of answer is wanted, and what there is to choose from."""
    said = schema.get("type")
    if said == "array":
        items = schema.get("items")
        choices = _choices(items, place) if isinstance(items, dict) else None
        if choices is None:
            raise DecodeFailed(f"a form's list must be of given choices - at `{place}.items`")
        return "choices", choices
    choices = _choices(schema, place)
    if choices is not None:
        return "choice", choices
    kind = _PRIMITIVES.get(said) if isinstance(said, str) else None
    if kind is None:
        raise DecodeFailed(f"a form's fields are primitive, not nested - at `{place}`")
    return kind, ()


def _choices(schema: JsonObject, place: str) -> Choices | None:
    """The choices of a schema, None if it is no choice. Five spellings: three revisions had their say."""
    if schema.get("type", "string") != "string":
        return None
    if "enum" in schema:
        values = _texts(schema["enum"], f"{place}.enum")
        # Until 2025-06-18 titles stood apart from the values.
        titles = _texts(schema.get("enumNames", values), f"{place}.enumNames")
        return tuple(zip(values, titles + values[len(titles) :], strict=False))
    titled = schema.get("oneOf", schema.get("anyOf"))
    if titled is None:
        return None
    if not isinstance(titled, list) or not all(isinstance(one, dict) for one in titled):
        raise DecodeFailed(f"expected `array` of objects - at `{place}`")
    values = _texts([one.get("const") for one in titled], f"{place}.const")
    return tuple(zip(values, _texts([one.get("title", one["const"]) for one in titled], place), strict=True))


def _texts(values: Json, place: str) -> list[str]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise DecodeFailed(f"expected `array` of strings - at `{place}`")
    return values
