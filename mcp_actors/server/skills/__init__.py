"""The skills extension (SEP-2640), server side: folders with a ``SKILL.md``, published with their digests."""

from __future__ import annotations

from mcp_actors.server.skills.skill_error import SkillError

__all__ = ["SkillError"]
