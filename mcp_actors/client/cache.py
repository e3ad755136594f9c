"""The answers that a server lets its client keep, until their time is over or the server says otherwise."""

from __future__ import annotations

import itertools
import time
from typing import Final

from msgspec import Raw, Struct

from mcp_actors.protocol import codec
from mcp_actors.runtime.deadline import Clock

_LISTS: Final = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
_READ: Final = "resources/read"
# MCP 2026-07-28, caching: the methods whose complete results carry ttlMs and cacheScope.
_KEPT: Final = ("server/discover", *_LISTS, _READ)
#: Which answers a notification makes old.
OUTDATING: Final[dict[str, tuple[str, ...]]] = {
    "notifications/tools/list_changed": ("tools/list",),
    "notifications/prompts/list_changed": ("prompts/list",),
    "notifications/resources/list_changed": ("resources/list", "resources/templates/list"),
    "notifications/resources/updated": (_READ,),
}
#: No answer is believed for longer than a day, whatever its server says.
_LONGEST_MS: Final = 24 * 60 * 60 * 1000
_EVERYBODY: Final = None

# The encoded params, and who may see the answer.
_Key = tuple[bytes, str | None]


class Ticket(Struct, frozen=True):
    """Taken before a request is sent; void as soon as something that concerns the answer was heard."""

    method: str
    params: bytes
    generation: object


class CacheStats(Struct, frozen=True):
    """What the cache did, and what it holds now. Threads that count at the same moment may lose a count."""

    hits: int = 0
    misses: int = 0
    stored: int = 0
    entries: int = 0
    bytes: int = 0


class _Entry(Struct):
    method: str
    key: _Key
    uri: str | None
    result: Raw
    size: int
    expires: float
    used: int
    valid: bool = False


