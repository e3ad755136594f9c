"""A shelf of skills, a host that serves it in both eras, and a client of that host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors import Client
from mcp_actors.client.skills import Skills
from tests.client.skills.shelf import CAPABILITIES, Shelf
from tests.client.toy_host import ToyHost
from tests.client.waiting import BOUND


@pytest.fixture(params=["2026-07-28", "2025-11-25"])
def version(request: pytest.FixtureRequest) -> str:
    """A revision of each era."""
    return str(request.param)


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def library(version: str, shelf: Shelf, make_host: Callable[..., ToyHost]) -> ToyHost:
    """A host that serves ``shelf``."""
    return shelf.stock(make_host(version=version, capabilities=CAPABILITIES))


@pytest.fixture
def reader(library: ToyHost, make_client: Callable[..., Client]) -> Client:
    return make_client(library, name="library")


@pytest.fixture
def make_skills(reader: Client) -> Callable[..., Skills]:
    def make(**settings: Any) -> Skills:
        return Skills(reader, **({"timeout": BOUND} | settings))

    return make


@pytest.fixture
def skills(make_skills: Callable[..., Skills]) -> Skills:
    return make_skills()
