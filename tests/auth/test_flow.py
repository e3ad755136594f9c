"""The authorization code flow from the first 401 to the answer, as the specification has it."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

from mcp_actors.auth import MemoryStorage, OAuth, SigningKey, Tokens, tokens
from mcp_actors.errors import AuthorizationFailed
from mcp_actors.transports.http.authorizer import Authorizer
from tests.auth.authorization_server import (
    AuthorizationServer,
    Fault,
    Recorded,
    Reply,
    assert_no_secret_elsewhere,
    browse,
    failing,
)
from tests.auth.calling import Person, call
from tests.auth.conftest import Start

METADATA_URL = "https://client.example/metadata.json"
CALLBACK = "http://localhost:3000/callback"


def authorizer(server: AuthorizationServer, person: Person, **options: Any) -> Authorizer:
    options = {"redirect_uri": CALLBACK, **options}
    return OAuth(open_url=person.open_url, callback=person.callback, **options).bind(server.resource_url)


def let_pass(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """The client's clock says that much more than the true one."""
    monkeypatch.setattr(tokens, "wall_clock", lambda: time.time() + seconds)


def clean(*servers: AuthorizationServer) -> None:
    """No server has anything to complain about, and no secret went astray."""
    assert [server.violations for server in servers] == [[] for _ in servers]
    assert_no_secret_elsewhere(*servers)


@pytest.mark.requirement("security:oauth")
def test_a_refused_request_leads_through_the_whole_flow_to_its_answer(serve: Start, person: Person) -> None:
    server = serve()
    with_token = authorizer(server, person)
    assert call(with_token, server) == 200
    assert call(with_token, server) == 200
    assert [request.endpoint for request in server.requests] == [
        "resource", "prm", "metadata", "register", "authorize", "token", "resource", "resource",
    ]  # fmt: skip
    registration = server.at("register")[0].json
    assert registration["application_type"] == "native"
    assert "refresh_token" in registration["grant_types"]
    asked, form = person.asked[0], server.at("token")[0].form
    assert asked["code_challenge_method"] == "S256"
    assert asked["resource"] == form["resource"] == server.resource_url
    assert "scope" not in asked
    clean(server)


@pytest.mark.parametrize(
    ("settings", "documents"),
    [
        (
            {},
            ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server"],
        ),
        (
            {"announce": None, "metadata": ("oidc",)},
            [
                "/.well-known/oauth-protected-resource/mcp",
                "/.well-known/oauth-authorization-server",
                "/.well-known/openid-configuration",
            ],
        ),
        (
            {"announce": None, "prm": ("root",), "issuer_path": "/tenant1"},
            [
                "/.well-known/oauth-protected-resource/mcp",
                "/.well-known/oauth-protected-resource",
                "/.well-known/oauth-authorization-server/tenant1",
            ],
        ),
        (
            {
                "announce": "custom",
                "prm": ("custom",),
                "issuer_path": "/tenant1",
                "metadata": ("oidc-appended",),
            },
            [
                "/custom/metadata/location.json",
                "/.well-known/oauth-authorization-server/tenant1",
                "/.well-known/openid-configuration/tenant1",
                "/tenant1/.well-known/openid-configuration",
            ],
        ),
    ],
    ids=["announced", "path form and OpenID", "root and tenant", "custom and appended"],
)
def test_metadata_are_looked_for_in_the_order_of_the_specification(
    serve: Start, person: Person, settings: dict[str, Any], documents: list[str]
) -> None:
    server = serve(**settings)
    assert call(authorizer(server, person), server) == 200
    asked = [
        request.path for request in server.requests if request.endpoint in ("prm", "metadata", "unknown")
    ]
    expected = [asked[0] if "custom" in document else document for document in documents]
    assert asked == expected
    clean(server)


def test_the_resource_is_sent_as_the_metadata_spell_it(serve: Start, person: Person) -> None:
    server = serve(announce=None, prm=("root",), resource_path="/mcp")
    server.settings.prm_changes["resource"] = server.origin
    assert call(authorizer(server, person), server) == 200
    assert person.asked[0]["resource"] == server.origin == server.at("token")[0].form["resource"]
    clean(server)


