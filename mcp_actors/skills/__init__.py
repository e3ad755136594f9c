"""The skills extension (SEP-2640), as both roles know it: what a skill is, where its files are, how large."""

from __future__ import annotations

from mcp_actors.skills.skill import EXTENSION, Skill, SkillFile

__all__ = ["EXTENSION", "Skill", "SkillFile"]
