"""The challenges of a ``WWW-Authenticate`` header (RFC 9110 11.6.1). Pure, and it never raises."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct

from mcp_actors.protocol.http.scopes import Shortage, valid_scopes

__all__ = ["Challenge", "choose", "parse"]

_MAX_HEADER: Final = 16 * 1024
_MOST_SAID: Final = 200
_OF_THE_RESOURCE: Final = frozenset({"resource_metadata", "scope"})
_TOKEN: Final = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]++"
_SCHEME: Final = re.compile(rf"[ \t,]*+({_TOKEN})(?:[ \t]++|(?=,)|\Z)")
_PARAMETER: Final = re.compile(
    rf'[ \t,]*+({_TOKEN})[ \t]*+=[ \t]*+(?:"((?:[^"\\]|\\.)*+)"|({_TOKEN}(?![^ \t,]))|([^ \t,"]*+))'
)
# A credential of 68 characters' alphabet instead of parameters, as Negotiate has it.
_TOKEN68: Final = re.compile(r"[ \t]*+[A-Za-z0-9\-._~+/]++=*+[ \t]*+(?=,|\Z)")


class Challenge(Struct, frozen=True):
    """One challenge: the scheme in lower case, its parameters by lower-case name, the first of each kept."""

    scheme: str
    parameters: Mapping[str, str]

    @property
    def error(self) -> str | None:
        """Why the request was refused, as a code of RFC 6750 or 9449."""
        return self.parameters.get("error")

    @property
    def complaint(self) -> str:
        """The error with what the server says about it, on one line; empty if there is none."""
        said = self.parameters.get("error_description", "")
        words = self.parameters.get("error", "") + (f" ({said})" if said else "")
        return ascii(words[:_MOST_SAID])[1:-1] if self.error else ""

    @property
    def scopes(self) -> tuple[str, ...]:
        """The scopes that the request needs."""
        return valid_scopes(self.parameters.get("scope", "").split())

    @property
    def shortage(self) -> Shortage | None:
        """What the token lacks, if that is why the request was refused."""
        return Shortage(self.scopes) if self.error == "insufficient_scope" else None

    @property
    def resource_metadata(self) -> str | None:
        """Where the server's metadata lie (RFC 9728 5.1)."""
        return self.parameters.get("resource_metadata") or None


def parse(headers: Iterable[str]) -> tuple[Challenge, ...]:
    """All challenges in order; text that follows no grammar is passed over."""
    return tuple(challenge for header in headers for challenge in _challenges(header[:_MAX_HEADER]))


def choose(challenges: Iterable[Challenge], scheme: str | None = None) -> Challenge:
    """The one to act on: DPoP's or Bearer's, an empty Bearer if there is neither.

    That of the ``scheme`` in which tokens are shown, else the one that says most. An error belongs to one
    scheme; what the resource is and wants may be said with either.
    """
    ours = [challenge for challenge in challenges if challenge.scheme in ("bearer", "dpop")]
    chosen = max(
        ours, key=lambda one: (one.scheme == scheme, len(one.parameters)), default=Challenge("bearer", {})
    )
    shared = {name: one.parameters[name] for one in ours for name in _OF_THE_RESOURCE & one.parameters.keys()}
    return Challenge(chosen.scheme, {**shared, **chosen.parameters})


def _challenges(header: str) -> list[Challenge]:
    found: list[Challenge] = []
    position = 0
    while scheme := _SCHEME.match(header, position):
        parameters, position = _parameters(header, scheme.end())
        found.append(Challenge(scheme[1].lower(), parameters))
        if position < len(header) and not _SCHEME.match(header, position):
            # What follows is neither a scheme nor a parameter: go on after the next comma.
            position = header.find(",", position) + 1 or len(header)
    return found


def _parameters(header: str, position: int) -> tuple[dict[str, str], int]:
    parameters: dict[str, str] = {}
    if credential := _TOKEN68.match(header, position):
        return parameters, credential.end()
    while found := _PARAMETER.match(header, position):
        name, quoted, token, loose = found.groups()
        value = re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else token or loose or ""
        parameters.setdefault(name.lower(), value)
        position = found.end()
    return parameters, position
