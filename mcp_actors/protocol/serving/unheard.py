"""Unheard: what clients told, waiting for the functions that want to know."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from typing import Final

from msgspec import Struct

from mcp_actors.protocol.codec import Json, JsonObject

#: About what one costs beside its params, and what each value in these does beside its text.
_OVERHEAD: Final = 500
_VALUE: Final = 60
#: Of each the latest says it all, or says something that nobody may miss: the member that tells them apart.
_STATES: Final[dict[str, str | None]] = {
    "notifications/cancelled": "requestId",
    "notifications/progress": "progressToken",
    "notifications/roots/list_changed": None,
    "resources/subscribe": "uri",
    "resources/unsubscribe": "uri",
}
#: Two sides of one thing: the later one counts.
_SUBJECTS: Final = {"resources/unsubscribe": "resources/subscribe"}


class Told(Struct, frozen=True):
    """One thing that a client told."""

    method: str
    params: JsonObject


class Unheard:
    """First in, first out, within a number and a size. What tells the state of something takes the place of
    what told it before. When there is no room the oldest goes that tells of no state; only if there is none,
    the oldest of all.
    """

    def __init__(self, most: int = 1000, most_bytes: int = 1024 * 1024) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._waiting: OrderedDict[Hashable, tuple[Told, int]] = OrderedDict()
        self._next = 0
        self.bytes = 0
        self.dropped = 0
        self.merged = 0

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def eased(self) -> bool:
        """Always: nobody has to wait until there is room again."""
        return True

    def push(self, items: Sequence[Told]) -> bool:
        """Add some. False: whoever brings them can go on."""
        for item in items:
            self._add(item)
        # One alone may be of any size: it was taken in already.
        while len(self._waiting) > 1 and self._is_over:
            self._drop()
        return False

    def pop(self) -> Told | None:
        """The oldest, or None."""
        if not self._waiting:
            return None
        return self._take(next(iter(self._waiting)))

    @property
    def _is_over(self) -> bool:
        return len(self._waiting) > self._most or self.bytes > self._most_bytes

    def _add(self, item: Told) -> None:
        key = _subject(item)
        if key is None:
            key = self._next
            self._next += 1
        elif key in self._waiting:
            self._take(key)
            self.merged += 1
        size = _weight(item.params)
        self._waiting[key] = (item, size)
        self.bytes += size

    def _drop(self) -> None:
        first = next(iter(self._waiting))
        self._take(next((key for key in self._waiting if type(key) is int), first))
        self.dropped += 1

    def _take(self, key: Hashable) -> Told:
        item, size = self._waiting.pop(key)
        self.bytes -= size
        return item


def _subject(item: Told) -> Hashable:
    """What it tells the state of; None: each one counts for itself."""
    if item.method not in _STATES:
        return None
    member = _STATES[item.method]
    name = _SUBJECTS.get(item.method, item.method)
    if member is None:
        return name, None, None
    value = item.params.get(member)
    return (name, type(value).__name__, value) if isinstance(value, str | int) else None


def _weight(params: JsonObject) -> int:
    """About how many bytes it takes. Without recursion: how deep it is the client decides."""
    weight, left = _OVERHEAD, list[Json]([params])
    while left:
        value = left.pop()
        weight += _VALUE
        if isinstance(value, dict):
            left += value.values()
            weight += sum(map(len, value))
        elif isinstance(value, list):
            left += value
        elif isinstance(value, str):
            weight += len(value)
    return weight
