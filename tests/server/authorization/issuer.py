"""An issuer on loopback: signs tokens with PyJWT, publishes keys and metadata, answers about tokens."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self, TypeAlias
from urllib.parse import parse_qsl

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

Private: TypeAlias = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey

RESOURCE: Final = "https://mcp.example/mcp"
METADATA: Final = "/.well-known/oauth-authorization-server"
OPENID: Final = "/.well-known/openid-configuration"
KEYS: Final = "/keys"
INTROSPECT: Final = "/introspect"


@cache
def rsa_key(number: int = 0, bits: int = 2048) -> rsa.RSAPrivateKey:
    """One key per number: making them takes its time."""
    del number
    return rsa.generate_private_key(65537, bits)


@cache
def ec_key(number: int = 0) -> ec.EllipticCurvePrivateKey:
    del number
    return ec.generate_private_key(ec.SECP256R1())


@cache
def ed_key() -> ed25519.Ed25519PrivateKey:
    return ed25519.Ed25519PrivateKey.generate()


def public_jwk(key: Private, **members: object) -> dict[str, Any]:
    """The public half as a JWK with further members."""
    if isinstance(key, rsa.RSAPrivateKey):
        made = jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
        made.pop("key_ops", None)
    elif isinstance(key, ec.EllipticCurvePrivateKey):
        made = jwt.algorithms.ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
    else:
        made = jwt.algorithms.OKPAlgorithm.to_jwk(key.public_key(), as_dict=True)
    return {**made, **members}


def claims(issuer: str = "https://issuer.example", **changes: object) -> dict[str, Any]:
    """The claims of a good token; None takes one away."""
    now = int(time.time())
    made = {
        "iss": issuer,
        "aud": RESOURCE,
        "sub": "alice",
        "client_id": "editor",
        "scope": "read write",
        "iat": now,
        "exp": now + 600,
        **changes,
    }
    return {name: value for name, value in made.items() if value is not None}


def signed(
    payload: Mapping[str, Any],
    key: Private | str | bytes,
    algorithm: str = "RS256",
    *,
    kid: str | None = "first",
    **header: Any,
) -> str:
    """A token; ``typ`` is ``at+jwt`` unless the header says otherwise."""
    named = {} if kid is None else {"kid": kid}
    return jwt.encode(dict(payload), key, algorithm, headers={"typ": "at+jwt", **named, **header})


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self, moment: float = 1000.0) -> None:
        self.moment = moment

    def __call__(self) -> float:
        return self.moment


@dataclass(frozen=True)
class Answer:
    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, value: object, status: int = 200) -> Answer:
        return cls(status, json.dumps(value).encode())


class Issuer:
    """Answers by path; ``answers`` may be changed at any time. A closed ``gate`` holds them up."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str]] = []
        self.forms: list[dict[str, str]] = []
        self.authorizations: list[str | None] = []
        self.answers: dict[str, Answer | Callable[[dict[str, str]], Answer]] = {}
        self.gate = threading.Event()
        self.gate.set()
        self.arrived = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.answers[METADATA] = Answer.of({"issuer": self.url, "jwks_uri": self.url + KEYS})
        self.publish(public_jwk(rsa_key(), kid="first"))

    def publish(self, *keys: Mapping[str, Any]) -> None:
        self.answers[KEYS] = Answer.of({"keys": list(keys)})

    def count(self, path: str) -> int:
        return sum(1 for _, asked in self.requests if asked == path)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.gate.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(issuer) -> type[BaseHTTPRequestHandler]:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer({})

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"])).decode()
                form = dict(parse_qsl(body))
                issuer.forms.append(form)
                issuer.authorizations.append(self.headers["authorization"])
                self._answer(form)

            def _answer(self, form: dict[str, str]) -> None:
                issuer.requests.append((self.command, self.path))
                issuer.arrived.set()
                issuer.gate.wait(5.0)
                found = issuer.answers.get(self.path, Answer(404))
                answer = found if isinstance(found, Answer) else found(form)
                self.send_response(answer.status)
                for name, value in {"content-length": str(len(answer.body)), **answer.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer.body)

            def log_message(self, *_: object) -> None:
                return

        return Handler
