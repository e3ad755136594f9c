"""MCP 2024-11-05: the first revision, on which the others build."""

from __future__ import annotations

from typing import Final

from mcp_actors.protocol.revisions.revision import Era, Revision, gates

REVISION: Final = Revision(
    version="2024-11-05",
    era=Era.HANDSHAKE,
    requests=frozenset(
        {
            "initialize",
            "ping",
            "tools/list",
            "tools/call",
            "resources/list",
            "resources/templates/list",
            "resources/read",
            "resources/subscribe",
            "resources/unsubscribe",
            "prompts/list",
            "prompts/get",
            "completion/complete",
            "logging/setLevel",
        }
    ),
    server_requests=frozenset({"ping", "sampling/createMessage", "roots/list"}),
    input_requests=frozenset(),
    client_notifications=frozenset(
        {
            "notifications/initialized",
            "notifications/cancelled",
            "notifications/progress",
            "notifications/roots/list_changed",
        }
    ),
    server_notifications=frozenset(
        {
            "notifications/cancelled",
            "notifications/progress",
            "notifications/message",
            "notifications/tools/list_changed",
            "notifications/resources/list_changed",
            "notifications/resources/updated",
            "notifications/prompts/list_changed",
        }
    ),
    # Completion had no capability of its own yet.
    capabilities=gates(
        {
            "tools/list": "tools",
            "tools/call": "tools",
            "resources/list": "resources",
            "resources/templates/list": "resources",
            "resources/read": "resources",
            "resources/subscribe": "resources.subscribe",
            "resources/unsubscribe": "resources.subscribe",
            "prompts/list": "prompts",
            "prompts/get": "prompts",
            "logging/setLevel": "logging",
        }
    ),
    server_request_capabilities=gates({"sampling/createMessage": "sampling", "roots/list": "roots"}),
    client_capability_keys=frozenset({"experimental", "roots", "sampling"}),
    server_capability_keys=frozenset({"experimental", "logging", "prompts", "resources", "tools"}),
)
