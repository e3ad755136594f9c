"""SkillError: why a folder cannot be published as a skill."""

from __future__ import annotations

from pathlib import Path


class SkillError(ValueError):
    """A folder breaks a rule for skills. ``path`` is the file or folder, ``rule`` what is wrong with it."""

    def __init__(self, path: Path, rule: str) -> None:
        super().__init__(path, rule)
        self.path = path
        self.rule = rule

    def __str__(self) -> str:
        return f"{self.path}: {self.rule}"
