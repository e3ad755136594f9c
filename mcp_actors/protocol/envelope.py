"""Outgoing requests: an encoded payload is wrapped, not encoded again, in what its revision demands.

The caller's thread encodes the params, so that a mistake in them is the caller's own TypeError. Id, `_meta`
and progress token are known only to the connection; they are spliced in front of the caller's bytes.
"""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from mcp_actors.protocol import codec
from mcp_actors.protocol.events import Called
from mcp_actors.protocol.offer import Offer
from mcp_actors.protocol.revisions import Era, Revision

META_PREFIX = "io.modelcontextprotocol/"
_LEVEL = codec.encode(META_PREFIX + "logLevel")


class Identity(Struct, frozen=True):
    """Who we say we are: the client's name and version, and what it can do."""

    client_info: codec.JsonObject
    offer: Offer = Offer()

    def capabilities(self, revision: Revision) -> codec.JsonObject:
        """What the client declares in this revision."""
        return self.offer.capabilities(revision)


class Envelopes:
    """Frames for one negotiated revision. ``session`` is the number of the wire: what a server remembers of
    us ends with it."""

    def __init__(self, revision: Revision, identity: Identity, session: int = 0) -> None:
        self._session = b'"session_id":%d' % session
        self._meta = b""
        if revision.era is Era.STATELESS:
            # MCP 2026-07-28, basic: every request names version, client and capabilities itself.
            self._meta = codec.encode(
                {
                    META_PREFIX + "protocolVersion": revision.version,
                    META_PREFIX + "clientCapabilities": identity.capabilities(revision),
                    META_PREFIX + "clientInfo": identity.client_info,
                }
            )[1:-1]

    def request(
        self, id_: int, method: str, params: bytes = b"{}", meta: bytes = b"{}", *, progress: bool = False
    ) -> bytes:
        """One request frame. ``params`` and ``meta`` are encoded objects; ``params`` holds no ``_meta``."""
        parts = [part for part in (self._meta, meta[1:-1]) if part]
        if progress:
            parts.append(b'"progressToken":%d' % id_)
        if parts:
            separator = b"" if params == b"{}" else b","
            params = b'{"_meta":{%s}%s%s' % (b",".join(parts), separator, params[1:])
        return b'{"jsonrpc":"2.0","id":%d,"method":%s,"params":%s}' % (id_, _name(method), params)

    def call(self, id_: int, called: Called, level: str | None) -> bytes:
        """The frame of a caller's request, which names the session if it is to, and asks for log messages of
        a ``level`` where each request has to (2026-07-28)."""
        meta = _with_member(called.meta, self._session) if called.session else called.meta
        # Whoever asks for a level of their own has it.
        if level is not None and self._meta and _LEVEL not in meta:
            meta = _with_member(meta, b"%s:%s" % (_LEVEL, codec.encode(level)))
        return self.request(id_, called.method, called.params, meta, progress=called.progress)

    def notification(self, method: str, params: bytes | None = None) -> bytes:
        """One notification frame."""
        if params is None:
            return b'{"jsonrpc":"2.0","method":%s}' % _name(method)
        return b'{"jsonrpc":"2.0","method":%s,"params":%s}' % (_name(method), params)

    def cancellation(self, id_: int, reason: str) -> bytes:
        """The notification that takes back request ``id_``."""
        return self.notification(
            "notifications/cancelled", codec.encode({"requestId": id_, "reason": reason})
        )


def _with_member(meta: bytes, member: bytes) -> bytes:
    return b"{%s}" % b",".join(filter(None, (meta[1:-1], member)))


@lru_cache(maxsize=256)
def _name(method: str) -> bytes:
    return codec.encode(method)
