"""Whether what was read is what the skill's entry promised. Pure: bytes and values in, verdict out."""

from __future__ import annotations

import hashlib
from typing import Any, Literal

from mcp_actors import errors
from mcp_actors.client.skills.policy import SkillPolicy
from mcp_actors.protocol import types
from mcp_actors.skills import front_matter
from mcp_actors.skills.document import HeadRefused, read
from mcp_actors.skills.skill import Skill, SkillFile

#: What a skill can fail; ``details["check"]`` of the error.
Check = Literal["dynamic", "limit", "unlisted", "content", "size", "digest", "front_matter"]


def refused(skill: Skill, check: Check, reason: str, **details: Any) -> errors.InvalidResponse:
    """The error for a skill, or a file of it, that must not be used."""
    return errors.InvalidResponse(
        f"the skill {skill.name!r} was refused: {reason}",
        details={"check": check, "skill": skill.uri, **details},
    )


def check_limits(skill: Skill, policy: SkillPolicy) -> None:
    """The entry alone tells whether a skill is too large; so nothing of such a skill is read."""
    files = skill.files.values()
    for what, got, most in (
        ("files", len(files), policy.max_files),
        ("bytes", sum(file.size for file in files), policy.max_total_bytes),
        ("bytes in one file", max((file.size for file in files), default=0), policy.max_file_bytes),
    ):
        if got > most:
            raise refused(skill, "limit", f"it has {got} {what}, the limit is {most}", expected=most, got=got)


def raw_bytes(skill: Skill, result: types.ReadResourceResult, most: int) -> tuple[bytes, str | None]:
    """The bytes of the file that was read, and its media type."""
    if len(result.contents) != 1:
        raise refused(skill, "content", f"a file was answered in {len(result.contents)} parts, not in one")
    part = result.contents[0]
    held = part.text if isinstance(part, types.TextResourceContents) else part.blob
    # Base64 is a third longer than what it holds, and line breaks are some more.
    if len(held) > 2 * most:
        raise refused(skill, "limit", f"a file has more than {most} bytes", expected=most)
    try:
        data = part.text.encode() if isinstance(part, types.TextResourceContents) else part.data
    except ValueError as error:
        raise refused(skill, "content", f"a file came garbled: {error}") from error
    if len(data) > most:
        raise refused(skill, "limit", f"a file has {len(data)} bytes, the limit is {most}", expected=most)
    return data, part.mime_type


def check_file(skill: Skill, file: SkillFile, data: bytes) -> None:
    """Size first: it is free, and names the commonest mistake."""
    if len(data) != file.size:
        reason = f"{file.uri} has {len(data)} bytes, not the {file.size} of its entry"
        raise refused(skill, "size", reason, uri=file.uri, expected=file.size, got=len(data))
    digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
    if digest != file.digest:
        reason = f"{file.uri} has the digest {digest}, not the {file.digest} of its entry"
        raise refused(skill, "digest", reason, uri=file.uri, expected=file.digest, got=digest)


def checked_text(skill: Skill, data: bytes, policy: SkillPolicy) -> tuple[str, str]:
    """The whole ``SKILL.md`` and its body, if its head says exactly what the entry says."""
    try:
        document = read(data, policy.max_front_matter_bytes)
    except HeadRefused as error:
        raise _other_head(skill, str(error)) from None
    found = front_matter.difference(document.head, skill.front_matter)
    if found is not None:
        raise _other_head(skill, found)
    return document.text, document.body


def _other_head(skill: Skill, reason: str) -> errors.InvalidResponse:
    return refused(skill, "front_matter", f"the front matter of {skill.uri}: {reason}", uri=skill.uri)
