"""The fake authorization server keeps its word: honest if asked, strict with clients, hostile on demand."""

from __future__ import annotations

import base64
import gzip
import hashlib
import http.client
import json
import secrets
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qs, parse_qsl, quote_plus, urlencode, urlsplit

import pytest

from mcp_actors.auth.jose import DpopKey, SigningKey, client_assertion
from tests.auth.authorization_server import (
    CLIENT_ASSERTION,
    EXCHANGE,
    ID_JAG,
    ID_TOKEN,
    JWT_BEARER,
    AuthorizationServer,
    Fault,
    Reply,
    Settings,
    assert_no_secret_elsewhere,
    browse,
    dripping,
    endless,
    failing,
    gzip_bomb,
    html,
    huge,
    redirect,
    sightings,
    silent,
)

CALLBACK = "http://127.0.0.1:3000/callback"
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def send(method: str, url: str, *, body: object = None, headers: Mapping[str, str] | None = None) -> Answer:
    """One exchange: a mapping is sent as JSON, text as a form. Redirects are not followed."""
    parts = urlsplit(url)
    kind = "application/x-www-form-urlencoded" if isinstance(body, str) else "application/json"
    content = body if isinstance(body, str) or body is None else json.dumps(body)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=5.0)
    try:
        target = f"{parts.path}?{parts.query}" if parts.query else parts.path
        connection.request(method, target, content, {"Content-Type": kind, **(headers or {})})
        answer = connection.getresponse()
        return Answer(answer.status, answer.headers, answer.read())
    finally:
        connection.close()


@dataclass(slots=True)
class Walker:
    """A client that does every step as it should; a test changes one of them."""

    server: AuthorizationServer
    resource: str = ""
    client_id: str = ""
    secret: str = ""
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48))
    dpop: DpopKey | None = None

    def register(self, **changes: Any) -> Any:
        asked = {"redirect_uris": [CALLBACK], "application_type": "native", **changes}
        answer = send("POST", self.server.url("register"), body=asked).json
        self.client_id, self.secret = answer["client_id"], answer.get("client_secret", "")
        return answer

    def authorization_url(self, **changes: str | None) -> str:
        digest = hashlib.sha256(self.verifier.encode()).digest()
        asked = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": CALLBACK,
            "state": "state-1",
            "code_challenge": base64.urlsafe_b64encode(digest).decode().rstrip("="),
            "code_challenge_method": "S256",
            "resource": self.resource or self.server.resource_url,
            **changes,
        }
        query = urlencode({name: value for name, value in asked.items() if value is not None})
        return f"{self.server.url('authorize')}?{query}"

    def authorize(self, **changes: str | None) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(browse(self.authorization_url(**changes))).query))

    def token(
        self, grant_type: str, headers: Mapping[str, str] | None = None, /, **members: str | None
    ) -> Answer:
        form = {"grant_type": grant_type, "resource": self.resource or self.server.resource_url, **members}
        body = urlencode({name: value for name, value in form.items() if value is not None})
        return send("POST", self.server.url("token"), body=body, headers=headers)

    def trade(self, code: str, headers: Mapping[str, str] | None = None, /, **changes: str | None) -> Answer:
        members = {
            "code": code,
            "redirect_uri": CALLBACK,
            "client_id": self.client_id,
            "code_verifier": self.verifier,
            **changes,
        }
        return self.token("authorization_code", headers, **members)

    def walk(self, **changes: str | None) -> Any:
        """The whole way to a token answer."""
        if not self.client_id:
            self.register()
        return self.trade(self.authorize(**changes)["code"]).json


def call(server: AuthorizationServer, token: str | None = None, **headers: str) -> Answer:
    known = {} if token is None else {"Authorization": f"Bearer {token}"}
    return send("POST", server.resource_url, body=CALL, headers={**known, **headers})


@pytest.fixture
def start() -> Iterator[Callable[..., AuthorizationServer]]:
    started: list[AuthorizationServer] = []

    def make(**settings: Any) -> AuthorizationServer:
        started.append(AuthorizationServer(Settings(**settings)).__enter__())
        return started[-1]

    yield make
    for server in started:
        server.__exit__()


Start = Callable[..., AuthorizationServer]


