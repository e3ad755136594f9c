"""Saving what a server sent: images, sounds and resources as files. A server never chooses where."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from mimetypes import MimeTypes
from pathlib import Path
from typing import Final, TypeAlias, overload
from urllib.parse import unquote, urlsplit

from mcp_actors.protocol import types

#: What can be saved as one file.
Part: TypeAlias = (
    types.ImageContent
    | types.AudioContent
    | types.EmbeddedResource
    | types.TextResourceContents
    | types.BlobResourceContents
)
#: What may hold several of them.
Whole: TypeAlias = types.CallToolResult | types.ReadResourceResult | Iterable[Part]
Place: TypeAlias = str | os.PathLike[str]

# What the table of the standard library lacks in some versions, or answers unusually.
_SUFFIXES: Final = {
    "application/json": ".json",
    "audio/flac": ".flac",
    "audio/mp3": ".mp3",
    "audio/mpeg": ".mp3",
    "audio/ogg": ".ogg",
    "audio/wav": ".wav",
    "audio/x-wav": ".wav",
    "image/jpeg": ".jpg",
    "image/svg+xml": ".svg",
    "image/webp": ".webp",
    "text/markdown": ".md",
    "text/plain": ".txt",
}
_UNKNOWN: Final = ".bin"
_LONGEST_NAME: Final = 100
# Separators of any system, characters that a file system refuses, and those that a terminal acts upon.
_UNSAFE: Final = re.compile(r'[\x00-\x1f\x7f-\x9f<>:"|?*/\\]')


@overload
def save(thing: Part, path: Place, *, overwrite: bool = False) -> Path: ...
@overload
def save(thing: Whole, path: Place, *, overwrite: bool = False) -> list[Path]: ...
def save(thing: Part | Whole, path: Place, *, overwrite: bool = False) -> Path | list[Path]:
    """Write a block, or every image, sound and resource of a result; returns where.

    ``path`` is a file or a directory. In a directory the files are named after their resources, or after
    what they are; a server's name never leads out of it. A path without a suffix gets the one of the MIME
    type. A result goes into a directory, which is made if need be; a result with a single part may also go
    into a file, if the path has a suffix.

    Raises:
        FileExistsError: a file is there already, and ``overwrite`` was not asked for. Nothing was written.
        InvalidResponse: a part is no base64. Nothing was written.
    """
    if isinstance(thing, Part):
        return _write([(_place_of(thing, path), thing.bytes)], overwrite)[0]
    parts = _parts_of(thing)
    if len(parts) == 1 and not _names_directory(path) and Path(path).suffix:
        return _write([(Path(path), parts[0].bytes)], overwrite)
    names = _unique([_file_name(part) for part in parts])
    files = [(Path(path) / name, part.bytes) for name, part in zip(names, parts, strict=True)]
    Path(path).mkdir(parents=True, exist_ok=True)
    return _write(files, overwrite)


def _parts_of(thing: Whole) -> list[Part]:
    if isinstance(thing, types.CallToolResult):
        kinds = types.ImageContent | types.AudioContent | types.EmbeddedResource
        return [block for block in thing.content if isinstance(block, kinds)]
    if isinstance(thing, types.ReadResourceResult):
        return list(thing.contents)
    parts = list(thing) if isinstance(thing, Iterable) else [thing]
    for part in parts:
        if not isinstance(part, Part):
            raise TypeError(f"images, sounds, resources and results can be saved, not {type(part).__name__}")
    return parts


def _place_of(part: Part, path: Place) -> Path:
    if _names_directory(path):
        return Path(path) / _file_name(part)
    place = Path(path)
    return place if place.suffix else place.with_name(place.name + _suffix(part.mime_type))


def _names_directory(path: Place) -> bool:
    text = os.fspath(path)
    return text.endswith((os.sep, os.altsep or os.sep)) or os.path.isdir(text)


def _file_name(part: Part) -> str:
    """A name for a file, whatever the server says: one step, visible, and not too long."""
    if isinstance(part, types.ImageContent | types.AudioContent):
        return part.type + _suffix(part.mime_type)
    said = unquote(_last_step(part.uri), errors="replace")
    safe = _UNSAFE.sub("_", said.replace("\\", "/").rsplit("/", 1)[-1]).strip(" .")
    stem, dot, suffix = safe.rpartition(".")
    if not stem or len(suffix) > 10:
        stem, dot, suffix = safe or "resource", "", ""
    return stem[:_LONGEST_NAME] + (dot + suffix or _suffix(part.mime_type))


def _last_step(uri: str) -> str:
    try:
        return urlsplit(uri).path.rstrip("/").rsplit("/", 1)[-1]
    except ValueError:
        return ""  # an address of a form that does not exist, such as an open bracket


def _suffix(mime_type: str | None) -> str:
    plain = (mime_type or "").split(";", 1)[0].strip().lower()
    # A new table, so that neither this machine's files nor the host program change the answer.
    return _SUFFIXES.get(plain) or MimeTypes().guess_extension(plain) or _UNKNOWN


def _unique(names: list[str]) -> list[str]:
    """The same names, numbered where one comes again; also where a file system ignores case."""
    given: list[str] = []
    taken: set[str] = set()
    for name in names:
        stem, dot, suffix = name.rpartition(".")
        number, chosen = 1, name
        while chosen.casefold() in taken:
            number += 1
            chosen = f"{stem}-{number}{dot}{suffix}"
        taken.add(chosen.casefold())
        given.append(chosen)
    return given


def _write(files: list[tuple[Path, bytes]], overwrite: bool) -> list[Path]:
    for path, _ in files:
        if overwrite:
            # Not opened for writing: that would follow a link to wherever it leads.
            path.unlink(missing_ok=True)
        elif path.exists() or path.is_symlink():
            raise FileExistsError(f"{path} is there already; pass overwrite=True to replace it")
    for path, data in files:
        with path.open("xb") as file:
            file.write(data)
    return [path for path, _ in files]
