"""MCP for synchronous Python: a client whose calls simply block, run by a supervised actor tree."""

from __future__ import annotations

import logging

from mcp_actors import errors
from mcp_actors.client.client import Client, registry
from mcp_actors.client.notifications import Notification, Progress
from mcp_actors.client.stats import ClientStats
from mcp_actors.telemetry.crash_report import CrashReport

__all__ = ["Client", "ClientStats", "CrashReport", "Notification", "Progress", "errors", "registry"]

logging.getLogger("mcp_actors").addHandler(logging.NullHandler())