class ResponseCache:
    """Results by method and params, as the encoded text: each reader parses a value of its own.

    ``private`` results are found by the partition that stored them alone, ``public`` ones by all. A partition
    of None is that of nobody in particular: it sees and keeps ``public`` ones only.

    Any thread may call anything, and there is no lock: each step is one operation of a dict or one
    assignment, which is atomic, and the order of the steps does the rest.

    - Who invalidates first renews the generation of the method, then drops entries. Who stores first puts the
      entry in, not valid yet, then compares the generation with that of the ticket, then makes it valid.
      Either the generation was renewed before the comparison, and the entry never becomes valid; or the
      entry was in before the generation was renewed, and the dropping finds it. An answer that was overtaken
      by a notification is seen by nobody who looks after that notification.
    - A generation is an object, compared by identity. Renewing it reads nothing, so nobody can undo what
      another thread renewed.
    - Who stores looks at all entries after its own is in. The last to look sees them all, so the bounds hold
      as soon as nobody is storing; before, each storing thread may be one entry ahead.
    - Who drops a key may hit a newer entry than it saw. That costs a request and makes no answer wrong.
    """

    def __init__(
        self, clock: Clock = time.monotonic, most: int = 256, most_bytes: int = 8 * 1024 * 1024
    ) -> None:
        self._clock = clock
        self._most = most
        self._most_bytes = most_bytes
        self._shelves: dict[str, dict[_Key, _Entry]] = {method: {} for method in _KEPT}
        self._generations: dict[str, object] = {method: object() for method in _KEPT}
        self._uses = itertools.count()
        self._hits = self._misses = self._stored = 0

    @property
    def stats(self) -> CacheStats:
        """The numbers of this moment."""
        entries = self._entries()
        size = sum(entry.size for entry in entries)
        return CacheStats(self._hits, self._misses, self._stored, len(entries), size)

    # For callers.

    def lookup(self, method: str, params: bytes, partition: str | None = "") -> Raw | None:
        """The result of an earlier request like this one, if it is still fresh."""
        shelf = self._shelves.get(method)
        if shelf is None:
            return None
        for key in ((params, partition), (params, _EVERYBODY)):
            entry = shelf.get(key)
            if entry is None or not entry.valid:
                continue
            if self._clock() < entry.expires:
                entry.used = next(self._uses)
                self._hits += 1
                return entry.result
            shelf.pop(key, None)
        self._misses += 1
        return None

    def ticket(self, method: str, params: bytes) -> Ticket:
        """To be taken before a request is sent, and shown when its result is stored."""
        return Ticket(method, params, self._generations.get(method))

    def store(
        self, ticket: Ticket, result: Raw, ttl_ms: object, scope: object, partition: str | None = ""
    ) -> None:
        """Keep a complete result, unless the server forbids it or something that concerns it was heard.

        Results of requests that carried ``inputResponses`` or ``requestState`` must not get here.
        """
        seconds = _seconds(ttl_ms)
        size = len(result) + len(ticket.params)
        # What is not said to be public is private.
        public = scope == "public"
        if not seconds or size > self._most_bytes or (partition is None and not public):
            return
        # Void already: it must not drive out a newer one.
        if not self._is_good(ticket):
            return
        owner, others = (_EVERYBODY, partition) if public else (partition, _EVERYBODY)
        entry = self._entry(ticket, owner, result, seconds)
        shelf = self._shelves[ticket.method]
        shelf[entry.key] = entry
        if not self._is_good(ticket):
            shelf.pop(entry.key, None)
            return
        entry.valid = True
        # It must not come to light again when the newer one is over.
        if others != owner:
            shelf.pop((ticket.params, others), None)
        self._stored += 1
        self._make_room()

    def forget(self, method: str, params: bytes, partition: str | None = "") -> None:
        """Somebody wants a fresh answer: neither the one kept nor one that is on its way counts any more."""
        shelf = self._shelves.get(method)
        if shelf is not None:
            self._generations[method] = object()
            shelf.pop((params, partition), None)
            shelf.pop((params, _EVERYBODY), None)

    def drop_pages(self, method: str) -> None:
        """The server does not know a cursor any more, so the pages belong to an older list."""
        if method in _LISTS:
            self._drop(method)

    # For the connection.

    def heard(self, method: str, uri: str | None = None) -> None:
        """The server sent a notification; ``uri`` is that of ``resources/updated``.

        Which uris lie below which others is the server's own business, and the one it names may be that of a
        part of what was subscribed to. So every read goes whose uri begins with this one or is the beginning
        of it, without regard to slashes: one read too many is cheaper than one that is old. Without a uri
        all reads go.
        """
        for concerned in OUTDATING.get(method, ()):
            self._drop(concerned, uri if concerned == _READ else None)

    def clear(self) -> None:
        """The connection was lost: nobody tells us any more what became old."""
        for method in _KEPT:
            self._drop(method)

    # Steps.

    def _is_good(self, ticket: Ticket) -> bool:
        generation = self._generations.get(ticket.method)
        return generation is not None and generation is ticket.generation

    def _entry(self, ticket: Ticket, owner: str | None, result: Raw, seconds: float) -> _Entry:
        return _Entry(
            method=ticket.method,
            key=(ticket.params, owner),
            uri=_uri(ticket),
            # A copy: the result as it came is a view of all that was read with it.
            result=result.copy(),
            size=len(result) + len(ticket.params),
            expires=self._clock() + seconds,
            used=next(self._uses),
        )

    def _drop(self, method: str, uri: str | None = None) -> None:
        self._generations[method] = object()
        shelf = self._shelves[method]
        if not shelf:
            return
        if uri is None:
            shelf.clear()
            return
        for entry in list(shelf.values()):
            if entry.uri is None or entry.uri.startswith(uri) or uri.startswith(entry.uri):
                shelf.pop(entry.key, None)

    def _entries(self) -> list[_Entry]:
        # Making a list of a dict's values is one step; a loop over the dict itself is not.
        return [entry for shelf in self._shelves.values() for entry in list(shelf.values())]

    def _make_room(self) -> None:
        entries = self._entries()
        count, size = len(entries), sum(entry.size for entry in entries)
        if count <= self._most and size <= self._most_bytes:
            # As nearly always: spare the sorting.
            return
        now = self._clock()
        # First what is over anyway, then what nobody looked at for longest.
        entries.sort(key=lambda entry: (now < entry.expires, entry.used))
        for entry in entries:
            if count <= self._most and size <= self._most_bytes:
                return
            self._shelves[entry.method].pop(entry.key, None)
            count, size = count - 1, size - entry.size


def _seconds(ttl_ms: object) -> float:
    """How long to keep a result: not at all, unless its time to live is a positive integer."""
    # Not isinstance: True is no number of milliseconds.
    if type(ttl_ms) is not int or ttl_ms <= 0:
        return 0.0
    return min(ttl_ms, _LONGEST_MS) / 1000


def _uri(ticket: Ticket) -> str | None:
    """What was read; None for anything but a read."""
    uri = codec.decode(ticket.params).get("uri") if ticket.method == _READ else None
    return uri if isinstance(uri, str) else None