def test_the_whole_way_leads_to_an_answer(start: Start) -> None:
    server = start(results={"tools/call": {"content": []}})
    refused = call(server)
    assert refused.status == 401
    prm = send("GET", f"{server.origin}/.well-known/oauth-protected-resource/mcp").json
    assert f'resource_metadata="{server.origin}/.well-known/' in str(refused.headers["WWW-Authenticate"])
    assert prm["authorization_servers"] == [server.issuer]
    document = send("GET", f"{server.origin}/.well-known/oauth-authorization-server").json
    assert document["issuer"] == server.issuer
    assert document["token_endpoint"] == server.url("token")
    tokens = Walker(server, resource=prm["resource"]).walk(scope="a b")
    assert (tokens["token_type"], tokens["expires_in"], tokens["scope"]) == ("Bearer", 3600, "a b")
    answer = call(server, tokens["access_token"])
    assert answer.json == {"jsonrpc": "2.0", "id": 1, "result": {"content": []}}
    assert server.violations == []
    assert_no_secret_elsewhere(server)


# Metadata

LOCATIONS = {
    "path": "/.well-known/oauth-protected-resource/mcp",
    "root": "/.well-known/oauth-protected-resource",
    "custom": "/custom/resource-metadata.json",
}


@pytest.mark.parametrize("location", LOCATIONS)
@pytest.mark.parametrize("announced", [True, False])
def test_the_prm_is_where_the_settings_say_and_nowhere_else(
    start: Start, location: str, announced: bool
) -> None:
    server = start(prm=(location,), announce=location if announced else None)
    found = {name: send("GET", server.origin + path).status for name, path in LOCATIONS.items()}
    assert found == {name: 200 if name == location else 404 for name in LOCATIONS}
    assert server.count("prm") == 3
    challenge = str(call(server).headers["WWW-Authenticate"])
    expected = f'Bearer resource_metadata="{server.origin}{LOCATIONS[location]}"' if announced else "Bearer"
    assert challenge == expected


@pytest.mark.parametrize("tenant", ["", "/tenant1"])
def test_the_metadata_is_where_the_settings_say_and_nowhere_else(start: Start, tenant: str) -> None:
    server = start(issuer_path=tenant)
    paths = {
        "oauth": f"/.well-known/oauth-authorization-server{tenant}",
        "oidc": f"/.well-known/openid-configuration{tenant}",
        "oidc-appended": f"{tenant}/.well-known/openid-configuration",
    }
    for form, served in paths.items():
        server.settings.metadata = (form,)  # type: ignore[assignment]  # one of the three
        found = {path: send("GET", server.origin + path).status for path in set(paths.values())}
        assert found == {path: 200 if path == served else 404 for path in paths.values()}
    assert send("GET", server.origin + served).json["authorization_endpoint"] == server.issuer + "/authorize"
    server.settings.metadata = ()
    assert send("GET", server.origin + served).status == 404


def test_members_of_the_documents_can_be_changed_and_removed(start: Start) -> None:
    server = start(
        metadata_changes={"issuer": "https://evil.example", "code_challenge_methods_supported": None},
        prm_changes={"authorization_servers": [], "resource": "https://evil.example/mcp"},
        scopes_supported=("a", "b"),
        as_scopes_supported=("offline_access",),
        cimd=True,
        registration=False,
        iss_advertised=False,
        auth_methods=("none",),
        dpop=True,
    )
    prm = send("GET", server.origin + LOCATIONS["path"]).json
    assert (prm["authorization_servers"], prm["resource"]) == ([], "https://evil.example/mcp")
    assert prm["scopes_supported"] == ["a", "b"]
    document = send("GET", f"{server.origin}/.well-known/oauth-authorization-server").json
    assert document["issuer"] == "https://evil.example"
    assert document["scopes_supported"] == ["offline_access"]
    assert document["client_id_metadata_document_supported"] is True
    assert document["token_endpoint_auth_methods_supported"] == ["none"]
    assert document["dpop_signing_alg_values_supported"] == ["ES256"]
    absent = {
        "code_challenge_methods_supported",
        "registration_endpoint",
        "authorization_response_iss_parameter_supported",
    }
    assert absent & set(document) == set()


# Registration and authorization


@pytest.mark.parametrize("method", ["none", "client_secret_basic", "client_secret_post"])
def test_registration_returns_the_chosen_method_and_the_token_endpoint_takes_no_other(
    start: Start, method: str
) -> None:
    server = start(registered_method=method)
    walker = Walker(server)
    answer = walker.register(grant_types=["authorization_code", "refresh_token"])
    assert (answer["token_endpoint_auth_method"], "client_secret" in answer) == (method, method != "none")
    [request] = server.at("register")
    assert request.json["grant_types"] == ["authorization_code", "refresh_token"]
    packed = f"{quote_plus(walker.client_id)}:{quote_plus(walker.secret)}".encode()
    ways: dict[str, tuple[dict[str, str], dict[str, str]]] = {
        "none": ({}, {}),
        "client_secret_basic": ({"Authorization": "Basic " + base64.b64encode(packed).decode()}, {}),
        "client_secret_post": ({}, {"client_secret": walker.secret or "some-secret"}),
    }
    results = {}
    for name, (headers, members) in ways.items():
        code = walker.authorize()["code"]
        results[name] = walker.trade(code, headers, **members).status
    assert results == {name: 200 if name == method else 401 for name in ways}
    assert len(server.violations) == 2


