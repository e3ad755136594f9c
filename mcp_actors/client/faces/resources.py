"""Resources: what there is, what is in it, and hearing of its changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from mcp_actors.client.faces.face import Face
from mcp_actors.client.outgoing import check_text, outgoing
from mcp_actors.client.pages import Pages
from mcp_actors.client.results import parse
from mcp_actors.protocol import types

if TYPE_CHECKING:
    from mcp_actors.client.skills.skills import Skills


class ResourceFace(Face):
    """What a server lets its clients read."""

    def list_resources(
        self, *, timeout: float | None = None, wait: bool = False, fresh: bool = False
    ) -> list[types.Resource]:
        """All resources of the server; pages are followed. ``fresh=True`` asks anew."""
        pages = self.resource_pages(timeout=timeout, wait=wait, fresh=fresh)
        return [resource for page in pages.collect() for resource in page.resources]

    def resource_pages(
        self,
        *,
        cursor: str | None = None,
        timeout: float | None = None,
        wait: bool = False,
        fresh: bool = False,
    ) -> Pages[types.ListResourcesResult]:
        """The list of resources page by page, from ``cursor`` on."""
        manner = self._manner(timeout, wait=wait)
        return self._pages("resources/list", types.ListResourcesResult, manner, cursor=cursor, fresh=fresh)

    def list_resource_templates(
        self, *, timeout: float | None = None, wait: bool = False, fresh: bool = False
    ) -> list[types.ResourceTemplate]:
        """All resource templates of the server: URIs with gaps to fill in (RFC 6570)."""
        pages = self.resource_template_pages(timeout=timeout, wait=wait, fresh=fresh)
        return [template for page in pages.collect() for template in page.resource_templates]

    def resource_template_pages(
        self,
        *,
        cursor: str | None = None,
        timeout: float | None = None,
        wait: bool = False,
        fresh: bool = False,
    ) -> Pages[types.ListResourceTemplatesResult]:
        """The list of resource templates page by page, from ``cursor`` on."""
        manner = self._manner(timeout, wait=wait)
        kind = types.ListResourceTemplatesResult
        return self._pages("resources/templates/list", kind, manner, cursor=cursor, fresh=fresh)

    def read_resource(
        self,
        uri: str,
        *,
        timeout: float | None = None,
        wait: bool = False,
        fresh: bool = False,
        meta: Mapping[str, Any] | None = None,
    ) -> types.ReadResourceResult:
        """The contents of a resource: text or bytes, possibly several parts."""
        request = outgoing("resources/read", {"uri": check_text("uri", uri)}, what=f"resources/read {uri!r}")
        manner = self._manner(timeout, wait=wait)
        cache = self._cache(request.method)
        if cache is None:
            return self._rounds.complete(types.ReadResourceResult, self._enclose(request, meta), manner)
        if fresh:
            cache.forget(request.method, request.params)
        kept = cache.lookup(request.method, request.params)
        if kept is not None:
            return parse(types.ReadResourceResult, kept, request.what)
        receipt = cache.receipt(request.method, request.params)

        def keep(raw: Raw, result: types.ReadResourceResult) -> None:
            cache.store(receipt, raw, result.ttl_ms, result.cache_scope)

        return self._rounds.complete(types.ReadResourceResult, self._enclose(request, meta), manner, keep)

    def subscribe_resource(self, uri: str, *, timeout: float | None = None, wait: bool = False) -> None:
        """Hear of changes of a resource from now on; see `on_resource_updated`.

        A lost connection does not end it: the client subscribes again before it is ready.
        """
        self._subscribe("resources/subscribe", uri, timeout, wait)

    def unsubscribe_resource(self, uri: str, *, timeout: float | None = None, wait: bool = False) -> None:
        """Hear no more of a resource."""
        self._subscribe("resources/unsubscribe", uri, timeout, wait)

    @property
    def skills(self) -> Skills:
        """The skills of a server that has the extension ``io.modelcontextprotocol/skills``."""
        from mcp_actors.client.skills.skills import Skills

        return Skills(self, timeout=self._options.request_timeout)  # type: ignore[arg-type]

    def _subscribe(self, method: str, uri: str, timeout: float | None, wait: bool) -> None:
        # Where subscriptions are a stream of their own (2026-07-28) the connection says it in that way.
        request = outgoing(method, {"uri": check_text("uri", uri)}, what=f"{method} {uri!r}")
        self._calls.run(self._enclose(request, None), self._manner(timeout, wait=wait))
