"""The app around its sessions: addresses, origins, limits, tokens, and what clients hear of failures."""

from __future__ import annotations

import json
import os
import wsgiref.validate
from io import BytesIO
from typing import Any

import pytest

from mcp_actors.protocol.http.param_headers import ParamHeaders
from mcp_actors.server.authorization.authorization import Authorization
from mcp_actors.server.authorization.principal import Principal
from mcp_actors.server.authorization.static import StaticTokens
from mcp_actors.server.http.app import WsgiApp
from mcp_actors.server.http.settings import HttpSettings
from tests.server.http.conftest import MakeSite, Site
from tests.server.http.driver import Driver
from tests.server.http.fake_peer import FakePeer, FakePeers, described, initialize, request

pytestmark = pytest.mark.requirement("transport:wsgi")


# Addresses.


@pytest.mark.parametrize(
    ("mount", "path"),
    [
        ("", "/mcp"),
        ("", "/mcp/"),
        ("/tools", "/mcp"),
        ("/tools", ""),
        ("/tools", "/"),
        ("/mcp", ""),
        ("/deep/er", "/mcp/"),
    ],
)
def test_the_endpoint_is_found_wherever_the_app_is_mounted(site: Site, mount: str, path: str) -> None:
    assert site.post(initialize(), path, SCRIPT_NAME=mount).status == 200


@pytest.mark.parametrize(("mount", "path"), [("", ""), ("", "/"), ("", "/other"), ("/tools", "/mcp/x")])
def test_elsewhere_nothing_is_served(site: Site, mount: str, path: str) -> None:
    answer = site.post(initialize(), path, SCRIPT_NAME=mount)
    assert answer.status == 404
    assert "id" not in answer.json()


def test_the_endpoint_can_be_the_root(make_site: MakeSite) -> None:
    site = make_site(path="/")
    assert site.post(initialize(), "/").status == 200
    assert site.post(initialize(), "").status == 200


@pytest.mark.parametrize("method", ["PUT", "PATCH", "HEAD"])
def test_a_method_that_mcp_does_not_have_is_not_allowed(site: Site, method: str) -> None:
    answer = site.request(method)
    assert answer.status == 405
    assert answer.header("Allow") == "POST, GET, DELETE, OPTIONS"
    assert bool(answer.read()) is (method != "HEAD")


# Origin and Host.


@pytest.mark.requirement("security:origin")
def test_requests_of_other_pages_and_for_other_hosts_are_refused(site: Site) -> None:
    foreign = {"Host": "evil.example.com"}
    assert site.post(initialize(), headers=foreign).status == 421
    answer = site.post(initialize(), headers={"Origin": "http://evil.example.com"})
    assert answer.status == 403
    body = answer.json()
    assert "id" not in body
    assert body["error"]["code"] == -32600
    for method in ("GET", "DELETE", "OPTIONS", "PUT"):
        assert site.request(method, headers=foreign).status == 421
    assert site.get("/sse", headers={"Origin": "http://evil.example.com"}).status == 403
    assert site.peers.made == []
    for own in ({"Origin": "http://localhost:3000"}, {"Host": "[::1]:8000", "Origin": "http://[::1]"}):
        assert site.post(initialize(), headers=own).status == 200


@pytest.mark.requirement("security:origin")
def test_hosts_and_origins_can_be_listed(make_site: MakeSite) -> None:
    site = make_site(hosts=("tools.example",), origins=("https://app.example",))
    good = {"Host": "tools.example", "Origin": "https://app.example"}
    answer = site.post(initialize(), headers=good)
    assert answer.status == 200
    assert answer.header("Access-Control-Allow-Origin") is None
    assert site.post(initialize(), headers={"Host": "localhost"}).status == 421


# CORS.


def test_by_default_browsers_are_told_nothing(site: Site) -> None:
    answer = site.request("OPTIONS", headers={"Origin": "http://localhost"})
    assert answer.status == 204
    assert answer.header("Allow") == "POST, GET, DELETE, OPTIONS"
    assert not [name for name, _ in answer.fields if name.startswith("access-control")]
    assert answer.header("Vary") is None


