"""Notifications that wait for their handlers: bounded in number and bytes, merged before any is dropped."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence
from typing import Any

from mcp_actors.protocol import codec
from mcp_actors.protocol.jsonrpc import Notification

# What an entry costs beside its frame: the objects around it.
_OVERHEAD = 200


class Backlog:
    """First in, first out. When full, state news of one subject (a list that changed, a resource that was
    updated, the progress of one token) keep only the latest; if that is not enough the oldest are dropped.

    With ``drop=False`` nothing is ever dropped: whoever fills it must stop reading.
    """

    def __init__(self, most: int = 10_000, most_bytes: int = 8 * 1024 * 1024, *, drop: bool = True) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._drop = drop
        self._waiting: deque[Notification] = deque()
        self._merge_again_at = 0
        self.bytes = 0
        self.greatest_bytes = 0
        self.dropped = 0
        self.merged = 0

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def full(self) -> bool:
        """No room is left."""
        return len(self._waiting) >= self._most or self.bytes >= self._most_bytes

    @property
    def eased(self) -> bool:
        """At most half of the room is taken."""
        return len(self._waiting) <= self._most // 2 and self.bytes <= self._most_bytes // 2

    def push(self, items: Sequence[Notification]) -> bool:
        """Add notifications; True when the backlog is full now."""
        self._waiting.extend(items)
        self.bytes += sum(item.size + _OVERHEAD for item in items)
        if self._over and self._drop:
            self._shrink()
        self.greatest_bytes = max(self.greatest_bytes, self.bytes)
        return self.full

    def pop(self) -> Notification | None:
        """The oldest notification, or None."""
        if not self._waiting:
            return None
        item = self._waiting.popleft()
        self.bytes -= item.size + _OVERHEAD
        return item

    @property
    def _over(self) -> bool:
        return len(self._waiting) > self._most or self.bytes > self._most_bytes

    def _shrink(self) -> None:
        # Merging reads every entry, so a backlog that cannot be merged is not read again at each push.
        if self._merge_again_at <= 0:
            self._merge()
            self._merge_again_at = len(self._waiting) // 4
        while self._over:
            self.pop()
            self.dropped += 1
            self._merge_again_at -= 1

    def _merge(self) -> None:
        seen: set[Hashable] = set()
        kept: deque[Notification] = deque()
        for item in reversed(self._waiting):
            subject = _subject(item)
            if subject is not None and subject in seen:
                self.merged += 1
                self.bytes -= item.size + _OVERHEAD
                continue
            seen.add(subject)
            kept.appendleft(item)
        self._waiting = kept


def _subject(item: Notification) -> Hashable:
    """What a notification reports the state of, or None if each one counts for itself."""
    if item.method.endswith("/list_changed"):
        return item.method
    if item.method == "notifications/resources/updated":
        return _keyed(item, "uri")
    if item.method == "notifications/progress":
        return _keyed(item, "progressToken")
    return None


def _keyed(item: Notification, member: str) -> Hashable:
    value: Any = None
    if item.params is not None:
        try:
            params = codec.decode(item.params)
        except codec.DecodeFailed:
            return None
        value = params.get(member) if isinstance(params, dict) else None
    return (item.method, type(value).__name__, value) if isinstance(value, (str, int)) else None
