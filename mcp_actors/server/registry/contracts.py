"""What an entry needs to know of its function; ``server/signatures`` finds it out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from mcp_actors.protocol import types
from mcp_actors.protocol.codec import Json, JsonObject


class Arguments(Protocol):
    """The parameters of a function."""

    @property
    def context_parameter(self) -> str | None:
        """The parameter that takes the context, if there is one."""

    def arguments(self, given: JsonObject) -> dict[str, Any]:
        """Typed keyword arguments for the function, from what came over the wire."""


class TextSignature(Arguments, Protocol):
    """The function of a prompt or template, whose arguments come as text."""

    @property
    def description(self) -> str | None:
        """What its docstring says."""

    @property
    def declared(self) -> Sequence[types.PromptArgument]:
        """The parameters, as a prompt lists them."""

    @property
    def choices(self) -> Mapping[str, tuple[str, ...]]:
        """The texts that a parameter may have, where they are few: of a Literal, an Enum, a bool."""


class Output(Protocol):
    """The result of a tool."""

    @property
    def output_schema(self) -> JsonObject | None:
        """The schema of its structured form, if it has one."""

    @property
    def wrapped_output(self) -> bool:
        """Whether the structured form is ``{"result": …}`` around what the function returned."""

    def structured(self, value: Any) -> Json:
        """The JSON form of what the function returned. Raises `UnusableResult` if it has none."""


class ToolSignature(Arguments, Output, Protocol):
    """A tool's function as a whole."""

    @property
    def input_schema(self) -> JsonObject:
        """The schema of its arguments."""

    @property
    def description(self) -> str | None:
        """What its docstring says."""
