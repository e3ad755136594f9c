"""The time server."""

from __future__ import annotations

import pytest

from tests.real.programs import MARKS, PATIENCE, MakeStdio, kill_and_notice

pytestmark = MARKS


@pytest.mark.requirement("connection:recover")
def test_the_time_is_told_and_told_again_after_a_kill(time_server: list[str], make_stdio: MakeStdio) -> None:
    client = make_stdio(time_server, **PATIENCE)
    assert {one.name for one in client.list_tools()} == {"get_current_time", "convert_time"}
    assert client.server_info.name == "mcp-time"
    result = client.call_tool("get_current_time", {"timezone": "Europe/Vienna"})
    assert "Europe/Vienna" in result.text
    assert not result.is_error
    assert client.call_tool("get_current_time", {"timezone": "Nowhere/Land"}).is_error
    kill_and_notice(client, "mcp-server-time")
    assert "UTC" in client.call_tool("get_current_time", {"timezone": "UTC"}, wait=True).text
    assert client.stats().reconnects == 1


def test_a_time_is_converted(time_server: list[str], make_stdio: MakeStdio) -> None:
    client = make_stdio(time_server, **PATIENCE)
    arguments = {"source_timezone": "Asia/Tokyo", "time": "12:30", "target_timezone": "Asia/Kolkata"}
    assert "T09:00" in client.call_tool("convert_time", arguments).text
