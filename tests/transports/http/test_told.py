"""What a user is told of a remote server that fails: the address, what it said, what to do, and no secret."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from mcp_actors import errors
from tests.transports.http.conftest import ERAS, MakeClient, MakePeer

TOKEN = "only-we-two-know-this-long-token"


def told(error: errors.McpError) -> str:
    report = "" if error.crash_report is None else error.crash_report.render()
    return f"{error}\n{error!r}\n{error.details}\n{report}"


@pytest.mark.requirement("security:oauth")
@pytest.mark.parametrize("padding", [0, 100])  # the second is cut in the middle of the token
@pytest.mark.parametrize("status", [200, 400, 401, 500])
@pytest.mark.parametrize("option", ["auth", "headers"])
@pytest.mark.parametrize("version", ERAS)
def test_a_server_that_repeats_a_token_does_not_get_it_into_an_error(
    version: str, option: str, status: int, padding: int, make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer(version, sessions=False)
    words = ("x" * padding + " you said " + TOKEN).encode()
    peer.calls["repeat"] = lambda turn: turn.status(status, words, "text/plain")
    given = TOKEN if option == "auth" else {"Authorization": f"Bearer {TOKEN}"}
    client = make_client(peer, **{option: given}).wait_ready()
    with pytest.raises(errors.McpError) as caught:
        client.call_tool("repeat")
    assert TOKEN[:6] not in told(caught.value)


@pytest.mark.requirement("security:oauth")
@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize("version", ERAS)
def test_a_token_repeated_in_an_error_of_json_rpc_is_not_told(
    version: str, status: int, make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer(version, sessions=False)
    peer.calls["repeat"] = lambda turn: turn.refuse(-32000, f"no such token: {TOKEN}", status)
    client = make_client(peer, auth=TOKEN).wait_ready()
    with pytest.raises(errors.RemoteError, match=r"no such token: \*\*\* ") as caught:
        client.call_tool("repeat")
    assert TOKEN not in told(caught.value)


def test_an_error_names_the_address_that_was_tried_but_no_key_in_it(
    make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer()
    peer.calls["fail"] = lambda turn: turn.status(500)
    client = make_client(f"{peer.url}?key=hidden", name="notes").wait_ready()
    with pytest.raises(errors.ConnectionLost) as caught:
        client.call_tool("fail")
    assert str(caught.value).splitlines()[1] == f"  server: {peer.url} (state ready)"
    report = caught.value.crash_report
    assert report is not None
    assert f"address    {peer.url}\n" in report.render()
    assert report.reason == "HTTP 500 with nothing"
    assert "hidden" not in told(caught.value)


def test_an_error_names_the_proxy_that_was_to_be_gone_through(make_client: MakeClient) -> None:
    url = "http://notes.example/mcp"
    with socket.create_server(("127.0.0.1", 0)) as server:
        proxy = f"http://127.0.0.1:{server.getsockname()[1]}"
    proxies = {"http": proxy.replace("//", "//ann:opensesame@")}
    with pytest.raises(errors.StartFailed) as caught:
        make_client(url, proxies=proxies, max_failed_starts=1, name="notes").wait_ready()
    assert str(caught.value).splitlines() == [
        "notes could not be reached: the proxy failed: it refused the connection",
        f"  server: {url} through the proxy {proxy} (state backoff, attempt 1)",
    ]


@pytest.mark.parametrize("version", ERAS)
def test_a_program_is_told_the_status_and_when_to_come_again(
    version: str, make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer(version, sessions=False)
    peer.calls["busy"] = lambda turn: turn.status(429, b"slow down", "text/plain", Retry_After="30")
    peer.calls["later"] = lambda turn: turn.status(503, Retry_After="Fri, 31 Dec 1999 23:59:59 GMT")
    client = make_client(peer).wait_ready()
    for name, details in (("busy", {"status": 429, "retry_after": 30.0}), ("later", {"status": 503})):
        with pytest.raises(errors.ConnectionLost) as caught:
            client.call_tool(name)
        assert caught.value.details == details


def test_a_url_where_nobody_speaks_mcp_is_told_with_what_is_there(
    make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer()
    for method in ("server/discover", "initialize", "GET"):
        peer.on(method, lambda turn: turn.status(404, b"no such page", "text/plain"))
    with pytest.raises(errors.StartFailed) as caught:
        make_client(peer, max_failed_starts=1).wait_ready()
    said = "HTTP 404 with 'no such page' (text/plain) to initialize, and no event stream either"
    words = f"could not be reached: {said}; is the path of the URL right?"
    assert caught.value.message.endswith(words)
    assert caught.value.details == {"attempts": 1, "status": 404}


def test_whoever_asks_for_the_older_transport_where_there_is_none_is_told_of_the_other(
    make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer()
    peer.on("GET", lambda turn: turn.status(405))
    with pytest.raises(errors.StartFailed) as caught:
        make_client(peer, way="sse", max_failed_starts=1, name="notes").wait_ready()
    assert caught.value.message == (
        "notes could not be reached: it answered HTTP 405 instead of an event stream; "
        "Client.http finds out which transport it has"
    )
    assert caught.value.details == {"attempts": 1, "status": 405}


def test_a_refusal_of_the_older_transport_says_the_same_as_any_other(
    make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer()
    peer.on("GET", lambda turn: turn.status(401))
    for options, words in ({}, "wants to know who asks; pass auth="), ({"auth": TOKEN}, "refuses the auth"):
        with pytest.raises(errors.AuthorizationFailed, match=f"HTTP 401: the server {words}"):
            make_client(peer, way="sse", **options).wait_ready()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "the server wants to know who asks; pass auth="),
        ({"headers": {"X-Tenant": "acme"}}, "the server wants to know who asks; pass auth="),
        ({"headers": {"authorization": "Basic eA=="}}, "the server refuses the authorization it was shown"),
        ({"auth": TOKEN}, "the server refuses the authorization it was shown"),
        ({"auth": lambda: TOKEN}, "the server refuses the authorization it was shown"),
    ],
)
@pytest.mark.parametrize("version", ERAS)
def test_a_401_tells_apart_who_has_shown_something_and_who_has_not(
    version: str, options: dict[str, Any], words: str, make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer(version, sessions=False)
    peer.calls["echo"] = lambda turn: turn.status(401)
    client = make_client(peer, **options).wait_ready()
    with pytest.raises(errors.AuthorizationFailed, match=f"HTTP 401: {words}$"):
        client.call_tool("echo")


@pytest.mark.requirement("security:oauth")
@pytest.mark.parametrize("way", ["http", "sse"])
def test_a_server_that_repeats_a_token_to_the_first_request_does_not_get_it_into_an_error(
    way: str, make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer()
    for method in ("server/discover", "initialize", "GET"):
        peer.on(method, lambda turn: turn.status(302, b"", None, Location=f"/login/{TOKEN}"))
    client = make_client(peer, auth=TOKEN, max_failed_starts=1, way=way)
    with pytest.raises(errors.StartFailed) as caught:
        client.wait_ready()
    assert TOKEN not in told(caught.value)
