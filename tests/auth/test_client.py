"""A whole client behind an authorization: it logs in, renews, asks for more, and tells principals apart."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mcp_actors import Client, errors
from mcp_actors.auth import ClientCredentials, MemoryStorage, OAuth
from mcp_actors.auth.authorizer import GrantAuthorizer
from mcp_actors.transports.http.connections import HeldConnection
from tests.auth.authorization_server import AuthorizationServer, Fault, failing
from tests.auth.calling import Person, call
from tests.auth.conftest import Start
from tests.auth.test_flow import CALLBACK, clean
from tests.client.conftest import quick
from tests.client.waiting import BOUND, in_thread

pytestmark = [pytest.mark.requirement("security:oauth"), pytest.mark.requirement("transport:http")]

COMPLETE = {"resultType": "complete"}
KEPT = {**COMPLETE, "ttlMs": 60_000, "cacheScope": "private"}
TOOL = {"name": "add", "inputSchema": {"type": "object"}}
RESULTS = {
    "server/discover": {**KEPT, "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}},
    "tools/list": {**KEPT, "tools": [TOOL]},
    "tools/call": {**COMPLETE, "content": [{"type": "text", "text": "3"}]},
}
Connect = Callable[..., Client]


@pytest.fixture
def connect(serve: Start) -> Iterator[Connect]:
    """Makes clients of a server, closed before it."""
    del serve  # what is made first ends last
    made: list[Client] = []

    def connect(server: AuthorizationServer, auth: Any) -> Client:
        made.append(Client.http(server.resource_url, auth=auth, proxies={}, **quick({})))
        return made[-1]

    yield connect
    for client in made:
        client.close()


def login(person: Person) -> OAuth:
    return OAuth(open_url=person.open_url, callback=person.callback, redirect_uri=CALLBACK)


def authorizer_of(client: Client) -> GrantAuthorizer:
    transport: Any = client._transport
    authorizer = transport._settings.authorizer
    assert isinstance(authorizer, GrantAuthorizer)
    return authorizer


def asked(server: AuthorizationServer, method: str) -> int:
    """How often the server has answered such a request."""
    requests = [one for one in server.at("resource") if isinstance(one.json, dict)]
    return sum(one.json["method"] == method and "authorization" in one.headers for one in requests)


def test_the_first_request_leads_to_one_login_whoever_calls(
    serve: Start, person: Person, connect: Connect
) -> None:
    server = serve(results=RESULTS)
    client = connect(server, login(person))
    calls = [in_thread(lambda: client.call_tool("add", {}).text) for _ in range(5)]
    assert [call.result(2 * BOUND) for call in calls] == ["3"] * 5
    assert len(person.pages) == 1
    clean(server)


def test_callers_who_have_a_token_send_their_requests_themselves_and_learn_from_the_answers(
    serve: Start, person: Person, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    askers: list[threading.Thread] = []
    ask = HeldConnection.ask

    def watched(connection: HeldConnection, *args: Any) -> Any:
        askers.append(threading.current_thread())
        return ask(connection, *args)

    monkeypatch.setattr(HeldConnection, "ask", watched)
    server = serve(results=RESULTS, dpop=True, resource_nonces=True)
    authorization = OAuth(
        open_url=person.open_url, callback=person.callback, redirect_uri=CALLBACK, dpop=True
    )
    client = connect(server, authorization).wait_ready()
    for _ in range(3):
        assert client.call_tool("add", {}).text == "3"
    assert askers[-2:] == [threading.current_thread()] * 2
    proofs = [one.headers["dpop"] for one in server.at("resource") if "dpop" in one.headers]
    assert len(set(proofs)) == len(proofs) >= 3
    # Nothing is kept about requests that are over.
    assert authorizer_of(client)._ledger._pages == {}
    clean(server)


def test_a_token_that_ends_in_the_middle_is_renewed_once(
    serve: Start, person: Person, connect: Connect
) -> None:
    server = serve(results=RESULTS)
    client = connect(server, login(person)).wait_ready()
    server.revoke_tokens("access")
    calls = [in_thread(lambda: client.call_tool("add", {}).text) for _ in range(5)]
    assert [call.result(2 * BOUND) for call in calls] == ["3"] * 5
    grants = [request.form["grant_type"] for request in server.at("token")]
    assert grants == ["authorization_code", "refresh_token"]
    clean(server)


def test_a_tool_that_needs_more_is_authorized_for_more(
    serve: Start, person: Person, connect: Connect
) -> None:
    server = serve(results=RESULTS, required_scopes={"tools/call": "write"}, challenge_scope="read")
    client = connect(server, login(person))
    assert len(client.list_tools()) == 1
    assert client.call_tool("add", {}).text == "3"
    assert person.scopes == ["read", "read write"]
    clean(server)


def test_who_is_not_let_in_is_told_so_and_the_client_is_parked(serve: Start, connect: Connect) -> None:
    server = serve(results=RESULTS)
    client = connect(server, ClientCredentials("robot", "wrong", issuer=server.issuer))
    with pytest.raises(errors.AuthorizationFailed) as caught:
        client.list_tools()
    assert "wrong" not in str(caught.value)
    assert client.stats().parked


@pytest.mark.requirement("feature:caching")
def test_what_is_private_does_not_outlive_its_authorization(
    serve: Start, person: Person, connect: Connect
) -> None:
    server = serve(results=RESULTS)
    client = connect(server, login(person)).wait_ready()
    for _ in range(2):
        client.list_tools()
    assert asked(server, "tools/list") == 1
    server.revoke_tokens("all")
    # Somebody logs in anew, and nobody can tell whether it is the same person.
    client.call_tool("add", {})
    for _ in range(2):
        client.list_tools()
    assert asked(server, "tools/list") == 2


def test_a_call_says_whether_its_authorization_may_succeed_later(
    serve: Start, person: Person, connect: Connect
) -> None:
    server = serve(results=RESULTS)
    client = connect(server, login(person)).wait_ready()
    server.revoke_tokens("all")
    server.settings.faults["metadata"] = Fault(failing(503), times=1)
    with pytest.raises(errors.AuthorizationFailed) as caught:
        client.call_tool("add", {})
    assert caught.value.retryable
    assert client.call_tool("add", {}).text == "3"
    server.revoke_tokens("all")
    server.settings.authorize_error = "access_denied"
    with pytest.raises(errors.AuthorizationFailed) as caught:
        client.call_tool("add", {})
    assert not caught.value.retryable


def test_an_authorization_server_that_is_away_for_a_moment_does_not_park_the_client(
    serve: Start, person: Person, connect: Connect
) -> None:
    server = serve(results=RESULTS, faults={"metadata": Fault(failing(503), times=1)})
    assert connect(server, login(person)).call_tool("add", {}).text == "3"


def test_scopes_that_are_not_granted_are_named(serve: Start, person: Person, connect: Connect) -> None:
    server = serve(results=RESULTS, required_scopes={"tools/call": "write"}, challenge_scope="read")
    client = connect(server, login(person))
    client.list_tools()
    server.settings.always_insufficient = True
    with pytest.raises(errors.AuthorizationFailed) as caught:
        client.call_tool("add", {})
    first_line = str(caught.value).splitlines()[0]
    assert first_line.endswith(
        "wants the scope 'write'; the token has the scopes 'read write': "
        "they were asked for already and not granted; ask its operator which rights you need"
    )
    assert caught.value.details == {
        "scopes_wanted": ["write"], "scopes_held": ["read", "write"], "scopes_missing": [],
    }  # fmt: skip


def test_scopes_that_a_person_does_not_agree_to_are_named(
    serve: Start, person: Person, connect: Connect
) -> None:
    server = serve(results=RESULTS, required_scopes={"tools/call": "write"}, challenge_scope="read")
    client = connect(server, login(person))
    client.list_tools()
    server.settings.authorize_error = "access_denied"
    with pytest.raises(errors.AuthorizationFailed, match="refused the login: access_denied") as caught:
        client.call_tool("add", {})
    first_line = str(caught.value).splitlines()[0]
    assert "the token has the scope 'read', so that it lacks the scope 'write'" in first_line
    assert caught.value.details["error"] == "access_denied"
    assert caught.value.details["scopes_missing"] == ["write"]


@pytest.mark.parametrize("how", ["auth", "callable", "headers"])
def test_scopes_that_a_token_of_ones_own_lacks_are_named(serve: Start, person: Person, how: str) -> None:
    server = serve(results=RESULTS, required_scopes={"tools/call": "write"}, challenge_scope="read")
    token = _token(server, person)
    headers = {"Authorization": f"Bearer {token}"}
    options: Any = {
        "auth": {"auth": token}, "callable": {"auth": lambda: token}, "headers": {"headers": headers},
    }[how]  # fmt: skip
    with Client.http(server.resource_url, proxies={}, **options, **quick({})) as client:
        client.list_tools()
        with pytest.raises(errors.AuthorizationFailed) as caught:
            client.call_tool("add", {})
    first_line = str(caught.value).splitlines()[0]
    assert "HTTP 403: the server wants the scope 'write'" in first_line
    assert "show it a token that has them all" in first_line
    assert caught.value.details["scopes_wanted"] == ["write"]
    assert token not in f"{caught.value}{caught.value.details}"


def _token(server: AuthorizationServer, person: Person) -> str:
    """A token that somebody got elsewhere."""
    storage = MemoryStorage()
    auth = OAuth(open_url=person.open_url, callback=person.callback, redirect_uri=CALLBACK, storage=storage)
    assert call(auth.bind(server.resource_url), server, "tools/list") == 200
    tokens = storage.load_tokens(server.issuer, server.resource_url)
    assert tokens is not None
    return tokens.access_token


def test_a_server_from_a_file_is_authorized_by_the_program(serve: Start) -> None:
    server = serve(results=RESULTS)
    server.add_client("ci", secret="a-long-secret")
    entries = {"notes": {"url": server.resource_url}}
    auth = ClientCredentials("ci", "a-long-secret")
    with Client.from_config(entries, "notes", auth=auth, proxies={}) as client:
        assert client.call_tool("add").text == "3"
