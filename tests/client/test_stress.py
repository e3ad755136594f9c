"""Races, hunted with threads that take turns every microsecond: every call ends once, whatever happens."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mcp_actors import Client, errors
from tests.client.toy_host import ToyHost
from tests.client.waiting import BOUND, in_thread

pytestmark = pytest.mark.stress
MakeHost = Callable[..., ToyHost]
MakeClient = Callable[..., Client]


@pytest.fixture(autouse=True)
def _hasty_switching() -> Iterator[None]:
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


def work(client: Client, worker: int, calls: int) -> list[str]:
    """Make calls in every manner; the kinds of their outcomes."""
    outcomes = []
    for number in range(calls):
        arguments = {"n": f"{worker}-{number}"}
        try:
            if number % 3 == 0:
                answer = client.submit_tool("echo", arguments).result(2 * BOUND)
            else:
                answer = client.call_tool("echo", arguments, wait=number % 3 == 1)
            outcomes.append("ok" if f'"{worker}-{number}"' in answer.text else f"wrong: {answer.text}")
        except errors.McpError as error:
            outcomes.append(error.type)
    return outcomes


@pytest.mark.requirement("request:one-outcome")
@pytest.mark.requirement("request:no-leak")
def test_losses_in_the_middle_of_everything(make_host: MakeHost, make_client: MakeClient) -> None:
    host = make_host()
    client = make_client(host, backoff_min=0.001, backoff_max=0.002).wait_ready()
    workers = [in_thread(lambda worker=worker: work(client, worker, 60)) for worker in range(8)]  # type: ignore[misc]
    for wires in range(2, 12):
        host.drop()
        host.await_wires(wires)
    outcomes = [outcome for worker in workers for outcome in worker.result(6 * BOUND)]
    assert len(outcomes) == 480
    assert set(outcomes) <= {"ok", "transport", "state"}
    client.wait_ready()
    stats = client.stats()
    assert (stats.pending, stats.in_flight, stats.restarts) == (0, 0, 0)


@pytest.mark.requirement("connection:stop")
@pytest.mark.parametrize("moment", range(10))
def test_closing_in_the_middle_of_everything(
    moment: int, make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host()
    client = make_client(host)
    workers = [in_thread(lambda worker=worker: work(client, worker, 20)) for worker in range(6)]  # type: ignore[misc]
    if moment:
        host.await_heard("tools/call", moment * 3)
    closings = [in_thread(client.close) for _ in range(2)]
    for closing in closings:
        assert closing.result(2 * BOUND) is None
    outcomes = [outcome for worker in workers for outcome in worker.result(4 * BOUND)]
    assert len(outcomes) == 120
    assert set(outcomes) <= {"ok", "shutdown", "state"}
    assert host.wires <= 1


@pytest.mark.requirement("request:cancel-idempotent")
def test_cancelling_in_the_middle_of_everything(make_host: MakeHost, make_client: MakeClient) -> None:
    host = make_host()
    client = make_client(host).wait_ready()
    dice = random.Random(4711)

    def submit() -> list[Any]:
        futures = [client.submit_tool("echo", {"n": number}) for number in range(60)]
        for future in futures:
            if dice.random() < 0.5:
                future.cancel()
        return futures

    futures = [future for one in [in_thread(submit) for _ in range(4)] for future in one.result(4 * BOUND)]
    for future in futures:
        if not future.cancelled():
            assert future.result(2 * BOUND).content
    gate = threading.Event()
    client.submit_tool("echo").add_done_callback(lambda _: gate.set())
    assert gate.wait(BOUND)
    client.ping()
    assert (client.stats().pending, client.state) == (0, "ready")
