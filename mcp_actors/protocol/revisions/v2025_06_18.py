"""MCP 2025-06-18: elicitation and the version header; batching is gone."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from mcp_actors.protocol.revisions.revision import change, gates
from mcp_actors.protocol.revisions.v2025_03_26 import REVISION as EARLIER

REVISION: Final = replace(
    EARLIER,
    version="2025-06-18",
    server_requests=change(EARLIER.server_requests, added={"elicitation/create"}),
    server_request_capabilities=gates(
        EARLIER.server_request_capabilities, added={"elicitation/create": "elicitation"}
    ),
    client_capability_keys=change(EARLIER.client_capability_keys, added={"elicitation"}),
    has_batching=False,
    has_version_header=True,
)
