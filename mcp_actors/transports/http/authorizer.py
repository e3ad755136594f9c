"""The contract between HTTP exchanges and whoever knows how to authorize them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, runtime_checkable

from msgspec import Struct

from mcp_actors.errors import AuthorizationFailed
from mcp_actors.protocol.endings import Ending
from mcp_actors.runtime.deadline import Deadline


class AuthorizationInterrupted(AuthorizationFailed):
    """A person broke it off. Whoever waited for it is told, and only a new call begins it anew."""


class Attempt(Struct, frozen=True):
    """One HTTP request that is about to be sent, or was. ``held`` is to be told, on the thread of the
    request, what it waits for, and None when that is over."""

    method: str
    url: str
    deadline: Deadline
    held: Callable[[Ending | None], object] | None = None


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
class KnowsAtOnce(Protocol):
    """An authorizer that mostly has what it takes. Whoever must not wait asks it first."""

    def at_hand(self, attempt: Attempt) -> Mapping[str, str] | None:
        """As `headers`, but without waiting for anybody; None: `headers` may have to."""


@runtime_checkable
class LogsIn(Protocol):
    """An authorizer for which a person may have to do something."""

    def hindrance(self) -> Ending | None:
        """What a person has to do now, None if nothing. Any thread."""

    def interrupt(self) -> None:
        """End what is under way, for all who wait for it. Any thread; does not wait."""


@runtime_checkable
class Identifies(Protocol):
    """An authorizer that can tell in whose name it authorizes. Answers for one user are kept only then."""

    def principal(self) -> str | None:
        """A `fingerprint` of who that is, as of now; None if nobody can tell. Does not wait for a login."""
