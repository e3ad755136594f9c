"""A type with the name of another one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Tree:
    """A tree in a garden."""

    height: float