def test_a_browser_of_a_listed_origin_is_told_what_its_scripts_may_do(make_site: MakeSite) -> None:
    site = make_site(cors=("https://app.example",))
    origin = {"Origin": "https://app.example"}
    asked = origin | {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "mcp-param-region, x-evil, mcp-param-a\tb",
    }
    answer = site.request("OPTIONS", headers=asked)
    assert answer.status == 204
    assert answer.header("Access-Control-Allow-Origin") == "https://app.example"
    assert answer.header("Access-Control-Allow-Methods") == "POST, GET, DELETE, OPTIONS"
    allowed = answer.header("Access-Control-Allow-Headers") or ""
    assert {"Mcp-Session-Id", "Authorization", "Content-Type", "mcp-param-region"} <= set(allowed.split(", "))
    assert "x-evil" not in allowed
    assert "\t" not in allowed
    assert site.peers.made == []
    for reply in (site.post(initialize(), headers=origin), site.post(b"{", headers=origin)):
        assert reply.header("Access-Control-Allow-Origin") == "https://app.example"
        assert reply.header("Access-Control-Expose-Headers") == "Mcp-Session-Id, WWW-Authenticate"
        assert reply.header("Vary") == "Origin"


def test_a_browser_of_another_origin_is_told_nothing(make_site: MakeSite) -> None:
    site = make_site(cors=("https://app.example",))
    for origin in ("http://localhost", None):
        answer = site.request("OPTIONS", headers={"Origin": origin})
        assert answer.status == 204
        assert answer.header("Access-Control-Allow-Origin") is None
        assert answer.header("Access-Control-Allow-Methods") is None
        assert answer.header("Vary") == "Origin"


# Limits.


@pytest.mark.requirement("security:limits")
def test_a_body_has_bounds_and_no_more_of_it_is_read(make_site: MakeSite) -> None:
    site = make_site(max_body_bytes=200)

    class Source(BytesIO):
        """A body that counts what is read of it."""

        taken = 0

        def read(self, size: int | None = -1) -> bytes:
            assert size is not None
            assert 0 < size <= 65536
            self.taken += size
            return super().read(size)

    def send(size: int, length: str | None, **environ: Any) -> tuple[int, int]:
        body = json.dumps(initialize()).encode()
        source = Source(body + b" " * (size - len(body)))
        headers = {"Content-Type": "application/json", "Content-Length": length}
        return site.request("POST", headers=headers, **{"wsgi.input": source, **environ}).status, source.taken

    ended = {"wsgi.input_terminated": True}
    assert send(200, "200") == (200, 200)
    assert send(201, "201") == (413, 0)
    assert send(150, "200")[0] == 400
    assert send(200, None) == (411, 0)
    assert send(200, None, **ended)[0] == 200
    assert send(10**6, None, **ended) == (413, 201)


