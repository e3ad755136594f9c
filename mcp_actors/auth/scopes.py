"""Which scopes to ask for. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

__all__ = ["OFFLINE_ACCESS", "first_scopes", "joined", "union", "valid"]

OFFLINE_ACCESS: Final = "offline_access"
#: More than any server needs; a server that names new scopes for ever is stopped here.
MAX_SCOPES: Final = 100
_SCOPE: Final = re.compile(r"[\x21\x23-\x5B\x5D-\x7E]{1,256}")


def valid(scopes: Iterable[str]) -> tuple[str, ...]:
    """The scopes that are spelled as RFC 6749 3.3 allows, each once, in order, not beyond all bounds."""
    return tuple(dict.fromkeys(scope for scope in scopes if _SCOPE.fullmatch(scope)))[:MAX_SCOPES]


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
