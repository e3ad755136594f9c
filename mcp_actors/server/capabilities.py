"""Capabilities: what a server declares, in the newest words."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from mcp_actors.protocol.codec import JsonObject


def declared(
    kinds: Set[str],
    *,
    tasks: bool,
    list_tasks: bool,
    extensions: Mapping[str, Any],
    experimental: Mapping[str, Any],
) -> JsonObject:
    """The capabilities of a server that offers these kinds of things."""
    said: JsonObject = {
        "logging": {},
        "tools": {"listChanged": True} if "tools" in kinds else None,
        "prompts": {"listChanged": True} if "prompts" in kinds else None,
        "resources": {"subscribe": True, "listChanged": True} if "resources" in kinds else None,
        "completions": {} if "completions" in kinds else None,
        "tasks": _tasks(list_tasks) if tasks else None,
        "extensions": dict(extensions) or None,
        "experimental": dict(experimental) or None,
    }
    return {key: value for key, value in said.items() if value is not None}


def _tasks(listed: bool) -> JsonObject:
    offered: JsonObject = {"cancel": {}, "requests": {"tools": {"call": {}}}}
    return {"list": {}, **offered} if listed else offered
