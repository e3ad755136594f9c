"""Listing: everything of one kind that is on offer at one moment."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import cached_property
from typing import Any, Final, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from mcp_actors.server.registry.naming import full_name_of

#: How many derived forms are kept: revisions times pages.
MAX_KEPT: Final = 256


class Listed(Struct, frozen=True, kw_only=True, dict=True, eq=False):
    """What stands in a listing. ``number`` is its place in the order of arrival, given by the listing."""

    function: Callable[..., Any]
    number: int = 0

    @property
    def key(self) -> Hashable:
        """What it is found by."""
        raise NotImplementedError


E = TypeVar("E", bound=Listed)
T = TypeVar("T")


class Listing(Generic[E]):
    """Never changes: `adding` and `removing` make another one. Any thread may read it without a lock.

    What is derived from it, such as encoded pages, is made when somebody asks, and once: it goes with the
    listing as soon as there is another.
    """

    def __init__(self, kind: str, by_key: Mapping[Hashable, E] | None = None, next_number: int = 1) -> None:
        self._kind = kind
        self._by_key: Mapping[Hashable, E] = {} if by_key is None else by_key
        self._next_number = next_number
        self._kept: dict[Hashable, Any] = {}

    def __len__(self) -> int:
        return len(self._by_key)

    def get(self, key: Hashable) -> E | None:
        """The entry with that name or URI."""
        return self._by_key.get(key)

    @cached_property
    def entries(self) -> tuple[E, ...]:
        """All of them, in the order in which they came."""
        return tuple(self._by_key.values())

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What ``make`` gives, made once per change of the listing and never None: an encoded page, say.

        Two threads may make it at the same time; then both get the same one of the two.
        """
        kept: T | None = self._kept.get(key)
        if kept is not None:
            return kept
        made = make()
        return self._kept.setdefault(key, made) if len(self._kept) < MAX_KEPT else made

    def adding(self, entry: E, *, replacing: bool) -> Listing[E]:
        """A listing with one more; one that replaces another takes its place.

        Raises:
            ValueError: there is one of that name already, and it is not to be replaced.
        """
        known = self._by_key.get(entry.key)
        if known is not None and not replacing:
            raise ValueError(
                f"there is a {self._kind} {_shown(entry.key)} already, by {full_name_of(known.function)}; "
                f"{full_name_of(entry.function)} cannot be another one (replace=True would replace it)"
            )
        number = self._next_number if known is None else known.number
        placed = {**self._by_key, entry.key: replace(entry, number=number)}
        return Listing(self._kind, placed, max(self._next_number, number + 1))

    def removing(self, key: Hashable) -> tuple[Listing[E], E]:
        """A listing with one less, and that one.

        Raises:
            LookupError: there is none of that name.
        """
        rest = dict(self._by_key)
        removed = rest.pop(key, None)
        if removed is None:
            raise LookupError(f"there is no {self._kind} {_shown(key)}")
        return Listing(self._kind, rest, self._next_number), removed


def _shown(key: Hashable) -> str:
    return " ".join(map(repr, key)) if isinstance(key, tuple) else repr(key)