def test_a_basic_header_that_is_not_form_encoded_is_refused(start: Start) -> None:
    server = start(registered_method="client_secret_basic")
    walker = Walker(server)
    walker.register()
    raw = base64.b64encode(f"{walker.client_id}:{walker.secret}".encode()).decode()
    code = walker.authorize()["code"]
    assert walker.trade(code, {"Authorization": f"Basic {raw}"}).json["error"] == "invalid_client"


def test_two_ways_of_authentication_at_once_are_a_violation(start: Start) -> None:
    server = start()
    server.add_client("me", secret="a-long-secret")
    headers = {"Authorization": "Basic " + base64.b64encode(b"me:a-long-secret").decode()}
    answer = Walker(server).token("client_credentials", headers, client_secret="a-long-secret")
    assert answer.json["error"] == "invalid_request"
    assert "several ways" in server.violations[0]


@pytest.mark.parametrize(
    ("asked", "words"),
    [({"redirect_uris": []}, "redirect_uris"), ({"application_type": "desktop"}, "application_type")],
)
def test_a_poor_registration_is_a_violation(start: Start, asked: dict[str, Any], words: str) -> None:
    server = start()
    send(
        "POST", server.url("register"), body={"redirect_uris": [CALLBACK], "application_type": "web", **asked}
    )
    assert words in server.violations[0]
    assert send("POST", server.url("register"), body="a=b").status == 400


def test_registration_can_be_off_or_answer_something_else(start: Start) -> None:
    server = start(registration_changes={"token_endpoint_auth_method": "tls_client_auth"})
    assert Walker(server).register()["token_endpoint_auth_method"] == "tls_client_auth"
    server.settings.registration = False
    assert send("POST", server.url("register"), body={}).status == 404


def test_a_metadata_document_names_a_client_if_the_server_says_so(start: Start) -> None:
    url = "https://client.example/metadata.json"
    server = start(cimd=True)
    assert Walker(server, client_id=url).walk()["token_type"] == "Bearer"
    server = start()
    assert send("GET", Walker(server, client_id=url).authorization_url()).status == 400


@pytest.mark.parametrize("iss", ["right", "missing", "wrong", "slash"])
@pytest.mark.parametrize("error", [None, "access_denied"])
def test_the_response_carries_the_issuer_as_configured(start: Start, iss: str, error: str | None) -> None:
    server = start(iss=iss, authorize_error=error, issuer_path="/t")
    walker = Walker(server)
    walker.register()
    answer = walker.authorize()
    expected = {"right": server.issuer, "slash": server.issuer + "/", "wrong": "https://wrong.example"}
    assert answer.get("iss") == expected.get(iss)
    assert answer["state"] == "state-1"
    assert answer.get("error") == error
    assert ("code" in answer) == (error is None)


def test_the_state_can_be_another(start: Start) -> None:
    server = start(state="forged")
    walker = Walker(server)
    walker.register()
    assert walker.authorize()["state"] == "forged"


@pytest.mark.parametrize(
    "changes",
    [
        {"response_type": "token"},
        {"state": None},
        {"code_challenge_method": "plain"},
        {"code_challenge": None},
        {"resource": None},
        {"resource": "https://other.example/mcp"},
    ],
)
def test_a_wrong_authorization_request_is_sent_back_with_an_error(
    start: Start, changes: dict[str, str | None]
) -> None:
    server = start()
    walker = Walker(server)
    walker.register()
    assert walker.authorize(**changes)["error"] in ("invalid_request", "invalid_target")
    assert len(server.violations) == 1


@pytest.mark.parametrize("changes", [{"client_id": "nobody"}, {"redirect_uri": "http://127.0.0.1:1/other"}])
def test_an_untrusted_redirect_is_never_taken(start: Start, changes: dict[str, str]) -> None:
    server = start()
    walker = Walker(server)
    walker.register()
    assert send("GET", walker.authorization_url(**changes)).status == 400
    with pytest.raises(AssertionError, match="no redirect: 400"):
        browse(walker.authorization_url(**changes))


