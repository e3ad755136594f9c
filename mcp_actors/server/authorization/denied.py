"""Denied: a request that is not let in, as the HTTP answer that says so."""

from __future__ import annotations

from mcp_actors.protocol.codec import JsonObject

__all__ = ["Denied"]


class Denied(Exception):
    """The answer to send instead of the one asked for. It holds nothing secret."""

    def __init__(
        self, status: int, headers: tuple[tuple[str, str], ...] = (), body: JsonObject | None = None
    ) -> None:
        super().__init__(f"HTTP {status} {(body or {}).get('error', '')}".rstrip())
        self.status = status
        self.headers = headers
        self.body = body
