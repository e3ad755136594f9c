"""The states of a session and the arrows between them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final


class Phase(Enum):
    """Where the conversation with one client stands. Requests of 2026-07-28 need no phase: they describe
    themselves, and are served in all of them but the last two."""

    FRESH = "fresh"  # nothing was agreed on
    GREETED = "greeted"  # `initialize` is answered, and nothing followed yet
    READY = "ready"
    CLOSING = "closing"  # no new work; what runs may end
    CLOSED = "closed"


#: The only changes of state there are; whatever is not in here is a bug.
EDGES: Final[Mapping[Phase, frozenset[Phase]]] = {
    Phase.FRESH: frozenset({Phase.GREETED, Phase.READY, Phase.CLOSING, Phase.CLOSED}),
    Phase.GREETED: frozenset({Phase.READY, Phase.CLOSING, Phase.CLOSED}),
    Phase.READY: frozenset({Phase.CLOSING, Phase.CLOSED}),
    Phase.CLOSING: frozenset({Phase.CLOSED}),
    Phase.CLOSED: frozenset(),
}
