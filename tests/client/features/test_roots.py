"""Roots: where a server may work, told when it asks, and that it changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_actors import Client, errors
from mcp_actors.protocol.types import Root
from tests.client.features.places import Place
from tests.client.toy_host import HANDSHAKES, ToyHost, asking, text

MakeClient = Callable[..., Client]
MakeHost = Callable[..., ToyHost]
CHANGED = "notifications/roots/list_changed"


def asked(client: Client) -> Any:
    """What the server learned when it asked for the roots."""
    return json.loads(client.call_tool("ask", {"what": "roots"}).text)


@pytest.mark.requirement("feature:roots")
def test_the_server_is_told_the_roots_when_it_asks(place: Place, tmp_path: Path) -> None:
    client = place.connect(roots=[tmp_path, "file:///data", Root(uri="file:///x", name="X")])
    assert asked(client) == {
        "roots": [{"uri": tmp_path.as_uri()}, {"uri": "file:///data"}, {"uri": "file:///x", "name": "X"}]
    }


@pytest.mark.requirement("feature:roots")
def test_a_function_is_asked_each_time(place: Place) -> None:
    places = ["file:///one"]
    client = place.connect(roots=lambda: places)
    assert asked(client) == {"roots": [{"uri": "file:///one"}]}
    places.append("file:///two")
    client.send_roots_changed()
    assert asked(client) == {"roots": [{"uri": "file:///one"}, {"uri": "file:///two"}]}


@pytest.mark.requirement("feature:roots")
def test_a_client_without_roots_says_so(place: Place) -> None:
    client = place.connect()
    if place.stateless:
        with pytest.raises(errors.RemoteError) as caught:
            asked(client)
        assert (caught.value.code, caught.value.data) == (-32021, {"requiredCapabilities": {"roots": {}}})
    else:
        assert asked(client) == {"error": -32601}


@pytest.mark.requirement("feature:roots")
def test_a_server_that_asks_all_the_same_breaks_its_own_call(host: ToyHost, make_client: MakeClient) -> None:
    host.answers["tools/call"] = lambda _: asking({"q": {"method": "roots/list"}})
    client = make_client(host)
    with pytest.raises(errors.InvalidResponse, match="roots/list, which this client did not offer"):
        client.call_tool("echo")
    client.ping()


@pytest.mark.requirement("feature:roots")
def test_a_function_that_fails_is_not_quoted(place: Place) -> None:
    def fail() -> list[str]:
        raise RuntimeError("secret path")

    client = place.connect(roots=fail)
    if place.stateless:
        with pytest.raises(errors.Cancelled, match="roots/list has no answer"):
            asked(client)
    else:
        assert asked(client) == {"error": -32603}
    client.ping()


@pytest.mark.requirement("feature:roots")
@pytest.mark.parametrize("version", HANDSHAKES)
def test_a_change_is_told_once(version: str, make_host: MakeHost, make_client: MakeClient) -> None:
    host = make_host(version=version)
    client = make_client(host, roots=[]).wait_ready()
    initialize = host.await_heard("initialize")
    assert initialize["params"]["capabilities"] == {"roots": {"listChanged": True}}
    client.send_roots_changed()
    message = host.await_heard(CHANGED)
    assert "id" not in message
    client.ping()
    assert len(host.all_heard(CHANGED)) == 1


@pytest.mark.requirement("feature:roots")
def test_since_2026_07_28_nobody_announces_changes(host: ToyHost, make_client: MakeClient) -> None:
    client = make_client(host, roots=[]).wait_ready()
    client.send_roots_changed()
    client.ping()
    assert host.all_heard(CHANGED) == []
    meta = host.await_heard("server/discover", 2)["params"]["_meta"]
    assert meta["io.modelcontextprotocol/clientCapabilities"] == {"roots": {}}


@pytest.mark.requirement("feature:roots")
@pytest.mark.parametrize("version", HANDSHAKES)
def test_a_client_that_offers_no_roots_announces_no_change(
    version: str, make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(version=version)
    client = make_client(host).wait_ready()
    client.send_roots_changed()
    client.ping()
    assert host.all_heard(CHANGED) == []


@pytest.mark.requirement("feature:roots")
def test_a_change_before_the_first_connection_needs_no_telling(
    make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(version="2025-11-25")
    client = make_client(host, roots=[])
    client.send_roots_changed()
    assert client.state == "starting"
    client.ping()
    assert host.all_heard(CHANGED) == []


@pytest.mark.requirement("feature:roots")
@pytest.mark.requirement("connection:recover")
@pytest.mark.parametrize("version", HANDSHAKES)
def test_a_new_connection_is_told_that_the_roots_may_have_changed(
    version: str, make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(version=version)
    client = make_client(host, roots=[]).wait_ready()
    assert host.all_heard(CHANGED) == []
    host.drop()
    host.await_wires(2)
    client.call_tool("echo", wait=True)
    methods = [one["method"] for one in host.heard]
    assert methods[-2:] == [CHANGED, "tools/call"]
    assert methods.count(CHANGED) == 1


@pytest.mark.requirement("feature:roots")
def test_several_rounds_may_ask_again(host: ToyHost, make_client: MakeClient) -> None:
    counts = iter(range(10))
    host.answers["tools/call"] = lambda request: (
        text(str(len(host.all_heard("tools/call"))))
        if len(host.all_heard("tools/call")) == 3
        else asking({"q": {"method": "roots/list"}}, state=str(request["id"]))
    )
    client = make_client(host, roots=lambda: [f"file:///{next(counts)}"])
    assert client.call_tool("echo").text == "3"
    given = [one["params"].get("inputResponses") for one in host.all_heard("tools/call")]
    assert given == [
        None,
        {"q": {"roots": [{"uri": "file:///0"}]}},
        {"q": {"roots": [{"uri": "file:///1"}]}},
    ]