def test_a_body_that_breaks_off_is_a_bad_request(site: Site) -> None:
    class Broken(BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise ConnectionResetError(size)

    answer = site.post(initialize(), **{"wsgi.input": Broken()})
    assert answer.status == 400


@pytest.mark.parametrize("body", [b"", b"{", b"[" * 100_000, b"\xff\xfe", b'{"jsonrpc":"2.0"}'])
def test_what_is_no_message_is_answered_without_an_id(site: Site, body: bytes) -> None:
    answer = site.post(body)
    assert answer.status == 400
    assert "id" not in answer.json()


# Failures.


def test_nothing_of_a_failure_reaches_the_client(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    def fail(_peer: FakePeer, _message: Any) -> None:
        raise RuntimeError("secret")

    site.peers.scripts["bug"] = fail
    message, headers = described("bug")
    answer = site.post(message, headers=headers)
    assert answer.status == 500
    assert answer.json() == {"jsonrpc": "2.0", "error": {"code": -32603, "message": "the server failed"}}
    assert "secret" in caplog.text
    assert site.peers.last.cancelled == [1]


def test_a_stream_that_cannot_even_begin_is_freed(site: Site) -> None:
    session = site.open()
    environ = {
        "REQUEST_METHOD": "GET",
        "PATH_INFO": "/mcp",
        "HTTP_HOST": "localhost",
        "HTTP_MCP_SESSION_ID": session.id,
    }

    def start_response(*_given: Any) -> Any:
        raise BrokenPipeError

    for _ in range(2):
        with pytest.raises(BrokenPipeError):
            site.app(environ, start_response)
    with pytest.raises(BrokenPipeError):
        site.app(environ | {"PATH_INFO": "/nowhere"}, start_response)
    assert site.app.desk.places.streams == 0


# Health.


def test_the_health_of_a_server_can_be_asked_for_by_any_name(site: Site) -> None:
    session = site.open()
    stream = session.get()
    answer = site.get("/health", headers={"Host": "10.0.0.1"})
    assert answer.status == 200
    assert answer.json() == {"status": "ok", "sessions": 1, "streams": 1}
    stream.close()
    assert site.request("HEAD", "/health").read() == b""
    assert site.post({}, "/health").status == 405


def test_health_can_be_left_out(make_site: MakeSite) -> None:
    assert make_site(health=False).get("/health").status == 404


# The end.


def test_a_server_that_is_stopped_takes_no_more_and_lets_everything_end(make_site: MakeSite) -> None:
    site = make_site(scripts={"subscriptions/listen": lambda peer, message: peer.tell(message.id)})
    stream = site.open().get()
    legacy = site.get("/sse")
    message, headers = described("subscriptions/listen")
    listening = site.post(message, headers=headers)
    busy = [site.app.desk.busy]
    site.app.stop()
    assert [peer.stopped for peer in site.peers.made] == [1, 1, 1]
    for one in (stream, legacy, listening):
        one.rest()
    assert [*busy, site.app.desk.busy] == [True, False]
    for answer in (site.post(initialize()), site.get(), site.post(message, headers=headers)):
        assert (answer.status, answer.header("Retry-After")) == (503, "1")
    health = site.get("/health")
    assert (health.status, health.json()["status"]) == (503, "stopping")


@pytest.mark.parametrize("way", ["session", "legacy", "guest"])
def test_whoever_slips_in_while_the_server_is_stopped_is_stopped_too(site: Site, way: str) -> None:
    desk = site.app.desk
    desk.stopping = True
    match way:
        case "session":
            desk.new_session(None)
        case "legacy":
            desk.new_legacy_session(None)
        case _:
            desk.new_guest(_Deaf(), None, None)
    assert site.peers.last.stopped == 1


class _Deaf:
    def send(self, _outgoing: Any) -> None: ...

    def end(self, _reason: str) -> None: ...


# Tokens.


def guarded(make_site: MakeSite, **options: Any) -> Site:
    tokens = {
        "good": Principal("me", frozenset({"read"})),
        "all": Principal("me", frozenset({"read", "write"})),
    }
    gate = Authorization(
        StaticTokens(tokens),
        resource="http://localhost:8000/mcp",
        authorization_servers=["https://issuer.example"],
        scopes=["read"],
    )
    return make_site(options={"authorization": gate, **options})


class Rules:
    """A tool that wants more than the server does."""

    def param_headers(self, name: str) -> ParamHeaders | None:
        return ParamHeaders.of({"properties": {"x": {"type": "string", "x-mcp-header": name}}})

    def scopes(self, method: str, params: dict[str, Any]) -> frozenset[str]:
        erases = method == "tools/call" and params.get("name") == "erase"
        return frozenset({"write"}) if erases else frozenset()


@pytest.mark.requirement("security:resource-server")
def test_without_a_good_token_nothing_is_served_but_the_way_to_one(make_site: MakeSite) -> None:
    site = guarded(make_site)
    for headers in ({}, {"Authorization": "Bearer bad"}):
        for answer in (
            site.post(initialize(), headers=headers),
            site.get(headers=headers),
            site.request("DELETE", headers=headers),
            site.get("/sse", headers=headers),
            site.post(initialize(), "/messages", headers=headers),
        ):
            assert answer.status == 401
            assert "resource_metadata=" in (answer.header("WWW-Authenticate") or "")
            answer.read()
    assert site.peers.made == []
    for path in ("/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"):
        found = site.get(path)
        assert found.status == 200
        assert found.json()["resource"] == "http://localhost:8000/mcp"
        assert site.request("OPTIONS", path).status == 204
        assert site.post({}, path).status == 405
    assert site.get("/.well-known/other").status == 404


@pytest.mark.requirement("security:resource-server")
def test_a_good_token_opens_and_the_peer_knows_whose_it_is(make_site: MakeSite) -> None:
    site = guarded(make_site)
    bearer = {"Authorization": "Bearer good"}
    assert site.post(initialize(), headers=bearer).status == 200
    message, headers = described("echo")
    assert site.post(message, headers=headers | bearer).status == 200
    assert [peer.principal.subject for peer in site.peers.made if peer.principal] == ["me", "me"]


@pytest.mark.requirement("security:limits")
def test_bodies_are_judged_before_anybody_is_asked_about_a_token(make_site: MakeSite) -> None:
    site = guarded(make_site)
    assert site.post(initialize(), headers={"Content-Length": "99999999999"}).status == 413
    assert site.request("OPTIONS").status == 204


@pytest.mark.requirement("security:resource-server")
def test_a_tool_with_scopes_of_its_own_wants_them_in_both_eras(make_site: MakeSite) -> None:
    site = guarded(make_site, tools=Rules())
    bearer = {"Authorization": "Bearer good"}
    session = {"Mcp-Session-Id": site.post(initialize(), headers=bearer).session}
    message, headers = described("tools/call", params={"name": "erase"})
    old = request("tools/call", 2, {"name": "erase"})
    for answer in (
        site.post(message, headers=bearer | headers | {"Mcp-Name": "erase"}),
        site.post(old, headers=bearer | session),
    ):
        assert answer.status == 403
        challenge = answer.header("WWW-Authenticate") or ""
        assert 'error="insufficient_scope"' in challenge
        assert 'scope="read write"' in challenge
    site.peers.scripts["tools/call"] = FakePeer.echo
    for params in ({"name": "look"}, {"name": 3}, {}, ["erase"]):
        assert site.post(request("tools/call", 3, params), headers=bearer | session).status == 200
    assert site.post(request("tools/call", 3), headers=bearer | session).status == 200
    assert site.post(request("echo", 3, {"name": "erase"}), headers=bearer | session).status == 200


def test_tools_have_no_rules_of_their_own_unless_somebody_gives_them(make_site: MakeSite) -> None:
    site = guarded(make_site)
    site.peers.scripts["tools/call"] = FakePeer.echo
    message, headers = described("tools/call", params={"name": "erase"})
    given = {"Authorization": "Bearer good", "Mcp-Name": "erase", "Mcp-Param-X": "y"}
    assert site.post(message, headers=headers | given).status == 200


def test_the_headers_that_a_tool_wants_are_compared(make_site: MakeSite) -> None:
    site = make_site(options={"tools": Rules()}, scripts={"tools/call": FakePeer.echo})
    message, headers = described("tools/call", params={"name": "Region", "arguments": {"x": "eu"}})
    headers |= {"Mcp-Name": "Region"}
    assert site.post(message, headers=headers).code == -32020
    assert site.post(message, headers=headers | {"Mcp-Param-Region": "us"}).code == -32020
    assert site.post(message, headers=headers | {"Mcp-Param-Region": "eu"}).status == 200


# WSGI.


def test_both_sides_keep_to_the_rules_of_wsgi(site: Site) -> None:
    driver = Driver(wsgiref.validate.validator(site.app))
    opened = driver.post(initialize())
    session = {"Mcp-Session-Id": opened.session}
    assert opened.json()["result"]
    assert driver.post(request("progress"), headers=session).rest()
    stream = driver.get(headers=session)
    stream.piece()
    stream.close()
    assert driver.request("DELETE", headers=session).read() == b""
    assert driver.post(b"{").json()["error"]
    assert driver.get("/health").json()["status"] == "ok"


def test_an_app_that_is_made_before_a_fork_begins_anew_in_the_child(site: Site) -> None:
    session = site.open()
    stream = session.get()
    desk = site.app.desk
    desk.sessions._lock.acquire()
    read_end, write_end = os.pipe()
    child = os.fork()
    if not child:
        try:
            answers = (session.post(request("echo")).status, site.post(initialize()).status)
            health = site.get("/health").json()
            os.write(write_end, json.dumps([*answers, health["sessions"], health["streams"]]).encode())
        finally:
            os._exit(0)
    desk.sessions._lock.release()
    os.close(write_end)
    with open(read_end, encoding="utf-8") as said:
        assert json.loads(said.read()) == [404, 200, 1, 0]
    os.waitpid(child, 0)
    assert session.post(request("echo")).status == 200
    stream.close()


def test_the_url_is_put_together_from_what_the_server_tells() -> None:
    seen: list[str] = []

    class Gate:
        metadata_document: dict[str, Any] = {}
        metadata_paths = ()

        def admit(self, headers: Any, *, method: str, url: str) -> Principal:
            seen.append(url)
            return Principal(f"{method} {len(headers)}")

        def forbid(self, principal: Any, needed: Any) -> Any:
            raise NotImplementedError

    driver = Driver(WsgiApp(HttpSettings(hosts=("*",)), FakePeers(), Gate()))
    driver.post(initialize(), "/mcp/", SCRIPT_NAME="/a\xc3\xa4", QUERY_STRING="b=1").read()
    driver.post(initialize(), headers={"Host": None}).read()
    assert seen == ["http://localhost:8000/a%C3%A4/mcp/?b=1", "http://localhost:8000/mcp"]


# Settings.


@pytest.mark.parametrize(
    "settings",
    [
        {"path": "mcp"},
        {"sse_path": "sse"},
        {"max_sessions": 0},
        {"keep_alive": -1.0},
        {"max_streams": 0},
        {"threads": 0},
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be above 0|begins with a slash"):
        HttpSettings(**settings)


def test_a_string_is_no_list_of_strings() -> None:
    with pytest.raises(TypeError, match="hosts"):
        HttpSettings(hosts="localhost")  # type: ignore[arg-type]


def test_threads_are_kept_free_of_streams() -> None:
    assert HttpSettings().streams == 16
    assert HttpSettings(threads=16).streams == 12
    assert HttpSettings(threads=8).streams == 6
    assert HttpSettings(threads=1).streams == 1
    assert HttpSettings(threads=300).streams == 292
    assert HttpSettings(threads=8, max_streams=3).streams == 3


@pytest.mark.requirement("security:limits")
@pytest.mark.parametrize(
    ("settings", "requests", "of_one_client"),
    [
        ({}, None, None),
        ({"max_client_requests": 5}, None, 5),
        ({"threads": 1}, 1, 1),
        ({"threads": 8}, 7, 5),
        ({"threads": 16}, 14, 10),
        ({"threads": 16, "max_requests": 4}, 4, 3),
        ({"threads": 16, "max_client_requests": 2}, 14, 2),
    ],
)
def test_a_thread_is_kept_free_of_requests(
    settings: dict[str, Any], requests: int | None, of_one_client: int | None
) -> None:
    chosen = HttpSettings(**settings)
    assert (chosen.requests, chosen.client_requests) == (requests, of_one_client)
