"""A server made with FastMCP, which differs from the official package in both eras."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors import Client, Progress, errors
from mcp_actors.protocol import types
from tests.real.hearing import Heard
from tests.real.programs import ERAS, MARKS, PATIENCE, MakeStdio, kill_and_notice

pytestmark = MARKS

MakeClient = Callable[..., Client]


@pytest.fixture
def make(fastmcp_server: list[str], make_stdio: MakeStdio) -> MakeClient:
    """Makes ready clients of one era."""

    def make(era: str, **options: Any) -> Client:
        client = make_stdio(fastmcp_server, protocol=era, **PATIENCE, **options).wait_ready()
        assert client.protocol_version == era
        return client

    return make


def answer(form: types.ElicitParams) -> dict[str, object]:
    """A user who fills in every form in the same way."""
    assert isinstance(form, types.ElicitFormParams)
    known = {"name": "Ada", "amount": 3, "value": 4}
    return {name: known[name] for name in form.requested_schema["properties"]}


@pytest.mark.requirement("connection:recover")
@pytest.mark.parametrize("era", ERAS)
def test_fastmcp_serves_in_both_eras_and_after_a_kill(era: str, make: MakeClient) -> None:
    client, heard = make(era), Heard()
    assert (client.server_info.name, client.instructions) == ("fastmcp-features", "be quick")
    client.on_log(heard)
    client.set_logging_level("warning")
    assert client.call_tool("add", {"a": 2, "b": 40}).structured_content == {"result": 42}
    assert client.call_tool("add", {"a": "two", "b": 40}).is_error
    assert client.call_tool("stock", {"item": "tea"}).structured_content == {
        "item": "tea",
        "places": [{"shelf": 1, "count": 2}],
    }
    assert client.read_resource("toy://greeting").raw["contents"][0]["text"] == "hello ü"
    assert [one.uri_template for one in client.list_resource_templates()] == ["book://{book}/{number}"]
    assert client.read_resource("book://faust/3").raw["contents"][0]["text"] == "page 3 of faust"
    assert "about rain" in str(client.get_prompt("poem", {"about": "rain"}).raw)
    steps: list[Progress] = []
    assert client.call_tool("count", {"to": 3}, on_progress=steps.append).text == "3"
    assert [one.progress for one in steps] == [1, 2, 3]
    client.call_tool("chatter")
    assert [(one.level, one.logger) for one in heard.wait(2)] == [("warning", "chatter"), ("error", None)]
    before = client.call_tool("pid").text
    kill_and_notice(client, "fastmcp_features.py")
    assert client.call_tool("pid", wait=True).text != before


@pytest.mark.requirement("feature:subscriptions")
@pytest.mark.requirement("notification:kinds")
@pytest.mark.parametrize("era", ERAS)
def test_a_tool_that_is_hidden_is_announced(era: str, make: MakeClient) -> None:
    client, heard = make(era), Heard()
    client.on_tools_changed(heard)
    assert "add" in {one.name for one in client.list_tools()}
    client.call_tool("hide_add")
    heard.wait()
    assert "add" not in {one.name for one in client.list_tools()}


@pytest.mark.requirement("feature:elicitation")
def test_the_user_is_asked_by_a_request_before_2026_07_28(make: MakeClient) -> None:
    client = make("2025-11-25", elicitation_handler=answer)
    assert client.call_tool("ask_by_request", {"what": "cups"}).text == "4 cups"
    with pytest.raises(errors.RemoteError, match="only exists at MCP 2026-07-28"):
        client.call_tool("ask_by_result", {"what": "cups"})


@pytest.mark.requirement("feature:elicitation")
@pytest.mark.requirement("feature:mrtr")
def test_the_user_is_asked_by_a_result_since_2026_07_28(make: MakeClient) -> None:
    client = make("2026-07-28", elicitation_handler=answer)
    assert client.call_tool("ask_by_result", {"what": "cups"}).text == "Ada: 3 cups"
    refused = client.call_tool("ask_by_request", {"what": "cups"})
    assert refused.is_error
    assert "unavailable on 2026-07-28" in refused.text
