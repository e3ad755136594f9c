"""Kept answers belong to whoever asked: another token, another part of the cache."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from mcp_actors import Client, errors
from mcp_actors.auth import BearerToken
from mcp_actors.auth.fixed import CallableAuth
from mcp_actors.transports.http.authorizer import Attempt, Refusal
from mcp_actors.transports.http.fingerprint import fingerprint
from mcp_actors.transports.http.settings import HttpSettings
from tests.servers.http_peer import HttpPeer, Turn
from tests.transports.http.conftest import MakeClient

pytestmark = [pytest.mark.requirement("feature:caching"), pytest.mark.requirement("transport:http")]

TOKENS = {"ann": "the-token-of-ann", "bob": "the-token-of-bob"}
Become = Callable[[str], None]


class Somebody:
    """An authorizer of the user's own, who does not say in whose name."""

    secrets = ()

    def headers(self, attempt: Attempt) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {attempt.method}"}

    def refused(self, attempt: Attempt, refusal: Refusal) -> bool:
        raise AssertionError((attempt, refusal))

    def answered(self, attempt: Attempt, headers: Mapping[str, str]) -> None:
        del attempt, headers


@pytest.fixture(params=["auth", "headers"])
def how(request: pytest.FixtureRequest) -> str:
    """The option by which the client learns of the token."""
    return str(request.param)


@pytest.fixture
def who() -> list[str]:
    """Whose token it is now: the last one's."""
    return ["ann"]


@pytest.fixture
def client(peer: HttpPeer, make_client: MakeClient, how: str, who: list[str]) -> Client:
    def token() -> Any:
        return TOKENS[who[-1]] if how == "auth" else {"Authorization": f"Bearer {TOKENS[who[-1]]}"}

    return make_client(peer, **{how: token}).wait_ready()


def shared(turn: Turn) -> None:
    """A list that is the same for everybody."""
    tools = [{"name": "echo", "inputSchema": {"type": "object"}}]
    turn.answer({"resultType": "complete", "tools": tools, "ttlMs": 60_000, "cacheScope": "public"})


def askers(peer: HttpPeer, method: str) -> list[str]:
    return [turn.headers["authorization"].rpartition("-")[2] for turn in peer.turns(method)]


def test_what_one_principal_was_told_no_other_gets_from_the_cache(
    peer: HttpPeer, client: Client, who: list[str]
) -> None:
    for name in ("ann", "ann", "bob", "bob", "ann"):
        who.append(name)
        client.list_tools()
        client.read_resource("toy:a")
    assert askers(peer, "tools/list") == askers(peer, "resources/read") == ["ann", "bob"]


def test_what_is_public_is_everybodys(peer: HttpPeer, client: Client, who: list[str]) -> None:
    peer.on("tools/list", shared)
    client.list_tools()
    who.append("bob")
    client.list_tools()
    assert askers(peer, "tools/list") == ["ann"]


def test_a_fresh_answer_is_that_of_whoever_asks(peer: HttpPeer, client: Client, who: list[str]) -> None:
    for name in ("ann", "bob"):
        who.append(name)
        client.list_tools()
    client.list_tools(fresh=True)
    who.append("ann")
    client.list_tools()
    assert askers(peer, "tools/list") == ["ann", "bob", "bob"]


def test_an_answer_is_not_kept_if_the_principal_changed_while_it_was_on_its_way(
    peer: HttpPeer, client: Client, who: list[str]
) -> None:
    def change(turn: Turn) -> None:
        who.append("bob")
        peer.serve(turn)

    peer.once("tools/list", change)
    client.list_tools()
    client.list_tools()
    who.append("ann")
    client.list_tools()
    assert askers(peer, "tools/list") == ["ann", "bob", "ann"]


def test_a_token_that_cannot_be_had_any_more_gives_nobody_a_kept_answer(
    peer: HttpPeer, make_client: MakeClient
) -> None:
    given = [TOKENS["ann"]]
    client = make_client(peer, auth=lambda: given[0]).wait_ready()
    client.list_tools()
    given.clear()
    with pytest.raises(
        errors.AuthorizationFailed, match=r"the callable given as auth= failed \(IndexError\)"
    ):
        client.list_tools()
    given.append(TOKENS["ann"])
    client.list_tools()
    assert len(peer.turns("tools/list")) == 1


def test_headers_that_cannot_be_had_any_more_do_not_either(peer: HttpPeer, make_client: MakeClient) -> None:
    given = [{"X-Key": "a key of ours"}]
    client = make_client(peer, headers=lambda: given[0]).wait_ready()
    client.list_tools()
    given.clear()
    with pytest.raises(errors.ConnectionLost, match="IndexError"):
        client.list_tools()


def test_of_an_authorizer_that_does_not_say_for_whom_only_public_answers_are_kept(
    peer: HttpPeer, make_client: MakeClient
) -> None:
    client = make_client(peer, auth=Somebody()).wait_ready()
    for _ in range(2):
        client.list_tools()
    assert len(peer.turns("tools/list")) == 2
    peer.on("tools/list", shared)
    for _ in range(2):
        client.list_tools()
    assert len(peer.turns("tools/list")) == 3


@pytest.mark.parametrize("options", [{}, {"auth": "one-token"}, {"headers": {"X-Key": "a key of ours"}}])
def test_what_cannot_change_lets_everything_be_kept(
    options: dict[str, Any], peer: HttpPeer, make_client: MakeClient
) -> None:
    client = make_client(peer, **options).wait_ready()
    for _ in range(2):
        client.list_tools()
    assert len(peer.turns("tools/list")) == 1


@pytest.mark.requirement("security:oauth")
def test_a_fingerprint_tells_principals_apart_and_holds_no_secret() -> None:
    assert fingerprint("a", "b") == fingerprint("a", "b")
    assert len({fingerprint(*parts) for parts in (("a", "b"), ("b", "a"), ("ab",), ("a", "b", ""), ())}) == 5
    url = "http://127.0.0.1/mcp"
    bearer, asked = BearerToken("one-token", url), CallableAuth(lambda: "one-token", url)
    for authorizer in (bearer, asked):
        settings = HttpSettings(url=url, authorizer=authorizer, headers=lambda: {"X-Key": "another-secret"})
        for shown in (authorizer.principal(), settings.principal()):
            assert shown
            assert "token" not in shown
            assert "secret" not in shown
