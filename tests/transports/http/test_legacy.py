"""HTTP+SSE, the transport of the first revision: found behind a URL, or known to be there."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from mcp_actors import Client, errors
from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.transports.http.authorizer import Attempt, AuthorizationInterrupted, Refusal
from tests.client.conftest import quick
from tests.client.waiting import BOUND, in_thread, opened_at_the_end, until
from tests.servers.http_peer import HttpPeer, Stream, Turn, text
from tests.transports.http.conftest import MakePeer

pytestmark = pytest.mark.requirement("transport:sse")

VERSION = "2024-11-05"
LOGIN = Ending(EndKind.UNAUTHORIZED, "the login is open", passing=True, person=True)


class OldPeer:
    """Makes a peer speak HTTP+SSE: the URL gives a stream, POSTs go elsewhere and are answered there."""

    def __init__(self, peer: HttpPeer, endpoint: str = "/messages?session=1") -> None:
        self.peer = peer
        self.endpoint = endpoint
        self.streams: list[Stream] = []
        self.calls: dict[str, Callable[[Turn], Any]] = {"echo": lambda turn: text(turn.params["arguments"])}
        peer.on("GET", self._open)
        peer.on("POST", self._post)
        for method in ("server/discover", "initialize", "notifications/initialized", "tools/call"):
            peer.on(method, self._post)
        peer.on("notifications/cancelled", self._post)

    def say(self, message: Any) -> None:
        self.streams[-1].send(message)

    def _open(self, turn: Turn) -> None:
        stream = turn.stream().write(f"event: endpoint\ndata: {self.endpoint}\n\n".encode())
        self.streams.append(stream)
        turn.await_end()

    def _post(self, turn: Turn) -> None:
        if not turn.path.startswith("/messages"):
            turn.status(405)
            return
        turn.status(202, b"Accepted")
        if turn.rpc == "initialize":
            info = {"name": "old", "version": "1"}
            self.say(
                turn.result({"protocolVersion": VERSION, "capabilities": {"tools": {}}, "serverInfo": info})
            )
        elif turn.rpc == "tools/call":
            answer = self.calls[turn.params["name"]](turn)
            if answer is not None:
                self.say(turn.result(answer))


@pytest.fixture
def old(make_peer: MakePeer) -> OldPeer:
    return OldPeer(make_peer(VERSION))


@pytest.fixture
def make(make_peer: MakePeer) -> Iterator[Callable[..., Client]]:
    del make_peer  # what is made first ends last
    made: list[Client] = []

    def make(how: str, url: str, **options: Any) -> Client:
        made.append(getattr(Client, how)(url, proxies={}, **quick(options)))
        return made[-1]

    yield make
    for client in made:
        client.close()


Make = Callable[..., Client]


@pytest.mark.parametrize("how", ["http", "sse"])
def test_an_older_server_is_spoken_to_in_its_own_way(how: str, old: OldPeer, make: Make) -> None:
    client = make(how, old.peer.url).wait_ready()
    assert client.protocol_version == VERSION
    assert client.call_tool("echo", {"a": 1}).text == '{"a": 1}'
    turn = old.peer.turns("tools/call")[0]
    assert turn.path == "/messages?session=1"
    assert "mcp-session-id" not in turn.headers
    # A client that knows it asks for the stream first.
    assert (old.peer.heard[0].method == "GET") == (how == "sse")
    assert len(old.streams) == 1


def test_answers_find_their_callers(old: OldPeer, make: Make) -> None:
    client = make("sse", old.peer.url).wait_ready()
    calls = [in_thread(lambda n=n: client.call_tool("echo", {"n": n}).text) for n in range(20)]  # type: ignore[misc]
    assert [call.result(BOUND) for call in calls] == [f'{{"n": {n}}}' for n in range(20)]


def test_the_end_of_the_stream_is_the_end_of_the_connection(old: OldPeer, make: Make) -> None:
    old.calls["die"] = lambda _turn: old.streams[-1].end()
    client = make("sse", old.peer.url).wait_ready()
    with pytest.raises(errors.ConnectionLost, match="ended its event stream") as caught:
        client.call_tool("die")
    assert caught.value.outcome == "unknown"
    assert client.call_tool("echo", {}, wait=True).text == "{}"
    assert len(old.streams) == 2


def test_a_cancelled_call_is_said_to_be(old: OldPeer, make: Make) -> None:
    old.calls["wait"] = lambda _turn: None
    client = make("sse", old.peer.url).wait_ready()
    with pytest.raises(errors.RequestTimeout):
        client.call_tool("wait", timeout=0.1)
    cancelled = old.peer.await_turns("notifications/cancelled")
    assert cancelled.params["requestId"] == old.peer.turns("tools/call")[0].message["id"]


def test_a_message_that_is_refused_is_one_calls_own(old: OldPeer, make: Make) -> None:
    client = make("sse", old.peer.url).wait_ready()
    old.peer.once("tools/call", lambda turn: turn.status(500))
    with pytest.raises(errors.ConnectionLost, match="HTTP 500"):
        client.call_tool("echo", {})
    assert client.call_tool("echo", {}).text == "{}"
    assert len(old.streams) == 1


def test_an_event_above_the_limit_ends_the_connection(old: OldPeer, make: Make) -> None:
    def flood(_turn: Turn) -> None:
        old.streams[-1].write(b"data: " + b"x" * 200_000)

    old.calls["flood"] = flood
    client = make("sse", old.peer.url, max_frame_bytes=100_000).wait_ready()
    with pytest.raises(errors.FrameTooLarge):
        client.call_tool("flood")
    assert client.call_tool("echo", {}, wait=True).text == "{}"


@pytest.mark.parametrize(
    "endpoint", ["http://127.0.0.1:1/steal", "https://example.com/", "http://[::1", "//evil/"]
)
def test_an_endpoint_elsewhere_is_not_used(endpoint: str, old: OldPeer, make: Make) -> None:
    old.endpoint = endpoint
    with pytest.raises(errors.StartFailed, match="another origin"):
        make("sse", old.peer.url).wait_ready()


@pytest.mark.parametrize("status", [401, 403, 404, 500])
def test_a_url_without_a_stream_is_said_to_have_none(status: int, old: OldPeer, make: Make) -> None:
    old.peer.on("GET", lambda turn: turn.status(status))
    refused = errors.AuthorizationFailed if status in (401, 403) else errors.StartFailed
    words = ": the server" if status in (401, 403) else " instead of an event stream"
    with pytest.raises(refused, match=f"HTTP {status}{words}"):
        make("sse", old.peer.url).wait_ready()
    # Who asks again would be refused again.
    assert len(old.peer.heard) == (1 if status in (401, 403) else 3)


def test_a_function_for_headers_that_fails_is_said_to_be_why_there_is_no_stream(
    old: OldPeer, make: Make
) -> None:
    def headers() -> dict[str, str]:
        raise RuntimeError("no token today")

    with pytest.raises(errors.StartFailed, match="RuntimeError: no token today"):
        make("sse", old.peer.url, headers=headers, max_failed_starts=1).wait_ready()
    assert old.peer.connections == 0


def test_a_stream_that_begins_otherwise_is_none_of_the_older_transport(
    make_peer: MakePeer, make: Make
) -> None:
    peer = make_peer("2025-11-25")
    peer.on("server/discover", lambda turn: turn.status(404))
    peer.on("initialize", lambda turn: turn.refuse(-32602, "not today", 400))
    peer.on("GET", lambda turn: turn.stream().notify("notifications/message", level="info", data="hi").end())
    with pytest.raises(errors.StartFailed, match="not today"):
        make("http", peer.url, max_failed_starts=1).wait_ready()


def test_closing_ends_the_search_for_an_older_server(make_peer: MakePeer, make: Make) -> None:
    peer = make_peer("2025-11-25")
    ended = threading.Event()

    def never(turn: Turn) -> None:
        turn.stream()
        turn.await_end()
        ended.set()

    for method in ("server/discover", "initialize"):
        peer.on(method, lambda turn: turn.status(404))
    peer.on("GET", never)
    client = make("http", peer.url, init_timeout=60.0).start()
    peer.await_turns("GET")
    client.close()
    assert not [one for one in threading.enumerate() if one.name.startswith("mcp-http-")]
    assert ended.wait(BOUND)


def test_the_server_asks_over_the_stream_and_is_answered_by_a_post(old: OldPeer, make: Make) -> None:
    make("sse", old.peer.url).wait_ready()
    old.say({"jsonrpc": "2.0", "id": "p", "method": "ping"})
    until(lambda: [turn for turn in old.peer.heard if turn.message and turn.message.get("id") == "p"])


class Doorkeeper:
    """An authorizer that waits for a person, who is told so."""

    def __init__(self) -> None:
        self.waiting, self.done, self.broken_off = (threading.Event() for _ in range(3))
        self.secrets = ()

    def headers(self, attempt: Attempt) -> dict[str, str]:
        assert attempt.held is not None
        if not self.done.is_set():
            attempt.held(LOGIN)
            self.waiting.set()
            assert self.done.wait(BOUND)
            attempt.held(None)
            if self.broken_off.is_set():
                raise AuthorizationInterrupted("broken off", retryable=True)
        return {"Authorization": "Bearer a-token"}

    def refused(self, attempt: Attempt, refusal: Refusal) -> bool:
        raise AssertionError((attempt, refusal))

    def answered(self, attempt: Attempt, headers: Mapping[str, str]) -> None:
        del attempt, headers

    def hindrance(self) -> Ending | None:
        return LOGIN if self.waiting.is_set() and not self.done.is_set() else None

    def interrupt(self) -> None:
        self.broken_off.set()
        self.done.set()


@pytest.mark.requirement("security:oauth")
def test_a_server_of_the_first_revision_is_waited_for_as_long_as_a_login_takes(
    old: OldPeer, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_actors.transports.http.wire._SEARCH_SECONDS", 0.05)
    monkeypatch.setattr("mcp_actors.transports.http.legacy._SIGN_SECONDS", 0.05)
    doorkeeper = Doorkeeper()
    client = make("sse", old.peer.url, auth=doorkeeper, max_failed_starts=1)
    with opened_at_the_end(doorkeeper.done):
        call = in_thread(lambda: client.call_tool("echo", {}).text)
        assert doorkeeper.waiting.wait(BOUND)
        with pytest.raises(errors.AuthorizationFailed, match="within 0.2 s: the login is open") as caught:
            client.call_tool("echo", {}, timeout=0.2)
        assert caught.value.retryable
        # Nothing of what follows may be so fast.
        monkeypatch.setattr("mcp_actors.transports.http.legacy._SIGN_SECONDS", BOUND)
        doorkeeper.done.set()
        assert call.result(BOUND) == "{}"
    assert len(old.streams) == 1


@pytest.mark.requirement("request:cancel-caller")
def test_breaking_the_login_of_such_a_server_off_answers_all_who_wait(old: OldPeer, make: Make) -> None:
    doorkeeper = Doorkeeper()
    client = make("sse", old.peer.url, auth=doorkeeper)
    call = in_thread(lambda: client.call_tool("echo", {}).text)
    assert doorkeeper.waiting.wait(BOUND)
    doorkeeper.interrupt()
    failure = call.exception(BOUND)
    assert isinstance(failure, errors.AuthorizationFailed)
    assert failure.retryable
    assert old.streams == []
    assert client.call_tool("echo", {}).text == "{}"


def test_a_message_that_is_not_allowed_says_what_its_token_lacks(old: OldPeer, make: Make) -> None:
    client = make("sse", old.peer.url).wait_ready()
    challenge = 'Bearer error="insufficient_scope", scope="write"'
    old.peer.once("tools/call", lambda turn: turn.status(403, WWW_Authenticate=challenge))
    with pytest.raises(errors.AuthorizationFailed, match="wants the scope 'write'") as caught:
        client.call_tool("echo", {})
    assert caught.value.details["scopes_wanted"] == ["write"]
    assert client.call_tool("echo", {}).text == "{}"


@pytest.mark.requirement("connection:init-timeout")
def test_a_slow_older_server_has_the_time_of_the_handshake(
    old: OldPeer, make: Callable[..., Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_actors.transports.http.wire._SEARCH_SECONDS", 0.0)
    client = make("sse", old.peer.url, init_timeout=BOUND).wait_ready()
    assert client.call_tool("echo", {"n": 1}).text == '{"n": 1}'


def test_an_older_server_is_not_looked_for_for_long(
    old: OldPeer, make: Callable[..., Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_actors.transports.http.wire._SEARCH_SECONDS", 0.05)
    old.peer.on("GET", lambda turn: turn.await_end())
    with pytest.raises(
        errors.StartFailed, match="HTTP 405 with nothing to initialize, and no event stream either; is"
    ):
        make("http", old.peer.url, init_timeout=BOUND).wait_ready()


def test_a_client_is_closed_at_once_while_an_older_server_is_waited_for(
    old: OldPeer, make: Callable[..., Client]
) -> None:
    old.peer.on("GET", lambda turn: turn.await_end())
    client = make("sse", old.peer.url, init_timeout=600.0, request_timeout=600.0)
    waiting = in_thread(client.wait_ready)
    old.peer.await_turns("GET")
    client.close()
    with pytest.raises(errors.ClientClosed):
        waiting.result(BOUND)
