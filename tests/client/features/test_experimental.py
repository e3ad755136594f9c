"""Experimental capabilities and extensions: declared on demand, and visible if a server has them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors import Client
from tests.client.features.places import Place
from tests.client.toy_host import HANDSHAKES, VERSIONS, ToyHost

MakeClient = Callable[..., Client]
MakeHost = Callable[..., ToyHost]

CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
EXPERIMENTAL = {"teleport": {"range": [1, 2]}, "x": {}}
EXTENSIONS = {"example.org/shout": {"loud": True}}


@pytest.mark.requirement("negotiation:experimental")
def test_those_of_the_server_are_visible(place: Place) -> None:
    offered = place.connect().server_capabilities
    assert offered.experimental == {"weather": {"sunny": True}}
    assert offered.extensions == ({"example.org/shout": {}} if place.stateless else None)
    assert offered.declares("experimental.weather")


@pytest.mark.requirement("negotiation:experimental")
@pytest.mark.parametrize("version", VERSIONS)
def test_nothing_is_declared_unless_the_client_was_told_to(
    version: str, make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(version=version)
    make_client(host).call_tool("echo")
    said = [one for one in host.heard if one["method"] == "initialize"]
    assert [one["params"]["capabilities"] for one in said] == ([{}] if version in HANDSHAKES else [])
    for one in host.heard:
        assert one.get("params", {}).get("_meta", {}).get(CAPABILITIES, {}) == {}


@pytest.mark.requirement("negotiation:experimental")
@pytest.mark.parametrize("version", HANDSHAKES)
def test_they_are_declared_at_the_handshake(
    version: str, make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(version=version)
    make_client(host, experimental=EXPERIMENTAL, extensions=EXTENSIONS).call_tool("echo")
    # There were no extensions in that era.
    assert host.await_heard("initialize")["params"]["capabilities"] == {"experimental": EXPERIMENTAL}
    assert "_meta" not in host.await_heard("tools/call")["params"]


@pytest.mark.requirement("negotiation:experimental")
def test_they_are_declared_with_every_request(host: ToyHost, make_client: MakeClient) -> None:
    client = make_client(host, experimental=EXPERIMENTAL, extensions=EXTENSIONS)
    client.call_tool("echo")
    client.list_tools()
    client.ping()
    with client.batch() as batch:
        batch.request("prompts/list")
    host.await_heard("prompts/list")
    said = [one["params"]["_meta"][CAPABILITIES] for one in host.heard]
    assert said == [{"experimental": EXPERIMENTAL, "extensions": EXTENSIONS}] * 5


@pytest.mark.requirement("negotiation:experimental")
def test_a_real_server_hears_of_them(place: Place) -> None:
    client = place.connect(extensions=EXTENSIONS, experimental=EXPERIMENTAL)
    meta = json.loads(client.call_tool("meta").text)
    expected = {"experimental": EXPERIMENTAL, "extensions": EXTENSIONS}
    assert meta.get(CAPABILITIES) == (expected if place.stateless else None)


@pytest.mark.requirement("negotiation:experimental")
def test_what_is_declared_cannot_be_changed_from_outside(host: ToyHost, make_client: MakeClient) -> None:
    mine: dict[str, Any] = {"teleport": {}}
    client = make_client(host, experimental=mine).wait_ready()
    mine["teleport"]["range"] = 9
    mine["more"] = {}
    client.call_tool("echo")
    said = host.await_heard("tools/call")["params"]["_meta"][CAPABILITIES]
    assert said == {"experimental": {"teleport": {}}}


@pytest.mark.requirement("negotiation:experimental")
@pytest.mark.parametrize(
    "options",
    [
        {"experimental": {"x": 5}},
        {"experimental": [1]},
        {"experimental": {"x": {"y": object()}}},
        {"extensions": {"shout": {}}},
        {"extensions": {"/shout": {}}},
    ],
)
def test_what_cannot_be_declared_is_the_callers_mistake(
    options: dict[str, Any], host: ToyHost, make_client: MakeClient
) -> None:
    with pytest.raises((TypeError, ValueError), match="experimental|extension"):
        make_client(host, **options)
