"""Media types: which one a file has by its name, and whether it is text."""

from __future__ import annotations

from functools import cache
from mimetypes import MimeTypes
from typing import Final

DIRECTORY: Final = "inode/directory"
JSON: Final = "application/json"
TEXT: Final = "text/plain"
BINARY: Final = "application/octet-stream"

# What the table of the standard library lacks in some versions, or answers unusually.
_TYPES: Final = {
    ".flac": "audio/flac",
    ".js": "text/javascript",
    ".json": JSON,
    ".jsonl": "application/jsonl",
    ".m4a": "audio/mp4",
    ".md": "text/markdown",
    ".ogg": "audio/ogg",
    ".toml": "application/toml",
    ".ts": "text/typescript",
    ".wav": "audio/wav",
    ".webp": "image/webp",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
}
_TEXTUAL: Final = frozenset(
    {
        JSON,
        "application/javascript",
        "application/jsonl",
        "application/sql",
        "application/toml",
        "application/x-sh",
        "application/xml",
        "application/yaml",
    }
)


@cache
def _table() -> MimeTypes:
    # A new table, so that neither this machine's files nor the host program change the answer.
    return MimeTypes()


def media_type_of(name: str) -> str | None:
    """The media type that a file of that name has, None if it is not known."""
    suffix = name[name.rfind(".") :].lower() if "." in name else ""
    # The name alone, made one that cannot be mistaken for a URL.
    return _TYPES.get(suffix) or _table().guess_type(f"x{suffix}")[0]


def is_textual(media_type: str) -> bool:
    """Whether data of that type is for people to read."""
    plain = media_type.split(";", 1)[0].strip().lower()
    return plain.startswith("text/") or plain in _TEXTUAL or plain.endswith(("+json", "+xml"))


def as_text(data: bytes, media_type: str | None) -> str | None:
    """The text that data is, if it is said or seen to be text; None for anything else."""
    if media_type is not None and not is_textual(media_type):
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if media_type is None and "\0" in text else text
