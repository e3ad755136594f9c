"""JSON does not tell 3.0 from 3; where an integer is expected, both will do."""

from __future__ import annotations

from mcp_actors.protocol.codec import Json


def with_integers(value: Json) -> Json:
    """A copy in which every number without a fraction is an integer."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, dict):
        return {key: with_integers(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [with_integers(held) for held in value]
    return value
