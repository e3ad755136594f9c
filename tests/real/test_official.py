"""A server made with the official package: tools, a resource, a prompt, progress, failures, death."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_actors import Progress, errors
from tests.real.programs import MARKS, PATIENCE, MakeStdio

pytestmark = MARKS


@pytest.mark.requirement("negotiation:era")
def test_the_official_package_speaks_the_stateless_era(
    official_server: list[str], make_stdio: MakeStdio
) -> None:
    client = make_stdio(official_server, **PATIENCE).wait_ready()
    assert (client.protocol_version, client.server_info.name) == ("2026-07-28", "official")
    assert client.instructions == "ask politely"
    assert {one.name for one in client.list_tools()} == {"add", "pid", "die", "count", "fail"}
    assert client.call_tool("add", {"a": 2, "b": 40}).structured_content == {"result": 42}
    assert [one.uri for one in client.list_resources()] == ["toy://greeting"]
    assert client.read_resource("toy://greeting").raw["contents"][0]["text"] == "hello ü"
    assert [one.name for one in client.list_prompts()] == ["poem"]
    assert "about rain" in str(client.get_prompt("poem", {"about": "rain"}).raw)
    client.ping()


@pytest.mark.requirement("request:progress")
def test_the_official_package_reports_progress_and_failures(
    official_server: list[str], make_stdio: MakeStdio
) -> None:
    client = make_stdio(official_server, **PATIENCE)
    heard: list[Progress] = []
    assert client.call_tool("count", {"to": 3}, on_progress=heard.append).text == "counted"
    assert [(one.progress, one.total, one.message) for one in heard] == [
        (1, 3, "step 1"),
        (2, 3, "step 2"),
        (3, 3, "step 3"),
    ]
    assert client.call_tool("fail").is_error
    with pytest.raises(errors.RemoteError):
        client.read_resource("toy://nothing")
    with pytest.raises(errors.RemoteError) as caught:
        client.request("no/such/method")
    assert caught.value.code == -32601


@pytest.mark.requirement("connection:recover")
def test_the_official_package_dies_in_a_call_and_is_replaced(
    official_server: list[str], make_stdio: MakeStdio
) -> None:
    client = make_stdio(official_server, **PATIENCE)
    before = client.call_tool("pid").text
    with pytest.raises(errors.ConnectionLost, match="the server exited with code 9") as caught:
        client.call_tool("die", {"code": 9})
    assert caught.value.outcome == "unknown"
    after = client.call_tool("pid", wait=True).text
    assert after != before
    assert client.protocol_version == "2026-07-28"


@pytest.mark.requirement("negotiation:versions")
@pytest.mark.parametrize("protocol", ["auto", "2025-06-18", "2025-03-26", "2024-11-05"])
def test_the_official_package_speaks_older_revisions_too(
    protocol: str, official_server: list[str], make_stdio: MakeStdio
) -> None:
    client = make_stdio(official_server, protocol=protocol, **PATIENCE).wait_ready()
    assert client.protocol_version == ("2026-07-28" if protocol == "auto" else protocol)
    assert client.call_tool("add", {"a": 1, "b": 1}).text == "2"


@pytest.mark.parametrize("protocol", ["2025-06-18", "2025-03-26", "2024-11-05"])
def test_the_official_package_asks_clients_of_older_revisions_too(
    protocol: str, official_features: list[str], make_stdio: MakeStdio, tmp_path: Path
) -> None:
    client = make_stdio(
        official_features,
        protocol=protocol,
        sampling_handler=lambda _: "fine",
        elicitation_handler=lambda _: {"name": "Ada", "age": 36},
        roots=[tmp_path],
        **PATIENCE,
    ).wait_ready()
    assert client.call_tool("opinion", {"topic": "tea"}).text.endswith("on tea: fine")
    assert client.call_tool("places").text == tmp_path.as_uri()
    if protocol >= "2025-06-18":
        assert client.call_tool("introduce").text == "Ada is 36"
    else:
        # Elicitation is younger, and is not offered to a server that cannot know it.
        with pytest.raises(errors.RemoteError):
            client.call_tool("introduce")
