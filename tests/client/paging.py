"""What the tests of pages share: a list in pages, without a server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, cast

from msgspec import Raw

from mcp_actors import errors
from mcp_actors.client.cache import ResponseCache
from mcp_actors.client.calls import Calls, Manner
from mcp_actors.client.outgoing import Outgoing
from mcp_actors.client.pages import Pages
from mcp_actors.client.partition import Partition
from mcp_actors.protocol import codec, types
from mcp_actors.runtime.deadline import Deadline
from tests.client.keeping import TOOLS
from tests.client.toy_host import tool
from tests.client.waiting import BOUND

ToolPages: TypeAlias = Pages[types.ListToolsResult]


class FakeCalls:
    """A list in pages by cursor, as (name of its only tool, next cursor); any other cursor is refused."""

    def __init__(self, pages: dict[str | None, tuple[str, str | None]]) -> None:
        self.pages = pages
        self.asked: list[str | None] = []
        self.deadlines: list[Deadline | None] = []
        self.metas: list[bytes] = []
        self.ttl_ms: int | None = 60_000
        self.refusal = -32602
        self.before_answer: Callable[[], object] = lambda: None

    def run(self, request: Outgoing, manner: Manner) -> Raw:
        cursor = codec.decode(request.params).get("cursor")
        self.asked.append(cursor)
        self.deadlines.append(manner.deadline)
        self.metas.append(request.meta)
        if cursor not in self.pages:
            raise errors.RemoteError("no such cursor", code=self.refusal)
        name, following = self.pages[cursor]
        page = {"tools": [tool(name)], "ttlMs": self.ttl_ms, "cacheScope": "private"}
        self.before_answer()
        return Raw(codec.encode(page if following is None else {**page, "nextCursor": following}))


def pages_of(
    calls: FakeCalls | Calls,
    seconds: float = BOUND,
    *,
    cache: ResponseCache | None = None,
    partition: str = "",
    **options: Any,
) -> ToolPages:
    own = None if cache is None else Partition(cache, lambda: partition)
    return Pages(cast(Calls, calls), TOOLS, types.ListToolsResult, Manner(seconds), cache=own, **options)


def names(pages: ToolPages) -> str:
    return "".join(one.name for page in pages for one in page.tools)


def three_pages() -> FakeCalls:
    """Pages a, b and c; b behind the empty cursor."""
    return FakeCalls({None: ("a", ""), "": ("b", "2"), "2": ("c", None)})
