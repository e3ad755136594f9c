"""What goes along with each request in its ``_meta``: trace context, and the caller's own."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

from mcp_actors.client.outgoing import Outgoing, check_mapping, with_meta
from mcp_actors.protocol import codec

_ANY: Final = Outgoing("", "")

logger: Final = logging.getLogger("mcp_actors.client")


class Enclosures:
    """Shared by all threads that use a client."""

    def __init__(self, trace_context: Callable[[], Mapping[str, str]] | None) -> None:
        self._trace_context = trace_context
        self.traces = trace_context is not None

    def enclose(self, request: Outgoing, meta: Mapping[str, Any] | None = None) -> Outgoing:
        """The request with what goes along with it; the caller's own ``meta`` has the last word."""
        if meta is None and self._trace_context is None:
            return request
        enclosed = self.standing()
        if request.meta != b"{}":
            enclosed |= codec.decode(request.meta)
        if meta is not None:
            enclosed |= check_mapping("meta", meta)
        return with_meta(request, enclosed) if enclosed else request

    def standing(self) -> dict[str, Any]:
        """What goes along with every request of this moment."""
        if self._trace_context is None:
            return {}
        try:
            context = dict(self._trace_context())
            # Whatever cannot be sent is found out here, where it stops nobody.
            with_meta(_ANY, context)
            return context
        except Exception:
            # A tracer that fails must not stop the work it was to watch.
            logger.warning("trace_context failed; the request goes out without it", exc_info=True)
            return {}