@pytest.mark.parametrize(
    "resource", ["https://elsewhere.example/mcp", "{origin}/mcp2", "{origin}/mcp/deeper", ""]
)
def test_metadata_of_another_resource_end_the_flow_before_anything_is_asked(
    serve: Start, person: Person, resource: str
) -> None:
    server = serve()
    server.settings.prm_changes["resource"] = resource.format(origin=server.origin)
    with pytest.raises(AuthorizationFailed, match="no token is asked for"):
        call(authorizer(server, person), server)
    assert {request.endpoint for request in server.requests} == {"resource", "prm"}


def test_metadata_without_an_authorization_server_are_an_error(serve: Start, person: Person) -> None:
    server = serve(prm_changes={"authorization_servers": []})
    with pytest.raises(AuthorizationFailed, match="authorization_servers"):
        call(authorizer(server, person), server)


@pytest.mark.parametrize("issuer", ["https://wrong.example", "{origin}/", "{origin}/other", None])
def test_a_document_of_another_issuer_is_not_used(serve: Start, person: Person, issuer: str | None) -> None:
    server = serve()
    server.settings.metadata_changes["issuer"] = issuer and issuer.format(origin=server.origin)
    with pytest.raises(AuthorizationFailed, match="none of it is used"):
        call(authorizer(server, person), server)
    assert server.count("register") == server.count("authorize") == 0


@pytest.mark.parametrize("methods", [None, [], ["plain"]])
def test_a_server_without_pkce_is_refused(serve: Start, person: Person, methods: list[str] | None) -> None:
    server = serve(metadata_changes={"code_challenge_methods_supported": methods})
    with pytest.raises(AuthorizationFailed, match="PKCE"):
        call(authorizer(server, person), server)
    assert person.pages == []


def test_a_server_of_2025_03_26_is_its_own_authorization_server(serve: Start, person: Person) -> None:
    server = serve(prm=(), announce=None)
    assert call(authorizer(server, person), server) == 200
    assert "resource" not in person.asked[0]
    assert "resource" not in server.at("token")[0].form
    assert server.at("metadata")[0].headers["mcp-protocol-version"] == "2026-07-28"
    clean(server)


def test_a_server_of_2025_03_26_without_any_metadata_has_the_default_endpoints(
    serve: Start, person: Person
) -> None:
    server = serve(prm=(), announce=None, metadata=())
    assert call(authorizer(server, person), server) == 200
    clean(server)


@pytest.mark.parametrize("method", ["client_secret_basic", "private_key_jwt"])
@pytest.mark.parametrize("documented", [True, False])
def test_a_client_registered_by_hand_proves_itself_where_nobody_says_how(
    serve: Start, person: Person, method: str, documented: bool
) -> None:
    silent = {"token_endpoint_auth_methods_supported": None}
    server = serve(metadata_changes=silent) if documented else serve(prm=(), announce=None, metadata=())
    key = SigningKey.generate() if method == "private_key_jwt" else None
    secret = None if key else "the secret"
    server.add_client("mine", secret=secret, public_key=key.public_jwk if key else None)
    mine = authorizer(server, person, client_id="mine", client_secret=secret, private_key=key)
    assert call(mine, server) == 200
    clean(server)


@pytest.mark.parametrize("status", [503, 429])
@pytest.mark.parametrize("endpoint", ["prm", "metadata"])
def test_a_failing_metadata_endpoint_is_not_taken_for_a_missing_one(
    serve: Start, person: Person, endpoint: str, status: int
) -> None:
    server = serve(announce=None, prm=(), faults={endpoint: Fault(failing(status))})
    with pytest.raises(AuthorizationFailed, match=f"HTTP {status}") as raised:
        call(authorizer(server, person), server)
    assert raised.value.retryable
    assert person.pages == []


# -- who the client is ------------------------------------------------------------------------------------


def test_a_client_with_a_metadata_url_is_known_by_it(serve: Start, person: Person) -> None:
    server = serve(cimd=True)
    assert call(authorizer(server, person, client_metadata_url=METADATA_URL), server) == 200
    assert person.asked[0]["client_id"] == METADATA_URL
    assert server.count("register") == 0
    clean(server)


def test_a_client_with_a_metadata_url_registers_where_that_is_not_understood(
    serve: Start, person: Person
) -> None:
    server = serve()
    assert call(authorizer(server, person, client_metadata_url=METADATA_URL), server) == 200
    assert server.count("register") == 1


