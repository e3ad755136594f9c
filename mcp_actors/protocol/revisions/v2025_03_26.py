"""MCP 2025-03-26: batching, and a capability for completion."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from mcp_actors.protocol.revisions.revision import change, gates
from mcp_actors.protocol.revisions.v2024_11_05 import REVISION as EARLIER

REVISION: Final = replace(
    EARLIER,
    version="2025-03-26",
    capabilities=gates(EARLIER.capabilities, added={"completion/complete": "completions"}),
    server_capability_keys=change(EARLIER.server_capability_keys, added={"completions"}),
    has_batching=True,
)
