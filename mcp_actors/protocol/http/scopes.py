"""Scopes, as servers name them: what a token is good for, and what it lacks."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from msgspec import Struct

#: More than any server needs; a server that names new scopes for ever is stopped here.
MAX_SCOPES: Final = 100
_SCOPE: Final = re.compile(r"[\x21\x23-\x5B\x5D-\x7E]{1,256}")
_MOST_SHOWN: Final = 10


def valid_scopes(scopes: Iterable[str]) -> tuple[str, ...]:
    """The scopes that are spelled as RFC 6749 3.3 allows, each once, in order, not beyond all bounds."""
    return tuple(dict.fromkeys(scope for scope in scopes if _SCOPE.fullmatch(scope)))[:MAX_SCOPES]


class Shortage(Struct, frozen=True):
    """A server wants more scopes for a request than its token has. ``held`` is None where nobody can tell."""

    wanted: tuple[str, ...]
    held: tuple[str, ...] | None = None

    @property
    def missing(self) -> tuple[str, ...]:
        """What is wanted and not held, as far as is known."""
        return tuple(scope for scope in self.wanted if scope not in (self.held or ()))

    @property
    def words(self) -> str:
        """What is wanted, held and missing: the middle of a sentence."""
        wanted = (
            f"wants {_listed(self.wanted)}" if self.wanted else "wants more scopes and does not say which"
        )
        if self.held is None:
            return f"{wanted}; which of them the token has is not known here"
        lacks = f", so that it lacks {_listed(self.missing)}" if self.missing else ""
        return f"{wanted}; the token has {_listed(self.held)}{lacks}"

    @property
    def details(self) -> dict[str, Any]:
        """The same for a program."""
        held = None if self.held is None else list(self.held)
        return {
            "scopes_wanted": list(self.wanted),
            "scopes_held": held,
            "scopes_missing": list(self.missing),
        }


def _listed(scopes: tuple[str, ...]) -> str:
    if not scopes:
        return "none that it named"
    more = len(scopes) - _MOST_SHOWN
    text = " ".join(scopes[:_MOST_SHOWN]) + (f" and {more} more" if more > 0 else "")
    return f"the scope{'s' if len(scopes) > 1 else ''} {text!r}"
