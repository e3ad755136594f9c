"""The last frames of a wire, kept for the crash report."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from typing import Final, TypeAlias

from mcp_actors.telemetry.redaction import HIDDEN, MIN_LITERAL, presentable

__all__ = ["FrameLog"]

KEEP: Final = 5
KEPT_BYTES: Final = 512
SHOWN_CHARACTERS: Final = 300
_WIDEST_ESCAPE: Final = 10  # \U0001f600 is what the longest escape looks like

# A whole frame, or the head of a longer one with the full length.
_Kept: TypeAlias = bytes | tuple[bytes, int]


class FrameLog:
    """A ring of the last frames of each direction.

    ``sent`` and ``received`` are for the thread that owns the wire: an append each, no lock. The readers
    ``last_sent`` and ``last_received`` may run on any thread.
    """

    __slots__ = ("_received", "_sent")

    def __init__(self, keep: int = KEEP) -> None:
        self._sent: deque[_Kept] = deque(maxlen=keep)
        self._received: deque[_Kept] = deque(maxlen=keep)

    def sent(self, frame: bytes) -> None:
        """Remember a frame that was written. At most its first 512 bytes are kept."""
        self._sent.append(frame if len(frame) <= KEPT_BYTES else (frame[:KEPT_BYTES], len(frame)))

    def received(self, frame: bytes) -> None:
        """Remember a frame that was read. At most its first 512 bytes are kept."""
        self._received.append(frame if len(frame) <= KEPT_BYTES else (frame[:KEPT_BYTES], len(frame)))

    def last_sent(self, secrets: Collection[str] = ()) -> tuple[str, ...]:
        """The last frames written, oldest first, redacted and fit to print."""
        return tuple(_shown(kept, secrets) for kept in _snapshot(self._sent))

    def last_received(self, secrets: Collection[str] = ()) -> tuple[str, ...]:
        """The last frames read, oldest first, redacted and fit to print."""
        return tuple(_shown(kept, secrets) for kept in _snapshot(self._received))


def _snapshot(ring: deque[_Kept]) -> tuple[_Kept, ...]:
    # A copy that meets an append raises; the ring is short, so the next attempt or the one after succeeds.
    for _ in range(100):
        try:
            return tuple(ring)
        except RuntimeError:
            continue
    return ()


def _shown(kept: _Kept, secrets: Collection[str]) -> str:
    if isinstance(kept, bytes):
        return presentable(kept.decode("utf-8", "replace").rstrip("\r\n"), SHOWN_CHARACTERS, secrets)
    head, size = kept
    # The cut may go through a character; "ignore" drops its half.
    text = _without_cut_secret(head.decode("utf-8", "ignore"), secrets)
    shown = presentable(text, len(text) * _WIDEST_ESCAPE, secrets)
    mark = f"… ({size} bytes)"
    return shown[: SHOWN_CHARACTERS - len(mark)] + mark


def _without_cut_secret(text: str, secrets: Collection[str]) -> str:
    """Hide the beginning of a secret at the very end, which a search for the whole secret does not find."""
    for secret in secrets:
        for length in range(min(len(secret) - 1, len(text)), MIN_LITERAL - 1, -1):
            if text.endswith(secret[:length]):
                return text[:-length] + HIDDEN
    return text
