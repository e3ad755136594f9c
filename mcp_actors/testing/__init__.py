"""The public test kit: laws for transports, and a scripted server for tests of clients."""

from __future__ import annotations

from mcp_actors.testing.laws import LAWS, Bench, LawBroken, Maker, Peer, check_law, check_transport

__all__ = ["LAWS", "Bench", "LawBroken", "Maker", "Peer", "check_law", "check_transport"]
