"""Where the files of a skill are: from URIs to paths inside the skill and back, and never out of it."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote, unquote

#: The one file that every skill has; its URI is the skill's.
ENTRY_FILE: Final = "SKILL.md"

# No query and no fragment: a file of a skill is named by its path alone.
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:(?://)?([^\s?#\\\x00-\x1f\x7f]+)")
_UNFIT: Final = re.compile(r"[/\\\x00-\x1f\x7f]")
#: What RFC 3986 lets stand in a path as it is, besides letters, digits and ``-._~``.
_PATH_SIGNS: Final = "/!$&'()*+,;=:@"


def root_of(uri: str) -> str:
    """The directory of the skill whose ``SKILL.md`` is at ``uri``; ``ValueError`` for any other URI."""
    found = _URI.fullmatch(uri)
    segments = [] if found is None else found[1].split("/")
    if len(segments) < 2 or segments[-1] != ENTRY_FILE:
        raise ValueError(f"{uri!r} is not the URI of a {ENTRY_FILE}")
    # An empty authority is one, as in file:///skills/x/SKILL.md.
    _decoded(segments if segments[0] else segments[1:], uri)
    return uri.removesuffix(f"/{ENTRY_FILE}")


def name_in(root: str) -> str:
    """The name of the skill in this directory."""
    return unquote(_URI.sub(r"\1", root).split("/")[-1])


def path_in(root: str, uri: str) -> str:
    """The path of a file below ``root``. Raises ``ValueError`` if it is elsewhere."""
    if not uri.startswith(f"{root}/") or _URI.fullmatch(uri) is None:
        raise ValueError(f"{uri!r} is not a file of the skill in {root!r}")
    return "/".join(_decoded(uri[len(root) + 1 :].split("/"), uri))


def checked_path(path: str) -> str:
    """A path as somebody wrote it, or ``ValueError`` if it may lead out of the skill."""
    if not isinstance(path, str):
        raise TypeError(f"path must be a string, not {type(path).__name__}")
    wanted = path.removeprefix("./")
    if not all(map(_is_plain, wanted.split("/"))):
        raise ValueError(f"{path!r} is not the path of a file inside a skill")
    return wanted


def uri_in(root: str, path: str) -> str:
    """The URI of the file with this path below ``root``."""
    return f"{root}/{quote(path, safe=_PATH_SIGNS)}"


def _decoded(segments: list[str], uri: str) -> list[str]:
    # Decoded before they are judged: %2e%2e leads out of a directory as well as .. does.
    try:
        plain = [unquote(segment, errors="strict") for segment in segments]
    except UnicodeDecodeError:
        plain = [""]
    if not all(map(_is_plain, plain)):
        raise ValueError(f"{uri!r} has a part that is not the name of a file or directory")
    return plain


def _is_plain(segment: str) -> bool:
    return segment not in ("", ".", "..") and _UNFIT.search(segment) is None
