"""Tokens, codes, verifiers and secrets: in no log, no error, no repr, and known to be hidden."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote_plus

import pytest

from mcp_actors import Client
from mcp_actors.auth import (
    ClientCredentials,
    EnterpriseManaged,
    MemoryStorage,
    OAuth,
    Tokens,
    WorkloadIdentity,
)
from mcp_actors.auth.authorization_server import AuthorizationServer as Authority
from mcp_actors.auth.confidences import Confidences
from mcp_actors.auth.discovery import Site
from mcp_actors.auth.ledger import Held, Page
from mcp_actors.errors import AuthorizationFailed, McpError
from mcp_actors.runtime.deadline import Deadline
from tests.auth.authorization_server import AuthorizationServer, Fault, Recorded, Reply
from tests.auth.calling import Person, call
from tests.auth.conftest import Start
from tests.auth.test_flow import authorizer

KINDS = ("access_token", "refresh_token", "code", "client_secret", "id_token", "id_jag", "workload_token")


def secrets_of(person: Person, *servers: AuthorizationServer) -> set[str]:
    issued = {secret for server in servers for kind in KINDS for secret in server.issued(kind)}
    verifiers = {
        request.form.get("code_verifier", "") for server in servers for request in server.at("token")
    }
    states = {asked["state"] for asked in person.asked}
    return (issued | verifiers | states) - {""}


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    with caplog.at_level(logging.DEBUG):
        yield caplog


@pytest.mark.requirement("security:oauth")
@pytest.mark.parametrize("method", ["none", "client_secret_basic", "client_secret_post"])
@pytest.mark.parametrize("dpop", [False, True])
def test_a_whole_life_of_a_token_leaves_no_secret_in_any_log(
    serve: Start, person: Person, log: pytest.LogCaptureFixture, method: str, dpop: bool
) -> None:
    server = serve(
        registered_method=method, challenge_scope="a", required_scopes={"tools/call": "b"}, dpop=dpop
    )
    storage = MemoryStorage()
    mine = authorizer(server, person, storage=storage, dpop=dpop)
    assert call(mine, server, "tools/list") == 200
    server.revoke_tokens("access")
    assert call(mine, server, "tools/list") == 200
    assert call(mine, server, "tools/call") == 200
    server.revoke_tokens("all")
    assert call(mine, server, "tools/call") == 200
    known = secrets_of(person, server)
    assert len(known) >= 10
    assert [record for record in log.records if record.name == "mcp_actors.auth"]
    shown = log.text + repr(mine) + repr(storage) + "".join(repr(record.args) for record in log.records)
    assert [secret for secret in known if secret in shown] == []
    assert known <= set(mine.secrets)


@pytest.mark.parametrize("endpoint", ["token", "register", "metadata", "prm"])
def test_a_server_that_repeats_what_it_was_told_does_not_get_it_into_an_error(
    serve: Start, log: pytest.LogCaptureFixture, endpoint: str
) -> None:
    server = serve(registered_method="client_secret_post")
    person = Person()

    def agree(url: str) -> str:
        person.open_url(url)
        return person.callback()

    mine = authorizer(server, Person(agree))
    assert call(mine, server) == 200
    server.revoke_tokens("all")
    told = " ".join(secrets_of(person, server))
    body = ('{"error": "invalid_grant", "error_description": "you said ' + told + '"}').encode()
    server.settings.faults[endpoint] = Fault(Reply(400, (), body))
    server._clients.clear()
    with pytest.raises(AuthorizationFailed) as raised:
        call(mine, server)
    shown = f"{raised.value!s} {raised.value!r} {raised.value.details} {log.text}"
    assert [secret for secret in secrets_of(person, server) if secret in shown] == []


def test_an_enterprises_tokens_are_as_secret(
    serve: Start, person: Person, log: pytest.LogCaptureFixture
) -> None:
    server, idp = serve(), serve(id_jag_client="mine")
    server.trust(idp)
    server.add_client("mine", secret="the client's secret")
    idp.add_client("at the idp", method="none")
    options: dict[str, Any] = {"id_token": idp.id_token("at the idp"), "idp_client_id": "at the idp"}
    mine = EnterpriseManaged("mine", "the client's secret", idp_issuer=idp.issuer, **options)
    bound = mine.bind(server.resource_url)
    assert call(bound, server) == 200
    known = secrets_of(person, server, idp)
    assert [secret for secret in known if secret in log.text + repr(mine) + repr(bound)] == []
    assert known <= set(bound.secrets)


def test_no_part_of_the_configuration_shows_its_secret() -> None:
    made = (
        OAuth(client_id="mine", client_secret="the-client-secret"),
        ClientCredentials("mine", "the-client-secret"),
        EnterpriseManaged(
            "mine",
            "the-client-secret",
            id_token="the-id-token",
            idp_client_id="mine",
            idp_client_secret="the-idp-secret",
            idp_issuer="https://idp.example",
        ),
        WorkloadIdentity("the-assertion"),
    )
    shown = "".join(f"{each!r} {each._grant!r} {each.bind('https://s.example')!r}" for each in made)
    assert "the-" not in shown


def test_what_a_request_was_sent_with_is_not_shown() -> None:
    page = Page(Deadline.after(1.0), sent={"Authorization": "Bearer the-token"})
    held = Held(Site("https://s.example", Authority("https://s.example", "")), Tokens("the-token"), "granted")
    held.outdated = "the-older-token"
    page.used = held
    assert "the-" not in f"{page!r} {held!r}"


def test_a_secret_in_use_stays_one_however_many_are_met_beside_it() -> None:
    confidences = Confidences()
    for number in range(1000):
        confidences.add(f"assertion {number}", "the-client-secret", f"token {number}")
        assert {"the-client-secret", f"token {number}"} <= set(confidences.values)
    assert len(confidences.values) <= 200


@pytest.mark.parametrize("repeated", ["{scheme} {pair}", "{pair}", "{form}"])
def test_a_secret_in_the_spelling_of_its_request_gets_into_no_error(
    serve: Start, log: pytest.LogCaptureFixture, repeated: str
) -> None:
    secret = "a secret of the robot's: 100%"
    server = serve()
    server.add_client("robot", secret=secret)
    pair = base64.b64encode(f"robot:{quote_plus(secret)}".encode()).decode()
    told = repeated.format(scheme="Basic", pair=pair, form=quote_plus(secret))
    body = json.dumps({"error": "invalid_client", "error_description": f"you sent {told}"}).encode()
    server.settings.faults["token"] = Fault(Reply(401, (), body))
    mine = ClientCredentials("robot", secret).bind(server.resource_url)
    with pytest.raises(AuthorizationFailed, match="invalid_client") as raised:
        call(mine, server)
    shown = f"{raised.value!s} {raised.value!r} {raised.value.details} {log.text}"
    assert pair not in shown
    assert quote_plus(secret) not in shown


class Repeating(AuthorizationServer):
    """Refuses every request, and repeats the token that came with it."""

    reply = Reply(500)

    def _resource(self, request: Recorded) -> Reply:
        token = request.headers["authorization"].rpartition(" ")[2]
        number = str(request.json["id"]) if isinstance(request.json, dict) else "null"
        headers = tuple((name, value.replace("<token>", token)) for name, value in self.reply.headers)
        assert isinstance(self.reply.body, bytes)
        body = self.reply.body.replace(b"<token>", token.encode()).replace(b"<id>", number.encode())
        return Reply(self.reply.status, headers, body)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(500, (), b"no use for <token>"),
        Reply(200, (("Content-Type", "text/html"),), b"no use for <token>"),
        Reply(307, (("Location", "https://elsewhere.example/<token>"),)),
        Reply(403, (("WWW-Authenticate", 'Bearer error="insufficient_scope", scope="<token>"'),)),
        Reply(
            401,
            (("Content-Type", "application/json"),),
            b'{"jsonrpc": "2.0", "id": <id>, "error": {"code": -32001, "message": "no: <token>"}}',
        ),
    ],
    ids=lambda reply: str(reply.status),
)
@pytest.mark.parametrize(
    "auth",
    ["the-token-of-mine", lambda: {"Authorization": "Bearer the-token-of-mine"}],
    ids=["token", "headers"],
)
def test_what_a_server_repeats_of_a_token_gets_into_no_error_and_no_log(
    log: pytest.LogCaptureFixture, reply: Reply, auth: Any
) -> None:
    server = Repeating()
    server.reply = reply
    with server:
        client = Client.http(server.resource_url, auth=auth, name="notes", max_failed_starts=1)
        with pytest.raises(McpError) as raised:
            client.call_tool("whoami")
        assert server.count("resource") > 0
        shown = (
            f"{raised.value} {raised.value!r} {raised.value.details} {client.stats()} {client.crash_report}"
        )
        client.close()
    assert "the-token-of-mine" not in shown + log.text
