"""MCP 2025-11-25: tasks on both sides, and elicitation by URL."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from mcp_actors.protocol.revisions.revision import change, gates
from mcp_actors.protocol.revisions.v2025_06_18 import REVISION as EARLIER

_TASK_GATES: Final = {
    "tasks/get": "tasks",
    "tasks/result": "tasks",
    "tasks/list": "tasks.list",
    "tasks/cancel": "tasks.cancel",
}

REVISION: Final = replace(
    EARLIER,
    version="2025-11-25",
    # Either side may host a task, so either side may ask about one.
    requests=change(EARLIER.requests, added=_TASK_GATES),
    server_requests=change(EARLIER.server_requests, added=_TASK_GATES),
    client_notifications=change(EARLIER.client_notifications, added={"notifications/tasks/status"}),
    server_notifications=change(
        EARLIER.server_notifications,
        added={"notifications/elicitation/complete", "notifications/tasks/status"},
    ),
    capabilities=gates(EARLIER.capabilities, added=_TASK_GATES),
    server_request_capabilities=gates(EARLIER.server_request_capabilities, added=_TASK_GATES),
    client_capability_keys=change(EARLIER.client_capability_keys, added={"tasks"}),
    server_capability_keys=change(EARLIER.server_capability_keys, added={"tasks"}),
)
