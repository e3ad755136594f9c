"""The five states of a client connection and the arrows between them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final


class State(Enum):
    """Where a client connection is. A parked client is in ``BACKOFF`` without a timer."""

    STARTING = "starting"
    INITIALIZING = "initializing"
    READY = "ready"
    BACKOFF = "backoff"
    CLOSING = "closing"

    # Enum's own __hash__ is Python code that hashes the name, and every event looks its state up.
    __hash__ = object.__hash__


#: The arrows. A state may always stay what it is; every other move must be listed here.
EDGES: Final[Mapping[State, frozenset[State]]] = {
    State.STARTING: frozenset({State.STARTING, State.INITIALIZING, State.BACKOFF, State.CLOSING}),
    State.INITIALIZING: frozenset({State.INITIALIZING, State.READY, State.BACKOFF, State.CLOSING}),
    State.READY: frozenset({State.READY, State.BACKOFF, State.CLOSING}),
    State.BACKOFF: frozenset({State.BACKOFF, State.INITIALIZING, State.CLOSING}),
    State.CLOSING: frozenset({State.CLOSING}),
}
