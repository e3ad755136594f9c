"""Modes of tools: whether a server keeps a session for them, and how it learns which."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors import Client
from tests.client.relay import over_both_wires
from tests.client.toy_host import VERSIONS, ToyHost, tool
from tests.client.waiting import BOUND, until

MakeClient = Callable[..., Client]
MakeHost = Callable[..., ToyHost]


def listing(host: ToyHost, *tools: dict[str, Any]) -> None:
    host.answers["tools/list"] = lambda _: {"tools": list(tools)}


def sessions(host: ToyHost) -> list[Any]:
    """The session of each call so far."""
    calls = host.all_heard("tools/call")
    return [one["params"].get("_meta", {}).get("session_id") for one in calls]


@pytest.mark.requirement("request:modes")
@over_both_wires
@pytest.mark.parametrize("version", VERSIONS)
def test_a_server_that_never_mentions_modes_hears_of_no_session(
    version: str, make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(version=version)
    client = make_client(host)
    assert client.session_mode == "optional"
    assert {one.mode for one in client.list_tools()} == {"stateful"}
    assert client.session_mode == "optional"
    client.call_tool("echo")
    client.submit_tool("echo").result(BOUND)
    assert sessions(host) == [None, None]
    # In the era of handshakes there is nothing else to say about a call either.
    assert ("_meta" in host.await_heard("tools/call")["params"]) == (version == "2026-07-28")


@pytest.mark.requirement("request:modes")
@over_both_wires
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("where", [lambda mode: {"mode": mode}, lambda mode: {"_meta": {"mode": mode}}])
def test_one_stateful_tool_requires_a_session_for_every_call(
    where: Callable[[str], dict[str, Any]], version: str, make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(version=version)
    listing(host, tool("cart") | where("stateful"), tool("time") | where("stateless"))
    client = make_client(host)
    assert [one.mode for one in client.list_tools()] == ["stateful", "stateless"]
    assert client.session_mode == "required"
    client.call_tool("cart")
    client.call_tool("time")
    client.submit_tool("cart").result(BOUND)
    with client.batch() as batch:
        call = batch.call_tool("cart")
    call.result(BOUND)
    assert len(set(sessions(host))) == 1
    assert None not in sessions(host)


@pytest.mark.requirement("request:modes")
@over_both_wires
def test_stateless_tools_alone_require_no_session(host: ToyHost, make_client: MakeClient) -> None:
    listing(host, tool("time") | {"mode": "stateless"}, tool("date") | {"_meta": {"mode": "stateless"}})
    client = make_client(host)
    client.list_tools()
    assert client.session_mode == "optional"
    client.call_tool("time")
    assert sessions(host) == [None]


@pytest.mark.requirement("request:modes")
@over_both_wires
def test_a_tool_without_a_mode_among_others_with_one_is_stateful(
    host: ToyHost, make_client: MakeClient
) -> None:
    listing(host, tool("time") | {"mode": "stateless"}, tool("cart"))
    client = make_client(host)
    client.list_tools()
    assert client.session_mode == "required"


@pytest.mark.requirement("request:modes")
@over_both_wires
def test_the_session_changes_with_the_connection(host: ToyHost, make_client: MakeClient) -> None:
    listing(host, tool("cart") | {"mode": "stateful"})
    client = make_client(host)
    client.list_tools()
    client.call_tool("cart")
    host.drop()
    host.await_heard("tools/list", 2)
    client.call_tool("cart", wait=True)
    client.call_tool("cart")
    first, second, third = sessions(host)
    assert first != second == third


@pytest.mark.requirement("request:modes")
@over_both_wires
def test_a_call_that_waits_for_the_next_connection_belongs_to_it(
    host: ToyHost, make_client: MakeClient
) -> None:
    listing(host, tool("cart") | {"mode": "stateful"})
    client = make_client(host)
    client.list_tools()
    host.refuse(2)
    host.drop()
    until(lambda: client.state == "backoff")
    client.call_tool("cart", wait=True)
    client.call_tool("cart")
    first, second = sessions(host)
    assert first == second


@pytest.mark.requirement("request:modes")
@over_both_wires
def test_a_new_listing_replaces_what_was_known(host: ToyHost, make_client: MakeClient) -> None:
    listing(host, tool("cart") | {"mode": "stateful"})
    client = make_client(host)
    client.list_tools()
    listing(host, tool("time") | {"mode": "stateless"})
    client.list_tools()
    assert client.session_mode == "optional"


@pytest.mark.requirement("request:modes")
@over_both_wires
@pytest.mark.requirement("connection:recover")
def test_after_a_loss_the_tools_are_those_of_the_new_server(host: ToyHost, make_client: MakeClient) -> None:
    listing(host, tool("cart") | {"mode": "stateful"})
    client = make_client(host)
    client.list_tools()
    listing(host, tool("time") | {"mode": "stateless"})
    host.drop()
    host.await_heard("tools/list", 2)
    client.ping(wait=True)
    assert client.session_mode == "optional"


@pytest.mark.requirement("request:modes")
@over_both_wires
def test_the_callers_own_session_has_the_last_word(host: ToyHost, make_client: MakeClient) -> None:
    listing(host, tool("cart") | {"mode": "stateful"})
    client = make_client(host)
    client.list_tools()
    client.call_tool("cart", meta={"session_id": "mine"})
    assert sessions(host) == ["mine"]
