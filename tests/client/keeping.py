"""What the tests of kept answers share: a clock, names, and short ways to keep and find."""

from __future__ import annotations

from msgspec import Raw

from mcp_actors.client.cache import ResponseCache
from mcp_actors.protocol import codec

TOOLS, PROMPTS, RESOURCES = "tools/list", "prompts/list", "resources/list"
TEMPLATES, READ, DISCOVER = "resources/templates/list", "resources/read", "server/discover"
KEPT = (TOOLS, PROMPTS, RESOURCES, TEMPLATES, READ, DISCOVER)
TOOLS_CHANGED = "notifications/tools/list_changed"
PROMPTS_CHANGED = "notifications/prompts/list_changed"
RESOURCES_CHANGED = "notifications/resources/list_changed"
UPDATED = "notifications/resources/updated"
DAY = 24 * 60 * 60.0


class FakeClock:
    """A clock that stands still until it is told otherwise."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def params_of(uri: str | None = None) -> bytes:
    return b"{}" if uri is None else codec.encode({"uri": uri})


def keep(
    cache: ResponseCache,
    method: str = TOOLS,
    params: bytes = b"{}",
    *,
    result: bytes = b"1",
    ttl_ms: object = 1000,
    scope: object = "private",
    partition: str | None = "",
) -> None:
    cache.store(cache.ticket(method, params), Raw(result), ttl_ms, scope, partition)


def found(
    cache: ResponseCache, method: str = TOOLS, params: bytes = b"{}", partition: str | None = ""
) -> bytes | None:
    result = cache.lookup(method, params, partition)
    return None if result is None else bytes(result)
