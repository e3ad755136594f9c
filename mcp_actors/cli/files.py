"""Files that commands read and write."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from mcp_actors.cli.mistake import Mistake
from mcp_actors.cli.output import remark
from mcp_actors.client.saving import Part, save


def read_text(path: str) -> str:
    """The text of a file; ``-`` is stdin. Raises `Mistake`."""
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).expanduser().read_bytes()
        return data.decode("utf-8")
    except OSError as error:
        raise Mistake(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise Mistake(f"{path} is no text in UTF-8") from error


def save_parts(parts: Sequence[Part], place: str) -> None:
    """Write what a server sent to a file or into a directory, and say where. Raises `Mistake`.

    A file that was named is replaced; in a directory, where the server has a say in the names, nothing is.
    A name that ends with a slash is a directory, which is made if need be.
    """
    path = Path(place)
    try:
        if place.endswith(os.sep):
            path.mkdir(parents=True, exist_ok=True)
        for saved in _saved(parts, path):
            remark(f"saved {saved}")
    except FileExistsError as error:
        raise Mistake(f"{str(error).split(';')[0]}; name a file, or another directory") from error
    except OSError as error:
        raise Mistake(f"{path} cannot be written: {error.strerror or error}") from error


def _saved(parts: Sequence[Part], path: Path) -> list[Path]:
    if len(parts) != 1:
        if path.exists() and not path.is_dir():
            raise Mistake(f"{path} is a file, and there are {len(parts)} to save; name a directory")
        return save(parts, path) if parts else []
    (part,) = parts
    if path.exists() and not path.is_dir() and not path.is_file():
        # A device or a pipe, which must not be replaced by a file.
        path.write_bytes(part.bytes)
        return [path]
    return [save(part, path, overwrite=path.is_file())]
