"""Heads of responses as nearly every server writes them, read in one step. Others need a general parser."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

#: As many fields as the standard library takes: it counts the end of the head, too.
_MOST_FIELDS: Final = 99
#: More digits are no length of anything.
_MOST_DIGITS: Final = 18
# Visible ASCII throughout, and nothing folded. Every part takes all it can: no input is tried in two ways.
_HEAD: Final = re.compile(
    rb"HTTP/1\.1 ([2-5][0-9][0-9]) ([ -~]*+)\r\n((?:[-!#$%&'*+.^_`|~0-9A-Za-z]++:[\t -~]*+\r\n)*+)\r\n"
)
#: Responses that have no body, whatever their fields say.
_BODILESS: Final = frozenset({204, 304})
_CONNECTION: Final = "connection"
_LENGTH: Final = "content-length"
_CODING: Final = "transfer-encoding"
#: Fields that say where the response ends.
_FRAMING: Final = frozenset({_CONNECTION, _LENGTH, _CODING})


class ResponseHead(Struct, frozen=True):
    """``size`` is that of the head itself. ``length`` is None where the body's end tells how long it is."""

    size: int
    status: int
    reason: str
    fields: list[tuple[str, str]]
    length: int | None
    chunked: bool
    closes: bool


def usual_head(received: bytes) -> ResponseHead | None:
    """The head at the beginning of what was received, if it is all there and nothing about it is special."""
    match = _HEAD.match(received)
    if match is None:
        return None
    status, reason, lines = int(match[1]), match[2].decode("ascii").strip(), match[3].decode("ascii")
    fields: list[tuple[str, str]] = []
    framing: dict[str, str] = {}
    for line in lines.splitlines():
        name, _, value = line.partition(":")
        value = value.strip(" \t")
        fields.append((name, value))
        lowered = name.lower()
        if lowered in _FRAMING:
            if lowered in framing:
                return None
            framing[lowered] = value
    if len(fields) > _MOST_FIELDS or status in _BODILESS:
        return None
    length, coding = framing.get(_LENGTH), framing.get(_CODING)
    if coding is not None and (length is not None or coding.lower() != "chunked"):
        return None
    if length is not None and not (length.isdecimal() and len(length) <= _MOST_DIGITS):
        return None
    closes = "close" in framing.get(_CONNECTION, "").lower() or (coding is None and length is None)
    known = None if length is None else int(length)
    return ResponseHead(match.end(), status, reason, fields, known, coding is not None, closes)
