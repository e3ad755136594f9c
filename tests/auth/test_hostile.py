"""Servers that drip, lie, redirect and flood: each costs one call, in bounded time and space."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from mcp_actors.auth import ClientCredentials, OAuth
from mcp_actors.auth.addresses import Reach
from mcp_actors.auth.fetching import Fetcher, Network
from mcp_actors.errors import AuthorizationFailed, McpError, RequestTimeout
from mcp_actors.runtime.slot import Slot
from tests.auth.authorization_server import (
    Fault,
    Reply,
    assert_no_secret_elsewhere,
    dripping,
    endless,
    gzip_bomb,
    html,
    huge,
    redirect,
    silent,
)
from tests.auth.calling import Person, call
from tests.auth.conftest import Start
from tests.auth.test_flow import authorizer
from tests.conftest import BOUND

SECRET = "the secret of the robot"


@pytest.mark.parametrize("endpoint", ["prm", "metadata", "register", "token"])
@pytest.mark.parametrize("reply", [dripping, silent, endless], ids=lambda reply: reply.__name__)
def test_an_answer_without_end_ends_at_the_limit_of_time_or_size(
    serve: Start, person: Person, endpoint: str, reply: Any
) -> None:
    server = serve(faults={endpoint: Fault(reply())})
    with pytest.raises(McpError, match="gave no whole answer|larger than 65536 bytes"):
        call(authorizer(server, person, request_timeout=0.3), server)


def test_a_chunk_of_a_negative_size_is_not_read_to_its_end(serve: Start, person: Person) -> None:
    read = threading.Event()

    def body(_closing: threading.Event) -> Iterator[bytes]:
        yield b"-1\r\n"
        for _ in range(1000):
            yield b" " * 65536
        read.set()

    chunked = (("Content-Type", "application/json"), ("Transfer-Encoding", "chunked"))
    server = serve(faults={"token": Fault(Reply(200, chunked, body))})
    with pytest.raises(AuthorizationFailed, match="IncompleteRead"):
        call(authorizer(server, person), server)
    assert not read.is_set()


@pytest.mark.parametrize("reply", [huge(10_000_000), gzip_bomb(10_000_000)], ids=["huge", "bomb"])
def test_an_answer_above_the_limit_is_refused(serve: Start, person: Person, reply: Reply) -> None:
    server = serve(faults={"token": Fault(reply)})
    with pytest.raises(AuthorizationFailed, match="larger than 65536 bytes|gave no token|cannot be reached"):
        call(authorizer(server, person), server)


@pytest.mark.parametrize("endpoint", ["prm", "metadata", "register", "token"])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_leads_to_another_origin(
    serve: Start, person: Person, endpoint: str, status: int
) -> None:
    server, evil = serve(), serve()
    server.add_client("robot", secret=SECRET)
    server.settings.faults[endpoint] = Fault(redirect(evil.url(endpoint), status))
    with pytest.raises(AuthorizationFailed, match="not followed|publishes no metadata"):
        call(authorizer(server, person), server)
    assert evil.requests == []
    if endpoint == "token":
        with pytest.raises(AuthorizationFailed, match="not followed"):
            call(ClientCredentials("robot", SECRET).bind(server.resource_url), server)
        assert evil.requests == []
    assert_no_secret_elsewhere(server, evil)


def test_a_redirect_within_the_origin_is_followed_in_the_same_way(serve: Start, person: Person) -> None:
    server = serve()
    paths = {
        "prm": "/.well-known/oauth-protected-resource/mcp",
        "metadata": "/.well-known/oauth-authorization-server",
        "register": "/register",
        "token": "/token",
    }
    for endpoint, path in paths.items():
        server.settings.faults[endpoint] = Fault(redirect(path, 307), times=1)
    assert call(authorizer(server, person), server) == 200
    assert [request.method for request in server.at("token")] == ["POST", "POST"]
    assert server.violations == []


def test_a_form_is_not_turned_into_a_question_by_a_redirect(serve: Start, person: Person) -> None:
    server = serve()
    server.settings.faults["token"] = Fault(redirect("/token", 302), times=1)
    with pytest.raises(AuthorizationFailed, match="not followed"):
        call(authorizer(server, person), server)
    assert server.count("token") == 1


def test_redirects_in_circles_end(serve: Start, person: Person) -> None:
    server = serve()
    server.settings.faults["prm"] = Fault(redirect("/.well-known/oauth-protected-resource/mcp", 307))
    with pytest.raises(AuthorizationFailed, match="in circles"):
        call(authorizer(server, person), server)
    assert server.count("prm") == 4


def test_metadata_announced_at_another_origin_are_not_asked_for(serve: Start, person: Person) -> None:
    evil = serve()
    server = serve(announce=f"{evil.origin}/.well-known/oauth-protected-resource/mcp")
    with pytest.raises(AuthorizationFailed, match="at another origin"):
        call(authorizer(server, person), server)
    assert evil.requests == []


@pytest.mark.parametrize("endpoint", ["prm", "metadata", "token", "register"])
@pytest.mark.parametrize(
    "body", [b"", b"null", b"[]", b'{"a":', b"\xff\xfe", b"[" * 20_000, b'{"issuer": 5, "client_id": []}']
)
def test_an_answer_that_makes_no_sense_is_an_error(
    serve: Start, person: Person, endpoint: str, body: bytes
) -> None:
    server = serve(faults={endpoint: Fault(Reply(200, (), body))})
    with pytest.raises(AuthorizationFailed) as raised:
        call(authorizer(server, person), server)
    assert server.origin in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_web_site_that_answers_everything_is_not_taken_for_metadata(serve: Start, person: Person) -> None:
    server = serve(
        announce=None, prm=(), metadata=(), faults={"prm": Fault(html()), "metadata": Fault(html())}
    )
    assert call(authorizer(server, person), server) == 200


@pytest.mark.parametrize(
    "changes",
    [
        {"access_token": None},
        {"access_token": 5},
        {"access_token": ""},
        {"access_token": "with space"},
        {"access_token": "x\r\nSet-Cookie: a=b"},
        {"access_token": "x" * 20_000},
        {"token_type": "mac"},
        {"token_type": 7},
        {"error": "invalid_grant"},
    ],
)
def test_a_token_that_cannot_be_sent_is_refused(
    serve: Start, person: Person, changes: dict[str, Any]
) -> None:
    server = serve(token_changes=changes)
    with pytest.raises(AuthorizationFailed, match="token"):
        call(authorizer(server, person), server)
    assert server.count("resource") == 1


@pytest.mark.parametrize("expires_in", ["3600", 3600.5, "soon", -1, 0, True, 1e300, 10**400, [], None])
def test_a_strange_lifetime_does_no_harm(serve: Start, person: Person, expires_in: Any) -> None:
    server = serve(token_changes={"expires_in": expires_in})
    mine = authorizer(server, person)
    assert [call(mine, server), call(mine, server)] == [200, 200]
    assert len(person.pages) == 1


def test_an_authorization_server_that_is_not_there_is_worth_another_try(serve: Start, person: Person) -> None:
    server = serve(prm_changes={"authorization_servers": ["http://127.0.0.1:1"]})
    with pytest.raises(AuthorizationFailed, match="cannot be reached: Connection refused") as raised:
        call(authorizer(server, person), server)
    assert raised.value.retryable


@pytest.mark.parametrize(
    "target",
    [
        "https://127.0.0.1:1/",
        "https://10.0.0.1/",
        "https://169.254.169.254/",
        "https://[::1]:1/",
        "https://[fe80::1]/",
    ],
)
def test_a_server_in_the_internet_cannot_send_us_into_our_network(
    monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    monkeypatch.setattr("mcp_actors.auth.fetching.reach_of_server", lambda _url: Reach.INTERNET)
    fetcher = Fetcher(Network("https://server.example/mcp"), Slot())
    with pytest.raises(AuthorizationFailed, match="no business with"):
        fetcher.get(target, "it")


def test_names_that_take_their_time_to_resolve_end_at_the_limit_of_a_request(
    serve: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, resolved = serve(), threading.Event()
    resolutions: list[bool] = []

    def resolve(_url: str) -> Reach:
        resolutions.append(resolved.wait(2 * BOUND))
        return Reach.THIS_MACHINE

    monkeypatch.setattr("mcp_actors.auth.fetching.reach_of_server", resolve)
    try:
        with pytest.raises(RequestTimeout, match="gave no whole answer within 0.2 s"):
            Fetcher(Network("https://server.example/mcp", 0.2), Slot()).get(
                server.origin.replace("127.0.0.1", "localhost"), "it"
            )
        assert resolutions == []
    finally:
        resolved.set()
    exchanges_end()


@pytest.mark.parametrize(
    "issuer",
    [
        "http://login.example",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https://user:password@login.example",
        "https://login.example/\r\nx",
        "//login.example",
        "-https://login.example",
    ],
)
def test_an_authorization_server_at_a_strange_address_is_not_asked(
    serve: Start, person: Person, issuer: str
) -> None:
    server = serve(prm_changes={"authorization_servers": [issuer]})
    with pytest.raises(AuthorizationFailed, match="the authorization server is refused") as raised:
        call(authorizer(server, person), server)
    assert "password" not in str(raised.value)
    assert {request.endpoint for request in server.requests} == {"resource", "prm"}


@pytest.mark.requirement("security:oauth")
def test_a_name_that_leads_into_our_network_is_found_out_when_it_is_asked(
    serve: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve()
    monkeypatch.setattr("mcp_actors.auth.fetching.reach_of_server", lambda _url: Reach.INTERNET)
    url = server.origin.replace("127.0.0.1", "localhost") + "/.well-known/oauth-authorization-server"
    with pytest.raises(AuthorizationFailed, match="inside a network that its server has no business with"):
        Fetcher(Network("https://server.example/mcp"), Slot()).get(url, "it")
    assert server.requests == []
    trusting = Fetcher(Network("https://server.example/mcp"), Slot(), frozenset({url}))
    assert trusting.get(url, "it").status == 200


def test_a_server_whose_own_name_leads_into_our_network_may_speak_for_itself(
    serve: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve()
    monkeypatch.setattr("mcp_actors.auth.fetching.reach_of_server", lambda _url: Reach.INTERNET)
    home = server.origin.replace("127.0.0.1", "localhost")
    fetcher = Fetcher(Network(f"{home}/mcp"), Slot())
    assert fetcher.get(f"{home}/.well-known/oauth-protected-resource/mcp", "it").status == 200
    with pytest.raises(AuthorizationFailed, match="inside a network that its server has no business with"):
        fetcher.get(f"{serve().origin.replace('127.0.0.1', 'localhost')}/", "it")


def test_no_password_of_netrc_and_no_cookie_is_ever_sent(
    serve: Start, person: Person, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login somebody password of-netrc\n")
    monkeypatch.setenv("NETRC", str(netrc))
    server = serve()
    server.settings.faults["prm"] = Fault(
        Reply(307, (("Location", "/.well-known/oauth-protected-resource/mcp"), ("Set-Cookie", "a=b"))),
        times=1,
    )
    assert call(authorizer(server, person), server) == 200
    assert all("cookie" not in request.headers for request in server.requests)
    assert all(
        "authorization" not in request.headers
        for request in server.requests
        if request.endpoint != "resource"
    )


def test_a_proxy_of_the_environment_is_used(serve: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = serve()
    monkeypatch.setenv("http_proxy", proxy.origin)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.setattr("mcp_actors.auth.fetching.require_safe", lambda url, _what: url)
    Fetcher(Network("https://server.example/mcp", proxies=None), Slot()).get("http://login.example/x", "it")
    assert proxy.count("unknown") == 1


def test_a_call_ends_at_its_own_deadline_while_the_server_drips(serve: Start, person: Person) -> None:
    server = serve(faults={"metadata": Fault(dripping())})
    mine = authorizer(server, person, request_timeout=60.0)
    with pytest.raises(RequestTimeout, match="was not done before the deadline"):
        call(mine, server, seconds=0.3)
    mine.close()  # type: ignore[attr-defined]
    exchanges_end()


def test_a_request_that_took_too_long_is_cut_and_its_thread_ends(serve: Start, person: Person) -> None:
    server = serve(faults={"metadata": Fault(dripping())})
    with pytest.raises(RequestTimeout, match="gave no whole answer within 0.2 s"):
        call(authorizer(server, person, request_timeout=0.2), server)
    exchanges_end()


def exchanges_end() -> None:
    """Every exchange comes to its end though the server would go on for ever."""
    threads = [thread for thread in threading.enumerate() if thread.name == "mcp-actors-auth-exchange"]
    for thread in threads:
        thread.join(BOUND)
    assert not any(thread.is_alive() for thread in threads)


def test_a_thread_that_cannot_be_had_is_an_error_and_the_next_call_tries_again(
    serve: Start, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve()
    mine = OAuth(open_url=person.open_url, callback=person.callback).bind(server.resource_url)
    started = threading.Thread.start

    def start(thread: threading.Thread) -> None:
        if thread.name.startswith("mcp-actors"):
            raise RuntimeError("can't start new thread")
        started(thread)

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", start)
        with pytest.raises(AuthorizationFailed, match="can't start new thread"):
            call(mine, server)
    assert call(mine, server) == 200
