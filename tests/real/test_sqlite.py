"""The SQLite server, which still runs on the first generation of the official package."""

from __future__ import annotations

import pytest

from mcp_actors import Notification
from tests.real.hearing import Heard
from tests.real.programs import MARKS, PATIENCE, MakeStdio, kill_and_notice

pytestmark = MARKS


@pytest.mark.requirement("connection:recover")
def test_rows_are_written_read_and_kept_over_a_kill(sqlite_server: list[str], make_stdio: MakeStdio) -> None:
    client = make_stdio(sqlite_server, **PATIENCE).wait_ready()
    assert (client.protocol_version, client.server_info.name) == ("2025-11-25", "sqlite")
    client.call_tool("create_table", {"query": "CREATE TABLE tea (name TEXT, grams INTEGER)"})
    inserted = client.call_tool(
        "write_query", {"query": "INSERT INTO tea VALUES ('Grün', 50), ('Schwarz', 100)"}
    )
    assert inserted.text == "[{'affected_rows': 2}]"
    select = {"query": "SELECT name FROM tea WHERE grams > 60"}
    assert client.call_tool("read_query", select).text == "[{'name': 'Schwarz'}]"
    assert "tea" in client.call_tool("list_tables").text
    assert "no such table" in client.call_tool("read_query", {"query": "SELECT * FROM milk"}).text
    kill_and_notice(client, "mcp_server_sqlite")
    assert client.call_tool("read_query", select, wait=True).text == "[{'name': 'Schwarz'}]"


def test_an_insight_changes_the_memo_and_is_told(sqlite_server: list[str], make_stdio: MakeStdio) -> None:
    client, heard = make_stdio(sqlite_server, **PATIENCE), Heard()
    client.on_notification(heard, "notifications/resources/updated")
    assert [one.uri for one in client.list_resources()] == ["memo://insights"]
    client.call_tool("append_insight", {"insight": "tea sells"})
    assert "tea sells" in str(client.read_resource("memo://insights").raw)
    assert heard.wait() == [Notification("notifications/resources/updated", {"uri": "memo://insights"})]
    assert "tea" in str(client.get_prompt("mcp-demo", {"topic": "tea"}).raw)
