"""MCP 2026-07-28: no handshake; every request describes itself, and only the client sends requests."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from mcp_actors.protocol.revisions.revision import Era, change, gates
from mcp_actors.protocol.revisions.v2025_11_25 import REVISION as EARLIER

_TASK_METHODS: Final = frozenset({"tasks/get", "tasks/result", "tasks/list", "tasks/cancel"})
_REMOVED: Final = _TASK_METHODS | {
    "initialize",
    "ping",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
}

REVISION: Final = replace(
    EARLIER,
    version="2026-07-28",
    era=Era.STATELESS,
    requests=change(EARLIER.requests, added={"server/discover", "subscriptions/listen"}, removed=_REMOVED),
    # What a server used to request it now asks for inside a result ("input_required").
    server_requests=frozenset(),
    input_requests=change(EARLIER.server_requests, removed=_TASK_METHODS | {"ping"}),
    client_notifications=frozenset({"notifications/cancelled"}),
    server_notifications=change(
        EARLIER.server_notifications,
        added={"notifications/subscriptions/acknowledged"},
        removed={"notifications/elicitation/complete", "notifications/tasks/status"},
    ),
    capabilities=gates(EARLIER.capabilities, removed=_REMOVED),
    server_request_capabilities=gates(EARLIER.server_request_capabilities, removed=_TASK_METHODS),
    client_capability_keys=change(EARLIER.client_capability_keys, added={"extensions"}, removed={"tasks"}),
    server_capability_keys=change(EARLIER.server_capability_keys, added={"extensions"}, removed={"tasks"}),
)
