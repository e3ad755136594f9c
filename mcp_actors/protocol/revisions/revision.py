"""What one protocol revision offers, as data; each later one is written as a change of the one before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType


class Era(Enum):
    """How a conversation opens: with ``initialize``, or not at all."""

    HANDSHAKE = "handshake"
    STATELESS = "stateless"


@dataclass(frozen=True, slots=True)
class Revision:
    """The vocabulary and habits of one revision of the protocol.

    ``capabilities`` and ``server_request_capabilities`` name, as dotted paths, what the peer must have
    declared before a method may be sent; a method that is absent there needs nothing.
    """

    version: str
    era: Era
    requests: frozenset[str]  # client to server
    server_requests: frozenset[str]  # server to client; STATELESS: none
    input_requests: frozenset[str]  # what a result may ask the client for; HANDSHAKE: none
    client_notifications: frozenset[str]  # client to server
    server_notifications: frozenset[str]  # server to client
    capabilities: Mapping[str, str]
    server_request_capabilities: Mapping[str, str]
    client_capability_keys: frozenset[str]
    server_capability_keys: frozenset[str]
    has_batching: bool = False
    has_version_header: bool = False  # MCP-Protocol-Version on HTTP after the opening

    @property
    def has_ping(self) -> bool:
        """Whether either side may ask for a sign of life."""
        return "ping" in self.requests

    @property
    def notifications(self) -> frozenset[str]:
        """The notifications of both directions."""
        return self.client_notifications | self.server_notifications

    @property
    def stateless(self) -> bool:
        """Whether every request describes itself, without a handshake."""
        return self.era is Era.STATELESS

    def __str__(self) -> str:
        return self.version


def change(
    names: frozenset[str], *, added: Iterable[str] = (), removed: Iterable[str] = ()
) -> frozenset[str]:
    """A set with some names added and others removed; adding twice or removing in vain is a mistake."""
    new, gone = frozenset(added), frozenset(removed)
    if new & names or gone - names:
        raise ValueError(f"added twice: {sorted(new & names)}; removed in vain: {sorted(gone - names)}")
    return names - gone | new


def gates(
    earlier: Mapping[str, str],
    *,
    added: Mapping[str, str] = MappingProxyType({}),
    removed: Iterable[str] = (),
) -> Mapping[str, str]:
    """A read-only table of gates with some added or changed and others removed."""
    gone = frozenset(removed)
    kept = {method: gate for method, gate in earlier.items() if method not in gone}
    return MappingProxyType(kept | dict(added))
