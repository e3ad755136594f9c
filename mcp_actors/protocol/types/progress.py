"""News about a request under way: its progress, or its cancellation."""

from __future__ import annotations

from typing import TypeAlias

from mcp_actors.protocol.types.value import MetaValue

RequestId: TypeAlias = str | int
ProgressToken: TypeAlias = str | int


class ProgressParams(MetaValue):
    """How far a request got. ``progress`` grows; ``total`` may stay unknown."""

    progress_token: ProgressToken
    progress: float
    total: float | None = None
    message: str | None = None


class CancelledParams(MetaValue):
    """Which request was given up, and why."""

    request_id: RequestId | None = None
    reason: str | None = None
