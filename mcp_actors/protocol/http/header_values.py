"""Values in `Mcp-Name` and `Mcp-Param-*` headers: plain where HTTP allows it, wrapped base64 elsewhere."""

from __future__ import annotations

import base64
import binascii
import re
from functools import lru_cache
from typing import Final

#: Integers beyond it are not the same number in every language.
MAX_INTEGER: Final = 2**53 - 1

_PREFIX: Final = "=?base64?"
_SUFFIX: Final = "?="
_PRINTABLE: Final = re.compile(r"[\x20-\x7e]*")
# RFC 9110: a tab is as good as a space inside a field's value.
_FIELD_VALUE: Final = re.compile(r"[\t\x20-\x7e]*")
_OPTIONAL_SPACE: Final = " \t"


class NoHeaderForm(ValueError):
    """A value that cannot be written into a header."""


class InvalidHeaderValue(ValueError):
    """A header's value that no value is written as."""


def encode(value: str | int | bool) -> str:
    """The header's form of a JSON string, integer or boolean.

    Raises:
        NoHeaderForm: an integer beyond ``MAX_INTEGER``, or a string with a lone surrogate.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if abs(value) > MAX_INTEGER:
            raise NoHeaderForm("an integer beyond ±(2^53 - 1) has no header form")
        return str(value)
    return (_encode_again if len(value) <= _SHORT else _encode)(value)


def decode(header: str) -> str:
    """The string that a header's value stands for; integers and booleans are told apart by their schema.

    Raises:
        InvalidHeaderValue: characters that do not belong into a header, or base64 or UTF-8 that is none.
    """
    return (_decode_again if len(header) <= _SHORT else _decode)(header)


def _decode(header: str) -> str:
    text = header.strip(_OPTIONAL_SPACE)
    if not _FIELD_VALUE.fullmatch(text):
        raise InvalidHeaderValue("a header holds characters outside of printable ASCII")
    # The wrapper's two ends must not overlap, as they do in "=?base64?=".
    if not (len(text) >= len(_PREFIX) + len(_SUFFIX) and _looks_wrapped(text)):
        return text
    try:
        return base64.b64decode(text[len(_PREFIX) : -len(_SUFFIX)], validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        raise InvalidHeaderValue("a header's base64 is none, or holds no UTF-8") from None


def _encode(value: str) -> str:
    return value if _is_plain(value) else _wrapped(value)


# Clients name the same methods and tools again and again. What they make up must not fill the memory.
_SHORT: Final = 100
_encode_again: Final = lru_cache(maxsize=256)(_encode)
_decode_again: Final = lru_cache(maxsize=256)(_decode)


def _is_plain(value: str) -> bool:
    return (
        _PRINTABLE.fullmatch(value) is not None
        and value.strip(_OPTIONAL_SPACE) == value
        and not _looks_wrapped(value)
    )


def _looks_wrapped(value: str) -> bool:
    return value.startswith(_PREFIX) and value.endswith(_SUFFIX)


def _wrapped(value: str) -> str:
    try:
        raw = value.encode("utf-8")
    except UnicodeEncodeError:
        raise NoHeaderForm("a string with a lone surrogate has no header form") from None
    return f"{_PREFIX}{base64.b64encode(raw).decode('ascii')}{_SUFFIX}"
