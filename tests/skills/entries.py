"""Entries of skills as servers write them."""

from __future__ import annotations

import hashlib
from typing import Any, Final

URI: Final = "skill://pdf-processing/SKILL.md"


def digest(data: bytes) -> str:
    """As entries write it."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def file(uri: str, data: bytes) -> dict[str, Any]:
    """A file as an entry lists it."""
    return {"uri": uri, "digest": digest(data), "size": len(data)}


def entry(uri: str = URI, **changes: Any) -> dict[str, Any]:
    """The entry of a skill with one file, or with what ``changes`` say instead."""
    name = uri.split("/")[-2]
    text = f"---\nname: {name}\ndescription: d\n---\n".encode()
    made = {
        "uri": uri,
        "frontmatter": {"name": name, "description": "d"},
        "resources": [file(uri, text)],
    }
    return made | changes
