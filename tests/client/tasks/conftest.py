"""Hosts that run tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mcp_actors import Client
from mcp_actors.client.gate import TASKS_EXTENSION
from tests.client.tasks.task_host import KINDS, TaskHost

Ready = Callable[..., Client]


@pytest.fixture
def make_task_host() -> Iterator[Callable[..., TaskHost]]:
    made: list[TaskHost] = []

    def make(version: str, **settings: Any) -> TaskHost:
        made.append(TaskHost(version, **settings))
        return made[-1]

    yield make
    for one in made:
        one.shut_down()


@pytest.fixture(params=KINDS)
def host(request: pytest.FixtureRequest, make_task_host: Callable[..., TaskHost]) -> TaskHost:
    """A server that runs tasks, in each dialect."""
    return make_task_host(request.param)


@pytest.fixture
def ready(make_client: Callable[..., Client]) -> Ready:
    """Makes clients that know of tasks and have listed the tools of their server."""

    def make(host: TaskHost, **options: Any) -> Client:
        client = make_client(host, **({"extensions": {TASKS_EXTENSION: {}}} | options)).wait_ready()
        client.list_tools()
        return client

    return make