def test_a_client_registered_by_hand_does_not_register(serve: Start, person: Person) -> None:
    server = serve(cimd=True)
    server.add_client("by hand", secret="a secret: with/signs")
    mine = authorizer(
        server,
        person,
        client_id="by hand",
        client_secret="a secret: with/signs",
        client_metadata_url=METADATA_URL,
    )
    assert call(mine, server) == 200
    assert server.count("register") == 0
    assert server.at("token")[0].headers["authorization"].startswith("Basic ")
    clean(server)


def test_an_unknown_client_where_none_may_register_is_told_what_to_do(serve: Start, person: Person) -> None:
    server = serve(registration=False)
    with pytest.raises(AuthorizationFailed, match="pass client_id="):
        call(authorizer(server, person), server)


@pytest.mark.parametrize("method", ["none", "client_secret_basic", "client_secret_post"])
def test_the_token_endpoint_sees_the_method_that_registration_returned(
    serve: Start, person: Person, method: str
) -> None:
    server = serve(registered_method=method)
    assert call(authorizer(server, person), server) == 200
    request = server.at("token")[0]
    assert ("authorization" in request.headers) == (method == "client_secret_basic")
    assert ("client_secret" in request.form) == (method == "client_secret_post")
    clean(server)


@pytest.mark.parametrize(
    "changes",
    [
        {"token_endpoint_auth_method": "private_key_jwt"},
        {"token_endpoint_auth_method": "client_secret_basic"},
        {"token_endpoint_auth_method": "tls_client_auth"},
        {"token_endpoint_auth_method": ["none"]},
    ],
)
def test_a_registration_that_the_client_cannot_use_is_an_error(
    serve: Start, person: Person, changes: dict[str, Any]
) -> None:
    server = serve(registration_changes=changes)
    with pytest.raises(AuthorizationFailed, match="cannot use"):
        call(authorizer(server, person), server)


def test_a_web_application_says_so_at_registration(serve: Start, person: Person) -> None:
    server = serve()
    mine = authorizer(server, person, redirect_uri="https://app.example/callback", software_id="some id")
    assert call(mine, server) == 200
    asked = server.at("register")[0].json
    assert (asked["application_type"], asked["software_id"]) == ("web", "some id")


def test_a_registration_is_used_again_at_the_next_login(serve: Start, person: Person) -> None:
    server, storage = serve(), MemoryStorage()
    assert call(authorizer(server, person, storage=storage), server) == 200
    server.revoke_tokens("all")
    assert call(authorizer(server, person, storage=storage), server) == 200
    assert (server.count("register"), server.count("authorize")) == (1, 2)


def test_a_registration_that_the_server_forgot_is_made_anew(serve: Start, person: Person) -> None:
    server, storage = serve(), MemoryStorage()
    mine = authorizer(server, person, storage=storage)
    assert call(mine, server) == 200
    server._clients.clear()
    server.revoke_tokens("access")
    assert call(mine, server) == 200
    assert (server.count("register"), server.count("authorize")) == (2, 2)


# -- the answer to a login --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("iss", "advertised"),
    [("right", True), ("right", False), ("missing", False)],
    ids=lambda value: str(value),
)
def test_an_answer_that_names_the_right_issuer_or_needs_none_is_taken(
    serve: Start, person: Person, iss: str, advertised: bool
) -> None:
    server = serve(iss=iss, iss_advertised=advertised)
    assert call(authorizer(server, person), server) == 200


@pytest.mark.parametrize(
    ("iss", "advertised"),
    [("missing", True), ("wrong", True), ("wrong", False), ("slash", True), ("slash", False)],
    ids=lambda value: str(value),
)
@pytest.mark.parametrize("error", [None, "access_denied"])
def test_an_answer_of_another_issuer_is_not_believed_not_even_its_error(
    serve: Start, person: Person, iss: str, advertised: bool, error: str | None
) -> None:
    server = serve(iss=iss, iss_advertised=advertised, authorize_error=error)
    with pytest.raises(AuthorizationFailed, match=r"\(iss\)") as raised:
        call(authorizer(server, person), server)
    assert "access_denied" not in str(raised.value)
    assert server.count("token") == 0


