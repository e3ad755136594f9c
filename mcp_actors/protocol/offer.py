"""What a client offers to do for a server, said in the words of each revision."""

from __future__ import annotations

from typing import Final

import msgspec

from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.revisions import Revision

# From here on a client says which parts of sampling and elicitation it supports. Dates sort as text.
_DETAILED: Final = "2025-11-25"


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """The client's side of the bargain. ``elicitation`` names the modes offered: ``form``, ``url``."""

    roots: bool = False
    sampling: bool = False
    sampling_tools: bool = False
    sampling_context: bool = False
    elicitation: tuple[str, ...] = ()
    experimental: JsonObject = {}
    extensions: JsonObject = {}

    def capabilities(self, revision: Revision) -> JsonObject:
        """What the client may declare to a server of that revision."""
        said: JsonObject = {
            "roots": self._roots(revision),
            "sampling": self._sampling(revision),
            "elicitation": self._elicitation(revision),
            "experimental": dict(self.experimental) or None,
            "extensions": dict(self.extensions) or None,
        }
        known = revision.client_capability_keys
        return {key: value for key, value in said.items() if value is not None and key in known}

    def _roots(self, revision: Revision) -> JsonObject | None:
        if not self.roots:
            return None
        # MCP 2026-07-28: roots are asked for when they are needed, so that nobody announces changes.
        return {} if revision.stateless else {"listChanged": True}

    def _sampling(self, revision: Revision) -> JsonObject | None:
        if not self.sampling:
            return None
        parts = {"tools": self.sampling_tools, "context": self.sampling_context}
        return _named([part for part, offered in parts.items() if offered], revision)

    def _elicitation(self, revision: Revision) -> JsonObject | None:
        # MCP 2025-06-18 knows forms alone and has no word for a mode: an empty object would promise forms.
        silent = revision.version < _DETAILED and "form" not in self.elicitation
        return None if silent or not self.elicitation else _named(self.elicitation, revision)


def _named(parts: list[str] | tuple[str, ...], revision: Revision) -> JsonObject:
    return {part: {} for part in parts} if revision.version >= _DETAILED else {}
