"""What all MCP values share: typed fields in Python, camelCase on the wire, and nothing received is lost."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar, Self, dataclass_transform

import msgspec

from mcp_actors.protocol.codec import Json, JsonObject, convert, decode_as
from mcp_actors.protocol.types.source import Decoded, Origin, Part, Source, Wire

# Kept beside the fields, in the instance's __dict__: it is not sent, printed or compared.
_ORIGIN = "_origin"


class ValueType(msgspec.StructMeta):
    """Makes every value immutable and its fields keyword-only, which msgspec would ask of each class anew."""

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> Any:
        return super().__new__(cls, name, bases, namespace, **(options | {"frozen": True, "kw_only": True}))


# Tells type checkers what ValueType does.
@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Value(
    msgspec.Struct,
    metaclass=ValueType,
    frozen=True,
    omit_defaults=True,
    repr_omit_defaults=True,
    rename="camel",
    dict=True,
):
    """A value of the protocol. Fields that we do not know are ignored, and kept in ``raw``."""

    # The fields that hold other values, so that those keep what they were read from, too.
    nested: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def parse(cls, data: Wire) -> Self:
        """Read one from JSON text, which must not change afterwards.

        Raises:
            DecodeFailed: no JSON, or JSON that does not fit.
        """
        value = decode_as(data, cls)
        value._remember(Source(data))
        return value

    @classmethod
    def from_wire(cls, value: Json) -> Self:
        """Make one from a decoded JSON object, which must not change afterwards.

        Raises:
            DecodeFailed: it does not fit.
        """
        made = convert(value, cls)
        made._remember(Decoded(value))
        return made

    @property
    def raw(self) -> JsonObject:
        """The JSON object as it was received, unknown fields included, or as it would be sent."""
        return self.to_wire()

    def to_wire(self) -> JsonObject:
        """The JSON object to send: a value that was received is passed on as it came."""
        origin: Origin | None = self.__dict__.get(_ORIGIN)
        if origin is not None:
            return origin.read()
        wire: JsonObject = msgspec.to_builtins(self)
        for name in self.nested:
            key = _camel(name)
            if key in wire:
                wire[key] = _nested_to_wire(getattr(self, name))
        return wire

    def _remember(self, origin: Origin) -> None:
        self.__dict__[_ORIGIN] = origin
        for name in self.nested:
            key, held = _camel(name), getattr(self, name)
            if isinstance(held, Value):
                held._remember_part(origin, key)
            elif held is not None:
                for index, item in enumerate(held):
                    item._remember_part(origin, key, index)

    def _remember_part(self, whole: Origin, *path: str | int) -> None:
        # Values of open unions were made from JSON of their own, and remember it.
        if _ORIGIN not in self.__dict__:
            self._remember(Part(whole, *path))

    def __reduce__(self) -> tuple[Callable[[JsonObject], Value], tuple[JsonObject]]:
        # Pickled as JSON: the fields alone would lose what only ``raw`` knows.
        return type(self).from_wire, (self.to_wire(),)


class MetaValue(Value):
    """A value that may carry ``_meta``."""

    meta: JsonObject | None = msgspec.field(default=None, name="_meta")


def _nested_to_wire(value: Value | list[Value]) -> Json:
    return [item.to_wire() for item in value] if isinstance(value, list) else value.to_wire()


@cache
def _camel(name: str) -> str:
    """The wire's name of a field, as ``rename="camel"`` makes it."""
    first, *rest = name.split("_")
    return first + "".join(map(str.title, rest))
