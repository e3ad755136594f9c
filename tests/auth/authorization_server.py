"""An authorization server and a protected resource on one loopback origin: scripted, recording, hostile.

A server plays both roles, so the smallest test needs one::

    with AuthorizationServer() as server:
        ...                                       # the client under test talks to server.resource_url
        callback = browse(authorization_url)      # the user who says yes: GET, and where it redirects to
        assert server.violations == []            # what the client did wrong, in words
        assert server.count("token") == 1         # requests by endpoint; server.requests holds them all
        assert_no_secret_elsewhere(server)

``server.settings`` is a plain mutable ``Settings``: set it up before or change it between two requests::

    AuthorizationServer(Settings(issuer_path="/tenant1", metadata=("oidc",), prm=("root",), announce=None))
    AuthorizationServer(Settings(metadata_changes={"code_challenge_methods_supported": None}))  # None removes
    server.settings.required_scopes["tools/call"] = "mcp:write"  # step-up: 403 insufficient_scope
    server.settings.faults["token"] = Fault(redirect(evil.origin + "/token"), times=1)
    server.settings.faults["metadata"] = Fault(endless())

Two roles on two origins, a migration, an identity provider::

    with AuthorizationServer() as resource, AuthorizationServer() as first, AuthorizationServer() as second:
        resource.delegate_to(first)               # its PRM names `first`, it takes tokens of `first` only
        ...
        resource.delegate_to(second)              # the tokens of `first` are refused from now on
        second.trust(idp)                         # takes ID-JAGs and workload tokens that `idp` signed
        assert_no_secret_elsewhere(resource, first, second, evil)

Endpoints, by the names used in ``faults``, ``count`` and ``Recorded.endpoint``: ``prm``, ``metadata``,
``register``, ``authorize``, ``token``, ``revoke``, ``resource``; all else is ``unknown`` and answers 404.
A well-known path that the settings do not serve counts as ``prm`` or ``metadata`` too, and answers 404.
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import hashlib
import http.client
import json
import re
import secrets
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Literal
from urllib.parse import parse_qsl, unquote_plus, urlencode, urlsplit

from tests.auth.jose import compact
from tests.auth.jose.compact import Forged, PublicKey, Signer
from tests.auth.jose.proofs import AssertionChecker, Expected, ProofChecker

Method = Literal["none", "client_secret_basic", "client_secret_post", "private_key_jwt"]
Location = Literal["path", "root", "custom"]
Form = Literal["oauth", "oidc", "oidc-appended"]

CODE: Final = "authorization_code"
EXCHANGE: Final = "urn:ietf:params:oauth:grant-type:token-exchange"
JWT_BEARER: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"
ID_JAG: Final = "urn:ietf:params:oauth:token-type:id-jag"
ID_TOKEN: Final = "urn:ietf:params:oauth:token-type:id_token"
CLIENT_ASSERTION: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
PRM_ROOT: Final = "/.well-known/oauth-protected-resource"
PRM_CUSTOM: Final = "/custom/resource-metadata.json"
OAUTH: Final = "/.well-known/oauth-authorization-server"
OIDC: Final = "/.well-known/openid-configuration"


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP answer. Headers are written as they are, line breaks included; status 0 writes nothing."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | Callable[[threading.Event], Iterator[bytes]] = b""


@dataclass(slots=True)
class Fault:
    """Answers ``reply`` instead of the truth: after ``skip`` requests, ``times`` times (None: for ever).

    With ``after`` the request is handled first (a code used up, a refresh token rotated), its answer lost.
    """

    reply: Reply
    times: int | None = None
    skip: int = 0
    after: bool = False


@dataclass(slots=True)
class Settings:
    """What the server does. Everything may be changed while it runs."""

    # The protected resource and its metadata (PRM).
    resource_path: str = "/mcp"
    prm: tuple[Location, ...] = ("path",)  # where it is served; () = nowhere
    announce: str | None = "path"  # named in WWW-Authenticate: a location, a whole URL, or None
    prm_changes: dict[str, Any] = field(default_factory=dict)  # members of the document; None removes one
    scopes_supported: tuple[str, ...] = ()  # in the PRM; () leaves the member out
    challenge_scope: str | None = None  # `scope` of the 401 challenge
    challenge: str | None = None  # the whole 401 WWW-Authenticate value, verbatim
    required_scopes: dict[str, str] = field(default_factory=dict)  # JSON-RPC method or "*": scopes it needs
    always_insufficient: bool = False  # 403 insufficient_scope whatever the token holds
    results: dict[str, Any] = field(default_factory=dict)  # JSON-RPC method: result; else {}
    # The authorization server and its metadata.
    issuer_path: str = ""
    metadata: tuple[Form, ...] = ("oauth",)  # where it is served; () = nowhere
    metadata_changes: dict[str, Any] = field(
        default_factory=dict
    )  # members of the document; None removes one
    auth_methods: tuple[Method, ...] = (
        "none",
        "client_secret_basic",
        "client_secret_post",
        "private_key_jwt",
    )
    as_scopes_supported: tuple[str, ...] = ()  # in the AS metadata, e.g. ("offline_access",)
    registration: bool = True  # dynamic registration offered
    registered_method: Method = "none"  # token_endpoint_auth_method that registration returns
    registration_changes: dict[str, Any] = field(default_factory=dict)  # members of its answer
    cimd: bool = False  # takes an https URL with a path as client_id
    iss: Literal["right", "missing", "wrong", "slash"] = "right"  # in the authorization response
    iss_advertised: bool = True
    authorize_error: str | None = None  # answer the authorization request with this error
    state: str | None = None  # answer with this state instead of the client's
    require_resource: bool = True
    # Tokens.
    token_type: str | None = None  # instead of Bearer or DPoP
    expires_in: int | None = 3600  # None: not said, and the token does not expire
    refresh: Literal["rotate", "keep", "omit", "none"] = "rotate"
    answer_scope: bool = True  # `scope` in the token answer
    granted_scope: str | None = None  # granted instead of what was asked for
    token_changes: dict[str, Any] = field(
        default_factory=dict
    )  # members of the token answer; None removes one
    id_jag_client: str | None = None  # `client_id` in an ID-JAG, where the client has another name at the IdP
    # DPoP.
    dpop: bool = False  # proofs are required at the token endpoint and the resource
    dpop_algorithms: tuple[str, ...] = ("ES256",)
    token_nonces: bool = False  # the token endpoint wants its nonce in the proof
    resource_nonces: bool = False  # the resource wants its nonce in the proof
    faults: dict[str, Fault] = field(default_factory=dict)  # by endpoint


@dataclass(frozen=True, slots=True)
class Recorded:
    """One request as it arrived, and the status it was answered with."""

    origin: str
    endpoint: str
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]  # names in lower case
    body: bytes
    form: dict[str, str]  # empty unless the body is a form
    json: Any  # None unless the body is JSON
    status: int = 0


@dataclass(frozen=True, slots=True)
class _Client:
    client_id: str
    method: str
    secret: str | None = None
    redirect_uris: tuple[str, ...] | None = None  # None: any
    key: PublicKey | None = None


@dataclass(slots=True)
class _Grant:
    """What a code or token stands for."""

    client_id: str
    scope: str
    resource: str | None
    redirect_uri: str = ""
    challenge: str = ""
    thumbprint: str | None = None
    expires: float | None = None


@dataclass(frozen=True, slots=True)
class _Secret:
    kind: str
    value: str
    homes: frozenset[tuple[str, str]]  # (origin, endpoint) that may see it


class _Refused(Exception):
    """An OAuth error answer; a violation unless a client could not know better."""

    def __init__(self, error: str, words: str, *, status: int = 400, innocent: bool = False) -> None:
        super().__init__(words)
        self.error, self.words, self.status, self.innocent = error, words, status, innocent


# One turn for all servers: they look into each other, and a test wants one order of events.
_TURN: Final = threading.Condition(threading.RLock())


class AuthorizationServer:
    """Start with ``with``; leaving it closes every connection and joins every thread."""

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.requests: list[Recorded] = []  # every request, in order of arrival
        self.violations: list[str] = []  # what a client did that it must not do
        self._wire = _Wire(self)
        self.origin = f"http://127.0.0.1:{self._wire.server_port}"
        self._signer = Signer()
        self._trusted: list[AuthorizationServer] = [self]
        self._authority = self
        self._resources: list[AuthorizationServer] = [self]
        self._clients: dict[str, _Client] = {}
        self._codes: dict[str, _Grant] = {}
        self._used_codes: set[str] = set()
        self._access: dict[str, _Grant] = {}
        self._refresh: dict[str, _Grant] = {}
        self._secrets: list[_Secret] = []
        self._proofs, self._assertions = ProofChecker(), AssertionChecker()
        self._ahead = 0.0
        self._nonces = 1

    # Running

    def __enter__(self) -> AuthorizationServer:
        self._thread = threading.Thread(target=self._wire.serve_forever, args=(0.02,), name="authorization")
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._wire.stop()
        self._thread.join()

    @property
    def issuer(self) -> str:
        """The issuer identifier: origin + issuer_path."""
        return self.origin + self.settings.issuer_path

    @property
    def resource_url(self) -> str:
        """The URL of the protected resource: origin + resource_path."""
        return self.origin + self.settings.resource_path

    @property
    def resource_indicator(self) -> str:
        """The ``resource`` that clients must name: the PRM's, as a string."""
        return str(self.settings.prm_changes.get("resource") or self.resource_url)

    def url(self, endpoint: str) -> str:
        """The URL of ``authorize``, ``token``, ``register`` or ``revoke``."""
        return f"{self.issuer}/{endpoint}"

    # Setting the stage

    def add_client(
        self,
        client_id: str,
        *,
        secret: str | None = None,
        method: Method | None = None,
        public_key: str | Mapping[str, Any] | None = None,
    ) -> None:
        """Register a client beforehand; a secret (Basic) or a key decide on the ``method`` unless given."""
        if secret is not None and len(secret) < 8:
            raise ValueError("a shorter secret could not be told from other text")
        key = None if public_key is None else compact.public_key(public_key)
        default = "client_secret_basic" if secret else "private_key_jwt" if key else "none"
        with _TURN:
            self._clients[client_id] = _Client(client_id, method or default, secret, None, key)
            if secret is not None:
                self._keep("client_secret", secret, "token", "revoke")

    def delegate_to(self, other: AuthorizationServer) -> None:
        """Name ``other`` as the one authorization server of this resource, and take its tokens only."""
        with _TURN:
            self._authority._resources.remove(self)
            self._authority = other
            other._resources.append(self)

    def trust(self, idp: AuthorizationServer) -> None:
        """Take ID-JAGs and workload tokens signed by ``idp``; the server itself is trusted from the start."""
        self._trusted.append(idp)

    def id_token(self, client_id: str, *, lifetime: float = 300.0) -> str:
        """An ID token as after a single sign-on here: the subject_token of a token exchange here."""
        token = self._mint({"sub": "user", "aud": client_id}, lifetime)
        self._keep("id_token", token, "token")
        return token

    def workload_token(self, audience: str, *, subject: str = "workload", lifetime: float = 300.0) -> str:
        """A signed workload JWT: the assertion of a jwt-bearer grant at a server that trusts this one."""
        token = self._mint({"sub": subject, "aud": audience}, lifetime)
        self._secrets.append(_Secret("workload_token", token, _token_endpoint_of(audience)))
        return token

    def advance(self, seconds: float) -> None:
        """Let this server's clock jump: tokens expire."""
        self._ahead += seconds

    def revoke_tokens(self, kind: Literal["access", "refresh", "all"] = "access") -> None:
        """Make every token issued so far invalid."""
        with _TURN:
            if kind != "refresh":
                self._access.clear()
            if kind != "access":
                self._refresh.clear()

    def rotate_nonces(self) -> None:
        """Refuse the DPoP nonces given so far."""
        self._nonces += 1

    # Looking at what happened

    def at(self, endpoint: str) -> list[Recorded]:
        """The requests an endpoint has seen, in order."""
        with _TURN:
            return [request for request in self.requests if request.endpoint == endpoint]

    def count(self, endpoint: str) -> int:
        """How many requests an endpoint has seen."""
        return len(self.at(endpoint))

    def wait_for(self, endpoint: str, count: int = 1, timeout: float = 5.0) -> bool:
        """Wait until an endpoint has seen ``count`` requests; False when the time is over."""
        with _TURN:
            return _TURN.wait_for(lambda: self.count(endpoint) >= count, timeout)

    def saw(self, secret: str) -> list[Recorded]:
        """The requests that carry ``secret`` anywhere: path, query, header (Basic decoded), body."""
        with _TURN:
            return [request for request in self.requests if secret in _text(request)]

    def issued(self, kind: str) -> list[str]:
        """Secrets made here, oldest first.

        Kinds: access_token, refresh_token, code, client_secret, id_token, id_jag, workload_token.
        """
        with _TURN:
            return [secret.value for secret in self._secrets if secret.kind == kind]

    # Answering

    def answer(self, request: Recorded) -> Reply:
        """The reply to one request, recorded before it is written. Runs on the thread of the connection."""
        with _TURN:
            fault = self._fault(request.endpoint)
            reply = self._honest(request) if fault is None or fault.after else fault.reply
            if fault is not None:
                reply = fault.reply
            self.requests.append(replace(request, status=reply.status))
            _TURN.notify_all()
            return reply

    def endpoint(self, path: str) -> str:
        """The name of what a path belongs to."""
        if path.startswith(PRM_ROOT) or path == PRM_CUSTOM:
            return "prm"
        if OAUTH in path or OIDC in path:
            return "metadata"
        if path == self.settings.resource_path:
            return "resource"
        name = path.removeprefix(self.settings.issuer_path + "/")
        return name if name in ("authorize", "token", "register", "revoke") else "unknown"

    def _fault(self, endpoint: str) -> Fault | None:
        fault = self.settings.faults.get(endpoint)
        if fault is None or fault.times == 0:
            return None
        if fault.skip > 0:
            fault.skip -= 1
            return None
        if fault.times is not None:
            fault.times -= 1
        return fault

    def _honest(self, request: Recorded) -> Reply:
        handler = {
            "prm": self._prm,
            "metadata": self._metadata,
            "register": self._register,
            "authorize": self._authorize,
            "token": self._token,
            "revoke": self._revoke,
            "resource": self._resource,
        }.get(request.endpoint)
        if handler is None:
            return failing(404)
        try:
            return handler(request)
        except _Refused as refusal:
            if not refusal.innocent:
                self.violations.append(f"{request.endpoint}: {refusal.words}")
            return self._error(refusal, request.endpoint)

    def _error(self, refusal: _Refused, endpoint: str) -> Reply:
        members = {"error": refusal.error, "error_description": refusal.words}
        if endpoint == "resource":
            return self._challenge(refusal)
        return _json(members, refusal.status, *self._nonce_header(endpoint))

    # Metadata

    def _prm(self, request: Recorded) -> Reply:
        if request.path not in [self._prm_path(location) for location in self.settings.prm]:
            return failing(404)
        document: dict[str, Any] = {
            "resource": self.resource_url,
            "authorization_servers": [self._authority.issuer],
            "bearer_methods_supported": ["header"],
        }
        if self.settings.scopes_supported:
            document["scopes_supported"] = list(self.settings.scopes_supported)
        return _json(_changed(document, self.settings.prm_changes))

    def _prm_path(self, location: str) -> str:
        path = self.settings.resource_path.rstrip("/")
        return {"path": PRM_ROOT + path, "root": PRM_ROOT, "custom": PRM_CUSTOM}[location]

    def _metadata(self, request: Recorded) -> Reply:
        tenant = self.settings.issuer_path
        paths = {"oauth": OAUTH + tenant, "oidc": OIDC + tenant, "oidc-appended": tenant + OIDC}
        if request.path not in [paths[form] for form in self.settings.metadata]:
            return failing(404)
        return _json(_changed(self._document(), self.settings.metadata_changes))

    def _document(self) -> dict[str, Any]:
        wanted = self.settings
        document: dict[str, Any] = {
            "issuer": self.issuer,
            "authorization_endpoint": self.url("authorize"),
            "token_endpoint": self.url("token"),
            "revocation_endpoint": self.url("revoke"),
            "response_types_supported": ["code"],
            "grant_types_supported": [CODE, "refresh_token", "client_credentials", JWT_BEARER, EXCHANGE],
            "authorization_grant_profiles_supported": ["urn:ietf:params:oauth:grant-profile:id-jag"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": list(wanted.auth_methods),
            "token_endpoint_auth_signing_alg_values_supported": ["ES256", "RS256", "EdDSA"],
        }
        optional = {
            "registration_endpoint": self.url("register") if wanted.registration else None,
            "scopes_supported": list(wanted.as_scopes_supported) or None,
            "client_id_metadata_document_supported": wanted.cimd or None,
            "authorization_response_iss_parameter_supported": wanted.iss_advertised or None,
            "dpop_signing_alg_values_supported": list(wanted.dpop_algorithms) if wanted.dpop else None,
        }
        return document | {name: value for name, value in optional.items() if value is not None}

    # Registration and authorization

    def _register(self, request: Recorded) -> Reply:
        asked = request.json
        if not self.settings.registration:
            return failing(404)
        if request.method != "POST" or not isinstance(asked, dict):
            raise _Refused("invalid_client_metadata", "registration is a POST of a JSON object")
        uris = asked.get("redirect_uris")
        if not isinstance(uris, list) or not uris:
            raise _Refused("invalid_redirect_uri", "no redirect_uris")
        if asked.get("application_type") not in ("native", "web"):
            self.violations.append(f"register: application_type is {asked.get('application_type')!r}")
        method = self.settings.registered_method
        members = {
            **asked,
            "client_id": f"client-{secrets.token_hex(8)}",
            "token_endpoint_auth_method": method,
        }
        if method.startswith("client_secret"):
            # Every character that a form must encode: who forgets to is found out.
            members |= {"client_secret": f"{secrets.token_hex(12)}:/+%&= ~", "client_secret_expires_at": 0}
            self._keep("client_secret", members["client_secret"], "token", "revoke")
        self._clients[members["client_id"]] = _Client(
            members["client_id"], method, members.get("client_secret"), tuple(uris)
        )
        return _json(_changed(members, self.settings.registration_changes), 201)

    def _authorize(self, request: Recorded) -> Reply:
        asked = request.query
        client = self._client(asked.get("client_id", ""))
        uri = asked.get("redirect_uri", "")
        if (
            client is None
            or not uri
            or (client.redirect_uris is not None and uri not in client.redirect_uris)
        ):
            # No redirect: neither the client nor the place to go back to can be trusted.
            raise _Refused("invalid_request", f"unknown client_id or redirect_uri {uri!r}")
        answer = {"state": self.settings.state or asked.get("state"), "iss": self._iss()}
        try:
            answer |= self._decision(client, asked)
        except _Refused as refusal:
            self.violations.append(f"authorize: {refusal.words}")
            answer |= {"error": refusal.error, "error_description": refusal.words}
        query = urlencode({name: value for name, value in answer.items() if value is not None})
        return redirect(f"{uri}{'&' if '?' in uri else '?'}{query}", 302)

    def _decision(self, client: _Client, asked: Mapping[str, str]) -> dict[str, str | None]:
        if self.settings.authorize_error is not None:
            return {"error": self.settings.authorize_error, "error_description": "as configured"}
        challenge = asked.get("code_challenge", "")
        if asked.get("response_type") != "code" or not asked.get("state"):
            raise _Refused("invalid_request", "response_type=code and a state are needed")
        if asked.get("code_challenge_method") != "S256" or not re.fullmatch(r"[\w-]{43}", challenge):
            raise _Refused("invalid_request", "a PKCE challenge with S256 is needed")
        self._check_resource(asked)
        code = self._keep("code", f"code-{secrets.token_urlsafe(16)}", "token")
        self._codes[code] = _Grant(
            client.client_id,
            asked.get("scope", "") if self.settings.granted_scope is None else self.settings.granted_scope,
            asked.get("resource"),
            asked["redirect_uri"],
            challenge,
            asked.get("dpop_jkt"),
        )
        return {"code": code}

    def _iss(self) -> str | None:
        others = {"missing": None, "wrong": "https://wrong.example", "slash": self.issuer + "/"}
        return self.issuer if self.settings.iss == "right" else others[self.settings.iss]

    def _check_resource(self, asked: Mapping[str, str]) -> None:
        resource = asked.get("resource")
        known = [one.resource_indicator for one in self._resources]
        needed = self.settings.require_resource and any(one.settings.prm for one in self._resources)
        if resource not in known and (resource is not None or needed):
            raise _Refused("invalid_target", f"resource is {resource!r}, none of {known}")

    # Tokens

    def _token(self, request: Recorded) -> Reply:
        form = request.form
        if request.method != "POST" or request.query or not form:
            raise _Refused("invalid_request", "a token request is a POST of a form, without a query")
        if len(parse_qsl(request.body.decode(), keep_blank_values=True)) != len(form):
            raise _Refused("invalid_request", "a parameter is repeated")
        grants: dict[str | None, Callable[[_Client, Mapping[str, str]], _Grant]] = {
            CODE: self._by_code,
            "refresh_token": self._by_refresh_token,
            "client_credentials": self._by_credentials,
            JWT_BEARER: self._by_assertion,
        }
        client = self._authenticated(request)
        thumbprint = self._thumbprint(request, "token") if self.settings.dpop else None
        if form.get("grant_type") == EXCHANGE:
            return self._exchange(client, form)
        if form.get("grant_type") not in grants:
            raise _Refused("unsupported_grant_type", f"grant_type is {form.get('grant_type')!r}")
        self._check_resource(form)
        grant = grants[form["grant_type"]](client, form)
        if grant.thumbprint not in (None, thumbprint):
            raise _Refused("invalid_grant", "the proof is signed by another key than the code or token")
        return self._issue(replace(grant, thumbprint=thumbprint), form)

    def _by_code(self, client: _Client, form: Mapping[str, str]) -> _Grant:
        code, verifier = form.get("code", ""), form.get("code_verifier", "")
        grant = self._codes.pop(code, None)
        if grant is None:
            reused = "used before" if code in self._used_codes else "unknown"
            raise _Refused("invalid_grant", f"the code is {reused}")
        self._used_codes.add(code)
        if client.client_id != grant.client_id or form.get("redirect_uri") != grant.redirect_uri:
            raise _Refused("invalid_grant", "client_id or redirect_uri differ from the authorization request")
        if form.get("resource") != grant.resource:
            raise _Refused("invalid_target", "resource differs from the authorization request")
        if not re.fullmatch(r"[\w.~-]{43,128}", verifier) or _challenge_of(verifier) != grant.challenge:
            raise _Refused("invalid_grant", "the PKCE verifier does not match the challenge")
        return grant

    def _by_refresh_token(self, client: _Client, form: Mapping[str, str]) -> _Grant:
        grant = self._refresh.get(form.get("refresh_token", ""))
        if grant is None or grant.client_id != client.client_id:
            raise _Refused("invalid_grant", "the refresh token is not valid (any more)", innocent=True)
        if not set(form.get("scope", "").split()) <= set(grant.scope.split()):
            raise _Refused("invalid_scope", "a refresh cannot widen the scope")
        if self.settings.refresh == "rotate":
            del self._refresh[form["refresh_token"]]
        return grant

    def _by_credentials(self, client: _Client, form: Mapping[str, str]) -> _Grant:
        if client.method == "none":
            raise _Refused("unauthorized_client", "client_credentials without credentials")
        return _Grant(client.client_id, form.get("scope", ""), form.get("resource"))

    def _by_assertion(self, client: _Client, form: Mapping[str, str]) -> _Grant:
        assertion = form.get("assertion", "")
        try:
            header, claims = self._trusted_claims(assertion, {self.issuer, self.url("token")})
        except Forged as error:
            raise _Refused("invalid_grant", f"assertion: {error}", innocent=True) from error
        if header.get("typ") != "oauth-id-jag+jwt":
            return _Grant(client.client_id or claims["sub"], form.get("scope", ""), form.get("resource"))
        if claims.get("client_id") != client.client_id:
            raise _Refused("invalid_grant", f"the ID-JAG is for {claims.get('client_id')!r}")
        return _Grant(client.client_id, claims.get("scope", ""), claims.get("resource"))

    def _trusted_claims(self, assertion: str, audience: set[str]) -> tuple[dict[str, Any], dict[str, Any]]:
        issuer = compact.read(assertion).claims.get("iss")
        signer = next((one for one in self._trusted if one.issuer == issuer), None)
        if signer is None:
            raise Forged(f"{issuer!r} is not trusted")
        token = self._assertions.check(assertion, signer._signer.public_key, audience, self._now())
        return token.header, token.claims

    def _exchange(self, client: _Client, form: Mapping[str, str]) -> Reply:
        if (form.get("requested_token_type"), form.get("subject_token_type")) != (ID_JAG, ID_TOKEN):
            raise _Refused("invalid_request", "an id_token is exchanged for an id-jag, nothing else")
        try:
            token = compact.check(form.get("subject_token", ""), self._signer.public_key)
        except Forged as error:
            raise _Refused("invalid_grant", f"subject_token: {error}") from error
        if token.claims["aud"] != client.client_id or token.claims["exp"] <= self._now():
            raise _Refused(
                "invalid_grant", "subject_token is over, or was made for another client", innocent=True
            )
        audience = form.get("audience", "")
        if not audience.startswith("http"):
            raise _Refused("invalid_target", f"audience is {audience!r}, not an issuer")
        claims = {
            "sub": "user",
            "aud": audience,
            "client_id": self.settings.id_jag_client or client.client_id,
        }
        claims |= {name: form[name] for name in ("resource", "scope") if name in form}
        jag = self._mint(claims, 300.0, typ="oauth-id-jag+jwt")
        self._secrets.append(_Secret("id_jag", jag, _token_endpoint_of(audience)))
        answer = {"access_token": jag, "issued_token_type": ID_JAG, "token_type": "N_A", "expires_in": 300}
        return _json(_changed(answer, self.settings.token_changes))

    def _issue(self, grant: _Grant, form: Mapping[str, str]) -> Reply:
        wanted = self.settings
        granted = form.get("scope") if form["grant_type"] == "refresh_token" else wanted.granted_scope
        scope = grant.scope if granted is None else granted
        expires = None if wanted.expires_in is None else self._now() + wanted.expires_in
        value = f"access-{secrets.token_urlsafe(24)}"
        self._access[value] = replace(grant, scope=scope, expires=expires)
        homes = {
            (one.origin, "resource") for one in self._resources if one.resource_indicator == grant.resource
        }
        homes = homes or {(one.origin, "resource") for one in self._resources}
        self._secrets.append(_Secret("access_token", value, frozenset(homes | {(self.origin, "revoke")})))
        answer: dict[str, Any] = {
            "access_token": value,
            "token_type": wanted.token_type or ("Bearer" if grant.thumbprint is None else "DPoP"),
            **({} if wanted.expires_in is None else {"expires_in": wanted.expires_in}),
            **({"scope": scope} if wanted.answer_scope and scope else {}),
            **self._refresh_member(grant, form),
        }
        return _json(_changed(answer, wanted.token_changes), 200, *self._nonce_header("token"))

    def _refresh_member(self, grant: _Grant, form: Mapping[str, str]) -> dict[str, str]:
        refreshing = form["grant_type"] == "refresh_token"
        mode = self.settings.refresh
        if (
            mode == "none"
            or form["grant_type"] not in (CODE, "refresh_token")
            or (refreshing and mode == "omit")
        ):
            return {}
        if refreshing and mode == "keep":
            return {"refresh_token": form["refresh_token"]}
        value = self._keep("refresh_token", f"refresh-{secrets.token_urlsafe(24)}", "token", "revoke")
        self._refresh[value] = grant
        return {"refresh_token": value}

    def _revoke(self, request: Recorded) -> Reply:
        self._authenticated(request)
        for tokens in (self._access, self._refresh):
            tokens.pop(request.form.get("token", ""), None)
        return _json({})

    # Who is it

    def _client(self, client_id: str) -> _Client | None:
        url = urlsplit(client_id)
        if (
            self.settings.cimd
            and url.scheme == "https"
            and len(url.path) > 1
            and client_id not in self._clients
        ):
            self._clients[client_id] = _Client(client_id, "none")
        return self._clients.get(client_id)

    def _authenticated(self, request: Recorded) -> _Client:
        form = request.form
        method, client_id, credential = _credentials(request)
        client = self._client(client_id)
        if client is None and method == "none" and form.get("grant_type") == JWT_BEARER:
            # A workload is known by its assertion alone.
            return _Client(client_id, "none")
        if client is None:
            raise _Refused("invalid_client", f"unknown client {client_id!r}", status=401)
        if client.method != method or form.get("client_id", client_id) != client_id:
            raise _Refused(
                "invalid_client", f"registered for {client.method}, came with {method}", status=401
            )
        if method == "private_key_jwt":
            self._check_assertion(client, credential)
        elif credential != (client.secret or ""):
            raise _Refused("invalid_client", "wrong client secret", status=401)
        return client

    def _check_assertion(self, client: _Client, assertion: str) -> None:
        assert client.key is not None, "add_client(public_key=...)"
        try:
            claims = self._assertions.check(assertion, client.key, {self.issuer}, self._now()).claims
        except Forged as error:
            raise _Refused("invalid_client", f"client_assertion: {error}", status=401) from error
        if claims.get("iss") != client.client_id:
            raise _Refused("invalid_client", "iss and sub of the client_assertion differ", status=401)

    def _thumbprint(self, request: Recorded, role: str, access_token: str | None = None) -> str:
        """The key that signed the request's DPoP proof."""
        proof = request.headers.get("dpop")
        status = 401 if role == "resource" else 400
        if proof is None:
            raise _Refused("invalid_dpop_proof", "no DPoP proof", status=status)
        expected = Expected(
            request.method, request.origin + request.path, access_token, self.settings.dpop_algorithms
        )
        try:
            thumbprint, token = self._proofs.check(proof, expected, self._now())
        except Forged as error:
            raise _Refused("invalid_dpop_proof", str(error), status=status) from error
        if self._nonce(role) not in (None, token.claims.get("nonce")):
            raise _Refused("use_dpop_nonce", "a nonce is needed", status=status, innocent=True)
        return thumbprint

    def _nonce(self, role: str) -> str | None:
        wanted = {"token": self.settings.token_nonces, "resource": self.settings.resource_nonces}
        return f"{role}-nonce-{self._nonces}" if wanted.get(role) else None

    def _nonce_header(self, role: str) -> tuple[tuple[str, str], ...]:
        nonce = self._nonce(role)
        return () if nonce is None else (("DPoP-Nonce", nonce),)

    # The protected resource

    def _resource(self, request: Recorded) -> Reply:
        scheme, _, value = request.headers.get("authorization", "").partition(" ")
        if "access_token" in request.query:
            self.violations.append("resource: a token in the query")
        if not value:
            raise _Refused("", "no token", status=401, innocent=True)
        authority = self._authority
        grant = authority._access.get(value)
        if grant is None or (grant.expires is not None and grant.expires <= authority._now()):
            raise _Refused("invalid_token", "the token is not valid (any more)", status=401, innocent=True)
        if grant.resource not in (None, self.resource_indicator):
            raise _Refused("invalid_token", f"the token is for {grant.resource!r}", status=401)
        self._check_binding(request, scheme, value, grant)
        self._check_scope(request, grant)
        return self._result(request)

    def _check_binding(self, request: Recorded, scheme: str, value: str, grant: _Grant) -> None:
        wanted = "bearer" if grant.thumbprint is None else "dpop"
        if scheme.lower() != wanted:
            raise _Refused("invalid_token", f"the token is sent as {scheme}, not as {wanted}", status=401)
        if grant.thumbprint not in (
            None,
            self._thumbprint(request, "resource", value) if wanted == "dpop" else None,
        ):
            raise _Refused("invalid_token", "the proof is signed by another key than the token's", status=401)

    def _check_scope(self, request: Recorded, grant: _Grant) -> None:
        method = request.json.get("method", "") if isinstance(request.json, dict) else ""
        wanted = self.settings.required_scopes
        needed = " ".join(wanted[name] for name in ("*", method) if name in wanted)
        if self.settings.always_insufficient or not set(needed.split()) <= set(grant.scope.split()):
            raise _Refused("insufficient_scope", needed, status=403, innocent=True)

    def _challenge(self, refusal: _Refused) -> Reply:
        """The 401 or 403 of the resource."""
        wanted = self.settings
        insufficient = refusal.error == "insufficient_scope"
        scope = refusal.words if insufficient and refusal.words else wanted.challenge_scope
        announced = wanted.announce
        if announced in ("path", "root", "custom"):
            announced = self.origin + self._prm_path(announced)
        members = {"error": refusal.error, "scope": scope, "resource_metadata": announced}
        if wanted.dpop:
            members["algs"] = " ".join(wanted.dpop_algorithms)
        text = ", ".join(f'{name}="{value}"' for name, value in members.items() if value)
        value = f"{'DPoP' if wanted.dpop else 'Bearer'} {text}".strip()
        if wanted.challenge is not None and refusal.status == 401:
            value = wanted.challenge
        headers = (("WWW-Authenticate", value), *self._nonce_header("resource"))
        return Reply(refusal.status, headers, b"")

    def _result(self, request: Recorded) -> Reply:
        nonce = self._nonce_header("resource")
        asked = request.json
        if request.method != "POST" or not isinstance(asked, dict):
            return Reply(405, nonce)
        if "id" not in asked:
            return Reply(202, nonce)
        result = self.settings.results.get(str(asked.get("method")), {})
        return _json({"jsonrpc": "2.0", "id": asked["id"], "result": result}, 200, *nonce)

    # What is shared by the roles

    def _now(self) -> float:
        return time.time() + self._ahead

    def _mint(self, claims: Mapping[str, Any], lifetime: float, *, typ: str = "JWT") -> str:
        now = int(self._now())
        times = {"iat": now, "exp": now + int(lifetime), "jti": secrets.token_hex(12)}
        return self._signer.sign({"iss": self.issuer, **times, **claims}, typ=typ)

    def _keep(self, kind: str, value: str, *endpoints: str) -> str:
        homes = frozenset((self.origin, endpoint) for endpoint in endpoints)
        self._secrets.append(_Secret(kind, value, homes))
        return value


class _Wire(ThreadingHTTPServer):
    """The sockets: one thread per connection, all of them joined at the end."""

    daemon_threads = False
    request_queue_size = 64

    def __init__(self, owner: AuthorizationServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.owner = owner
        self.closing = threading.Event()
        self._open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def stop(self) -> None:
        """Wake every thread, whether it reads, writes or waits, and join it."""
        self.closing.set()
        self.shutdown()
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.server_close()

    def handle_error(self, *_: object) -> None:
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            self.owner.violations.append(f"the fake itself failed: {error!r}")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    server: _Wire

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self._write(self.server.owner.answer(self._recorded(body)))

    do_POST = do_PUT = do_DELETE = do_OPTIONS = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet: the requests are recorded."""

    def _recorded(self, body: bytes) -> Recorded:
        url = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        kind = headers.get("content-type", "").partition(";")[0].strip()
        form = (
            dict(parse_qsl(body.decode(), keep_blank_values=True)) if kind.endswith("form-urlencoded") else {}
        )
        return Recorded(
            origin=self.server.owner.origin,
            endpoint=self.server.owner.endpoint(url.path),
            method=self.command,
            path=url.path,
            query=dict(parse_qsl(url.query, keep_blank_values=True)),
            headers=headers,
            body=body,
            form=form,
            json=_parsed(body) if kind == "application/json" else None,
        )

    def _write(self, reply: Reply) -> None:
        if reply.status:
            lines = [f"HTTP/1.1 {reply.status} {http.client.responses.get(reply.status, '')}"]
            lines += [f"{name}: {value}" for name, value in reply.headers]
            ending = "Connection: close" if callable(reply.body) else f"Content-Length: {len(reply.body)}"
            self.wfile.write("\r\n".join([*lines, ending, "", ""]).encode("latin-1"))
        if not callable(reply.body):
            self.wfile.write(reply.body)
            return
        self.close_connection = True
        for chunk in reply.body(self.server.closing):
            self.wfile.write(chunk)
            self.wfile.flush()


# The user


def browse(url: str) -> str:
    """The user agent and a user who says yes: GET ``url`` and return where it redirects to."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=5.0)
    try:
        connection.request("GET", f"{parts.path}?{parts.query}", headers={"Connection": "close"})
        answer = connection.getresponse()
        location = answer.getheader("Location")
        assert location is not None, f"no redirect: {answer.status} {answer.read(2000)!r}"
        return location
    finally:
        connection.close()


# Where secrets went


def sightings(*servers: AuthorizationServer) -> dict[str, set[tuple[str, str]]]:
    """Where each kind of secret was seen: kind -> {(origin, endpoint)}."""
    with _TURN:
        requests = [(request, _text(request)) for server in servers for request in server.requests]
        seen: dict[str, set[tuple[str, str]]] = {}
        for secret in _all_secrets(servers):
            places = {
                (request.origin, request.endpoint) for request, text in requests if secret.value in text
            }
            seen.setdefault(secret.kind, set()).update(places)
        return seen


def assert_no_secret_elsewhere(*servers: AuthorizationServer) -> None:
    """Fail if a secret reached an origin or endpoint it does not belong to. Name every server there is."""
    with _TURN:
        requests = [(request, _text(request)) for server in servers for request in server.requests]
        leaks = [
            f"{secret.kind} at {request.method} {request.origin}{request.path}"
            for secret in _all_secrets(servers)
            for request, text in requests
            if secret.value in text and (request.origin, request.endpoint) not in secret.homes
        ]
    assert leaks == [], leaks


def _all_secrets(servers: tuple[AuthorizationServer, ...]) -> list[_Secret]:
    """Those that servers made, and those that clients made: verifiers and client assertions."""
    found = [secret for server in servers for secret in server._secrets]
    requests = [request for server in servers for request in server.requests]
    owners = {request.query.get("code_challenge"): request.origin for request in requests}
    for form in (request.form for request in requests):
        if "code_verifier" in form:
            owner = owners.get(_challenge_of(form["code_verifier"]), "nobody")
            found.append(_Secret("code_verifier", form["code_verifier"], frozenset({(owner, "token")})))
        if "client_assertion" in form:
            audience = str(compact.read(form["client_assertion"]).claims.get("aud"))
            homes = _token_endpoint_of(audience)
            found.append(_Secret("client_assertion", form["client_assertion"], homes))
    return found


def _text(request: Recorded) -> str:
    """Everything a request says, plain and decoded."""
    body = request.body.decode("latin-1")
    scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
    basic = unquote_plus(_unpacked(credentials)) if scheme.lower() == "basic" else ""
    said = [request.path, *request.query.values(), *request.headers.values(), basic, body, unquote_plus(body)]
    return "\n".join(said)


def _token_endpoint_of(audience: str) -> frozenset[tuple[str, str]]:
    parts = urlsplit(audience)
    return frozenset({(f"{parts.scheme}://{parts.netloc}", "token")})


# What requests say


def _credentials(request: Recorded) -> tuple[str, str, str]:
    """How a client says who it is: the method, its id, and the secret or assertion."""
    form, authorization = request.form, request.headers.get("authorization", "")
    came = ["client_secret_basic"] if authorization else []
    came += ["private_key_jwt"] if "client_assertion" in form else []
    came += ["client_secret_post"] if "client_secret" in form else []
    if len(came) > 1:
        raise _Refused("invalid_request", f"several ways of client authentication: {came}")
    if came == ["client_secret_basic"]:
        user, _, password = _unpacked(authorization.partition(" ")[2]).partition(":")
        return "client_secret_basic", unquote_plus(user), unquote_plus(password)
    if came == ["private_key_jwt"]:
        return "private_key_jwt", _asserted(form), form["client_assertion"]
    return (came or ["none"])[0], form.get("client_id", ""), form.get("client_secret", "")


def _asserted(form: Mapping[str, str]) -> str:
    if form.get("client_assertion_type") != CLIENT_ASSERTION:
        raise _Refused(
            "invalid_client", f"client_assertion_type {form.get('client_assertion_type')!r}", status=401
        )
    try:
        return str(compact.read(form["client_assertion"]).claims.get("sub"))
    except Forged as error:
        raise _Refused("invalid_client", f"client_assertion: {error}", status=401) from error


def _unpacked(credentials: str) -> str:
    try:
        return base64.b64decode(credentials, validate=True).decode()
    except ValueError:
        return ""


def _challenge_of(verifier: str) -> str:
    return compact.to_text(hashlib.sha256(verifier.encode()).digest())


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None


# Answers, honest and not


def _json(members: Mapping[str, Any], status: int = 200, *headers: tuple[str, str]) -> Reply:
    kind = (("Content-Type", "application/json"), ("Cache-Control", "no-store"))
    return Reply(status, (*kind, *headers), json.dumps(dict(members)).encode())


def _changed(document: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in {**document, **changes}.items() if value is not None}


def redirect(location: str, status: int = 307) -> Reply:
    """Go elsewhere; with 307 and 308 a client is asked to send the body there, too."""
    return Reply(status, (("Location", location),))


def failing(status: int = 503) -> Reply:
    """A status and no words."""
    return Reply(status)


def html(status: int = 200) -> Reply:
    """A page for people where JSON was expected, which even says that it is JSON."""
    return Reply(status, (("Content-Type", "application/json"),), b"<html><body>Please log in</body></html>")


def huge(size: int) -> Reply:
    """One valid JSON document of ``size`` bytes."""
    padding = b"x" * (size - len(b'{"padding": ""}'))
    return Reply(200, (("Content-Type", "application/json"),), b'{"padding": "' + padding + b'"}')


def gzip_bomb(size: int) -> Reply:
    """A small body that decodes to ``size`` bytes."""
    headers = (("Content-Type", "application/json"), ("Content-Encoding", "gzip"))
    return Reply(200, headers, gzip.compress(b" " * size))


def endless() -> Reply:
    """A body that goes on until the peer hangs up or the server closes."""

    def body(closing: threading.Event) -> Iterator[bytes]:
        yield b'{"padding": "'
        while not closing.is_set():
            yield b"x" * 65536

    return Reply(200, (("Content-Type", "application/json"),), body)


def dripping(interval: float = 0.05) -> Reply:
    """One byte at a time, until the peer hangs up or the server closes."""

    def body(closing: threading.Event) -> Iterator[bytes]:
        while not closing.wait(interval):
            yield b" "

    return Reply(200, (("Content-Type", "application/json"),), body)


def silent() -> Reply:
    """Nothing at all, not even a status line, until the server closes."""

    def body(closing: threading.Event) -> Iterator[bytes]:
        closing.wait()
        yield from ()

    return Reply(0, (), body)
