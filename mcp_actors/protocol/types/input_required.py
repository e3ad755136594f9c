"""Questions back inside a result, and the retry that answers them (2026-07-28)."""

from __future__ import annotations

from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.types.results import Result
from mcp_actors.protocol.types.value import MetaValue, Value


class InputRequest(Value):
    """What a server asks of the client: a request without an id."""

    method: str
    params: JsonObject | None = None


class InputRequiredResult(Result):
    """No answer yet: resolve the requests, then retry with the answers and the state, byte for byte."""

    result_type: str = "input_required"
    input_requests: dict[str, InputRequest] | None = None
    request_state: str | None = None

    def to_wire(self) -> JsonObject:
        """The JSON object to send. It always names its kind: silence would mean a complete result."""
        return {"resultType": self.result_type} | super().to_wire()


class RetriedParams(MetaValue):
    """The parameters of a request that a server may answer with ``InputRequiredResult``."""

    input_responses: dict[str, JsonObject] | None = None
    request_state: str | None = None
