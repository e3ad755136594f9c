"""Where client and server run: on one core, on two, or wherever the system puts them."""

from __future__ import annotations

import os
import sys
from typing import Final, Literal, TypeAlias

Pin: TypeAlias = Literal["one", "split", "free"]
PINS: Final[tuple[Pin, ...]] = ("one", "split", "free")


def can_pin() -> bool:
    """Whether this system lets a process choose its cores."""
    return sys.platform == "linux"


def place_client(pin: Pin) -> None:
    """Put this thread, and the threads and processes it will start, where the client belongs."""
    if sys.platform == "linux" and pin != "free":
        # The first core serves most interrupts; the last is the quieter one.
        os.sched_setaffinity(0, {_cores()[-1]})


def server_arguments(pin: Pin) -> list[str]:
    """What the server must be told, before the client is placed."""
    if not can_pin() or pin == "free":
        return []
    return [str(_cores()[-1 if pin == "one" else 0])]


def _cores() -> list[int]:
    return sorted(os.sched_getaffinity(0)) if sys.platform == "linux" else [0]
