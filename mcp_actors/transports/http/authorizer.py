"""The contract between HTTP exchanges and whoever knows how to authorize them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from msgspec import Struct

from mcp_actors.runtime.deadline import Deadline


class Attempt(Struct, frozen=True):
    """One HTTP request that is about to be sent, or was."""

    method: str
    url: str
    deadline: Deadline


class Refusal(Struct, frozen=True):
    """The server answered 401 or 403. ``challenges`` are the values of ``WWW-Authenticate``, ``headers`` all
    response headers with lower-case names."""

    status: int
    challenges: tuple[str, ...]
    headers: Mapping[str, str]


class Authorizer(Protocol):
    """Shared by all exchanges of one client, on any thread. It may block until the attempt's deadline."""

    def headers(self, attempt: Attempt) -> Mapping[str, str]:
        """What to add to the request. Raises an `McpError` if there is no way to authorize it."""

    def refused(self, attempt: Attempt, refusal: Refusal) -> bool:
        """The request was refused: True if it is worth sending once more, with new ``headers``.

        It bounds its own attempts: after some it returns False or raises what a person has to know.
        """

    def answered(self, attempt: Attempt, headers: Mapping[str, str]) -> None:
        """The request was not refused; ``headers`` are those of the response, with lower-case names."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values to hide wherever they turn up: tokens, codes, keys."""


@runtime_checkable
class Identifies(Protocol):
    """An authorizer that can tell in whose name it authorizes. Answers for one user are kept only then."""

    def principal(self) -> str | None:
        """A `fingerprint` of who that is, as of now; None if nobody can tell. Does not wait for a login."""
