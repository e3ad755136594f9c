"""The manifest of a skill: the front matter of its ``SKILL.md``, checked by the rules for skills."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from mcp_actors.protocol.codec import Json, JsonObject
from mcp_actors.server.skills.rendering import NoJson, rendered
from mcp_actors.server.skills.skill_error import SkillError
from mcp_actors.skills.document import HeadRefused, read

# The Agent Skills specification, which SEP-2640 makes binding.
_NAME: Final = re.compile(r"(?=.{1,64}\Z)[a-z0-9]+(?:-[a-z0-9]+)*")
_LONGEST_DESCRIPTION: Final = 1024
#: SEP-2640: for metadata that extensions of the protocol define. None is defined so far.
_RESERVED: Final = "io.modelcontextprotocol/"


def read_manifest(path: Path, data: bytes, folder: str) -> JsonObject:
    """The front matter of the ``SKILL.md`` at ``path``, whose folder is called ``folder``.

    Raises:
        SkillError: it breaks a rule.
    """
    manifest = _front_matter(path, data)
    _check_name(path, manifest.get("name"), folder)
    description = manifest.get("description")
    if not isinstance(description, str) or not description.strip():
        raise SkillError(path, f"description must say what the skill is for, not {description!r:.80}")
    if len(description) > _LONGEST_DESCRIPTION:
        raise SkillError(
            path,
            f"description has {len(description)} characters; at most {_LONGEST_DESCRIPTION} are allowed",
        )
    _check_metadata(path, manifest.get("metadata"))
    return manifest


def _front_matter(path: Path, data: bytes) -> JsonObject:
    try:
        found = rendered(read(data).head)
    except (HeadRefused, NoJson) as error:
        raise SkillError(path, f"the front matter: {error}") from None
    if not isinstance(found, dict):
        raise SkillError(path, "the front matter: it must be a mapping with name and description")
    return found


def _check_name(path: Path, name: Json, folder: str) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise SkillError(
            path,
            f"name must be 1 to 64 lowercase letters and digits, single hyphens between, not {name!r:.80}",
        )
    if name != folder:
        raise SkillError(path, f"name is {name!r}, but the folder of the skill is called {folder!r:.80}")


def _check_metadata(path: Path, metadata: Json) -> None:
    if metadata is None:
        return
    if not isinstance(metadata, dict):
        raise SkillError(path, f"metadata must be a mapping, not {metadata!r:.80}")
    reserved = next((key for key in metadata if key.startswith(_RESERVED)), None)
    if reserved is not None:
        raise SkillError(path, f"metadata has {reserved!r:.80}, but names below {_RESERVED} are reserved")
