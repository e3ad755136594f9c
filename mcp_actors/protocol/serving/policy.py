"""Policy: the numbers of a session."""

from __future__ import annotations

from msgspec import Struct

from mcp_actors.protocol.serving.finishing import Freshness


class SessionPolicy(Struct, frozen=True):
    """Bounds and times, in seconds."""

    #: How long a client may take between the answer to ``initialize`` and its next message.
    init_timeout: float = 60.0
    #: How many requests of one client may run or wait for a worker at a time.
    max_running: int = 1024
    #: How many streams for news one client may hold open.
    max_listens: int = 64
    #: What a session hears of log messages before it says itself what it wants.
    log_level: str = "info"
    freshness: Freshness = Freshness()
