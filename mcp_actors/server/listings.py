"""Listings: the answers to requests for lists, encoded pages kept until something changes."""

from __future__ import annotations

from typing import Any, Final

from mcp_actors.protocol.codec import JsonObject
from mcp_actors.server.call import Call
from mcp_actors.server.faults import invalid_params
from mcp_actors.server.parts import Parts
from mcp_actors.server.registry.listing import Listing
from mcp_actors.server.registry.pages import InvalidCursor, page

#: Methods, the registry's listing, and the member that holds the list.
_KINDS: Final = {
    "tools/list": ("tools", "tools"),
    "resources/list": ("resources", "resources"),
    "resources/templates/list": ("templates", "resourceTemplates"),
    "prompts/list": ("prompts", "prompts"),
}


class Listings:
    """Answers the four list methods. On a worker's thread."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def answer(self, call: Call) -> JsonObject:
        """One page."""
        attribute, member = _KINDS[call.job.method]
        cursor = call.job.params.get("cursor")
        if cursor is not None and not isinstance(cursor, str):
            raise invalid_params("cursor must be a string")
        listing: Listing[Any] = getattr(self._parts.registry, attribute)
        return listing.once(cursor, lambda: self._page(listing, attribute, member, cursor))

    def _page(self, listing: Listing[Any], kind: str, member: str, cursor: str | None) -> JsonObject:
        try:
            entries, following = page(listing.entries, cursor, self._parts.options.page_size, kind=kind)
        except InvalidCursor as error:
            raise invalid_params(str(error)) from None
        result: JsonObject = {member: [entry.wire for entry in entries]}
        if following is not None:
            result["nextCursor"] = following
        return result
