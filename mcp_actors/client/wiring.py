"""What the three actors of one connection and its face have in common."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from msgspec import Raw

from mcp_actors.client.answering.desk import Desk
from mcp_actors.client.board import Board
from mcp_actors.client.cache import ResponseCache
from mcp_actors.client.futures import Settlements
from mcp_actors.client.notifications import Handlers
from mcp_actors.client.options import ClientOptions
from mcp_actors.protocol.policy import Policy
from mcp_actors.protocol.standing import Standing
from mcp_actors.runtime.slot import Slot
from mcp_actors.telemetry.bus import Bus
from mcp_actors.transports.actor import Links
from mcp_actors.transports.contract import Transport

TRANSPORT: Final = "transport"
POOL: Final = "pool"
CONNECTION: Final = "connection"


@dataclass(slots=True, kw_only=True)
class Wiring:
    """Made once per tree, before its actors; it outlives each of them, so that a restart loses no history.

    ``wires`` is only advanced by the Connection actor, ``standing`` is only changed by it; ``ids`` are also
    drawn by callers who send their requests themselves; ``closing`` is set once, by the face.
    """

    name: str
    options: ClientOptions
    policy: Policy
    transport: Transport
    handlers: Handlers
    desk: Desk
    standing: Standing
    bus: Bus
    relisted: Callable[[str, Raw, bool], None]
    ids: Iterator[int]
    wires: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    board: Board = field(default_factory=Board)
    links: Links = field(default_factory=Links)
    cache: ResponseCache = field(default_factory=ResponseCache)
    halted: Slot[None] = field(default_factory=Slot)
    settlements: Settlements = field(default_factory=Settlements)
    random: Callable[[], float] = random.random
    closing: bool = False
