"""The protocol's revisions, one file each, and the registry that chooses among them."""

from __future__ import annotations

from mcp_actors.protocol.revisions.registry import (
    ALL,
    HANDSHAKE,
    NEWEST,
    NEWEST_HANDSHAKE,
    STATELESS,
    by_version,
    capability_for,
    client_capability_for,
    negotiate,
)
from mcp_actors.protocol.revisions.revision import Era, Revision

__all__ = [
    "ALL",
    "HANDSHAKE",
    "NEWEST",
    "NEWEST_HANDSHAKE",
    "STATELESS",
    "Era",
    "Revision",
    "by_version",
    "capability_for",
    "client_capability_for",
    "negotiate",
]
