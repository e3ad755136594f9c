"""Which revision a client and its server speak, and what the client knows of the server afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import structs

from mcp_actors import Client, errors
from mcp_actors.protocol.endings import EndKind
from tests.client.relay import over_both_wires
from tests.client.toy_host import HANDSHAKES, SILENCE, STATELESS, VERSIONS, Refusal, ToyHost
from tests.client.waiting import in_thread

#: So long that a test which waited for it would fail.
BACKOFF_NOBODY_WAITS_FOR = 60.0

MakeClient = Callable[..., Client]
MakeHost = Callable[..., ToyHost]


@pytest.mark.requirement("negotiation:versions")
@over_both_wires
@pytest.mark.parametrize("version", VERSIONS)
def test_every_revision_is_spoken(version: str, make_host: MakeHost, make_client: MakeClient) -> None:
    client = make_client(make_host(version=version)).wait_ready()
    assert client.protocol_version == version
    assert (client.server_info.name, client.server_info.version) == ("toy", "1.0")
    assert client.server_capabilities.tools is not None
    assert client.instructions == "be kind"
    assert client.call_tool("echo", {"x": [1, None, "ü"]}).text == '{"x": [1, null, "\\u00fc"]}'
    assert [one.name for one in client.list_tools()] == ["echo", "read"]
    assert [str(one.uri) for one in client.list_resources()] == ["toy:a"]
    assert [one.name for one in client.list_prompts()] == ["greet"]
    assert client.read_resource("toy:a").raw["contents"][0]["text"] == "A"
    assert client.get_prompt("greet", {"who": "me"}).raw["messages"][0]["role"] == "user"
    client.ping()


@pytest.mark.requirement("negotiation:versions")
@over_both_wires
@pytest.mark.parametrize("version", VERSIONS)
def test_a_client_can_be_told_which_revision_to_speak(
    version: str, make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(version=version)
    client = make_client(host, protocol=version).wait_ready()
    assert client.protocol_version == version
    if version in HANDSHAKES:
        host.await_heard("notifications/initialized")
        assert [one["method"] for one in host.heard] == ["initialize", "notifications/initialized"]
        assert host.heard[0]["params"]["protocolVersion"] == version
    else:
        assert [one["method"] for one in host.heard] == ["server/discover"]


@pytest.mark.requirement("negotiation:era")
@over_both_wires
def test_ping_becomes_discover_where_ping_is_gone(make_host: MakeHost, make_client: MakeClient) -> None:
    modern, legacy = make_host(), make_host(version="2025-11-25")
    for host in (modern, legacy):
        make_client(host).ping()
    assert len(modern.all_heard("server/discover")) == 2
    assert modern.all_heard("ping") == []
    assert len(legacy.all_heard("ping")) == 1


@pytest.mark.requirement("negotiation:era")
@over_both_wires
def test_every_request_of_the_stateless_era_describes_itself(client: Client, host: ToyHost) -> None:
    client.request("tools/call", {"name": "echo", "_meta": {"mine": 1}}, on_progress=lambda _: None)
    request = host.await_heard("tools/call")
    meta = request["params"]["_meta"]
    assert meta["io.modelcontextprotocol/protocolVersion"] == STATELESS
    assert meta["io.modelcontextprotocol/clientCapabilities"] == {}
    assert meta["io.modelcontextprotocol/clientInfo"]["name"] == "mcp-actors"
    assert (meta["mine"], meta["progressToken"]) == (1, request["id"])


@pytest.mark.requirement("negotiation:era")
@over_both_wires
def test_a_silent_probe_means_the_handshake_era(make_host: MakeHost, make_client: MakeClient) -> None:
    host = make_host(version="2025-06-18")
    host.answers["server/discover"] = lambda _: SILENCE
    client = make_client(host)
    client._policy = structs.replace(client._policy, probe_timeout=0.05)
    client.wait_ready()
    assert client.protocol_version == "2025-06-18"
    assert host.wires == 1
    assert host.all_heard("notifications/cancelled") == []


@pytest.mark.requirement("negotiation:era")
@over_both_wires
def test_a_server_that_hangs_up_on_the_probe_is_greeted_with_initialize(
    make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(version="2024-11-05")

    def hang_up(_: Any) -> Any:
        host.drop("the server exited with code 1")
        return SILENCE

    host.answers["server/discover"] = hang_up
    client = make_client(host, backoff_min=BACKOFF_NOBODY_WAITS_FOR, backoff_max=BACKOFF_NOBODY_WAITS_FOR)
    assert client.wait_ready().protocol_version == "2024-11-05"
    assert host.wires == 2


@pytest.mark.requirement("negotiation:era")
@over_both_wires
def test_the_verdict_is_remembered_across_reconnects(make_host: MakeHost, make_client: MakeClient) -> None:
    host = make_host(version="2025-11-25")
    client = make_client(host).wait_ready()
    host.drop()
    host.await_wires(2)
    client.ping(wait=True)
    assert len(host.all_heard("server/discover")) == 1
    assert len(host.all_heard("initialize")) == 2


@pytest.mark.requirement("negotiation:versions")
@over_both_wires
def test_no_common_version_names_both_lists(make_host: MakeHost, make_client: MakeClient) -> None:
    client = make_client(make_host(version="1999-01-01"), max_failed_starts=1)
    with pytest.raises(errors.UnsupportedVersion) as caught:
        client.wait_ready()
    first_line = str(caught.value).splitlines()[0]
    assert first_line.startswith(f"{client.name} and this client share no protocol version")
    assert "theirs: 1999-01-01" in first_line
    assert caught.value.details["theirs"] == ["1999-01-01"]
    assert set(caught.value.details["ours"]) == set(VERSIONS)


@pytest.mark.requirement("negotiation:versions")
@over_both_wires
def test_a_modern_server_without_our_version_is_not_asked_to_initialize(
    host: ToyHost, make_client: MakeClient
) -> None:
    def refuse(_: Any) -> Any:
        raise Refusal(-32022, "unsupported", {"supported": ["2099-01-01"], "requested": STATELESS})

    host.answers["server/discover"] = refuse
    client = make_client(host, max_failed_starts=1)
    with pytest.raises(errors.UnsupportedVersion, match="2099-01-01"):
        client.wait_ready()
    assert host.all_heard("initialize") == []


def test_a_refused_handshake_says_what_the_server_said(make_host: MakeHost, make_client: MakeClient) -> None:
    host = make_host(version="2025-11-25")

    def refuse(_: Any) -> Any:
        raise Refusal(-32000, "licence expired")

    host.answers["initialize"] = refuse
    client = make_client(host, max_failed_starts=2)
    with pytest.raises(errors.StartFailed) as caught:
        client.wait_ready()
    assert str(caught.value).splitlines()[0] == (
        "memory could not be started in 2 attempts: "
        "the server refused the handshake: licence expired (-32000)"
    )


@pytest.mark.parametrize("answer", [[], "x", {"protocolVersion": 5}, {}])
def test_a_handshake_answered_with_rubbish_is_a_failed_start(
    answer: Any, make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(version="2025-11-25")
    host.answers["initialize"] = lambda _: answer
    client = make_client(host, max_failed_starts=1)
    with pytest.raises(errors.McpError) as caught:
        client.wait_ready()
    assert caught.value.type in ("transport", "protocol")


@pytest.mark.requirement("connection:second-initialize")
def test_a_server_that_sends_initialize_is_refused_and_nothing_is_reset(
    make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(version="2025-11-25")
    client = make_client(host).wait_ready()
    host.say({"jsonrpc": "2.0", "id": "s1", "method": "initialize", "params": {}})
    assert host.await_answer("s1")["error"]["code"] == -32601
    assert client.stats().violations == 1
    assert (client.state, host.wires) == ("ready", 1)


def test_a_second_answer_to_initialize_is_ignored(make_host: MakeHost, make_client: MakeClient) -> None:
    host = make_host(version="2025-11-25")
    client = make_client(host).wait_ready()
    id_ = host.await_heard("initialize")["id"]
    host.say({"jsonrpc": "2.0", "id": id_, "result": {"protocolVersion": "1999-01-01"}})
    client.ping()
    assert client.protocol_version == "2025-11-25"
    assert client.stats().unknown_responses == 1


def test_what_is_not_known_yet_is_said_to_be_unknown(host: ToyHost, make_client: MakeClient) -> None:
    host.answers["server/discover"] = lambda _: SILENCE
    client = make_client(host)
    for name in ("server_info", "server_capabilities", "instructions", "protocol_version"):
        with pytest.raises(errors.Unavailable) as caught:
            getattr(client, name)
        assert str(caught.value) == (
            f"{name} is not known yet: the client was never ready (state: {client.state})"
        )
    assert caught.value.retryable


def test_what_was_agreed_stays_known_while_the_server_is_away(client: Client, host: ToyHost) -> None:
    host.refuse(10_000)
    host.drop()
    assert client.protocol_version == STATELESS
    assert client.server_info.name == "toy"


@pytest.mark.parametrize("info", [{}, {"name": 5}, {"name": None, "version": []}, "rubbish", 7])
def test_a_server_that_introduces_itself_badly_can_still_be_used(
    info: Any, make_host: MakeHost, make_client: MakeClient
) -> None:
    client = make_client(make_host(info=info)).wait_ready()
    assert client.call_tool("echo").text == "null"
    try:
        assert client.server_info.name == ""
    except errors.InvalidResponse as error:
        assert "server_info" in str(error)  # noqa: PT017 - either is right, nothing else is


def test_capabilities_of_the_wrong_shape_break_nothing_else(
    make_host: MakeHost, make_client: MakeClient
) -> None:
    client = make_client(make_host(capabilities={"tools": 5})).wait_ready()
    assert client.call_tool("echo").text == "null"
    with pytest.raises(errors.InvalidResponse, match="server_capabilities"):
        _ = client.server_capabilities


def test_calls_made_before_the_first_ready_wait_inside_their_own_deadline(
    host: ToyHost, make_client: MakeClient
) -> None:
    usual = host.answers["server/discover"]
    host.answers["server/discover"] = lambda _: SILENCE
    client = make_client(host)
    call = in_thread(lambda: client.call_tool("echo"))
    request = host.await_heard("server/discover")
    host.reply(request, usual(request))
    assert call.result(5).text == "null"


def test_a_host_that_ends_abnormally_is_reported_with_its_last_words(
    host: ToyHost, make_client: MakeClient
) -> None:
    client = make_client(host).wait_ready()
    host.answers["tools/call"] = lambda _: host.drop(kind=EndKind.EXIT) or SILENCE  # type: ignore[func-returns-value]
    with pytest.raises(errors.ConnectionLost) as caught:
        client.call_tool("echo")
    report = caught.value.crash_report
    assert report is not None
    assert (report.exit_code, report.stderr_tail) == (7, ("FATAL: no database",))
    assert report.protocol_version == STATELESS
