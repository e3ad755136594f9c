"""Finishing: what every result of a revision must carry, added in one place."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.revisions import Revision
from mcp_actors.protocol.types.lifecycle import SERVER_INFO

#: Results that a client may keep (2026-07-28).
CACHEABLE: Final = frozenset(
    {
        "server/discover",
        "tools/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "prompts/list",
        "skills/list",
        "skills/get",
    }
)
_COMPLETE: Final = "complete"
_LATER_WORDS: Final = ("resultType", "ttlMs", "cacheScope")


class Freshness(Struct, frozen=True):
    """For how long, and by whom, a result may be kept, unless the result says it itself."""

    ttl_ms: int = 0
    scope: str = "private"


def finished(
    result: JsonObject, method: str, revision: Revision, *, info: JsonObject, freshness: Freshness
) -> JsonObject:
    """The result as a client of that revision expects it. A new object; the given one is left alone."""
    if not revision.stateless:
        return {key: value for key, value in result.items() if key not in _LATER_WORDS}
    # MCP 2026-07-28, basic: every result names its kind; the absence of the field means a complete one.
    told: JsonObject = {"resultType": result.get("resultType", _COMPLETE), **result}
    told["_meta"] = {SERVER_INFO: info, **(result.get("_meta") or {})}
    # MCP 2026-07-28, caching: never on a result that asks for input.
    if method in CACHEABLE and told["resultType"] == _COMPLETE:
        told.setdefault("ttlMs", freshness.ttl_ms)
        told.setdefault("cacheScope", freshness.scope)
    return told
