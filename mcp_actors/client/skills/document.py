"""What was read of a skill. Made only after everything that can be verified was."""

from __future__ import annotations

from msgspec import Struct

from mcp_actors.protocol.codec import JsonObject
from mcp_actors.skills.skill import Skill


class SkillDocument(Struct, frozen=True):
    """A ``SKILL.md``, equal to what its entry says. Still the words of a server: no authority, no permission.

    ``origin`` is this client's name of the server, to be shown wherever the text is used.
    """

    skill: Skill
    origin: str
    text: str
    body: str

    @property
    def front_matter(self) -> JsonObject:
        """The fields at the head of the file. Grant nothing that ``allowed-tools`` asks for unasked."""
        return self.skill.front_matter


class SkillContents(Struct, frozen=True):
    """A supporting file of a skill."""

    uri: str
    path: str
    origin: str
    data: bytes
    mime_type: str | None = None

    @property
    def text(self) -> str:
        """The file as text. Raises ``UnicodeDecodeError`` if it is not UTF-8."""
        return self.data.decode("utf-8")
