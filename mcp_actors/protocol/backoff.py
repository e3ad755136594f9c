"""How long to wait before the next try: cap first, jitter last, and the cap stays a cap."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

# 2**64 seconds is past any cap; a larger exponent would only overflow.
_LARGEST_EXPONENT = 64


class Backoff(Struct, frozen=True):
    """Exponential delays between ``base`` and ``cap`` seconds, spread by ``jitter`` to both sides."""

    base: float = 1.0
    cap: float = 30.0
    jitter: float = 0.2

    def delay(self, attempt: int, random: Callable[[], float]) -> float:
        """Seconds before try number ``attempt`` (the first is 0); ``random`` gives numbers in [0, 1)."""
        exact = min(self.cap, self.base * 2.0 ** min(attempt, _LARGEST_EXPONENT))
        return min(self.cap, spread(exact, self.jitter, random))


def spread(seconds: float, jitter: float, random: Callable[[], float]) -> float:
    """``seconds`` moved by at most ``jitter`` (a fraction) to either side."""
    return seconds * (1.0 + jitter * (2.0 * random() - 1.0))
