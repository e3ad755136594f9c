"""The public test kit: laws for transports, and a scripted server for tests of clients."""

from __future__ import annotations

from mcp_actors.testing.bench import Bench, Peer
from mcp_actors.testing.laws import LAWS, LawBroken, Maker, check_law, check_transport
from mcp_actors.testing.scripted import Refusal, ScriptedPeer

__all__ = [
    "LAWS",
    "Bench",
    "LawBroken",
    "Maker",
    "Peer",
    "Refusal",
    "ScriptedPeer",
    "check_law",
    "check_transport",
]
