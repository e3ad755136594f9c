"""Every transport passes the law suite, and so does one that a user wrote."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from mcp_actors.testing import LAWS, Bench, Maker, check_law
from tests.transports.peers import LIMIT, memory_maker, stdio_maker
from tests.transports.socket_transport import socket_maker

MAKERS: dict[str, Maker] = {
    "memory": memory_maker,
    "stdio-line": stdio_maker,
    "stdio-content-length": partial(stdio_maker, "content-length"),
}


@pytest.mark.requirement("transport:contract")
@pytest.mark.requirement("transport:memory")
@pytest.mark.requirement("transport:stdio")
@pytest.mark.requirement("transport:stats")
@pytest.mark.requirement("runtime:permits:active-once")
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", MAKERS)
def test_every_transport_keeps_the_laws(name: str, law: Callable[[Bench], None]) -> None:
    check_law(law, MAKERS[name], limit=LIMIT)


@pytest.mark.requirement("transport:custom")
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_a_transport_of_a_user_keeps_the_laws(law: Callable[[Bench], None]) -> None:
    check_law(law, socket_maker, limit=LIMIT)
