"""What a server says about itself, and under which rules it serves."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

from mcp_actors import Server, errors, types
from mcp_actors.server.options import ServerOptions
from tests.client.waiting import until
from tests.server.conftest import Connect, MakeServer, MakeTalk
from tests.server.talk import HANDSHAKE, STATELESS, VERSIONS

HANDSHAKES = VERSIONS[1:]


@pytest.mark.requirement("negotiation:versions")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_server_introduces_itself(make_server: MakeServer, connect: Connect, version: str) -> None:
    server = make_server(
        version="7.1",
        title="The demo",
        description="Shows things.",
        website_url="https://example.com",
        icons=[types.Icon(src="https://example.com/icon.png")],
        instructions="Be kind.",
    )
    client = connect(server, version)
    told = client.server_info.to_wire()
    assert (told["name"], told["version"]) == ("demo", "7.1")
    assert told["title"] == "The demo"
    assert client.instructions == "Be kind."
    assert client.protocol_version == version


@pytest.mark.requirement("negotiation:era")
def test_a_client_that_may_choose_gets_the_newest(server: Server, connect: Connect) -> None:
    assert connect(server).protocol_version == STATELESS


@pytest.mark.requirement("negotiation:capabilities")
def test_what_is_declared_is_what_there_is(server: Server, connect: Connect, era: str) -> None:
    def declared() -> set[str]:
        return set(connect(server, era).server_capabilities.to_wire())

    assert declared() == {"logging"}
    server.add_tool(lambda: 1, name="tool")
    assert declared() == {"logging", "tools"}
    server.add_prompt(lambda x: x, name="prompt")
    server.add_resource("demo://x", lambda: "")
    server.completion(argument="x", prompt="prompt")(lambda _text: [])
    assert declared() == {"logging", "tools", "prompts", "resources", "completions"}
    server.remove_tool("tool")
    assert "tools" in declared(), "a list that became empty is still a list"
    server.add_tool(lambda: 1, name="task", task_support="optional")
    assert ("extensions" if era == STATELESS else "tasks") in declared()


@pytest.mark.requirement("negotiation:degrade")
def test_what_is_not_declared_does_not_exist(server: Server, talk: MakeTalk, era: str) -> None:
    one = talk(server, era)
    for method in ("tools/list", "prompts/get", "resources/read", "completion/complete", "tasks/get"):
        assert one.call(method)["error"]["code"] == -32601


@pytest.mark.requirement("negotiation:experimental")
def test_experimental_capabilities_are_declared_if_asked_for(
    make_server: MakeServer, connect: Connect, era: str
) -> None:
    plain = connect(make_server(), era)
    assert plain.server_capabilities.experimental is None
    server = make_server(experimental={"com.example/x": {"on": True}})
    assert connect(server, era).server_capabilities.experimental == {"com.example/x": {"on": True}}


@pytest.mark.requirement("negotiation:versions")
def test_a_server_may_speak_some_revisions_only(make_server: MakeServer, talk: MakeTalk) -> None:
    old = talk(make_server(protocols=["2025-03-26", "2024-11-05"]))
    assert old.hello("2025-11-25")["result"]["protocolVersion"] == "2025-03-26"
    new = talk(make_server(protocols=[STATELESS]))
    refused = new.call("initialize", protocolVersion=HANDSHAKE, capabilities={})["error"]
    assert (refused["code"], refused["data"]) == (
        -32022,
        {"supported": [STATELESS], "requested": HANDSHAKE},
    )
    stateless = talk(make_server(protocols=[HANDSHAKE]), STATELESS)
    assert stateless.call("server/discover")["error"]["data"]["supported"] == [HANDSHAKE]


@pytest.mark.requirement("negotiation:era")
@pytest.mark.parametrize("protocols", [[STATELESS], ["2025-06-18"]])
def test_a_client_finds_what_both_speak(
    make_server: MakeServer, connect: Connect, protocols: list[str]
) -> None:
    server = make_server(protocols=protocols)
    assert connect(server).protocol_version == protocols[0]


@pytest.mark.requirement("negotiation:versions")
def test_who_has_nothing_in_common_is_told_both_lists(make_server: MakeServer, connect: Connect) -> None:
    with pytest.raises(errors.McpError, match=STATELESS):
        connect(make_server(protocols=[STATELESS]), "2024-11-05", max_failed_starts=1)


@pytest.mark.requirement("negotiation:phases")
def test_a_request_before_the_handshake_is_refused_and_a_ping_is_not(server: Server, talk: MakeTalk) -> None:
    server.add_tool(lambda: 1, name="tool")
    one = talk(server)
    assert one.call("tools/list")["error"]["code"] == -32600
    assert one.call("ping")["result"] == {}
    assert one.hello(HANDSHAKE)["result"]["protocolVersion"] == HANDSHAKE
    again = one.call("initialize", protocolVersion=HANDSHAKE, capabilities={})
    assert again["error"]["code"] == -32600
    assert len(one.call("tools/list")["result"]["tools"]) == 1


@pytest.mark.requirement("negotiation:phases")
def test_a_client_that_does_not_finish_its_handshake_is_sent_away(
    make_server: MakeServer, talk: MakeTalk
) -> None:
    server = make_server(init_timeout=0.02)
    one = talk(server)
    one.call("initialize", protocolVersion=HANDSHAKE, capabilities={})
    assert one.at_end()
    until(lambda: len(server.host.lines) == 1)


@pytest.mark.requirement("feature:ping")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_server_answers_pings(server: Server, connect: Connect, version: str) -> None:
    connect(server, version).ping()


def test_both_eras_may_be_spoken_on_one_wire(server: Server, talk: MakeTalk) -> None:
    server.add_tool(lambda: 1, name="tool")
    one = talk(server, HANDSHAKE)
    assert set(one.call("tools/list")["result"]) == {"tools"}
    one._version = STATELESS
    assert one.call("tools/list")["result"]["resultType"] == "complete"


# Options.


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"threads": 0}, "threads must be at least 1"),
        ({"max_running": 0}, "max_running must be at least 1"),
        ({"page_size": "many"}, "page_size must be at least 1"),
        ({"log_level": "loud"}, "log_level must be one of debug"),
        ({"cache_scope": "mine"}, "cache_scope is public or private"),
        ({"ttl_ms": -1}, "ttl_ms must not be below 0"),
        ({"request_state_keys": [b"short"]}, "at least 32 bytes"),
        ({"protocols": ["1999-01-01"]}, "protocols are some of 2026-07-28"),
        ({"protocols": []}, "protocols are some of"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused_at_once(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Server("demo", **options)


def test_an_option_that_does_not_exist_is_refused() -> None:
    with pytest.raises(TypeError, match="treads"):
        Server("demo", treads=3)  # type: ignore[call-arg]


@pytest.mark.parametrize("name", ["", None, 7])
def test_a_server_has_a_name(name: Any) -> None:
    with pytest.raises(ValueError, match="a server has a name"):
        Server(name)


def test_revisions_are_kept_newest_first() -> None:
    options = ServerOptions(protocols=["2024-11-05", STATELESS])
    assert [revision.version for revision in options.revisions()] == [STATELESS, "2024-11-05"]


def test_a_server_shows_its_name(server: Server) -> None:
    assert repr(server) == "<Server 'demo'>"


def test_a_process_patched_by_gevent_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkey = ModuleType("gevent.monkey")
    monkey.is_module_patched = lambda _name: True  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "gevent.monkey", monkey)
    with pytest.raises(RuntimeError, match="gevent"):
        Server("demo")
