"""Notifications that wait for their handlers: bounded in number and bytes, merged before any is dropped."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from typing import Any

from mcp_actors.protocol import codec
from mcp_actors.protocol.jsonrpc import Notification

# What an entry costs beside its frame: the objects around it.
_OVERHEAD = 200


class Backlog:
    """First in, first out. When full, state news of one subject (a list that changed, a resource that was
    updated, the progress of one token) keep only the latest; if that is not enough the oldest are dropped.

    With ``drop=False`` nothing is ever dropped: whoever fills it must stop reading. ``reserve`` is the share
    of the room that is kept for what is on its way when whoever fills it is told to stop.
    """

    def __init__(
        self,
        most: int = 10_000,
        most_bytes: int = 8 * 1024 * 1024,
        *,
        drop: bool = True,
        reserve: float = 0.0,
    ) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._full_at = most - int(most * reserve)
        self._full_at_bytes = most_bytes - int(most_bytes * reserve)
        self._drop = drop
        self._waiting: OrderedDict[int, Notification] = OrderedDict()
        self._next = 0
        # Subjects are read only when room is needed, and of each entry once: those from `_unread` on are not.
        self._unread = 0
        self._subjects: dict[int, Hashable] = {}
        self._latest: dict[Hashable, int] = {}
        self.bytes = 0
        self.greatest_bytes = 0
        self.dropped = 0
        self.merged = 0

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def full(self) -> bool:
        """No room is left but the reserve."""
        return len(self._waiting) >= self._full_at or self.bytes >= self._full_at_bytes

    @property
    def eased(self) -> bool:
        """At most half of the room is taken."""
        return len(self._waiting) <= self._most // 2 and self.bytes <= self._most_bytes // 2

    def push(self, items: Sequence[Notification]) -> bool:
        """Add notifications; True when the backlog is full now, or was and had to drop some."""
        dropped = self.dropped
        waiting, added = self._waiting, 0
        for place, item in enumerate(items, self._next):
            waiting[place] = item
            added += item.size
        self._next += len(items)
        self.bytes += added + len(items) * _OVERHEAD
        if self._over and self._drop:
            self._shrink()
        self.greatest_bytes = max(self.greatest_bytes, self.bytes)
        # Dropping by bytes may leave a gap. Whoever fills the backlog must hear of it all the same, unless
        # so little is left that nobody would tell when it has eased.
        return self.full or (self.dropped > dropped and not self.eased)

    def pop(self) -> Notification | None:
        """The oldest notification, or None."""
        if not self._waiting:
            return None
        place, item = self._waiting.popitem(last=False)
        self.bytes -= item.size + _OVERHEAD
        if self._subjects:
            self._forget_subject(place)
        return item

    @property
    def _over(self) -> bool:
        return len(self._waiting) > self._most or self.bytes > self._most_bytes

    def _shrink(self) -> None:
        # Those before the oldest were taken long ago, possibly by the million.
        for place in range(max(self._unread, next(iter(self._waiting))), self._next):
            self._merge(place, _subject(self._waiting[place]))
        self._unread = self._next
        while self._over:
            self.pop()
            self.dropped += 1

    def _merge(self, place: int, subject: Hashable) -> None:
        if subject is None:
            return
        if subject in self._latest:
            older = self._latest[subject]
            self.bytes -= self._waiting.pop(older).size + _OVERHEAD
            self._forget_subject(older)
            self.merged += 1
        self._latest[subject] = place
        self._subjects[place] = subject

    def _forget_subject(self, place: int) -> None:
        if place in self._subjects:
            del self._latest[self._subjects.pop(place)]


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
