"""Which scopes to ask for. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from mcp_actors.protocol.http.scopes import valid_scopes as valid

__all__ = ["OFFLINE_ACCESS", "first_scopes", "joined", "union", "valid"]

OFFLINE_ACCESS: Final = "offline_access"


def union(*groups: Iterable[str]) -> tuple[str, ...]:
    """All of them, each once, in order."""
    return valid(scope for group in groups for scope in group)


def first_scopes(
    challenged: tuple[str, ...], wanted: tuple[str, ...] | None, supported: tuple[str, ...]
) -> tuple[str, ...]:
    """For the first authorization: what the challenge names and the user wants, else all that the resource
    has, else none, which leaves the choice to the authorization server."""
    return union(challenged, wanted or ()) or valid(supported)


def joined(scopes: Iterable[str]) -> dict[str, str]:
    """The ``scope`` parameter, left out where there is none."""
    text = " ".join(scopes)
    return {"scope": text} if text else {}
