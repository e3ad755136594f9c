"""The way of arguments into a function: all at once where they fit, one by one where they do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from mcp_actors.protocol.codec import Json, JsonObject
from mcp_actors.server.signatures.kinds import Kind, Kinds
from mcp_actors.server.signatures.modelled import Modelled
from mcp_actors.server.signatures.parameters import Parameters
from mcp_actors.server.signatures.plain import UNFIT
from mcp_actors.server.signatures.problems import InvalidArguments
from mcp_actors.telemetry.redaction import printable

#: Stands for the parameter ``**kwargs``; no parameter has such a name.
FURTHER: Final = "**"
_MAX_NAMED: Final = 20
_MAX_NAME: Final = 80
_MAX_COMPLAINTS: Final = 10

#: Makes one argument from what came for it; its last parameter is the place to name in complaints.
Maker: TypeAlias = Callable[[Kind, Any, str], Any]


def make(kind: Kind, value: Json, place: str) -> Any:
    """From JSON."""
    return kind.make(value, place)


def read(kind: Kind, value: object, place: str) -> Any:
    """From text."""
    if not isinstance(value, str):
        return kind.make(value, place)
    return kind.read(value, place)


class Intake:
    """Ready to take arguments. Any thread may use it."""

    def __init__(self, parameters: Parameters, kinds: Kinds) -> None:
        self._kinds: dict[str, Kind] = {one.name: kinds[one.name] for one in parameters.offered}
        self._required = [one.name for one in parameters.offered if one.required]
        self._further = None if parameters.further is None else kinds[FURTHER]
        self._withheld = parameters.withheld
        self._context = parameters.context
        self._struct = _struct(self._kinds, self._required)
        self._models = [(name, one) for name, one in self._kinds.items() if isinstance(one, Modelled)]

    def take(self, given: JsonObject) -> dict[str, Any]:
        """The keyword arguments; what was not given is left to the function's own defaults.

        Raises:
            InvalidArguments: something is missing, unknown or does not fit; the message names all of it.
        """
        if self._further is not None:
            return self.take_each(given, make)
        try:
            made = msgspec.convert(given, self._struct, str_keys=True)
        except UNFIT:
            return self.take_each(given, make)
        taken = {name: getattr(made, name) for name in given}
        if self._models:
            self._model(taken)
        return taken

    def take_each(self, given: Mapping[str, Any], maker: Maker) -> dict[str, Any]:
        """As ``take``, slower; ``maker`` says how."""
        complaints = [*self._strangers(given), *self._gaps(given)]
        taken: dict[str, Any] = {}
        for name, value in given.items():
            kind = self._kind(name)
            if kind is None:
                continue
            try:
                taken[name] = maker(kind, value, f"$.{printable(name, _MAX_NAME)}")
            except InvalidArguments as error:
                complaints.append(str(error))
        if complaints:
            raise InvalidArguments("; ".join(complaints[:_MAX_COMPLAINTS]))
        return taken

    def call(self, function: Callable[..., Any], taken: dict[str, Any], context: object) -> Any:
        """Call the function with its arguments, and with the context if it wants one."""
        if self._context is None:
            return function(**taken)
        return function(**taken, **{self._context: context})

    def _model(self, taken: dict[str, Any]) -> None:
        complaints = []
        for name, kind in self._models:
            if name in taken:
                try:
                    taken[name] = kind.make(taken[name], f"$.{name}")
                except InvalidArguments as error:
                    complaints.append(str(error))
        if complaints:
            raise InvalidArguments("; ".join(complaints))

    def _kind(self, name: str) -> Kind | None:
        """What converts the argument of that name; None if there may be none."""
        known = self._kinds.get(name)
        return known or (None if name in self._withheld else self._further)

    def _strangers(self, given: Mapping[str, Any]) -> list[str]:
        unknown = [name for name in given if self._kind(name) is None]
        if not unknown:
            return []
        known = f"known are {_named(list(self._kinds))}" if self._kinds else "it takes none"
        return [f"unknown argument{'s'[: len(unknown) > 1]} {_named(unknown)} ({known})"]

    def _gaps(self, given: Mapping[str, Any]) -> list[str]:
        missing = [name for name in self._required if name not in given]
        return [f"missing argument{'s'[: len(missing) > 1]} {_named(missing)}"] if missing else []


def _struct(kinds: dict[str, Kind], required: list[str]) -> type[msgspec.Struct]:
    fields: list[Any] = [
        (name, kind.field) if name in required else (name, kind.field, msgspec.UNSET)
        for name, kind in kinds.items()
    ]
    # Without the cycle collector's care: it lives for a microsecond.
    return msgspec.defstruct("Arguments", fields, kw_only=True, forbid_unknown_fields=True, gc=False)


def _named(names: list[str]) -> str:
    shown = [f"`{printable(name, _MAX_NAME)}`" for name in names[:_MAX_NAMED]]
    more = [f"{len(names) - _MAX_NAMED} more"] if len(names) > _MAX_NAMED else []
    return ", ".join(shown + more)
