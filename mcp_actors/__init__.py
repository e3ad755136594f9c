"""MCP for synchronous Python: a client whose calls simply block, run by a supervised actor tree."""

from __future__ import annotations
