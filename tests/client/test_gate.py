"""The gate: what does not exist in the agreed revision, or was not offered, fails before the wire."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors import Client, errors
from mcp_actors.client.gate import TASKS_EXTENSION, extends
from tests.client.toy_host import ToyHost

MakeClient = Callable[..., Client]
MakeHost = Callable[..., ToyHost]

_GONE = "which memory speaks; it was removed in 2026-07-28"
_TO_COME = "which memory speaks; it was added in 2026-07-28"


@pytest.mark.requirement("negotiation:degrade")
@pytest.mark.parametrize(
    ("version", "method", "reason"),
    [
        ("2026-07-28", "ping", f"ping does not exist in revision 2026-07-28, {_GONE}"),
        ("2026-07-28", "initialize", f"initialize does not exist in revision 2026-07-28, {_GONE}"),
        (
            "2026-07-28",
            "logging/setLevel",
            f"logging/setLevel does not exist in revision 2026-07-28, {_GONE}",
        ),
        ("2026-07-28", "tasks/list", f"tasks/list does not exist in revision 2026-07-28, {_GONE}"),
        ("2026-07-28", "tasks/get", f"memory does not offer the extension {TASKS_EXTENSION}"),
        ("2026-07-28", "tasks/update", f"memory does not offer the extension {TASKS_EXTENSION}"),
        ("2026-07-28", "resources/subscribe", "memory does not offer resources.subscribe"),
        (
            "2025-11-25",
            "subscriptions/listen",
            f"subscriptions/listen does not exist in revision 2025-11-25, {_TO_COME}",
        ),
        ("2025-11-25", "tasks/get", "memory does not offer tasks"),
        (
            "2025-11-25",
            "tasks/update",
            "tasks/update does not exist in revision 2025-11-25, which memory speaks; "
            f"it belongs to the extension {TASKS_EXTENSION}",
        ),
        (
            "2025-06-18",
            "tasks/get",
            "tasks/get does not exist in revision 2025-06-18, which memory speaks; "
            "it was added in 2025-11-25",
        ),
        (
            "2024-11-05",
            "server/discover",
            f"server/discover does not exist in revision 2024-11-05, {_TO_COME}",
        ),
    ],
)
def test_a_method_of_another_revision_fails_before_the_wire(
    version: str, method: str, reason: str, make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(version=version)
    client = make_client(host).wait_ready()
    before = len(host.all_heard(method))
    with pytest.raises(errors.CapabilityMissing) as caught:
        client.request(method)
    assert str(caught.value) == f"{method} was not sent: {reason}"
    client.ping()
    assert len(host.all_heard(method)) == before


@pytest.mark.parametrize("version", ["2026-07-28", "2025-11-25"])
def test_a_method_that_no_revision_knows_is_the_callers_own_business(
    version: str, make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(version=version)
    host.answers["x/y"] = lambda _: {"z": 1}
    assert make_client(host).request("x/y") == {"z": 1}


def test_methods_of_an_extension_pass_if_the_server_has_it(
    make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(capabilities={"extensions": {TASKS_EXTENSION: {}}})
    host.answers["tasks/get"] = host.answers["tasks/update"] = lambda _: {}
    client = make_client(host)
    assert client.request("tasks/get", {"taskId": "1"}) == {}
    assert client.request("tasks/update", {"taskId": "1", "inputResponses": {}}) == {}


@pytest.mark.parametrize(
    ("capabilities", "extended"),
    [
        ({}, False),
        ({"extensions": None}, False),
        ({"extensions": {TASKS_EXTENSION: None}}, False),
        ({"extensions": {"io": {"modelcontextprotocol/tasks": {}}}}, False),
        ({"extensions": {TASKS_EXTENSION: {}}}, True),
        ({"extensions": {TASKS_EXTENSION: {"a": 1}}}, True),
    ],
)
def test_an_extension_is_found_by_its_whole_id(capabilities: dict[str, Any], extended: bool) -> None:
    assert extends(capabilities, TASKS_EXTENSION) is extended
