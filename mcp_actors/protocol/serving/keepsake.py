"""Keepsake: what has to be known of a session so that another process can go on with it."""

from __future__ import annotations

from msgspec import Struct

from mcp_actors.protocol.codec import JsonObject


class Keepsake(Struct, frozen=True):
    """What the handshake settled, and what the client set since. What runs belongs to its process."""

    version: str
    capabilities: JsonObject
    client_info: JsonObject | None = None
    #: From which level on it hears log messages; None: it has not said.
    log_level: str | None = None
    watched: tuple[str, ...] = ()
