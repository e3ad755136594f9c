"""JSON Schema for both roles: whether a value fits, within bounds and without fetching anything."""

from __future__ import annotations

from mcp_actors.schemas.checking import Fault, Schemas, UnusableSchema

__all__ = ["Fault", "Schemas", "UnusableSchema"]