def test_an_answer_with_another_state_is_not_taken(serve: Start, person: Person) -> None:
    server = serve(state="another")
    with pytest.raises(AuthorizationFailed, match="another login"):
        call(authorizer(server, person), server)
    assert server.count("token") == 0


def test_a_person_who_says_no_is_quoted(serve: Start, person: Person) -> None:
    server = serve(authorize_error="access_denied")
    with pytest.raises(AuthorizationFailed, match=r"refused the login: access_denied \(as configured\)"):
        call(authorizer(server, person), server)


# -- scopes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "options", "asked"),
    [
        ({"challenge_scope": "mcp:basic", "scopes_supported": ("mcp:basic", "mcp:all")}, {}, "mcp:basic"),
        ({"scopes_supported": ("mcp:basic", "mcp:all")}, {}, "mcp:basic mcp:all"),
        ({}, {}, None),
        ({"challenge_scope": "mcp:basic"}, {"scopes": "mine"}, "mcp:basic mine"),
        ({"scopes_supported": ("mcp:all",)}, {"scopes": ["mine"]}, "mine"),
        ({"challenge_scope": "mcp:basic", "as_scopes_supported": ("email",)}, {}, "mcp:basic"),
        (
            {"challenge_scope": "mcp:basic", "as_scopes_supported": ("offline_access",)},
            {},
            "mcp:basic offline_access",
        ),
        ({"as_scopes_supported": ("offline_access",)}, {}, None),
    ],
)
def test_scopes_come_from_the_challenge_the_user_or_the_resource(
    serve: Start, person: Person, settings: dict[str, Any], options: dict[str, Any], asked: str | None
) -> None:
    server = serve(**settings)
    assert call(authorizer(server, person, **options), server) == 200
    assert person.scopes == [asked]
    assert server.at("register")[0].json.get("scope") == asked


@pytest.mark.requirement("security:oauth")
def test_missing_scopes_lead_to_an_authorization_for_the_old_and_the_new(
    serve: Start, person: Person
) -> None:
    server = serve(challenge_scope="mcp:basic", required_scopes={"tools/call": "mcp:write"})
    mine = authorizer(server, person)
    assert call(mine, server, "tools/list") == 200
    assert call(mine, server, "tools/call") == 200
    assert person.scopes == ["mcp:basic", "mcp:basic mcp:write"]
    assert (server.count("register"), server.count("prm")) == (1, 1)
    clean(server)


def test_a_client_registered_for_fewer_scopes_registers_anew_for_the_next_login(
    serve: Start, person: Person
) -> None:
    server = serve(challenge_scope="mcp:basic", required_scopes={"tools/call": "mcp:write"})
    mine = authorizer(server, person)
    assert call(mine, server, "tools/list") == 200
    server.settings.authorize_error = "invalid_scope"
    with pytest.raises(AuthorizationFailed, match="refused the login: invalid_scope"):
        call(mine, server)
    server.settings.authorize_error = None
    assert call(mine, server) == 200
    assert [request.json["scope"] for request in server.at("register")] == [
        "mcp:basic",
        "mcp:basic mcp:write",
    ]


def test_what_a_server_granted_unasked_is_asked_for_along_with_what_is_missing(
    serve: Start, person: Person
) -> None:
    server = serve(granted_scope="mcp:basic", required_scopes={"tools/call": "mcp:write"})
    mine = authorizer(server, person)
    assert call(mine, server, "tools/list") == 200
    server.settings.granted_scope = None
    assert call(mine, server) == 200
    assert person.scopes == [None, "mcp:basic mcp:write"]


def test_scopes_that_are_never_enough_are_asked_for_at_most_three_times(serve: Start, person: Person) -> None:
    server = serve(challenge_scope="mcp:basic", always_insufficient=True)
    with pytest.raises(AuthorizationFailed, match="asked for already and not granted"):
        call(authorizer(server, person), server)
    server.settings.required_scopes["tools/call"] = "mcp:write"
    with pytest.raises(AuthorizationFailed, match="asked for already and not granted"):
        call(authorizer(server, person), server)
    assert len(person.pages) <= 3


