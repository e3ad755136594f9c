"""RawSignature: a tool whose schemas are written by hand; its function gets the arguments as they come."""

from __future__ import annotations

from typing import Any

import msgspec

from mcp_actors.protocol.codec import Json, JsonObject
from mcp_actors.schemas import Schemas
from mcp_actors.server.signatures import InvalidArguments, Signature, UnusableResult


class RawSignature:
    """The given input schema decides what is let through; everything else is as the function's own signature
    says."""

    def __init__(self, own: Signature, input_schema: JsonObject, output_schema: JsonObject | None) -> None:
        self._own = own
        self._schemas = Schemas()
        self.input_schema = input_schema
        self.output_schema = own.output_schema if output_schema is None else output_schema
        self.wrapped_output = output_schema is None and own.wrapped_output
        self.description = own.description
        self.context_parameter = own.context_parameter
        # A schema that cannot be used is the author's mistake, and is told when the tool is made.
        self._schemas.check(input_schema, {})

    def arguments(self, given: JsonObject) -> dict[str, Any]:
        """The arguments, checked against the schema."""
        fault = self._schemas.check(self.input_schema, given)
        if fault is not None:
            raise InvalidArguments(fault)
        return dict(given)

    def structured(self, value: Any) -> Json:
        """The JSON form of what the function returned."""
        if self.output_schema is self._own.output_schema:
            return self._own.structured(value)
        try:
            return msgspec.to_builtins(value)
        except TypeError as error:
            raise UnusableResult(f"what it returned has no JSON form: {error}") from None
