"""What exchanges ask of an authorizer, and what they do with what it says."""

from __future__ import annotations

import threading
from collections.abc import Mapping

import pytest

from mcp_actors import errors
from mcp_actors.transports.http.authorizer import Attempt, Refusal
from tests.client.waiting import BOUND, in_thread, until
from tests.servers.http_peer import HttpPeer, Turn
from tests.transports.http.conftest import MakeClient, MakePeer

pytestmark = pytest.mark.requirement("transport:http")


class Toy:
    """Has one token after the other; remembers what it was told."""

    def __init__(self) -> None:
        self.number = 1
        self.refusals: list[Refusal] = []
        self.answers = 0
        self.failure: BaseException | None = None
        self.gate: threading.Event | None = None
        self.attempts: list[Attempt] = []

    def headers(self, attempt: Attempt) -> Mapping[str, str]:
        self.attempts.append(attempt)
        if self.gate is not None:
            # As long as the deadline allows, which is over when nobody wants the answer any more.
            while not attempt.deadline.expired and not self.gate.wait(0.01):
                pass
        return {"authorization": f"Bearer {self.number}"}

    def refused(self, attempt: Attempt, refusal: Refusal) -> bool:
        assert attempt.method
        self.refusals.append(refusal)
        if self.failure is not None:
            raise self.failure
        self.number += 1
        return self.number < 4

    def answered(self, attempt: Attempt, headers: Mapping[str, str]) -> None:
        assert attempt.url
        assert all(name == name.lower() for name in headers)
        self.answers += 1

    @property
    def secrets(self) -> tuple[str, ...]:
        return ()


def wants(token: int, peer: HttpPeer, status: int = 401) -> None:
    """Only who has this token is let in."""

    def guard(turn: Turn) -> None:
        if turn.headers.get("authorization") == f"Bearer {token}":
            peer.serve(turn)
        else:
            turn.status(status, b"no", WWW_Authenticate='Bearer error="invalid_token"')

    for what in ("server/discover", "tools/call", "initialize", "notifications/initialized", "GET", "DELETE"):
        peer.on(what, guard)


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_request_is_sent_again_with_what_the_authorizer_has_then(
    status: int, peer: HttpPeer, make_client: MakeClient
) -> None:
    wants(2, peer, status)
    toy = Toy()
    client = make_client(peer, auth=toy, headers={"Authorization": "mine"}).wait_ready()
    assert client.call_tool("echo", {}).text == "{}"
    (refusal,) = toy.refusals
    assert refusal.status == status
    assert refusal.challenges == ('Bearer error="invalid_token"',)
    assert toy.answers == 2
    assert {turn.headers["authorization"] for turn in peer.turns("tools/call")} == {"Bearer 2"}
    # The repetitions of a request share one deadline.
    assert toy.attempts[0].deadline is toy.attempts[1].deadline


def test_a_request_that_the_authorizer_gives_up_is_refused(peer: HttpPeer, make_client: MakeClient) -> None:
    wants(99, peer)
    with pytest.raises(errors.AuthorizationFailed, match="HTTP 401"):
        make_client(peer, auth=Toy()).wait_ready()
    assert len(peer.heard) == 3


def test_what_the_authorizer_says_reaches_the_caller(peer: HttpPeer, make_client: MakeClient) -> None:
    toy = Toy()
    client = make_client(peer, auth=toy).wait_ready()
    wants(99, peer)
    toy.failure = errors.Unavailable("somebody has to log in", state="ready")
    with pytest.raises(errors.AuthorizationFailed, match="somebody has to log in"):
        client.call_tool("echo", {})
    toy.failure = RuntimeError("a bug")
    with pytest.raises(errors.ConnectionLost, match="a bug"):
        client.call_tool("echo", {})
    wants(toy.number, peer)
    assert client.call_tool("echo", {}).text == "{}"


def test_nobody_logs_in_to_say_goodbye(make_peer: MakePeer, make_client: MakeClient) -> None:
    peer = make_peer("2025-11-25", listens=False)
    toy = Toy()
    client = make_client(peer, auth=toy).wait_ready()
    peer.await_turns("GET")
    wants(99, peer)
    client.close()
    assert len(peer.turns("DELETE")) == 1
    assert toy.refusals == []


def test_a_login_ends_when_nobody_waits_for_it(peer: HttpPeer, make_client: MakeClient) -> None:
    toy = Toy()
    client = make_client(peer, auth=toy).wait_ready()
    toy.gate = threading.Event()
    with pytest.raises(errors.RequestTimeout):
        client.call_tool("echo", {}, timeout=0.1)
    call = in_thread(lambda: client.call_tool("echo", {}))
    until(lambda: len(toy.attempts) == 3)
    client.close()
    with pytest.raises(errors.ClientClosed):
        call.result(BOUND)
    assert peer.turns("tools/call") == []


def test_nobody_logs_in_again_and_again_for_a_stream_of_news(
    make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer("2025-11-25")
    toy = Toy()
    toy.failure = errors.AuthorizationFailed("somebody has to log in", retryable=True)
    peer.on("GET", lambda turn: turn.status(401))
    client = make_client(peer, auth=toy).wait_ready()
    until(lambda: toy.refusals)
    until(lambda: client.call_tool("echo", {}) and len(peer.turns("tools/call")) > 5)
    assert len(toy.refusals) == 1


@pytest.mark.parametrize("status", [200, 401, 404, 501])
def test_a_server_without_a_stream_of_news_is_not_asked_again(
    status: int, make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer("2025-11-25")
    peer.on("GET", lambda turn: turn.status(status))
    client = make_client(peer).wait_ready()
    peer.await_turns("GET")
    assert client.call_tool("echo", {}).text == "{}"
    assert len(peer.turns("GET")) == 1


def test_a_stream_of_news_that_fails_is_asked_for_again(
    make_peer: MakePeer, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_actors.transports.http.grip.Grip.rest", lambda grip, _seconds: grip.was_cut)
    peer = make_peer("2025-11-25")
    peer.once("GET", lambda turn: turn.status(503), lambda turn: turn.reset())
    make_client(peer).wait_ready()
    peer.await_listener()
    assert len(peer.turns("GET")) == 3


def test_the_stream_of_news_tells_of_a_session_that_is_gone(
    make_peer: MakePeer, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_actors.transports.http.grip.Grip.rest", lambda grip, _seconds: grip.was_cut)
    peer = make_peer("2025-11-25")
    make_client(peer).wait_ready()
    stream = peer.await_listener()
    stream.send(id="1")
    peer.open_sessions.clear()
    stream.end()
    peer.await_turns("initialize", 2)
