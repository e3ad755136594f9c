"""Signs of life: asked for by either side, and given up on when they do not come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors import Client, errors
from tests.client.features.places import Place
from tests.client.toy_host import HANDSHAKES, SILENCE, STATELESS, VERSIONS, ToyHost, text
from tests.client.waiting import BOUND, in_thread, until

MakeClient = Callable[..., Client]
MakeHost = Callable[..., ToyHost]


@pytest.mark.requirement("feature:ping")
def test_a_server_that_answers_is_alive(place: Place) -> None:
    place.connect().ping()


@pytest.mark.requirement("feature:ping")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_server_that_is_silent_is_not(version: str, make_host: MakeHost, make_client: MakeClient) -> None:
    host = make_host(version=version)
    client = make_client(host).wait_ready()
    for method in ("ping", "server/discover"):
        host.answers[method] = lambda _: SILENCE
    with pytest.raises(errors.RequestTimeout, match="no answer to ping within 0.05 s"):
        client.ping(timeout=0.05)


@pytest.mark.requirement("feature:ping")
@pytest.mark.parametrize("version", HANDSHAKES)
def test_the_server_may_ask_too_before_the_handshake_is_over_as_well(
    version: str, make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(version=version)
    usual = host.answers["initialize"]

    def ping_first(request: dict[str, Any]) -> Any:
        host.say({"jsonrpc": "2.0", "id": "early", "method": "ping"})
        return usual(request)

    host.answers["initialize"] = ping_first
    client = make_client(host).wait_ready()
    assert host.await_answer("early")["result"] == {}
    host.say({"jsonrpc": "2.0", "id": 7, "method": "ping"})
    assert host.await_answer(7)["result"] == {}
    assert client.stats().violations == 0


@pytest.mark.requirement("feature:ping")
def test_a_server_of_2026_07_28_may_not_ask(host: ToyHost, client: Client) -> None:
    host.say({"jsonrpc": "2.0", "id": 7, "method": "ping"})
    client.ping()
    assert host.answers_heard() == []
    assert client.stats().violations == 1


@pytest.mark.requirement("feature:ping")
@pytest.mark.parametrize("version", HANDSHAKES)
def test_an_idle_server_that_misses_three_pings_is_given_up_and_reached_anew(
    version: str, make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(version=version)
    host.answers["ping"] = lambda _: SILENCE if host.wires == 1 else {}
    client = make_client(host, keep_alive=0.05).wait_ready()
    host.await_wires(2)
    client.ping(wait=True)
    first = host.heard[: [one["method"] for one in host.heard].index("initialize", 2)]
    assert sum(one["method"] == "ping" for one in first) == 3
    assert client.crash_report is not None
    assert "did not answer 3 pings" in client.crash_report.restarts[-1].reason


@pytest.mark.requirement("feature:ping")
def test_a_server_that_answers_pings_is_kept(make_host: MakeHost, make_client: MakeClient) -> None:
    host = make_host(version="2025-11-25")
    client = make_client(host, keep_alive=0.01).wait_ready()
    host.await_heard("ping", 8)
    assert (client.state, host.wires) == ("ready", 1)
    assert client.stats().unknown_responses == 0


@pytest.mark.requirement("feature:ping")
def test_any_word_is_a_sign_of_life(make_host: MakeHost, make_client: MakeClient) -> None:
    host = make_host(version="2025-11-25")

    def mumble(_: Any) -> Any:
        host.notify("notifications/message", level="info", data="busy")
        return SILENCE

    host.answers["ping"] = mumble
    client = make_client(host, keep_alive=0.01).wait_ready()
    host.await_heard("ping", 8)
    assert (client.state, host.wires) == ("ready", 1)


@pytest.mark.requirement("feature:ping")
def test_a_server_at_work_may_be_silent(make_host: MakeHost, make_client: MakeClient) -> None:
    host = make_host(version="2025-11-25")
    host.answers["ping"] = lambda _: SILENCE if host.all_heard("tools/call") else {}
    host.answers["tools/call"] = lambda _: SILENCE
    client = make_client(host, keep_alive=0.02).wait_ready()
    working = in_thread(lambda: client.call_tool("slow"))
    slow = host.await_heard("tools/call")
    # Many times the time after which an idle server is given up.
    with pytest.raises(errors.RequestTimeout):
        client.call_tool("slower", timeout=0.4)
    host.answers["ping"] = lambda _: {}
    host.reply(slow, text("done"))
    assert working.result(BOUND).text == "done"
    assert host.wires == 1


@pytest.mark.requirement("feature:ping")
def test_without_keep_alive_nobody_is_asked(make_host: MakeHost, make_client: MakeClient) -> None:
    patient, usual = make_host(version="2025-11-25"), make_host(version="2025-11-25")
    client = make_client(patient, keep_alive=None).wait_ready()
    make_client(usual, keep_alive=0.01).wait_ready()
    usual.await_heard("ping", 5)
    assert patient.all_heard("ping") == []
    assert client.state == "ready"


@pytest.mark.requirement("feature:ping")
def test_where_ping_is_gone_an_idle_connection_is_left_alone(
    make_host: MakeHost, make_client: MakeClient
) -> None:
    modern, old = make_host(), make_host(version="2025-11-25")
    for host in (modern, old):
        make_client(host, keep_alive=0.01).wait_ready()
    old.await_heard("ping", 5)
    assert [one["method"] for one in modern.heard] == ["server/discover"]


@pytest.mark.requirement("feature:ping")
@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
def test_a_keep_alive_is_a_positive_time(seconds: float, host: ToyHost, make_client: MakeClient) -> None:
    with pytest.raises(ValueError, match="keep_alive must be a positive number of seconds"):
        make_client(host, keep_alive=seconds)


@pytest.mark.requirement("feature:ping")
@pytest.mark.requirement("negotiation:degrade")
@pytest.mark.parametrize(("before", "after"), [(STATELESS, "2025-11-25"), ("2025-11-25", STATELESS)])
def test_a_ping_that_waits_is_said_in_the_words_of_the_server_that_comes(
    before: str, after: str, make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(version=before)
    client = make_client(host).wait_ready()
    host.version = after
    host.refuse(2)
    host.drop()
    until(lambda: client.state == "backoff")
    client.ping(wait=True)
    assert client.protocol_version == after
    assert host.heard[-1]["method"] == ("server/discover" if after == STATELESS else "ping")
