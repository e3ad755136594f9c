"""Ctrl-C at each step of a call over HTTP: nothing is left behind, and nobody else is kept from anything."""

from __future__ import annotations

import gc
import re
from functools import partial
from itertools import count
from typing import Final

import pytest

from mcp_actors import Client
from tests.client.waiting import BOUND, in_thread, until
from tests.runtime.interruption import interrupted_at
from tests.transports.http.conftest import ERAS, MakeClient, MakePeer, wire_of

pytestmark = [
    pytest.mark.requirement("transport:http", "request:cancel-caller"),
    # What an interrupted thread held in its hands is closed when nobody looks at its traceback any more.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

#: Modules of ours, and those of the standard library that hold locks for others; and how many steps they
#: have at least in one call.
_STEPS: Final = {
    "client/(calls|departures|loans)": 20,
    "runtime/(admission|lock|slot)": 20,
    "http/(dialogue|engine|exchange|grip|loan|wire)": 50,
    "http/(connections|pools)|threading|queue": 30,
}


def is_at_rest(client: Client) -> bool:
    stats = client.stats()
    asked = [one for one in wire_of(client)._running if one.ids]
    return (stats.pending, stats.in_flight, asked) == (0, 0, [])


@pytest.mark.parametrize("version", ERAS)
@pytest.mark.parametrize("where", _STEPS)
def test_an_interrupt_at_any_step_of_a_call_keeps_nobody_from_anything(
    where: str, version: str, make_peer: MakePeer, make_client: MakeClient
) -> None:
    client = make_client(make_peer(version)).wait_ready()
    path, wire = re.compile(f"/({where})[.]py$"), wire_of(client)
    call = partial(client.call_tool, "echo", {})
    call()
    for step in count():
        hit = interrupted_at(step, path, call)
        # On a thread of its own: what is left locked would not end in time.
        assert in_thread(call).result(BOUND).text == "{}"
        until(lambda: is_at_rest(client))
        assert wire_of(client) is wire
        if not hit:
            break
    assert step >= _STEPS[where]
    gc.collect()
