"""ServedSkill: a skill as it was when it was added, with its entry and its resources."""

from __future__ import annotations

import hashlib
import os
import re
from functools import partial
from pathlib import Path
from typing import Final, Self

from mcp_actors.server.registry.entries import ResourceEntry
from mcp_actors.server.registry.media_types import BINARY, TEXT, as_text, media_type_of
from mcp_actors.server.skills.folder import read_folder
from mcp_actors.server.skills.manifest import read_manifest
from mcp_actors.server.skills.published import Published
from mcp_actors.skills.location import ENTRY_FILE, uri_in
from mcp_actors.skills.skill import Skill, SkillFile

MARKDOWN: Final = "text/markdown"

# RFC 3986: a scheme and whole segments. With an empty authority, as in file:///, the path begins at once.
_PREFIX: Final = re.compile(
    r"[A-Za-z][A-Za-z0-9+.\-]*://(?:/?(?:(?:[A-Za-z0-9\-._~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2})+/)+)?"
)


class ServedSkill(Published, frozen=True, kw_only=True, dict=True, eq=False):
    """Never changes, whatever becomes of the folder: its files are held in memory, 16 MiB at most, so that
    what is read always has the digest that is told. To publish a newer state, remove it and add it again."""

    folder: Path
    skill: Skill
    resources: tuple[ResourceEntry, ...]

    @classmethod
    def of(cls, path: str | os.PathLike[str], prefix: str, number: int) -> Self:
        """The skill in a folder.

        Raises:
            SkillError: it breaks a rule.
            ValueError: the prefix cannot begin the URI of a skill.
        """
        # The name that its author gave to the folder, also where that is a link to another one.
        folder = Path(os.path.abspath(path))
        files = read_folder(folder)
        manifest = read_manifest(folder / ENTRY_FILE, files[ENTRY_FILE], folder.name)
        root = checked_prefix(prefix) + folder.name
        skill = Skill(
            uri=f"{root}/{ENTRY_FILE}",
            front_matter=manifest,
            resources=[_listed(uri_in(root, name), data) for name, data in files.items()],
        )
        resources = [_resource(uri_in(root, name), name, data, skill) for name, data in files.items()]
        return cls(
            uri=skill.uri,
            function=partial(dict, skill.to_wire()),
            number=number,
            folder=folder,
            skill=skill,
            resources=tuple(resources),
        )


def checked_prefix(prefix: str) -> str:
    """What the URIs of skills begin with, up to the name. Raises ``ValueError`` if it cannot be that."""
    whole = prefix if prefix.endswith("/") else f"{prefix}/"
    steps = whole.split("/")
    if not _PREFIX.fullmatch(whole) or "." in steps or ".." in steps:
        raise ValueError(f"uri_prefix must be like skill:// or skill://acme/billing/, not {prefix!r:.200}")
    return whole


def _listed(uri: str, data: bytes) -> SkillFile:
    return SkillFile(uri=uri, digest=f"sha256:{hashlib.sha256(data).hexdigest()}", size=len(data))


def _resource(uri: str, path: str, data: bytes, skill: Skill) -> ResourceEntry:
    if path == ENTRY_FILE:
        # SEP-2640, resource metadata: the file is listed under the words of its front matter.
        return ResourceEntry.of(
            uri,
            partial(_contents, data, MARKDOWN),
            name=skill.name,
            description=skill.description,
            mime_type=MARKDOWN,
            size=len(data),
        )
    name = path.rsplit("/", 1)[-1]
    kind = media_type_of(name)
    read = partial(_contents, data, kind)
    shown = kind or (TEXT if isinstance(read(), str) else BINARY)
    return ResourceEntry.of(uri, read, name=name, mime_type=shown, size=len(data))


def _contents(data: bytes, kind: str | None) -> str | bytes:
    """Text where it is one to the last byte; else the bytes themselves."""
    text = as_text(data, kind)
    return data if text is None else text