def test_a_server_that_wants_new_scopes_each_time_is_given_up(serve: Start) -> None:
    server = serve(challenge_scope="scope-0", always_insufficient=True)
    person = Person(lambda url: _next_scope(server, url))
    with pytest.raises(AuthorizationFailed, match="other scopes after each authorization"):
        call(authorizer(server, person), server)
    assert len(person.pages) == 3


def _next_scope(server: AuthorizationServer, url: str) -> str:
    server.settings.challenge_scope = f"scope-{server.count('authorize') + 1}"
    return browse(url)


# -- renewal ----------------------------------------------------------------------------------------------


def test_an_expired_token_is_refreshed_before_it_is_sent(
    serve: Start, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(expires_in=3600, challenge_scope="mcp:basic")
    mine = authorizer(server, person)
    assert call(mine, server) == 200
    let_pass(monkeypatch, 3540)
    assert call(mine, server) == 200
    assert server.count("token") == 1
    let_pass(monkeypatch, 3580)
    assert call(mine, server) == 200
    forms = [request.form["grant_type"] for request in server.at("token")]
    assert forms == ["authorization_code", "refresh_token"]
    assert server.at("token")[1].form["resource"] == server.resource_url
    assert [request.status for request in server.at("resource")] == [401, 200, 200, 200]
    clean(server)


@pytest.mark.parametrize("refresh", ["rotate", "keep", "omit"])
def test_what_a_refresh_leaves_out_stays_as_it_was(serve: Start, person: Person, refresh: str) -> None:
    server = serve(challenge_scope="mcp:basic", refresh=refresh, answer_scope=False)
    storage = MemoryStorage()
    mine = authorizer(server, person, storage=storage)
    assert call(mine, server) == 200
    for _ in range(2):
        server.revoke_tokens("access")
        assert call(mine, server) == 200
    kept = storage.load_tokens(server.issuer, server.resource_url)
    assert isinstance(kept, Tokens)
    assert kept.refresh_token == server.issued("refresh_token")[-1]
    assert kept.scope == kept.requested == ("mcp:basic",)
    assert len(person.pages) == 1
    clean(server)


def test_a_refused_refresh_token_leads_to_a_new_login(serve: Start, person: Person) -> None:
    server = serve()
    mine = authorizer(server, person)
    assert call(mine, server) == 200
    server.revoke_tokens("all")
    assert call(mine, server) == 200
    assert len(person.pages) == 2


def test_a_token_that_expires_without_refresh_leads_to_a_new_login(
    serve: Start, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(refresh="none")
    mine = authorizer(server, person)
    assert call(mine, server) == 200
    let_pass(monkeypatch, 3600)
    assert call(mine, server) == 200
    assert len(person.pages) == 2


def test_a_server_that_refuses_every_token_ends_the_call_and_the_next_starts_anew(
    serve: Start, person: Person
) -> None:
    server = serve(faults={"resource": Fault(Reply(401))}, announce=None)
    mine = authorizer(server, person)
    for _ in range(2):
        with pytest.raises(AuthorizationFailed, match="right after it was issued"):
            call(mine, server)
    # One login and one refresh each, at most.
    assert (server.count("authorize"), server.count("token")) == (2, 3)
    server.settings.faults.clear()
    assert call(mine, server) == 200


def test_why_a_server_refuses_a_new_token_is_told_without_the_token(serve: Start, person: Person) -> None:
    server = serve(announce=None)

    def refusing(request: Recorded) -> Reply:
        token = request.headers.get("authorization", "").rpartition(" ")[2]
        challenge = f'Bearer error="invalid_token", error_description="wrong audience in {token}"'
        return Reply(401, (("WWW-Authenticate", challenge),))

    server._resource = refusing  # type: ignore[method-assign]  # the one endpoint that is to be strange
    with pytest.raises(AuthorizationFailed) as raised:
        call(authorizer(server, person), server)
    said = r"right after it was issued: invalid_token \(wrong audience in \*\*\*\); ask its operator"
    assert re.search(said, raised.value.message)


@pytest.mark.requirement("security:oauth")
def test_after_a_migration_nothing_of_the_old_server_is_shown_to_the_new(
    serve: Start, person: Person
) -> None:
    resource, first, second = serve(), serve(), serve()
    resource.delegate_to(first)
    mine = authorizer(resource, person)
    assert call(mine, resource) == 200
    resource.delegate_to(second)
    assert call(mine, resource) == 200
    assert (first.count("register"), second.count("register")) == (1, 1)
    assert person.asked[0]["client_id"] != person.asked[1]["client_id"]
    assert second.saw(person.asked[0]["client_id"]) == []
    clean(resource, first, second)


def test_metadata_that_are_not_where_they_were_announced_are_looked_for_at_the_known_places(
    serve: Start, person: Person
) -> None:
    server = serve(announce="custom", prm=("custom",))
    mine = authorizer(server, person)
    assert call(mine, server) == 200
    server.settings.announce, server.settings.prm = None, ("path",)
    server.revoke_tokens("all")
    assert call(mine, server) == 200
    clean(server)


def test_metadata_stay_where_they_were_announced_though_not_every_challenge_says_so(
    serve: Start, person: Person
) -> None:
    server = serve(announce="custom", prm=("custom",))
    mine = authorizer(server, person)
    assert call(mine, server) == 200
    server.settings.announce = None
    server.revoke_tokens("all")
    assert call(mine, server) == 200
    assert {request.path for request in server.at("prm")} == {"/custom/resource-metadata.json"}


@pytest.mark.parametrize("status", [404, 500])
def test_a_token_that_ends_after_a_migration_is_not_renewed_where_nobody_renews(
    serve: Start, person: Person, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    resource, first, second = serve(), serve(), serve()
    resource.delegate_to(first)
    mine = authorizer(resource, person)
    assert call(mine, resource) == 200
    resource.delegate_to(second)
    first.settings.faults.update({name: Fault(failing(status)) for name in ("metadata", "token")})
    let_pass(monkeypatch, 3600)
    assert call(mine, resource) == 200
    assert (second.count("authorize"), second.count("token")) == (1, 1)
    clean(resource, first, second)


def test_a_token_that_ends_while_its_authorization_server_is_away_is_renewed_later(
    serve: Start, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve()
    mine = authorizer(server, person)
    assert call(mine, server) == 200
    server.settings.faults["token"] = Fault(failing(503))
    let_pass(monkeypatch, 3600)
    with pytest.raises(AuthorizationFailed, match="HTTP 503") as raised:
        call(mine, server)
    assert raised.value.retryable
    server.settings.faults.clear()
    assert call(mine, server) == 200
    assert len(person.pages) == 1


def test_credentials_given_by_hand_are_not_shown_to_a_new_authorization_server(
    serve: Start, person: Person
) -> None:
    resource, first, second = serve(), serve(), serve()
    resource.delegate_to(first)
    first.add_client("mine", secret="the secret")
    mine = authorizer(resource, person, client_id="mine", client_secret="the secret")
    assert call(mine, resource) == 200
    resource.delegate_to(second)
    with pytest.raises(AuthorizationFailed, match="shown to nobody else"):
        call(mine, resource)
    assert second.requests == []
    clean(resource, first, second)


def test_the_issuer_may_be_fixed_from_the_start(serve: Start, person: Person) -> None:
    resource, other = serve(), serve()
    mine = authorizer(resource, person, client_id="mine", issuer=other.issuer)
    with pytest.raises(AuthorizationFailed, match="belong to"):
        call(mine, resource)
    assert other.requests == []


def test_a_second_client_with_the_same_storage_needs_no_login(serve: Start, person: Person) -> None:
    server, storage = serve(), MemoryStorage()
    assert call(authorizer(server, person, storage=storage), server) == 200
    assert call(authorizer(server, person, storage=storage), server) == 200
    assert len(person.pages) == 1


@pytest.mark.requirement("security:oauth")
def test_a_token_goes_to_the_origin_it_was_issued_for_and_to_no_other(serve: Start, person: Person) -> None:
    server, evil = serve(), serve()
    mine = authorizer(server, person)
    assert call(mine, server) == 200
    assert call(mine, evil) == 401
    assert "authorization" not in evil.requests[0].headers
    assert [request.endpoint for request in evil.requests] == ["resource"]
    clean(server, evil)


def test_a_403_for_another_reason_is_left_to_the_caller(serve: Start, person: Person) -> None:
    server = serve(faults={"resource": Fault(Reply(403))})
    assert call(authorizer(server, person), server) == 403
    assert person.pages == []
