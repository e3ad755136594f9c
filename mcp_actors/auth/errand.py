"""Errand: what one authorization takes along on its way."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_actors.auth.binding import Binding
from mcp_actors.auth.confidences import Confidences
from mcp_actors.auth.fetching import Fetcher
from mcp_actors.auth.flights import Flight
from mcp_actors.auth.storage import TokenStorage

__all__ = ["Errand"]


@dataclass(frozen=True, slots=True, repr=False)
class Errand:
    """Belongs to the thread of its flight."""

    flight: Flight
    fetcher: Fetcher
    storage: TokenStorage
    binding: Binding
    confidences: Confidences

    def enter(self, phase: str, *, login_url: str | None = None) -> None:
        """Say what happens from now on, for those who wait; ``login_url`` is where a person has to act."""
        self.flight.enter(phase, login_url)
