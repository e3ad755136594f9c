"""A protected server of ours and our client: static tokens, signed ones, and the whole of OAuth."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, TypeAlias

import pytest

from mcp_actors import Authorization, Client, Context, JwtVerifier, Principal, Server, StaticTokens, errors
from mcp_actors.auth import OAuth
from mcp_actors.server.http.app import WsgiApp
from tests.auth.authorization_server import AuthorizationServer, Settings, assert_no_secret_elsewhere
from tests.auth.calling import Person
from tests.client.conftest import quick
from tests.server.authorization.issuer import Issuer, claims, rsa_key, signed
from tests.server.both_roles.hosting import hosted
from tests.server.talk import ERAS, HANDSHAKE
from tests.servers.serving import free_port

pytestmark = [
    pytest.mark.real,
    pytest.mark.parametrize("era", ERAS),
    pytest.mark.requirement("security:resource-server"),
]

CALLBACK = "http://localhost:3000/callback"
ADA = Principal("ada", frozenset({"read"}), client_id="editor")
EVE = Principal("eve", frozenset({"read", "write"}))

Host: TypeAlias = Callable[..., WsgiApp]
Connect: TypeAlias = Callable[..., Client]


class Place:
    """Where the server will be: it has to know before it runs."""

    def __init__(self) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/mcp"


@pytest.fixture
def place() -> Place:
    return Place()


@pytest.fixture
def host(place: Place) -> Iterator[Host]:
    """Serves a small server behind an authorization."""
    with ExitStack() as running:
        yield lambda guard: running.enter_context(hosted(make_server(), place.port, authorization=guard))


@pytest.fixture
def connect(era: str, place: Place, host: Host) -> Iterator[Connect]:
    """Makes clients with an authorization, closed before the server."""
    del host
    made: list[Client] = []

    def connect(auth: Any) -> Client:
        made.append(Client.http(place.url, auth=auth, protocol=era, proxies={}, **quick({})))
        return made[-1]

    yield connect
    for client in made:
        client.close()


def make_server() -> Server:
    server = Server("protected", version="1.0")

    @server.tool()
    def who(context: Context) -> dict[str, Any]:
        """Who asks."""
        assert context.principal is not None
        return {"subject": context.principal.subject, "scopes": sorted(context.principal.scopes)}

    @server.tool(scopes=["write"])
    def change() -> str:
        """Needs more than the rest."""
        return "changed"

    return server


def guarded(place: Place, verifier: Any, *issuers: str, **options: Any) -> Authorization:
    servers = issuers or ("https://issuer.example",)
    return Authorization(verifier, resource=place.url, authorization_servers=servers, **options)


def test_a_token_that_is_known_lets_in_and_others_do_not(place: Place, host: Host, connect: Connect) -> None:
    host(guarded(place, StaticTokens({"good-token": ADA}), scopes=["read"]))
    client = connect("good-token")
    assert client.call_tool("who").structured_content == {"subject": "ada", "scopes": ["read"]}
    for wrong in ("wrong-token", None):
        with pytest.raises(errors.AuthorizationFailed):
            connect(wrong).wait_ready()


def test_a_tool_may_want_more_than_the_token_allows(place: Place, host: Host, connect: Connect) -> None:
    host(guarded(place, StaticTokens({"ada-token": ADA, "eve-token": EVE}), scopes=["read"]))
    assert connect("eve-token").call_tool("change").text == "changed"
    client = connect("ada-token")
    with pytest.raises(errors.AuthorizationFailed, match="403"):
        client.call_tool("change")
    # The refusal was for that call alone.
    assert client.call_tool("who").structured_content["subject"] == "ada"


def test_a_session_belongs_to_whoever_opened_it(place: Place, host: Host, connect: Connect, era: str) -> None:
    app = host(guarded(place, StaticTokens({"ada-token": ADA, "eve-token": EVE})))
    tokens = ["ada-token"]
    client = connect(lambda: tokens[0])
    assert client.call_tool("who").structured_content["subject"] == "ada"
    tokens[0] = "eve-token"
    # To her the session is none at all: a new one is opened, in her own name.
    assert client.call_tool("who", wait=True).structured_content["subject"] == "eve"
    assert len(app.desk.sessions) == (2 if era == HANDSHAKE else 0)


def test_tokens_that_an_issuer_signed_are_checked(place: Place, host: Host, connect: Connect) -> None:
    with Issuer() as issuer:
        host(guarded(place, JwtVerifier(issuer=issuer.url, audience=place.url), issuer.url))
        good = claims(issuer.url, aud=place.url)
        client = connect(signed(good, rsa_key()))
        assert client.call_tool("who").structured_content == {"subject": "alice", "scopes": ["read", "write"]}
        for wrong in (
            {**good, "aud": "https://other.example/mcp"},
            {**good, "iss": "https://other.example"},
            {**good, "exp": int(time.time()) - 3600},
        ):
            with pytest.raises(errors.AuthorizationFailed):
                connect(signed(wrong, rsa_key())).wait_ready()
        with pytest.raises(errors.AuthorizationFailed):
            connect(signed(good, rsa_key(1))).wait_ready()


class Protected:
    """Our server, and the authorization server that it names; both know the same tokens."""

    def __init__(self, place: Place, **settings: Any) -> None:
        changes = {"resource": place.url}
        self.issuer = AuthorizationServer(Settings(prm_changes=changes, **settings))
        self._place = place

    def verify(self, token: str) -> Principal | None:
        """What an introspection endpoint would say."""
        grant = self.issuer._access.get(token)
        if grant is None or grant.resource != self._place.url:
            return None
        bound = {} if grant.thumbprint is None else {"cnf": {"jkt": grant.thumbprint}}
        return Principal("user", frozenset(grant.scope.split()), grant.client_id, bound, self.issuer.issuer)


@pytest.mark.requirement("security:oauth")
@pytest.mark.parametrize("dpop", [False, True], ids=["bearer", "dpop"])
def test_a_person_logs_in_and_later_allows_more(
    place: Place, host: Host, connect: Connect, dpop: bool
) -> None:
    both, person = Protected(place, dpop=dpop), Person()
    with both.issuer as issuer:
        host(guarded(place, both.verify, issuer.issuer, scopes=["read"], require_dpop=dpop))
        auth = OAuth(open_url=person.open_url, callback=person.callback, redirect_uri=CALLBACK, dpop=dpop)
        client = connect(auth)
        assert client.call_tool("who").structured_content == {"subject": "user", "scopes": ["read"]}
        assert person.scopes == ["read"]
        assert client.call_tool("change").text == "changed"
        assert len(person.pages) == 2
        assert set((person.scopes[1] or "").split()) == {"read", "write"}
        issuer.revoke_tokens()
        assert client.call_tool("change").text == "changed"
        # The refresh token was good enough.
        assert len(person.pages) == 2
        client.close()
        assert issuer.violations == []
        assert_no_secret_elsewhere(issuer)
