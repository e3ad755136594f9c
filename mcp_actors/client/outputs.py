"""Whether a tool answered what it promised: structured content that fits its output schema."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Raw

from mcp_actors import errors
from mcp_actors.client.futures import Handover, Onward
from mcp_actors.client.listings import Listings
from mcp_actors.protocol import types

if TYPE_CHECKING:
    from mcp_actors.schemas.checking import Schemas

Decode: TypeAlias = Callable[[Raw], types.CallToolResult | Onward | Handover]


class Outputs:
    """Shared by all threads that use a client. The last listing tells what was promised."""

    def __init__(self, listings: Listings, *, checked: bool) -> None:
        self._listings = listings
        self._checked = checked
        self._schemas: Schemas | None = None

    def check(self, name: str, result: types.CallToolResult) -> types.CallToolResult:
        """The result itself; `InvalidResponse`, with the result in ``details``, if it breaks a promise."""
        tool = self._listings.tool(name) if self._checked else None
        # A tool that failed need not answer what it would have answered.
        if tool is None or tool.output_schema is None or result.is_error:
            return result
        fault = self._fault(tool.output_schema, result)
        if fault is not None:
            raise errors.InvalidResponse(
                f"tool {name!r} did not answer what its output schema promises: {fault}",
                details={"result": result.to_wire()},
            )
        return result

    def checking(self, name: str, decode: Decode) -> Decode:
        """How the answer to a submitted call is read, and then checked."""

        def read(result: Raw) -> types.CallToolResult | Onward | Handover:
            answer = decode(result)
            return answer if isinstance(answer, Onward | Handover) else self.check(name, answer)

        return read

    def _fault(self, schema: dict[str, object], result: types.CallToolResult) -> str | None:
        if not result.has_structured_content:
            return "there is no structured content"
        from mcp_actors.schemas.checking import Schemas, UnusableSchema

        # Two threads may both make one; the later one stays.
        schemas = self._schemas = self._schemas or Schemas()
        try:
            return schemas.check(schema, result.structured_content)
        except UnusableSchema as error:
            return f"the schema cannot be used: {error}"
