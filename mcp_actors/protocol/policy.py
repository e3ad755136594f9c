"""The numbers and choices a client connection is run by."""

from __future__ import annotations

from msgspec import Struct, field

from mcp_actors.protocol.backoff import Backoff
from mcp_actors.protocol.envelope import Identity


class Policy(Struct, frozen=True, kw_only=True):
    """Durations are seconds, sizes bytes."""

    identity: Identity
    protocol: str = "auto"
    init_timeout: float = 10.0
    probe_timeout: float = 3.0
    #: Whether a server of the handshake era may meet the probe with silence, or hang up. Where it is told so
    #: if it is not understood (HTTP), both are an outage and say nothing about its era.
    silence_tells_era: bool = True
    backoff: Backoff = field(default_factory=Backoff)
    max_failed_starts: int = 3
    sustained_uptime: float = 30.0
    #: Offers of one frame to a busy wire, and the delay between them.
    send_attempts: int = 3
    send_delay: float = 0.01
    send_jitter: float = 0.5
    tombstone_ttl: float = 75.0
    sweep_every: float = 60.0
    #: Permits out at once; 1 is active-once.
    window: int = 1
    #: Frames above this size are scanned in the pool, at most so many at once and so many bytes held.
    scan_above: int = 128_000
    max_scanning: int = 8
    max_held_bytes: int = 16 * 1024 * 1024
    #: How long the reader pauses for a full lane, once; with ``block`` until there is room.
    pause: float = 0.25
    block: bool = False
    #: How often an idle server is asked for a sign of life, None for never; so many misses end the wire.
    keep_alive: float | None = 30.0
    keep_alive_misses: int = 3
    #: Requests of the server's that may be open at once.
    max_duties: int = 32
    #: How long a closing wire may take.
    drain: float = 8.0