# The token endpoint


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"code_verifier": "x" * 43}, "invalid_grant"),
        ({"code_verifier": None}, "invalid_grant"),
        ({"code": "another"}, "invalid_grant"),
        ({"redirect_uri": "http://127.0.0.1:3000/"}, "invalid_grant"),
        ({"client_id": "nobody"}, "invalid_client"),
        ({"client_id": None}, "invalid_client"),
        ({"resource": None}, "invalid_target"),
        ({"resource": "https://other.example"}, "invalid_target"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
    ],
)
def test_a_wrong_trade_is_refused_and_a_violation(
    start: Start, changes: dict[str, str | None], error: str
) -> None:
    server = start()
    walker = Walker(server)
    walker.register()
    form = {"code": walker.authorize()["code"], **changes}
    grant = form.pop("grant_type", None) or "authorization_code"
    known = {"client_id": walker.client_id, "redirect_uri": CALLBACK, "code_verifier": walker.verifier}
    answer = walker.token(grant, **{**known, **form})
    assert answer.json["error"] == error
    assert len(server.violations) == 1


def test_a_code_is_good_for_one_token(start: Start) -> None:
    server = start()
    walker = Walker(server)
    walker.register()
    code = walker.authorize()["code"]
    assert walker.trade(code).status == 200
    assert walker.trade(code).json["error"] == "invalid_grant"
    assert server.violations == ["token: the code is used before"]


def test_a_code_belongs_to_the_client_that_asked(start: Start) -> None:
    server = start()
    first, second = Walker(server), Walker(server)
    first.register()
    second.register()
    answer = replace(second, verifier=first.verifier).trade(first.authorize()["code"])
    assert answer.json["error"] == "invalid_grant"


@pytest.mark.parametrize("body", ["", "grant_type=a&grant_type=b", {"grant_type": "authorization_code"}])
def test_a_token_request_is_one_form_without_repetition(start: Start, body: object) -> None:
    server = start()
    assert send("POST", server.url("token"), body=body).json["error"] == "invalid_request"
    assert send("POST", server.url("token") + "?grant_type=x", body="a=b").json["error"] == "invalid_request"


def test_tokens_expire_and_can_be_revoked(start: Start) -> None:
    server = start(expires_in=60)
    walker = Walker(server)
    token = walker.walk()["access_token"]
    assert call(server, token).status == 200
    server.advance(61)
    expired = call(server, token)
    assert expired.status == 401
    assert 'error="invalid_token"' in str(expired.headers["WWW-Authenticate"])
    again = walker.walk()
    server.revoke_tokens()
    assert call(server, again["access_token"]).status == 401
    refresh = {"refresh_token": again["refresh_token"], "client_id": walker.client_id}
    third = walker.token("refresh_token", **refresh).json
    assert call(server, third["access_token"]).status == 200
    body = urlencode({"token": third["access_token"], "client_id": walker.client_id})
    assert send("POST", server.url("revoke"), body=body).status == 200
    assert call(server, third["access_token"]).status == 401
    server.revoke_tokens("refresh")
    gone = {"refresh_token": third["refresh_token"], "client_id": walker.client_id}
    assert walker.token("refresh_token", **gone).json["error"] == "invalid_grant"
    assert server.violations == []
    assert_no_secret_elsewhere(server)


def test_a_token_without_a_stated_life_does_not_expire(start: Start) -> None:
    server = start(expires_in=None)
    answer = Walker(server).walk()
    assert "expires_in" not in answer
    server.advance(10**9)
    assert call(server, answer["access_token"]).status == 200


@pytest.mark.parametrize("mode", ["rotate", "keep", "omit", "none"])
def test_refresh_tokens_are_rotated_kept_omitted_or_never_given(start: Start, mode: str) -> None:
    server = start(refresh=mode)
    walker = Walker(server)
    first = walker.walk(scope="a b")
    assert ("refresh_token" in first) == (mode != "none")
    form = {"refresh_token": first.get("refresh_token", "none"), "client_id": walker.client_id}
    second = walker.token("refresh_token", **form)
    assert second.status == (400 if mode == "none" else 200)
    given = second.json.get("refresh_token")
    assert (given is not None, given == form["refresh_token"]) == (mode in ("rotate", "keep"), mode == "keep")
    assert walker.token("refresh_token", **form).status == (400 if mode in ("rotate", "none") else 200)


def test_a_refresh_may_narrow_the_scope_and_not_widen_it(start: Start) -> None:
    server = start(refresh="keep")
    walker = Walker(server)
    form = {"refresh_token": walker.walk(scope="a b")["refresh_token"], "client_id": walker.client_id}
    assert walker.token("refresh_token", **form, scope="a").json["scope"] == "a"
    assert walker.token("refresh_token", **form).json["scope"] == "a b"
    assert walker.token("refresh_token", **form, scope="a c").json["error"] == "invalid_scope"


def test_the_token_answer_can_be_strange(start: Start) -> None:
    server = start(token_type="mac", answer_scope=False, token_changes={"access_token": None, "extra": 5})
    answer = Walker(server).walk(scope="a")
    assert (answer["token_type"], answer["extra"]) == ("mac", 5)
    assert {"access_token", "scope"} & set(answer) == set()


