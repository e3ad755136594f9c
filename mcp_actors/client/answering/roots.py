"""Roots: the places that the client names to a server which asks where it may work."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from mcp_actors.client.answering.consultation import check_handler, consult, failed
from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.types import ListRootsResult, Root

Place: TypeAlias = str | os.PathLike[str] | Root
Places: TypeAlias = Sequence[Place]
#: Places, or a function that names them anew each time a server asks. A relative path counts from the current
#: directory: of the moment in which the client is made, or in which the function is called.
Roots: TypeAlias = Places | Callable[[], Places]

_NAME: Final = "roots function"
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://|file:")


class RootsDesk:
    """Answers ``roots/list``.

    Raises:
        TypeError, ValueError: the places are not what they should be; those of a function are checked later.
    """

    def __init__(self, roots: Roots) -> None:
        self._places: tuple[Root, ...] = ()
        self._ask: Callable[[], Places] | None = None
        if callable(roots):
            self._ask = check_handler("roots", roots)
        else:
            self._places = _read(roots)

    def answer(self) -> JsonObject:
        """The result for the wire. Raises `Unanswered` if the function fails."""
        return ListRootsResult(roots=list(self._current())).to_wire()

    def _current(self) -> tuple[Root, ...]:
        if self._ask is None:
            return self._places
        named = consult(_NAME, self._ask)
        try:
            return _read(named)
        except (TypeError, ValueError) as error:
            # These are our own words about the value's type and form.
            raise failed(_NAME, f"it returned no roots: {type(error).__name__}") from error


def _read(roots: object) -> tuple[Root, ...]:
    if isinstance(roots, str | bytes | os.PathLike | Root) or not isinstance(roots, Sequence):
        raise TypeError(
            f"roots must be a list of paths or file:// URIs, or a function that returns one, "
            f"not {type(roots).__name__}"
        )
    return tuple(map(_root, roots))


def _root(place: object) -> Root:
    if isinstance(place, Root):
        if not isinstance(place.uri, str) or not place.uri.startswith("file://"):
            raise ValueError(f"a root's URI must begin with file://, not {place.uri!r}")
        return place
    path = os.fspath(place) if isinstance(place, os.PathLike) else place
    if not isinstance(path, str):
        raise TypeError(f"a root must be a path, a file:// URI or a Root, not {type(place).__name__}")
    if path.startswith("file://"):
        return Root(uri=path)
    if not path or _URI.match(path):
        raise ValueError(f"a root must be a path or begin with file://, not {path!r}")
    return Root(uri=Path(os.path.abspath(path)).as_uri())
