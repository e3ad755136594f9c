"""`Accept`: which media types the sender of a request takes."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_REFUSED: Final = re.compile(r";\s*q\s*=\s*0(\.0{0,3})?\s*(;|$)", re.I)


def accepts(accept: str, wanted: str) -> bool:
    """Whether a header of that value takes the media type ``wanted``.

    The most exact entry decides (RFC 9110, 12.5.1), so that a wildcard does not bring back what is refused.
    """
    return (_known if len(accept) <= _SHORT else _accepts)(accept, wanted)


def _accepts(accept: str, wanted: str) -> bool:
    family = wanted.partition("/")[0] + "/*"
    taken = dict(map(_entry, accept.split(",")))
    return next((taken[kind] for kind in (wanted, family, "*/*") if kind in taken), False)


# Clients say the same again and again. What they make up must not fill the memory.
_SHORT: Final = 200
_known: Final = lru_cache(maxsize=64)(_accepts)


def _entry(text: str) -> tuple[str, bool]:
    kind, _, parameters = text.partition(";")
    return kind.strip().lower(), not _REFUSED.search(";" + parameters)
