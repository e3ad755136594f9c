"""What all results share."""

from __future__ import annotations

import msgspec

from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.types.value import MetaValue


class Result(MetaValue):
    """The answer to a request. Also the whole of it where the answer is empty."""

    # Since 2026-07-28 a result names its kind; "complete" where it does not.
    result_type: str = "complete"

    @property
    def complete(self) -> bool:
        """Whether this is the answer itself, not a question back or a task."""
        return self.result_type == "complete"

    def to_json(self) -> JsonObject:
        """The result as plain JSON, exactly as it was received. A copy of ``raw``, for the caller to keep."""
        copy: JsonObject = msgspec.to_builtins(self.raw)
        return copy


class CacheableResult(Result):
    """A result with a time to live (2026-07-28). Absent means that it must not be kept."""

    ttl_ms: int | None = None
    cache_scope: str | None = None


class ListResult(CacheableResult):
    """One page of a list. An empty cursor is a cursor; None ends the list."""

    next_cursor: str | None = None


class ListParams(MetaValue):
    """What to list: the page behind a cursor."""

    cursor: str | None = None
