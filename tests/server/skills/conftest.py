"""Folders to publish."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

MakeSkill = Callable[..., Path]


@pytest.fixture
def make_skill(tmp_path: Path) -> MakeSkill:
    """Makes the folder of a skill, with further files by their path."""

    def make(name: str = "refunds", files: dict[str, bytes] | None = None, head: str | None = None) -> Path:
        folder = tmp_path / "skills" / name
        head = f"name: {name}\ndescription: Refund an order\n" if head is None else head
        for path, data in {"SKILL.md": f"---\n{head}---\n\nBody.\n".encode(), **(files or {})}.items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
        return folder

    return make