# Other grants


def test_client_credentials_with_a_secret(start: Start) -> None:
    server = start()
    server.add_client("me", secret="a-long-secret")
    headers = {"Authorization": "Basic " + base64.b64encode(b"me:a-long-secret").decode()}
    answer = Walker(server).token("client_credentials", headers, scope="a")
    assert (answer.json["scope"], "refresh_token" in answer.json) == ("a", False)
    assert call(server, answer.json["access_token"]).status == 200
    wrong = {"Authorization": "Basic " + base64.b64encode(b"me:another-secret").decode()}
    assert Walker(server).token("client_credentials", wrong).json["error"] == "invalid_client"
    with pytest.raises(ValueError, match="shorter secret"):
        server.add_client("you", secret="short")


def test_client_credentials_with_a_signed_assertion(start: Start) -> None:
    server = start(issuer_path="/t")
    key = SigningKey.generate("ES256")
    server.add_client("me", public_key=key.public_jwk)

    def ask(audience: str = server.issuer, signer: SigningKey = key, kind: str = CLIENT_ASSERTION) -> Answer:
        assertion = client_assertion(client_id="me", audience=audience, key=signer)
        members = {"client_assertion": assertion, "client_assertion_type": kind}
        return Walker(server).token("client_credentials", **members)

    assert call(server, ask().json["access_token"]).status == 200
    assert server.violations == []
    assert "aud" in ask(audience=server.url("token")).json["error_description"]
    assert "signature" in ask(signer=SigningKey.generate()).json["error_description"]
    assert ask(kind="other").json["error"] == "invalid_client"
    replayed = server.at("token")[0].form
    assert "seen before" in Walker(server).token("", **replayed).json["error_description"]


def test_client_credentials_need_credentials(start: Start) -> None:
    server = start()
    server.add_client("me")
    answer = Walker(server).token("client_credentials", client_id="me")
    assert answer.json["error"] == "unauthorized_client"


def exchange(idp: AuthorizationServer, audience: str, /, **changes: str | None) -> Answer:
    headers = {"Authorization": "Basic " + base64.b64encode(b"me-at-idp:idp-long-secret").decode()}
    members = {
        "requested_token_type": ID_JAG,
        "subject_token_type": ID_TOKEN,
        "subject_token": idp.id_token("me-at-idp"),
        "audience": audience,
        **changes,
    }
    return Walker(idp).token(EXCHANGE, headers, **members)


def test_an_id_token_becomes_an_id_jag_becomes_an_access_token(start: Start) -> None:
    idp, server = start(id_jag_client="me"), start()
    idp.add_client("me-at-idp", secret="idp-long-secret")
    server.add_client("me", secret="a-long-secret")
    answer = exchange(idp, server.issuer, resource=server.resource_url, scope="a").json
    assert (answer["issued_token_type"], answer["token_type"]) == (ID_JAG, "N_A")
    headers = {"Authorization": "Basic " + base64.b64encode(b"me:a-long-secret").decode()}
    jag = answer["access_token"]
    assert "not trusted" in Walker(server).token(JWT_BEARER, headers, assertion=jag).json["error_description"]
    server.trust(idp)
    token = Walker(server).token(JWT_BEARER, headers, assertion=jag).json
    assert token["scope"] == "a"
    assert call(server, token["access_token"]).status == 200
    assert (idp.violations, server.violations) == ([], [])
    assert_no_secret_elsewhere(idp, server)
    assert sightings(idp, server)["id_jag"] == {(server.origin, "token")}


@pytest.mark.parametrize(
    "changes",
    [
        {"subject_token": "no.jwt.atall"},
        {"subject_token_type": "urn:ietf:params:oauth:token-type:saml2"},
        {"requested_token_type": None},
        {"audience": None},
    ],
)
def test_a_wrong_exchange_is_refused(start: Start, changes: dict[str, str | None]) -> None:
    idp = start()
    idp.add_client("me-at-idp", secret="idp-long-secret")
    assert exchange(idp, "https://other.example", **changes).status == 400
    assert len(idp.violations) == 1


def test_an_id_token_of_another_client_or_time_is_refused(start: Start) -> None:
    idp = start()
    idp.add_client("me-at-idp", secret="idp-long-secret")
    for subject in (idp.id_token("other"), idp.id_token("me-at-idp", lifetime=-1.0)):
        assert exchange(idp, "https://a.example", subject_token=subject).json["error"] == "invalid_grant"


