"""Tasks that are not on offer: said in plain words, before anything is sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors import Client, errors
from mcp_actors.client.gate import TASKS_EXTENSION
from tests.client.tasks.task_host import CORE, EXTENSION, TaskHost
from tests.client.toy_host import tool

Ready = Callable[..., Client]
MakeTaskHost = Callable[..., TaskHost]


@pytest.mark.requirement("negotiation:degrade")
@pytest.mark.parametrize(
    ("version", "capabilities", "reason"),
    [
        ("2024-11-05", {}, "tasks exist since 2025-11-25, and the server speaks 2024-11-05"),
        ("2025-06-18", {}, "tasks exist since 2025-11-25, and the server speaks 2025-06-18"),
        (CORE, {"tools": {}}, "the server does not offer tasks.requests.tools.call"),
        (CORE, {"tools": {}, "tasks": {}}, "the server does not offer tasks.requests.tools.call"),
        (EXTENSION, {}, "the server does not offer the extension io.modelcontextprotocol/tasks"),
    ],
)
def test_a_task_that_the_server_cannot_run_is_not_started(
    version: str, capabilities: dict[str, Any], reason: str, make_task_host: MakeTaskHost, make_client: Ready
) -> None:
    host = make_task_host(version, capabilities={"tools": {}} | capabilities)
    client = make_client(host, extensions={TASKS_EXTENSION: {}})
    with pytest.raises(errors.CapabilityMissing) as caught:
        client.start_task("slow")
    assert str(caught.value) == f"tools/call 'slow' was not sent: {reason}"
    client.ping()
    assert host.all_heard("tools/call") == []


def test_a_client_that_did_not_declare_the_extension_starts_no_task(
    make_task_host: MakeTaskHost, make_client: Ready
) -> None:
    client = make_client(make_task_host(EXTENSION))
    with pytest.raises(errors.CapabilityMissing, match="this client did not declare the extension"):
        client.start_task("slow")
    with pytest.raises(errors.CapabilityMissing, match="this client did not declare the extension"):
        client.get_task("task-1")


def test_a_tool_that_does_not_run_as_a_task_is_not_started_as_one(
    make_task_host: MakeTaskHost, ready: Ready
) -> None:
    host = make_task_host(CORE)
    host.answers["tools/list"] = lambda _: {
        "tools": [tool("quick"), tool("never") | {"execution": {"taskSupport": "forbidden"}}]
    }
    client = ready(host)
    for name in ("quick", "never"):
        with pytest.raises(errors.CapabilityMissing) as caught:
            client.start_task(name)
        assert str(caught.value) == (
            f"tools/call {name!r} was not sent: by the last listing this tool does not run as a task "
            "(execution.taskSupport is not 'optional' or 'required'); call_tool() calls it"
        )
    assert host.all_heard("tools/call") == []


@pytest.mark.parametrize(
    ("version", "capabilities", "reason"),
    [
        (EXTENSION, {}, "tasks/list does not exist in revision 2026-07-28"),
        (CORE, {"tasks": {}}, "memory does not offer tasks.list"),
        ("2025-06-18", {}, "tasks/list does not exist in revision 2025-06-18"),
    ],
)
def test_tasks_are_only_listed_where_they_can_be(
    version: str, capabilities: dict[str, Any], reason: str, make_task_host: MakeTaskHost, ready: Ready
) -> None:
    client = ready(make_task_host(version, capabilities={"tools": {}} | capabilities))
    with pytest.raises(errors.CapabilityMissing, match=reason):
        client.list_tasks()


def test_a_task_that_cannot_be_cancelled_says_so(make_task_host: MakeTaskHost, ready: Ready) -> None:
    host = make_task_host(CORE, capabilities={"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}}})
    handle = ready(host).start_task("slow")
    with pytest.raises(errors.CapabilityMissing, match="does not offer tasks.cancel"):
        handle.cancel()


@pytest.mark.parametrize("ttl", [0, -1, float("nan"), float("inf")])
def test_a_time_to_keep_it_is_a_positive_number_of_seconds(
    ttl: float, make_task_host: MakeTaskHost, make_client: Ready
) -> None:
    host = make_task_host(CORE)
    with pytest.raises(ValueError, match="ttl must be a positive number of seconds"):
        make_client(host).start_task("slow", ttl=ttl)
    assert host.wires == 0


def test_a_timeout_is_a_positive_number_of_seconds(make_task_host: MakeTaskHost, ready: Ready) -> None:
    handle = ready(make_task_host(CORE)).start_task("slow")
    for wait in (handle.refresh, handle.result, handle.cancel):
        with pytest.raises(ValueError, match="timeout must be a positive number of seconds"):
            wait(timeout=0)
