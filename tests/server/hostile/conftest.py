"""Servers to attack: in memory, as a WSGI app, as programs over stdio and HTTP."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, TypeAlias

import orjson
import pytest

from mcp_actors import Server
from tests.server.hostile.programs.target import build
from tests.servers.serving import Served, serving

MANY: Final = 4096

MakeTarget: TypeAlias = Callable[..., Server]
ServeTarget: TypeAlias = Callable[..., Served]


@pytest.fixture
def make_target() -> Iterator[MakeTarget]:
    made: list[Server] = []

    def make(**options: Any) -> Server:
        made.append(build(**options))
        return made[-1]

    yield make
    for server in made:
        server.close()


@pytest.fixture
def target(make_target: MakeTarget) -> Server:
    return make_target()


@pytest.fixture
def many_descriptors() -> Iterator[None]:
    """As many as this user may have: a thousand connections need more than is usual."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MANY if before[1] == resource.RLIM_INFINITY else min(MANY, before[1])
    if most < MANY:
        pytest.skip(f"only {most} descriptors are allowed here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(most, before[0]), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.fixture
def serve_target(tmp_path: Path) -> Iterator[ServeTarget]:
    """Starts the program over HTTP, with settings of its own."""
    with ExitStack() as stack:

        def start(**settings: Any) -> Served:
            words = ["tests.server.hostile.programs.target", "http", "{port}"]
            return stack.enter_context(
                serving([*words, orjson.dumps(settings).decode()], tmp_path / "target.log")
            )

        yield start