def test_an_id_jag_for_another_client_is_refused(start: Start) -> None:
    idp, server = start(), start()
    idp.add_client("me-at-idp", secret="idp-long-secret")
    server.add_client("me")
    server.trust(idp)
    jag = exchange(idp, server.issuer, resource=server.resource_url).json["access_token"]
    answer = Walker(server).token(JWT_BEARER, assertion=jag, client_id="me")
    assert "is for 'me-at-idp'" in answer.json["error_description"]


def test_a_workload_token_is_enough_and_a_wrong_one_is_not(start: Start) -> None:
    platform, server = start(), start()
    server.trust(platform)
    valid = platform.workload_token(server.url("token"))
    token = Walker(server).token(JWT_BEARER, assertion=valid).json
    assert call(server, token["access_token"]).status == 200
    for assertion, words in (
        (platform.workload_token("https://other.example"), "aud"),
        (platform.workload_token(server.issuer, lifetime=-1.0), "exp"),
        (valid, "seen before"),
        ("rubbish", "no JWT"),
    ):
        answer = Walker(server).token(JWT_BEARER, assertion=assertion).json
        assert (answer["error"], words in answer["error_description"]) == ("invalid_grant", True)
    assert server.violations == []


# DPoP


def dpop_call(server: AuthorizationServer, key: DpopKey, token: str, nonce: str | None = None) -> Answer:
    proof = key.proof("POST", server.resource_url, access_token=token, nonce=nonce)
    return send(
        "POST", server.resource_url, body=CALL, headers={"Authorization": f"DPoP {token}", "DPoP": proof}
    )


def test_dpop_binds_the_token_to_the_key(start: Start) -> None:
    server = start(dpop=True)
    key, walker = DpopKey.generate(), Walker(server)
    walker.register()
    proof = key.proof("POST", server.url("token"))
    answer = walker.trade(walker.authorize()["code"], {"DPoP": proof}).json
    token = answer["access_token"]
    assert answer["token_type"] == "DPoP"
    assert dpop_call(server, key, token).status == 200
    assert server.violations == []
    stolen = dpop_call(server, DpopKey.generate(), token)
    assert (stolen.status, "another key" in server.violations[0]) == (401, True)
    assert str(stolen.headers["WWW-Authenticate"]).startswith('DPoP error="invalid_token"')
    assert 'algs="ES256"' in str(stolen.headers["WWW-Authenticate"])
    assert call(server, token).status == 401
    replay = walker.trade(walker.authorize()["code"], {"DPoP": proof}).json
    assert replay["error"] == "invalid_dpop_proof"
    assert walker.trade(walker.authorize()["code"]).json["error"] == "invalid_dpop_proof"


def test_a_code_bound_to_a_key_is_not_traded_by_another(start: Start) -> None:
    server = start(dpop=True)
    key, walker = DpopKey.generate(), Walker(server)
    walker.register()
    for signer, status in ((DpopKey.generate(), 400), (key, 200)):
        code = walker.authorize(dpop_jkt=key.thumbprint)["code"]
        proof = signer.proof("POST", server.url("token"))
        assert walker.trade(code, {"DPoP": proof}).status == status


def test_nonces_are_asked_for_at_both_places_and_can_be_rotated(start: Start) -> None:
    server = start(dpop=True, token_nonces=True, resource_nonces=True)
    key, walker = DpopKey.generate(), Walker(server)
    walker.register()
    code = walker.authorize()["code"]
    refused = walker.trade(code, {"DPoP": key.proof("POST", server.url("token"))})
    assert (refused.status, refused.json["error"]) == (400, "use_dpop_nonce")
    proof = key.proof("POST", server.url("token"), nonce=refused.headers["DPoP-Nonce"])
    token = walker.trade(code, {"DPoP": proof}).json["access_token"]
    first = dpop_call(server, key, token, refused.headers["DPoP-Nonce"])
    assert 'error="use_dpop_nonce"' in str(first.headers["WWW-Authenticate"])
    nonce = str(first.headers["DPoP-Nonce"])
    assert nonce != refused.headers["DPoP-Nonce"]
    assert dpop_call(server, key, token, nonce).status == 200
    server.rotate_nonces()
    assert dpop_call(server, key, token, nonce).status == 401
    assert server.violations == []


# The resource


def test_the_challenge_can_say_anything(start: Start) -> None:
    server = start(challenge_scope="a b", announce="https://evil.example/prm")
    said = str(call(server).headers["WWW-Authenticate"])
    assert said == 'Bearer scope="a b", resource_metadata="https://evil.example/prm"'
    server.settings.challenge = 'Bearer realm="x\r\nSet-Cookie: stolen=1\r\nX-More: "'
    assert call(server).headers["Set-Cookie"] == "stolen=1"


