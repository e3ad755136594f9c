"""A planted bug."""

from __future__ import annotations

from dataclasses import dataclass

LAWS = "test_connection_properties.py"


@dataclass(frozen=True)
class Mutation:
    """In ``module``, ``old`` becomes ``new``; ``caught_by`` names the test files, likeliest first."""

    name: str
    module: str
    old: str
    new: str
    caught_by: tuple[str, ...] = (LAWS,)
