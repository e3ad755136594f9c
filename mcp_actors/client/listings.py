"""Listings: following their pages, and remembering what the last one said about each tool."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Final, Generic, TypeVar

from msgspec import Raw, structs

from mcp_actors import errors
from mcp_actors.client.calls import Calls, Manner
from mcp_actors.client.outgoing import outgoing
from mcp_actors.client.results import parse
from mcp_actors.protocol import types
from mcp_actors.protocol.codec import DecodeFailed
from mcp_actors.runtime.deadline import Deadline

_MOST_PAGES: Final = 1_000

P = TypeVar("P", bound=types.ListResult)


class Pages(Generic[P]):
    """The pages of one listing, asked for one by one within one deadline. A cursor that comes twice, or a
    thousand pages, is the server's mistake."""

    def __init__(self, calls: Calls, method: str, kind: type[P], manner: Manner) -> None:
        self._calls = calls
        self._method = method
        self._kind = kind
        self._manner = structs.replace(manner, deadline=Deadline.after(manner.seconds))

    def __iter__(self) -> Iterator[P]:
        seen: set[str] = set()
        cursor: str | None = None
        while True:
            page = self._page(cursor)
            yield page
            cursor = page.next_cursor
            if cursor is None:
                return
            pages = len(seen) + 1
            if cursor in seen or pages >= _MOST_PAGES:
                fault = f"cursor {cursor[:80]!r} came again" if cursor in seen else "there is a cursor"
                raise errors.InvalidResponse(
                    f"{self._method} does not end: {fault} after {pages} pages", details={"pages": pages}
                )
            seen.add(cursor)

    def _page(self, cursor: str | None) -> P:
        # An empty cursor is a cursor; only its absence ends the list.
        request = outgoing(self._method, None if cursor is None else {"cursor": cursor})
        return parse(self._kind, self._calls.run(request, self._manner), self._method)


class Listings:
    """What the last listing said about each tool. Replaced whole, so any thread may read."""

    def __init__(self) -> None:
        self._tools: dict[str, types.Tool] = {}

    def remember(self, tools: Iterable[types.Tool]) -> None:
        """A caller listed the tools."""
        self._tools = {tool.name: tool for tool in tools}

    def relisted(self, method: str, result: Raw) -> None:
        """The connection listed again after a loss. On its thread."""
        if method == "tools/list":
            with contextlib.suppress(DecodeFailed):
                page = types.ListToolsResult.parse(result)
                self._tools = self._tools | {tool.name: tool for tool in page.tools}

    def repeatable(self, name: str) -> bool:
        """Whether calling a tool twice is the same as once, as far as the server says."""
        tool = self._tools.get(name)
        hints = tool.annotations if tool is not None else None
        return hints is not None and (hints.read_only_hint or hints.idempotent_hint)
