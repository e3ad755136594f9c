"""The session's id as a server gives it: what it may look like, and what a log may show of it."""

from __future__ import annotations

import re
from typing import Final

MAX_LENGTH: Final = 1024

_VISIBLE_ASCII: Final = re.compile(r"[\x21-\x7e]+")
_SHOWN: Final = 4
#: Below it even a few characters would tell too much.
_LONG_ENOUGH: Final = 16


class InvalidSessionId(ValueError):
    """A session id that breaks the rules. The message does not hold it."""


def validated(session_id: str) -> str:
    """The id itself, if it is one.

    Raises:
        InvalidSessionId: empty, too long, or with characters outside of visible ASCII.
    """
    if len(session_id) > MAX_LENGTH:
        raise InvalidSessionId(f"a session id of {len(session_id)} characters; {MAX_LENGTH} are the limit")
    if not _VISIBLE_ASCII.fullmatch(session_id):
        raise InvalidSessionId("a session id that is empty or not visible ASCII")
    return session_id


def redacted(session_id: str) -> str:
    """Enough of the id to tell two sessions apart in a log, too little to use it."""
    harmless = len(session_id) >= _LONG_ENOUGH and _VISIBLE_ASCII.fullmatch(session_id)
    return f"{session_id[:_SHOWN] if harmless else ''}… ({len(session_id)} characters)"
