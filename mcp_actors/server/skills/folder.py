"""Reading a folder once and whole: within the limits of a skill, and nothing that lies outside of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mcp_actors.server.registry.opening import ResourceMissing, ResourceTooLarge, Root, read_regular
from mcp_actors.server.skills.skill_error import SkillError
from mcp_actors.skills.limits import MOST_BYTES, MOST_FILES
from mcp_actors.skills.location import ENTRY_FILE, checked_path

#: What a folder may hold that is no part of a skill, beside names that begin with a dot.
_LEFT_OUT: Final = frozenset({"__pycache__"})


def is_left_out(name: str) -> bool:
    """Whether what is called so is never published."""
    return name.startswith(".") or name in _LEFT_OUT


def read_folder(folder: Path) -> dict[str, bytes]:
    """The files of a skill by their path inside it: ``SKILL.md``, then the others in order.

    Links to files inside are followed. Anything else that is neither file nor folder is refused, not left
    out: what an author put there belongs to the skill.

    Raises:
        SkillError: no folder, no ``SKILL.md``, too many or too large files, or one that must not be read.
    """
    try:
        # Links may go by ways that are not shown, as those of mounted configurations do.
        root = Root(folder, hidden=True)
        paths = sorted(_paths(folder, root.path))
    except NotADirectoryError:
        raise SkillError(folder, "it is no folder") from None
    except OSError as error:
        raise SkillError(folder, f"it cannot be read: {error.strerror or error}") from error
    files: dict[str, bytes] = {}
    left = MOST_BYTES
    for path in sorted(paths, key=lambda path: path != ENTRY_FILE):
        files[path] = _read(root, folder / path, path, left)
        left -= len(files[path])
    return files


def _paths(folder: Path, root: Path) -> Iterator[str]:
    """Where the files are. Folders are looked into in the order in which they are found."""
    waiting = [""]
    files = 0
    for above in waiting:
        found = _scan(root / above)
        if not above and ENTRY_FILE not in [one.name for one in found]:
            raise SkillError(folder, f"a skill has a file {ENTRY_FILE}, spelled like that; here is none")
        for one in found:
            path = f"{above}{one.name}"
            if _is_folder(folder / path, root, one):
                waiting.append(f"{path}/")
            else:
                files += 1
                yield path
            # More folders than files: some are empty, and looking into them takes time as well.
            if max(files, len(waiting)) > MOST_FILES:
                raise SkillError(folder, f"a skill has at most {MOST_FILES} files and folders")


def _scan(folder: Path) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as found:
        return [one for one in found if not is_left_out(one.name)]


def _is_folder(path: Path, root: Path, found: os.DirEntry[str]) -> bool:
    """Whether it has to be looked into. Raises `SkillError` if it cannot be published."""
    try:
        checked_path(found.name).encode("utf-8")
    except ValueError:
        raise SkillError(path, "its name has characters that no URI of a skill can hold") from None
    if not found.is_symlink():
        return found.is_dir(follow_symlinks=False)
    if not Path(os.path.realpath(found.path)).is_relative_to(root):
        raise SkillError(path, "it is a link that leads out of the skill")
    if found.is_dir():
        raise SkillError(path, "it is a link to a folder; only files may be linked")
    return False


def _read(root: Root, shown: Path, path: str, most: int) -> bytes:
    try:
        with root.opened(path, path) as descriptor:
            return read_regular(descriptor, path, most)
    except ResourceTooLarge:
        raise SkillError(
            shown, f"with it the skill has more than {MOST_BYTES} bytes, which is the limit"
        ) from None
    except (ResourceMissing, OSError):
        raise SkillError(shown, "it is no ordinary file, or cannot be read") from None