def test_more_scope_is_asked_for_per_method(start: Start) -> None:
    server = start(required_scopes={"*": "mcp:basic", "tools/call": "mcp:write"})
    walker = Walker(server)
    low = walker.walk(scope="mcp:basic")["access_token"]
    refused = call(server, low)
    assert refused.status == 403
    said = str(refused.headers["WWW-Authenticate"])
    assert said.startswith('Bearer error="insufficient_scope", scope="mcp:basic mcp:write"')
    high = walker.walk(scope="mcp:write mcp:basic")["access_token"]
    assert call(server, high).status == 200
    server.settings.always_insufficient = True
    assert call(server, high).status == 403
    server.settings.always_insufficient = False
    server.settings.granted_scope = "mcp:basic"
    assert call(server, walker.walk(scope="mcp:write mcp:basic")["access_token"]).status == 403


def test_notifications_and_gets_are_answered_without_a_result(start: Start) -> None:
    server = start()
    headers = {"Authorization": f"Bearer {Walker(server).walk()['access_token']}"}
    assert send("POST", server.resource_url, body={"method": "x"}, headers=headers).status == 202
    assert send("GET", server.resource_url, headers=headers).status == 405
    assert send("GET", server.origin + "/elsewhere").status == 404
    assert server.count("unknown") == 1


def test_a_token_in_the_query_is_a_violation(start: Start) -> None:
    server = start()
    send("POST", server.resource_url + "?access_token=x", body=CALL)
    assert server.violations == ["resource: a token in the query"]


def test_a_token_for_another_resource_is_refused(start: Start) -> None:
    authority, one, two = start(), start(), start()
    one.delegate_to(authority)
    two.delegate_to(authority)
    token = Walker(authority, resource=one.resource_url).walk()["access_token"]
    assert (call(one, token).status, call(two, token).status) == (200, 401)
    with pytest.raises(AssertionError, match="access_token at POST"):
        assert_no_secret_elsewhere(authority, one, two)


def test_a_resource_moves_to_another_authorization_server(start: Start) -> None:
    resource, first, second = start(), start(), start(issuer_path="/second")
    resource.delegate_to(first)
    token = Walker(first, resource=resource.resource_url).walk()["access_token"]
    assert call(resource, token).status == 200
    resource.delegate_to(second)
    assert call(resource, token).status == 401
    prm = send("GET", resource.origin + LOCATIONS["path"]).json
    assert prm["authorization_servers"] == [second.issuer]
    token = Walker(second, resource=resource.resource_url).walk()["access_token"]
    assert call(resource, token).status == 200
    assert resource.violations + first.violations + second.violations == []
    assert_no_secret_elsewhere(resource, first, second)


def test_without_a_prm_no_resource_is_asked_for(start: Start) -> None:
    server = start(prm=(), announce=None, metadata=())
    walker = Walker(server)
    walker.register()
    code = walker.authorize(resource=None)["code"]
    token = walker.trade(code, resource=None).json["access_token"]
    assert call(server, token).status == 200
    assert server.violations == []


# Hostility


@pytest.mark.parametrize("endpoint", ["prm", "metadata", "register", "authorize", "token", "resource"])
@pytest.mark.parametrize(
    ("reply", "status"), [(failing(), 503), (html(), 200), (redirect("http://127.0.0.1:1/"), 307)]
)
def test_every_endpoint_can_fail(start: Start, endpoint: str, reply: Reply, status: int) -> None:
    server = start(faults={endpoint: Fault(reply)})
    urls = {
        "prm": server.origin + LOCATIONS["path"],
        "metadata": f"{server.origin}/.well-known/oauth-authorization-server",
        "resource": server.resource_url,
    }
    answer = send("POST", urls.get(endpoint) or server.url(endpoint), body=CALL)
    assert answer.status == status
    assert [request.status for request in server.at(endpoint)] == [status]
    assert answer.headers["Location"] == ("http://127.0.0.1:1/" if status == 307 else None)
    assert (b"<html>" in answer.body) == (status == 200)


def test_a_fault_can_wait_and_end(start: Start) -> None:
    server = start(faults={"prm": Fault(failing(), skip=1, times=2)})
    found = [send("GET", server.origin + LOCATIONS["path"]).status for _ in range(5)]
    assert found == [200, 503, 503, 200, 200]


def test_an_answer_can_be_lost_after_the_work_was_done(start: Start) -> None:
    server = start()
    walker = Walker(server)
    walker.register()
    code = walker.authorize()["code"]
    server.settings.faults["token"] = Fault(failing(), times=1, after=True)
    assert walker.trade(code).status == 503
    assert walker.trade(code).json["error"] == "invalid_grant"


