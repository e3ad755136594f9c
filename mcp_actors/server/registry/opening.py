"""Opening files for a stranger: nothing outside of the root, nothing that blocks, nothing endless."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Final

#: A frame is 16 MiB at most, and base64 takes four bytes for three.
MAX_BYTES: Final = 8 * 1024 * 1024

# Not blocking: a named pipe would hold the thread until somebody writes into it.
_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
_BELOW: Final = _FLAGS | os.O_NOFOLLOW


class ResourceMissing(FileNotFoundError):
    """There is no such resource, or it is not for everybody to see. The message names its URI alone."""


class ResourceTooLarge(ValueError):
    """A resource is larger than its limit."""


def read_regular(descriptor: int, uri: str, max_bytes: int) -> bytes:
    """All of an open file, which must be an ordinary one.

    Raises:
        ResourceMissing: it is a directory, device, pipe or socket.
        ResourceTooLarge: it holds more than ``max_bytes``.
    """
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        raise missing(uri)
    # Also read with a bound: a file may grow, and those of /proc claim to be empty.
    with open(descriptor, "rb", closefd=False) as file:
        data = b"" if found.st_size > max_bytes else file.read(max_bytes + 1)
    if found.st_size > max_bytes or len(data) > max_bytes:
        raise ResourceTooLarge(f"the resource {uri!r} is larger than {max_bytes} bytes")
    return data


def missing(uri: str) -> ResourceMissing:
    """The error for a resource that is not there."""
    return ResourceMissing(f"there is no resource {uri!r}")


@contextmanager
def opened(path: Path, uri: str) -> Iterator[int]:
    """A file that the server's author chose. Raises `ResourceMissing` if it cannot be opened."""
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError:
        raise missing(uri) from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


class Root:
    """A directory that strangers may look into, and out of which nothing leads."""

    def __init__(self, path: str | os.PathLike[str], *, hidden: bool) -> None:
        """Raises ``NotADirectoryError`` if it is none. ``hidden``: whether names with a dot are shown."""
        self.path = Path(os.path.realpath(path))
        self._hidden = hidden
        if not self.path.is_dir():
            raise NotADirectoryError(f"{path} is no directory")

    def shows(self, name: str) -> bool:
        """Whether an entry of that name is for strangers to see."""
        return self._hidden or not name.startswith(".")

    @contextmanager
    def opened(self, relative: str, uri: str) -> Iterator[int]:
        """Whatever is at a path below. Raises `ResourceMissing` if nothing is that may be seen."""
        try:
            descriptor = self._open(self._steps(relative))
        except (OSError, ValueError):
            raise missing(uri) from None
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def _steps(self, relative: str) -> tuple[str, ...]:
        """The way to a path without links. Raises ``ValueError`` if it leads elsewhere or is not shown."""
        asked = PurePosixPath(relative)
        if asked.is_absolute() or ".." in asked.parts or "\0" in relative:
            raise ValueError("not below the root")
        # By steps, not by letters: /srv/docs-old is not below /srv/docs.
        steps = Path(os.path.realpath(self.path / asked)).relative_to(self.path).parts
        if not all(map(self.shows, (*asked.parts, *steps))):
            raise ValueError("hidden")
        return steps

    def _open(self, steps: tuple[str, ...]) -> int:
        """Step by step from the root, each without following a link: who puts one there meanwhile gains
        nothing."""
        here = os.open(self.path, _FLAGS | os.O_DIRECTORY)
        for step in steps:
            try:
                further = os.open(step, _BELOW, dir_fd=here)
            finally:
                os.close(here)
            here = further
        return here
