"""Revisions: every one is spoken, over memory and over stdio, and a whole conversation works in each."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mcp_actors import Client, errors
from tests.client.features.ear import Ear
from tests.client.features.places import Place, command
from tests.client.toy_host import HANDSHAKES, STATELESS, VERSIONS
from tests.client.waiting import BOUND

MakeStdio = Callable[..., Client]


@pytest.mark.requirement("negotiation:versions")
def test_a_whole_conversation_works(place: Place) -> None:
    client = place.connect()
    assert client.protocol_version == place.version
    assert (client.server_info.name, client.server_info.version) == ("features", "1.0")
    assert len(client.list_tools()) == 8
    assert client.call_tool("add", {"a": 1, "b": 2}).data == {"sum": 3}
    assert client.submit_tool("add", {"a": 1, "b": 2}).result(BOUND).data == {"sum": 3}
    assert len(client.list_resources()) == 2
    assert len(client.list_prompts()) == 1
    client.set_logging_level("info")
    client.subscribe_resource("toy:text")
    client.ping()
    assert client.stats().violations == 0
    assert client.stats().unknown_responses == 0


@pytest.mark.requirement("negotiation:versions")
def test_a_process_that_is_lost_is_started_again_with_all_that_was_agreed(place: Place) -> None:
    client, updated, logged = place.connect(), Ear(), Ear()
    client.list_tools()
    client.on_resource_updated(updated)
    client.on_log(logged)
    client.subscribe_resource("toy:text")
    client.set_logging_level("alert")
    if place.kind == "stdio":
        # It knows no such question, and dies of it.
        with pytest.raises(errors.ConnectionLost, match="KeyError"):
            client.call_tool("ask", {"what": "nothing"})
    else:
        place.hosts[0].drop()
        place.hosts[0].await_wires(2)
    client.call_tool("touch", {"uri": "toy:text"}, wait=True)
    client.call_tool("log")
    assert updated.wait_for(1) == ["toy:text"]
    assert [one.level for one in logged.wait_for(2)] == ["alert", "emergency"]


@pytest.mark.requirement("negotiation:versions")
@pytest.mark.parametrize("ours", VERSIONS)
@pytest.mark.parametrize("theirs", [STATELESS, "2025-11-25"])
def test_a_client_that_may_speak_one_revision_speaks_no_other(
    ours: str, theirs: str, make_stdio: MakeStdio
) -> None:
    client = make_stdio(command(theirs), protocol=ours, max_failed_starts=1)
    if ours == theirs:
        assert client.wait_ready().protocol_version == ours
        return
    with pytest.raises(errors.McpError) as caught:
        client.wait_ready()
    if ours in HANDSHAKES and theirs in HANDSHAKES:
        assert isinstance(caught.value, errors.UnsupportedVersion)
        assert caught.value.details == {"ours": [ours], "theirs": [theirs]}
