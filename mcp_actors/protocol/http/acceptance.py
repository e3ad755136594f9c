"""`Accept`: which media types the sender of a request takes."""

from __future__ import annotations

import re
from typing import Final

_REFUSED: Final = re.compile(r";\s*q\s*=\s*0(\.0{0,3})?\s*(;|$)", re.I)


def accepts(accept: str, wanted: str) -> bool:
    """Whether a header of that value takes the media type ``wanted``.

    The most exact entry decides (RFC 9110, 12.5.1), so that a wildcard does not bring back what is refused.
    """
    family = wanted.partition("/")[0] + "/*"
    taken = dict(map(_entry, accept.split(",")))
    return next((taken[kind] for kind in (wanted, family, "*/*") if kind in taken), False)


def _entry(text: str) -> tuple[str, bool]:
    kind, _, parameters = text.partition(";")
    return kind.strip().lower(), not _REFUSED.search(";" + parameters)
