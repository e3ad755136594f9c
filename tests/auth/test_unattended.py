"""Grants without a person, and tokens bound to a key."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_actors.auth import (
    ClientCredentials,
    DpopKey,
    EnterpriseManaged,
    MemoryStorage,
    OAuth,
    SigningKey,
    WorkloadIdentity,
    tokens,
)
from mcp_actors.errors import AuthorizationFailed
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.transports.http.authorizer import Attempt, Refusal
from tests.auth.authorization_server import (
    EXCHANGE,
    ID_JAG,
    JWT_BEARER,
    AuthorizationServer,
    Fault,
    assert_no_secret_elsewhere,
    failing,
)
from tests.auth.calling import Person, call, send
from tests.auth.conftest import Start
from tests.auth.test_flow import clean, let_pass
from tests.conftest import BOUND

SECRET = "a secret: with/signs"


def test_a_program_authorizes_itself_with_a_secret(serve: Start) -> None:
    server = serve(challenge_scope="mcp:basic")
    server.add_client("robot", secret=SECRET)
    assert call(ClientCredentials("robot", SECRET).bind(server.resource_url), server) == 200
    form = server.at("token")[0].form
    assert (form["grant_type"], form["scope"]) == ("client_credentials", "mcp:basic")
    assert form["resource"] == server.resource_url
    assert server.at("token")[0].headers["authorization"].startswith("Basic ")
    assert server.count("register") == server.count("authorize") == 0
    clean(server)


def test_the_secret_goes_into_the_form_where_the_server_wants_it_there(serve: Start) -> None:
    server = serve(auth_methods=("client_secret_post",))
    server.add_client("robot", secret=SECRET, method="client_secret_post")
    assert call(ClientCredentials("robot", SECRET).bind(server.resource_url), server) == 200
    assert server.at("token")[0].form["client_secret"] == SECRET
    clean(server)


def test_a_server_that_takes_no_secret_is_not_shown_one(serve: Start) -> None:
    server = serve(auth_methods=("private_key_jwt",))
    with pytest.raises(AuthorizationFailed, match="takes private_key_jwt"):
        call(ClientCredentials("robot", SECRET).bind(server.resource_url), server)
    assert server.saw(SECRET) == []


@pytest.mark.parametrize("algorithm", ["ES256", "RS256"])
def test_a_program_authorizes_itself_by_signing(serve: Start, algorithm: str) -> None:
    server = serve()
    key = SigningKey.generate(algorithm)
    server.add_client("robot", public_key=key.public_jwk)
    assert call(ClientCredentials("robot", private_key=key).bind(server.resource_url), server) == 200
    form = server.at("token")[0].form
    assert "client_id" not in form
    assert "client_secret" not in form
    clean(server)


def test_an_expired_token_is_asked_for_again_without_a_challenge(
    serve: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve()
    server.add_client("robot", secret=SECRET)
    mine = ClientCredentials("robot", SECRET).bind(server.resource_url)
    assert call(mine, server) == 200
    let_pass(monkeypatch, 3600)
    assert call(mine, server) == 200
    assert [request.status for request in server.at("resource")] == [401, 200, 200]
    assert server.count("token") == 2


def test_a_program_whose_authorization_server_was_given_up_is_told_which_one_it_has_now(
    serve: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, first, second = serve(), serve(), serve()
    server.delegate_to(first)
    first.add_client("robot", secret=SECRET)
    mine = ClientCredentials("robot", SECRET).bind(server.resource_url)
    assert call(mine, server) == 200
    server.delegate_to(second)
    first.settings.faults["token"] = Fault(failing(404))
    let_pass(monkeypatch, 3600)
    with pytest.raises(AuthorizationFailed, match=f"now authorized by {second.origin}.* belong to"):
        call(mine, server)
    assert second.requests == []


def test_a_program_asks_for_missing_scopes_too(serve: Start) -> None:
    server = serve(required_scopes={"tools/call": "mcp:write"}, challenge_scope="mcp:basic")
    server.add_client("robot", secret=SECRET)
    assert call(ClientCredentials("robot", SECRET).bind(server.resource_url), server) == 200
    assert [request.form["scope"] for request in server.at("token")] == ["mcp:basic", "mcp:basic mcp:write"]


def test_credentials_go_to_the_issuer_they_are_for_and_to_no_other(serve: Start) -> None:
    server, evil = serve(), serve()
    server.delegate_to(evil)
    mine = ClientCredentials("robot", SECRET, issuer="https://login.example").bind(server.resource_url)
    with pytest.raises(AuthorizationFailed, match=r"belong to https://login\.example"):
        call(mine, server)
    assert evil.requests == []


@pytest.mark.parametrize("looked_up", [True, False])
def test_an_enterprise_turns_a_sign_on_into_a_token(serve: Start, looked_up: bool) -> None:
    server, idp = serve(), serve(id_jag_client="mine")
    server.trust(idp)
    server.add_client("mine", secret=SECRET)
    idp.add_client("at the idp", method="none")
    place: dict[str, Any] = (
        {"idp_issuer": idp.issuer} if looked_up else {"idp_token_endpoint": idp.url("token")}
    )
    id_token = idp.id_token("at the idp")
    mine = EnterpriseManaged("mine", SECRET, id_token=lambda: id_token, idp_client_id="at the idp", **place)
    authorizer = mine.bind(server.resource_url)
    assert call(authorizer, server) == 200
    exchange, grant = idp.at("token")[0].form, server.at("token")[0].form
    assert (exchange["grant_type"], exchange["requested_token_type"]) == (EXCHANGE, ID_JAG)
    assert (exchange["audience"], exchange["resource"]) == (server.issuer, server.resource_url)
    assert grant["grant_type"] == JWT_BEARER
    assert server.count("authorize") == 0
    assert id_token in authorizer.secrets
    clean(server, idp)


@pytest.mark.parametrize("kind", ["urn:ietf:params:oauth:token-type:access_token", None, 5])
def test_what_is_no_assertion_is_shown_to_nobody(serve: Start, kind: Any) -> None:
    server, idp = serve(), serve(id_jag_client="mine", token_changes={"issued_token_type": kind})
    server.trust(idp)
    server.add_client("mine", secret=SECRET)
    idp.add_client("at the idp", method="none")
    mine = EnterpriseManaged(
        "mine", SECRET, id_token=idp.id_token("at the idp"), idp_client_id="at the idp", idp_issuer=idp.issuer
    )
    with pytest.raises(AuthorizationFailed, match="gave no assertion"):
        call(mine.bind(server.resource_url), server)
    assert server.count("token") == 0


def test_a_workload_shows_its_own_identity_once(serve: Start) -> None:
    server = serve()
    platform = serve()
    server.trust(platform)
    assertion = platform.workload_token(server.url("token"))
    assert call(WorkloadIdentity(assertion).bind(server.resource_url), server) == 200
    form = server.at("token")[0].form
    assert (form["grant_type"], form["assertion"]) == (JWT_BEARER, assertion)
    assert form["resource"] == server.resource_url
    assert {"client_id", "client_secret"} & set(form) == set()
    clean(server)
    assert_no_secret_elsewhere(server, platform)


def test_a_refused_workload_is_not_tried_again_nor_otherwise(serve: Start) -> None:
    server = serve()
    mine = WorkloadIdentity("no.such.token", client_id="workload").bind(server.resource_url)
    with pytest.raises(AuthorizationFailed, match="the token endpoint .* refused"):
        call(mine, server)
    assert server.count("token") == 1
    assert server.count("register") == server.count("authorize") == 0


@pytest.mark.parametrize("broken", [lambda: 1 / 0, lambda: 5, lambda: ""])
def test_an_assertion_that_cannot_be_had_is_an_authorization_error(serve: Start, broken: Any) -> None:
    server = serve()
    with pytest.raises(AuthorizationFailed, match="no assertion to show"):
        call(WorkloadIdentity(broken).bind(server.resource_url), server)
    assert server.count("token") == 0


def test_mistakes_of_the_caller_are_found_at_once() -> None:
    for wrong in (
        lambda: ClientCredentials("robot"),
        lambda: ClientCredentials("robot", SECRET, private_key="key"),
        lambda: EnterpriseManaged("mine", id_token="token", idp_client_id="mine"),
        lambda: OAuth(redirect_uri="https://elsewhere.example/callback"),
        lambda: OAuth(redirect_uri="http://elsewhere.example/callback", callback=str),
        lambda: OAuth(redirect_uri="javascript:alert(1)", callback=str),
        lambda: OAuth(redirect_uri="http://127.0.0.1:0/callback"),
        lambda: OAuth(redirect_uri="http://127.0.0.1:99999/callback"),
        lambda: OAuth(redirect_uri="http://127.0.0.1:port/callback", callback=str),
        lambda: OAuth(client_metadata_url="https://client.example"),
        lambda: OAuth(client_metadata_url="http://client.example/document"),
        lambda: OAuth(client_secret=SECRET),
        lambda: OAuth(token_endpoint_auth_method="none at all"),
        lambda: OAuth(token_endpoint_auth_method="private_key_jwt"),
        lambda: OAuth(client_id="mine", token_endpoint_auth_method="private_key_jwt"),
        lambda: OAuth(client_id="mine", token_endpoint_auth_method="client_secret_post"),
        lambda: ClientCredentials("robot", SECRET, token_endpoint_auth_method="none at all"),
        lambda: ClientCredentials("robot", SECRET, token_endpoint_auth_method="private_key_jwt"),
        lambda: ClientCredentials(
            "robot", private_key=SigningKey.generate(), token_endpoint_auth_method="client_secret_basic"
        ),
        lambda: OAuth(timeout=0),
        lambda: OAuth(request_timeout=-1),
        lambda: OAuth().bind("ftp://server.example"),
    ):
        with pytest.raises(ValueError, match="."):
            wrong()


# -- tokens bound to a key --------------------------------------------------------------------------------


def proofs(server: AuthorizationServer, endpoint: str) -> list[str]:
    return [request.headers["dpop"] for request in server.at(endpoint) if "dpop" in request.headers]


@pytest.mark.parametrize("nonces", [False, True])
def test_a_bound_token_is_shown_with_a_fresh_proof_each_time(serve: Start, nonces: bool) -> None:
    server = serve(dpop=True, token_nonces=nonces, resource_nonces=nonces)
    person = Person()
    mine = OAuth(dpop=True, open_url=person.open_url, callback=person.callback).bind(server.resource_url)
    assert [call(mine, server) for _ in range(3)] == [200] * 3
    server.rotate_nonces()
    assert call(mine, server) == 200
    assert len(set(proofs(server, "resource"))) == len(proofs(server, "resource")) >= 4
    assert server.at("resource")[-1].headers["authorization"].startswith("DPoP ")
    assert server.at("register")[0].json["dpop_bound_access_tokens"] is True
    assert len(person.pages) == 1
    clean(server)


def test_every_request_that_was_under_way_when_the_nonce_changed_is_repeated(serve: Start) -> None:
    server = serve(dpop=True, resource_nonces=True)
    server.add_client("robot", secret=SECRET)
    mine = ClientCredentials("robot", SECRET, dpop=True).bind(server.resource_url)
    assert call(mine, server) == 200
    server.rotate_nonces()
    attempts = [Attempt("POST", server.resource_url, Deadline.after(BOUND)) for _ in range(3)]
    answers = [send(attempt, dict(mine.headers(attempt))) for attempt in attempts]
    for attempt, (status, headers, challenges) in zip(attempts, answers, strict=True):
        assert mine.refused(attempt, Refusal(status, challenges, headers))
        assert send(attempt, dict(mine.headers(attempt)))[0] == 200
    assert server.count("token") == 1


def test_a_nonce_is_given_also_to_a_server_that_says_more_about_bearer_tokens(serve: Start) -> None:
    server = serve(dpop=True, resource_nonces=True)
    server.add_client("robot", secret=SECRET)
    mine = ClientCredentials("robot", SECRET, dpop=True).bind(server.resource_url)
    assert call(mine, server) == 200
    attempt = Attempt("POST", server.resource_url, Deadline.after(BOUND))
    mine.headers(attempt)
    metadata = f"{server.origin}/.well-known/oauth-protected-resource/mcp"
    challenges = (f'Bearer resource_metadata="{metadata}", scope="a"', 'DPoP error="use_dpop_nonce"')
    assert mine.refused(attempt, Refusal(401, challenges, {"dpop-nonce": "another"}))
    assert server.count("token") == 1


def test_a_proof_that_is_refused_is_made_anew_once_and_costs_no_token(serve: Start) -> None:
    server = serve(dpop=True, expires_in=None)
    server.add_client("robot", secret=SECRET)
    mine = ClientCredentials("robot", SECRET, dpop=True).bind(server.resource_url)
    assert call(mine, server) == 200
    # Its clock is an hour ahead of ours.
    server.advance(3600)
    assert call(mine, server) == 401
    assert [request.status for request in server.at("resource")] == [401, 200, 401, 401]
    assert len(set(proofs(server, "resource"))) == 3
    assert server.count("token") == 1


def test_a_server_that_wants_the_nonce_that_it_was_given_is_not_asked_again(serve: Start) -> None:
    server = serve(dpop=True, resource_nonces=True)
    server.add_client("robot", secret=SECRET)
    mine = ClientCredentials("robot", SECRET, dpop=True).bind(server.resource_url)
    assert call(mine, server) == 200
    attempt = Attempt("POST", server.resource_url, Deadline.after(BOUND))
    mine.headers(attempt)
    challenge = ('DPoP error="use_dpop_nonce"',)
    assert not mine.refused(attempt, Refusal(401, challenge, {"dpop-nonce": "resource-nonce-1"}))


def test_a_program_can_bind_its_tokens_too(serve: Start) -> None:
    server = serve(dpop=True, token_nonces=True, resource_nonces=True)
    server.add_client("robot", secret=SECRET)
    mine = ClientCredentials("robot", SECRET, dpop=True).bind(server.resource_url)
    assert call(mine, server) == 200
    clean(server)


def test_a_token_bound_to_a_lost_key_is_not_used(serve: Start) -> None:
    server, storage = serve(dpop=True), MemoryStorage()
    server.add_client("robot", secret=SECRET)

    def bound(dpop: bool | DpopKey) -> None:
        mine = ClientCredentials("robot", SECRET, dpop=dpop, storage=storage).bind(server.resource_url)
        assert call(mine, server) == 200

    key = DpopKey.generate()
    bound(key)
    bound(key)
    assert server.count("token") == 1
    bound(True)
    assert server.count("token") == 2
    clean(server)


def test_a_server_that_gives_a_bearer_token_instead_is_refused(serve: Start) -> None:
    server = serve(token_type="Bearer")
    server.add_client("robot", secret=SECRET)
    mine = ClientCredentials("robot", SECRET, dpop=True).bind(server.resource_url)
    with pytest.raises(AuthorizationFailed, match="dpop=False"):
        call(mine, server)
    assert tokens.Tokens("x").expired is False
