"""One server in several processes of gunicorn: whichever of them gets a request can answer it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from mcp_actors import Progress, types
from tests.client.waiting import BOUND, in_thread, until
from tests.server.frameworks.conftest import Connect
from tests.server.talk import ERAS, HANDSHAKE, STATELESS
from tests.servers.serving import Served, gunicorn, serving

pytestmark = [
    pytest.mark.real,
    pytest.mark.requirement("transport:wsgi"),
    pytest.mark.requirement("quality:integrations"),
    pytest.mark.requirement("runtime:fork"),
]

WORKERS = 3


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    # A connection that is kept stays with one worker: without it, each request goes to whoever is free.
    words = [*gunicorn("tests.server.frameworks.workers_site:app", workers=WORKERS, threads=8)]
    with serving([*words, "--keep-alive", "0"], tmp_path / "log") as one:
        until(lambda: len(workers(one)) == WORKERS)
        yield one


def workers(served: Served) -> set[int]:
    """The processes that answer."""
    return {child.pid for child in psutil.Process(served.process.pid).children()}


@pytest.mark.parametrize("era", ERAS)
def test_calls_are_answered_by_all_workers(served: Served, connect: Connect, era: str) -> None:
    client, seen = connect(protocol=era), set[int]()

    def by_all() -> bool:
        calls = [in_thread(lambda: client.call_tool("pid").structured_content["result"]) for _ in range(12)]
        seen.update(call.result(4 * BOUND) for call in calls)
        return seen == workers(served)

    until(by_all, otherwise=lambda: f"only {seen} of {workers(served)} answered")
    steps: list[Progress] = []
    assert client.call_tool("count", {"to": 3}, on_progress=steps.append).text == "counted"
    assert [one.progress for one in steps] == [1, 2, 3]
    assert client.protocol_version == era


@pytest.mark.requirement("feature:mrtr")
def test_the_rounds_of_one_call_go_to_different_workers(connect: Connect) -> None:
    askers: list[set[str]] = []

    def answer(form: Any) -> dict[str, object]:
        assert isinstance(form, types.ElicitFormParams)
        askers[-1].add(form.message)
        return {"number": 14}

    client = connect(protocol=STATELESS, elicitation_handler=answer)

    def by_several() -> bool:
        askers.append(set())
        assert client.call_tool("ask_thrice").structured_content == {"result": 42}
        return len(askers[-1]) > 1

    until(by_several, otherwise=lambda: f"each call was served by one worker: {askers}")


def test_a_client_without_sessions_cannot_be_asked_and_is_told_so(connect: Connect) -> None:
    client = connect(protocol=HANDSHAKE, elicitation_handler=lambda _: {"number": 14})
    told = client.call_tool("ask_thrice")
    assert (told.is_error, told.text) == (
        True,
        "the client cannot be asked: it does not offer elicitation",
    )
    assert client.call_tool("count", {"to": 1}).text == "counted"


@pytest.mark.parametrize("era", ERAS)
def test_a_worker_that_is_killed_is_missed_by_nobody(served: Served, connect: Connect, era: str) -> None:
    client = connect(protocol=era)
    before = workers(served)
    victim = client.call_tool("pid").structured_content["result"]
    os.kill(victim, signal.SIGKILL)
    until(lambda: len(workers(served) - {victim}) == WORKERS)
    answered = {client.call_tool("pid").structured_content["result"] for _ in range(5)}
    assert victim in before
    assert victim not in answered
