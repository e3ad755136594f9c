"""Percent-encoding, as RFC 3986 has it: text to what may stand in a URI, and back."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_UNRESERVED: Final = r"A-Za-z0-9._~\-"
_RESERVED: Final = r":/?#\[\]@!$&'()*+,;="
_TRIPLET: Final = "%[0-9A-Fa-f]{2}"

_UNIT: Final = re.compile(f"{_TRIPLET}|[^%]")
_NON_ASCII: Final = re.compile(r"[^\x00-\x7f]")
_PLAIN: Final = re.compile(f"[{_UNRESERVED}]")
_ALL_BUT_UNRESERVED: Final = re.compile(f"[^{_UNRESERVED}]")
# What is encoded already stays as it is.
_ALL_BUT_RESERVED: Final = re.compile(f"%(?![0-9A-Fa-f]{{2}})|[^{_UNRESERVED}{_RESERVED}%]")


def encode(text: str, *, reserved: bool = False) -> str:
    """The text with everything encoded but letters, digits and ``-._~``.

    Args:
        reserved: also leave ``:/?#[]@!$&'()*+,;=`` and what is encoded already as it is.

    Raises:
        UnicodeEncodeError: a lone surrogate, which has no UTF-8 form.
    """
    return (_ALL_BUT_RESERVED if reserved else _ALL_BUT_UNRESERVED).sub(_triplets, text)


def _triplets(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode())


def units(uri: str) -> list[str] | None:
    """A URI cut into characters and encoded bytes, in one spelling.

    None if it is no URI: a ``%`` that encodes nothing, or text that has no UTF-8 form.

    RFC 3986, 6.2.2: ``%2e`` is another spelling of ``.``, and ``%c3`` of ``%C3``.
    """
    try:
        ascii_only = _NON_ASCII.sub(_triplets, uri)
    except UnicodeEncodeError:
        return None
    found: list[str] = _UNIT.findall(ascii_only)
    if sum(map(len, found)) != len(ascii_only):
        return None
    return [_spelled(unit) if len(unit) == 3 else unit for unit in found]


def _spelled(triplet: str) -> str:
    character = chr(int(triplet[1:], 16))
    return character if _PLAIN.match(character) else triplet.upper()


def decode(encoded: Iterable[str]) -> str | None:
    """The text that units stand for; None if it is not UTF-8."""
    try:
        return b"".join(_byte(unit) for unit in encoded).decode()
    except UnicodeDecodeError:
        return None


def _byte(unit: str) -> bytes:
    return bytes.fromhex(unit[1:]) if len(unit) == 3 else unit.encode()