def test_bodies_can_be_huge_or_packed(start: Start) -> None:
    server = start(faults={"prm": Fault(huge(1_000_000)), "metadata": Fault(gzip_bomb(5_000_000))})
    answer = send("GET", server.origin + LOCATIONS["path"])
    assert (len(answer.body), len(answer.json)) == (1_000_000, 1)
    packed = send("GET", f"{server.origin}/.well-known/oauth-authorization-server")
    assert (len(packed.body) < 50_000, packed.headers["Content-Encoding"]) == (True, "gzip")
    assert len(gzip.decompress(packed.body)) == 5_000_000


@pytest.mark.parametrize(("reply", "first"), [(endless(), b"{"), (dripping(0.01), b" ")])
def test_a_body_without_end_ends_with_the_reader(start: Start, reply: Reply, first: bytes) -> None:
    server = start(faults={"prm": Fault(reply)})
    connection = http.client.HTTPConnection("127.0.0.1", urlsplit(server.origin).port, timeout=5.0)
    connection.request("GET", LOCATIONS["path"])
    answer = connection.getresponse()
    assert answer.read(1) == first
    answer.close()
    connection.close()
    assert send("GET", f"{server.origin}/.well-known/oauth-authorization-server").status == 200


@pytest.mark.parametrize(
    "reply", [endless(), dripping(60.0), silent()], ids=["endless", "dripping", "silent"]
)
def test_leaving_ends_every_connection_even_one_that_nobody_reads(reply: Reply, bound: float) -> None:
    before = threading.active_count()
    with AuthorizationServer(Settings(faults={"prm": Fault(reply)})) as server:
        port = urlsplit(server.origin).port
        stuck = socket.create_connection(("127.0.0.1", port), bound)
        stuck.sendall(f"GET {LOCATIONS['path']} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        idle = socket.create_connection(("127.0.0.1", port), bound)
        assert server.wait_for("prm")
    assert threading.active_count() == before
    stuck.close()
    idle.close()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", port), bound)


def test_waiting_for_a_request_that_never_comes_ends(start: Start) -> None:
    assert not start().wait_for("token", timeout=0.01)


def test_a_redirected_secret_is_noticed_where_it_arrived(start: Start) -> None:
    server, evil = start(registered_method="client_secret_basic"), start()
    walker = Walker(server)
    walker.register()
    code = walker.authorize()["code"]
    assert_no_secret_elsewhere(server, evil)
    packed = base64.b64encode(f"{quote_plus(walker.client_id)}:{quote_plus(walker.secret)}".encode()).decode()
    form = urlencode({"code": code, "code_verifier": walker.verifier})
    send("POST", evil.url("token"), body=form, headers={"Authorization": f"Basic {packed}"})
    with pytest.raises(AssertionError) as caught:
        assert_no_secret_elsewhere(server, evil)
    for kind in ("code", "code_verifier", "client_secret"):
        assert f"{kind} at POST {evil.url('token')}" in str(caught.value)
        assert sightings(server, evil)[kind] == {(evil.origin, "token")}
    assert [request.path for request in evil.saw(code)] == ["/token"]
    assert server.issued("code") == [code]


@pytest.mark.parametrize("place", ["path", "query", "header", "json"])
def test_a_secret_is_found_wherever_it_hides(start: Start, place: str) -> None:
    server, evil = start(), start()
    token = Walker(server).walk()["access_token"]
    path = f"/{token}" if place == "path" else "/x"
    query = f"?a={token}" if place == "query" else ""
    headers = {"X-Any": token} if place == "header" else {}
    send("POST", evil.origin + path + query, body={"a": token if place == "json" else ""}, headers=headers)
    with pytest.raises(AssertionError, match="access_token"):
        assert_no_secret_elsewhere(server, evil)


def test_a_client_assertion_at_another_server_is_noticed(start: Start) -> None:
    server, evil = start(), start()
    key = SigningKey.generate()
    assertion = client_assertion(client_id="me", audience=server.issuer, key=key)
    send("POST", evil.url("token"), body=urlencode({"client_assertion": assertion}))
    with pytest.raises(AssertionError, match="client_assertion"):
        assert_no_secret_elsewhere(server, evil)


def test_a_failure_of_the_fake_itself_is_not_silent(start: Start) -> None:
    server = start(iss="nonsense")
    walker = Walker(server)
    walker.register()
    with pytest.raises(http.client.RemoteDisconnected):
        walker.authorize()
    assert server.violations == ["the fake itself failed: KeyError('nonsense')"]


def test_the_state_in_the_answer_is_form_encoded(start: Start) -> None:
    server = start()
    walker = Walker(server)
    walker.register()
    location = browse(walker.authorization_url(state="a&b=c #"))
    assert parse_qs(urlsplit(location).query)["state"] == ["a&b=c #"]
