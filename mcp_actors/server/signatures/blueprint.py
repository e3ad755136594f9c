"""A function's parameters, described: for tools, prompts and resource templates alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mcp_actors.protocol.codec import JsonObject
from mcp_actors.server.signatures.annotations import said_of
from mcp_actors.server.signatures.callables import Callee, callee_of
from mcp_actors.server.signatures.docstrings import Documentation, documentation_of
from mcp_actors.server.signatures.intake import FURTHER
from mcp_actors.server.signatures.kinds import Kinds, Unfounded
from mcp_actors.server.signatures.parameters import Offered, Parameters, parameters_of
from mcp_actors.server.signatures.problems import SignatureError, UnusableResult
from mcp_actors.telemetry.redaction import looks_secret


class Blueprint:
    """What is known of a function and its parameters."""

    def __init__(
        self, function: Callable[..., Any], context_type: type | None, names: Mapping[str, Any] | None = None
    ) -> None:
        """Look at the function.

        Raises:
            SignatureError: it cannot be offered.
        """
        # Who imports the context for the type checker alone still gets it.
        spare = {} if context_type is None else {context_type.__name__: context_type}
        self.callee: Callee = callee_of(function, names or {}, spare)
        self.documentation: Documentation = documentation_of(self.callee.docstring)
        self.parameters: Parameters = parameters_of(self.callee, context_type)
        annotations = {one.name: one.annotation for one in self.parameters.offered}
        if self.parameters.further is not None:
            annotations[FURTHER] = self.parameters.further
        try:
            self.kinds = Kinds(annotations)
        except Unfounded as error:
            place = "**kwargs" if error.name == FURTHER else error.name
            raise SignatureError(f"`{self.callee.name}`: parameter `{place}`: {error}") from None

    @property
    def input_schema(self) -> JsonObject:
        """The schema of all arguments."""
        required = [one.name for one in self.parameters.offered if one.required]
        further = self.parameters.further
        return {
            "type": "object",
            "properties": {one.name: self.property_schema(one) for one in self.parameters.offered},
            **({"required": required} if required else {}),
            "additionalProperties": False if further is None else self.kinds.schema(FURTHER) or True,
            **({"$defs": self.kinds.definitions} if self.kinds.definitions else {}),
        }

    def property_schema(self, parameter: Offered) -> JsonObject:
        """The schema of one argument, with its description and default."""
        schema = self.kinds.schema(parameter.name)
        description = self.description(parameter)
        rest = {key: held for key, held in schema.items() if key != "description"}
        return ({"description": description} if description else {}) | rest | self._default(parameter)

    def description(self, parameter: Offered) -> str | None:
        """What the annotation says of a parameter, or else the docstring, or else its type."""
        name = parameter.name
        said = said_of(parameter.annotation) or self.documentation.parameters.get(name)
        return said or self.kinds.schema(name).get("description")

    def _default(self, parameter: Offered) -> JsonObject:
        """The default, if it is one that a caller might give as well, and nothing to be kept secret."""
        if parameter.required or looks_secret(parameter.name):
            return {}
        try:
            return {"default": self.kinds[parameter.name].write(parameter.default)}
        except UnusableResult:
            return {}
