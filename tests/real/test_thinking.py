"""The sequential-thinking server: thoughts that build on each other, in a session that a kill ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors import Client
from tests.real.programs import MARKS, PATIENCE, MakeStdio, kill_and_notice

pytestmark = MARKS


def think(client: Client, number: int, **more: Any) -> dict[str, Any]:
    arguments = {"thought": f"thought {number}", "thoughtNumber": number, "totalThoughts": 3}
    arguments["nextThoughtNeeded"] = number < 3
    wait = more.pop("wait", False)
    result = client.call_tool("sequentialthinking", {**arguments, **more}, wait=wait)
    assert isinstance(result.structured_content, dict)
    return result.structured_content


@pytest.mark.requirement("connection:recover")
def test_thoughts_build_on_each_other_until_the_server_is_killed(
    node_server: Callable[[str], list[str]], make_stdio: MakeStdio
) -> None:
    client = make_stdio(node_server("sequential-thinking"), **PATIENCE)
    assert [one.name for one in client.list_tools()] == ["sequentialthinking"]
    assert think(client, 1)["thoughtHistoryLength"] == 1
    assert think(client, 2)["nextThoughtNeeded"] is True
    assert think(client, 2, isRevision=True, revisesThought=1)["thoughtHistoryLength"] == 3
    assert think(client, 3, branchFromThought=2, branchId="other")["branches"] == ["other"]
    assert client.call_tool("sequentialthinking", {"thought": "no number"}).is_error
    kill_and_notice(client, "server-sequential-thinking")
    # The history was in the process that is gone; a client cannot bring it back, only go on.
    assert think(client, 1, wait=True)["thoughtHistoryLength"] == 1
