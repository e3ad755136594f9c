"""Headers that users give for their requests: what may be one, and which are not theirs to say. Pure."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["is_name", "is_ours", "is_value"]

_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
# What the standard library would write as it is; it lets a line go on after a break, which we do not.
_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
#: What a message says about itself, and how it is framed, is not for others to say.
_OURS: Final = frozenset(
    {
        "accept",
        "connection",
        "content-length",
        "content-type",
        "expect",
        "last-event-id",
        "mcp-method",
        "mcp-name",
        "mcp-protocol-version",
        "mcp-session-id",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)


def is_name(text: str) -> bool:
    """Whether a header may be called so."""
    return _TOKEN.fullmatch(text) is not None


def is_value(text: str) -> bool:
    """Whether it goes into one line of a header."""
    return _VALUE.fullmatch(text) is not None


def is_ours(name: str) -> bool:
    """Whether the protocol says itself what stands there."""
    return name.lower() in _OURS or name.lower().startswith("mcp-param-")
