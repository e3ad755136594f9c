"""Many threads, and a server that dies and comes back under their hands."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from mcp_actors import Client, errors
from tests.client.features.ear import Ear
from tests.client.features.news_host import NewsHost
from tests.client.toy_host import STATELESS
from tests.client.waiting import BOUND, in_thread, until

MakeClient = Callable[..., Client]
MakeNews = Callable[..., NewsHost]

THREADS = 16
STEPS = 60
DEATHS = 10


class Worker:
    """Calls, subscribes and unsubscribes its own resources; counts what came of it."""

    def __init__(self, client: Client, number: int) -> None:
        self._client = client
        self._number = number
        self._chance = random.Random(number)
        self.desired: set[str] = set()
        self.outcomes = 0

    def run(self) -> None:
        for step in range(STEPS):
            uri = f"toy:{self._number}/{self._chance.randrange(3)}"
            match self._chance.randrange(3):
                case 0:
                    self._insist(self._client.subscribe_resource, uri)
                    self.desired.add(uri)
                case 1:
                    self._insist(self._client.unsubscribe_resource, uri)
                    self.desired.discard(uri)
                case _:
                    self._call(step)

    def _insist(self, change: Callable[..., None], uri: str) -> None:
        while True:
            try:
                change(uri, wait=True)
            except errors.ConnectionLost:
                # Whether the server had heard of it nobody knows; saying it twice does no harm.
                continue
            return

    def _call(self, step: int) -> None:
        sent = f"{self._number}/{step}"
        try:
            assert self._client.call_tool("echo", {"n": sent}, wait=True).text == f'{{"n": "{sent}"}}'
        except errors.ConnectionLost as error:
            assert error.outcome == "unknown"  # noqa: PT017 - one of two good ends
        self.outcomes += 1


@pytest.mark.stress
@pytest.mark.requirement("connection:recover")
@pytest.mark.requirement("request:one-outcome")
@pytest.mark.parametrize("version", [STATELESS, "2025-11-25"])
def test_every_call_has_one_outcome_and_the_last_wishes_are_what_the_server_knows(
    version: str, make_news: MakeNews, make_client: MakeClient
) -> None:
    host = make_news(version)
    client, gaps = make_client(host, request_timeout=6 * BOUND, backoff_max=0.01).wait_ready(), Ear()
    client.on_gap(gaps)
    workers = [Worker(client, number) for number in range(THREADS)]
    running = [in_thread(worker.run) for worker in workers]
    for death in range(1, DEATHS + 1):
        # Each life does some work before it ends.
        host.await_heard("tools/call", 20 * death)
        wires = host.wires
        host.drop()
        host.await_wires(wires + 1)
    for one in running:
        one.result(6 * BOUND)
    client.ping(wait=True)
    desired = set().union(*(worker.desired for worker in workers))
    until(lambda: host.wanted_uris == desired)
    assert desired
    assert sum(worker.outcomes for worker in workers) > 0
    # A server may also die before its client was ready again.
    reconnects = client.stats().reconnects
    assert 0 < reconnects <= DEATHS
    until(lambda: len(gaps.heard) >= reconnects)
    assert [gap.lost for gap in gaps.heard] == [()] * reconnects
    until(lambda: client.stats().in_flight == 0)
    assert client.stats().pending == 0
    calls = [one["params"]["arguments"]["n"] for one in host.all_heard("tools/call")]
    assert len(calls) == len(set(calls))
