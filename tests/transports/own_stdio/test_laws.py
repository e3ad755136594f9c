"""Our own stdin and stdout keep the laws of transports, whatever kind of descriptor they are."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from mcp_actors.testing import LAWS, Bench, Maker, check_law
from tests.transports.own_stdio.ends import own_stdio_maker, socket_pair
from tests.transports.peers import LIMIT

MAKERS: dict[str, Maker] = {
    "pipes": own_stdio_maker,
    "content-length": partial(own_stdio_maker, "content-length"),
    "sockets": partial(own_stdio_maker, pair=socket_pair),
}


@pytest.mark.requirement("transport:contract")
@pytest.mark.requirement("transport:stdio")
@pytest.mark.requirement("transport:stats")
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", MAKERS)
def test_own_stdio_keeps_the_laws(name: str, law: Callable[[Bench], None]) -> None:
    check_law(law, MAKERS[name], limit=LIMIT)
