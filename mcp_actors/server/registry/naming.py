"""Names: which ones may be offered, and what a function is called in an error."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

#: MCP 2025-11-25, server/tools: what clients of all kinds can be expected to take.
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20\x7f\ud800-\udfff]*")
MAX_URI: Final = 8192


def check_name(kind: str, name: str) -> str:
    """The name itself.

    Raises:
        ValueError: it is not one to 128 letters, digits, ``_``, ``.`` and ``-``.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(
            f"{name!r} cannot name a {kind}: a name has 1 to 128 characters out of A-Z, a-z, 0-9, _, . and -"
        )
    return name


def check_uri(uri: str) -> str:
    """The URI itself.

    Raises:
        ValueError: it does not begin with a scheme, holds blanks or control characters, or is too long.
    """
    if not isinstance(uri, str) or len(uri) > MAX_URI or not _URI.fullmatch(uri):
        raise ValueError(
            f"{uri!r:.200} is no URI: it begins with a scheme, such as file:, has no blanks, "
            f"and at most {MAX_URI} characters"
        )
    return uri


def name_of(function: Callable[..., Any]) -> str:
    """The short name of a function or any other callable."""
    inner = _written(function)
    return str(getattr(inner, "__name__", type(inner).__name__))


def full_name_of(function: Callable[..., Any]) -> str:
    """Where a function comes from, for errors."""
    inner = _written(function)
    named = inner if hasattr(inner, "__qualname__") else type(inner)
    return f"{named.__module__}.{named.__qualname__}"


def _written(function: Callable[..., Any]) -> Callable[..., Any]:
    """What `functools.partial` holds, however often."""
    while hasattr(function, "func") and hasattr(function, "keywords"):
        function = function.func
    return function
