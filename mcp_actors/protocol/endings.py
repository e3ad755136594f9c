"""Why a wire ended, as a value: transports make it, the machine reads it, crash reports print it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final


class EndKind(Enum):
    """The ways in which a wire can end."""

    EOF = "eof"  # the peer closed its side
    EXIT = "exit"  # the server process ended
    BROKEN = "broken"  # a read or write failed (EPIPE, reset)
    OVERSIZED = "oversized"  # a frame above the limit; its end cannot be trusted
    REFUSED = "refused"  # it could not be opened; trying again may help
    IMPOSSIBLE = "impossible"  # it could not be opened, and trying again will not help (no such command)
    BREACH = "breach"  # what the server said breaks the protocol: only that request fails of it
    UNAUTHORIZED = "unauthorized"  # the server wants an authorization that we do not have
    INTERRUPTED = "interrupted"  # somebody broke the authorization off that it waited for
    CLOSED = "closed"  # we closed it ourselves


@dataclass(frozen=True, slots=True)
class Ending:
    """Why a wire ended. ``reason`` is one plain line; ``unsent`` holds the tokens of frames that were not
    completely written, so that the server cannot have acted on them; ``passing`` says of a missing
    authorization that it may be there later, ``person`` that somebody has yet to act for it; ``details`` are
    for programs, and hold no secret."""

    kind: EndKind
    reason: str
    exit_code: int | None = None
    signal: int | None = None
    pid: int | None = None
    stderr_tail: tuple[str, ...] = ()
    unsent: frozenset[int] = field(default_factory=frozenset)
    passing: bool = False
    person: bool = False
    details: Mapping[str, Any] = field(default_factory=dict, hash=False)


#: What everybody gets who waited for an authorization that a person broke off.
BROKEN_OFF: Final = Ending(
    EndKind.INTERRUPTED, "the authorization was interrupted; call again to start anew", passing=True
)
