"""Ctrl-C at each step of a call over HTTP: nothing is left behind, and nobody else is kept from anything."""

from __future__ import annotations

import re
from functools import partial
from itertools import count

import pytest

from mcp_actors import Client
from tests.client.waiting import BOUND, in_thread, until
from tests.runtime.interruption import interrupted_at
from tests.transports.http.conftest import wire_of

pytestmark = [
    pytest.mark.requirement("transport:http", "request:cancel-caller"),
    # Between taking a connection and knowing of it nobody can close it but its own end.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]


def interrupt_each_step(client: Client, where: str) -> int:
    """Call, with an interrupt at the first step of these modules, then at the second, and so on to the last;
    how many there were. After each of them, others call as before."""
    path, wire = re.compile(f"/({where})[.]py$"), wire_of(client)
    call = partial(client.call_tool, "echo", {})
    call()
    for step in count():
        hit = interrupted_at(step, path, call)
        # On a thread of its own: what is left locked would not end in time.
        assert in_thread(call).result(BOUND).text == "{}"
        until(lambda: not [one for one in wire._running if one.ids])
        assert wire_of(client) is wire
        if not hit:
            return step
    raise AssertionError


def test_an_interrupt_while_a_connection_is_taken_or_put_back_keeps_it_from_nobody(client: Client) -> None:
    assert interrupt_each_step(client, "threading|queue|http/pools") > 20
