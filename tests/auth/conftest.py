"""Servers that are stopped when the test is over."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TypeAlias

import pytest

from tests.auth.authorization_server import AuthorizationServer, Settings
from tests.auth.calling import Person

Start: TypeAlias = Callable[..., AuthorizationServer]


@pytest.fixture
def serve() -> Iterator[Start]:
    """Start a server with these settings."""
    with contextlib.ExitStack() as stack:
        yield lambda **settings: stack.enter_context(AuthorizationServer(Settings(**settings)))


@pytest.fixture
def person() -> Person:
    """Somebody who agrees to everything."""
    return Person()
