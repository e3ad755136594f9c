"""The skills extension (SEP-2640), client side: list skills, read them, refuse what was altered."""

from __future__ import annotations

from mcp_actors.client.skills.document import SkillContents, SkillDocument
from mcp_actors.client.skills.policy import SkillPolicy
from mcp_actors.client.skills.skills import Skills
from mcp_actors.skills.skill import EXTENSION, Skill, SkillFile

__all__ = [
    "EXTENSION",
    "Skill",
    "SkillContents",
    "SkillDocument",
    "SkillFile",
    "SkillPolicy",
    "Skills",
]
