"""The scripted peer says what the script says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from mcp_actors.protocol.endings import EndKind
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.testing import Refusal, ScriptedPeer
from mcp_actors.transports.contract import OpenFailed, WireEnded
from mcp_actors.transports.memory import MemoryTransport, MemoryWire

pytestmark = pytest.mark.requirement("transport:memory")

BOUND = 5.0


@pytest.fixture
def peer() -> Iterator[ScriptedPeer]:
    peer = ScriptedPeer()
    yield peer
    peer.close()


def connect(peer: ScriptedPeer) -> MemoryWire:
    return MemoryTransport(peer).open(Deadline.after(BOUND))


def ask(wire: MemoryWire, number: int, method: str, params: object = None) -> None:
    wire.send(
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}).encode(), None
    )


def hear(wire: MemoryWire) -> dict[str, Any]:
    wire.wait()
    message: dict[str, Any] = json.loads(wire.read(1)[0])
    return message


@pytest.mark.parametrize(
    ("version", "greeting", "other"),
    [("2025-11-25", "initialize", "server/discover"), ("2026-07-28", "server/discover", "initialize")],
)
def test_it_greets_as_its_era_does(version: str, greeting: str, other: str) -> None:
    peer = ScriptedPeer(version=version)
    wire = connect(peer)
    ask(wire, 1, greeting)
    ask(wire, 2, other)
    assert version in json.dumps(hear(wire)["result"])
    assert hear(wire)["error"]["code"] == -32601
    peer.close()


def test_it_has_a_tool_that_echoes(peer: ScriptedPeer) -> None:
    wire = connect(peer)
    ask(wire, 1, "tools/list")
    assert [tool["name"] for tool in hear(wire)["result"]["tools"]] == ["echo"]
    ask(wire, 2, "tools/call", {"name": "echo", "arguments": {"a": 1}})
    assert json.loads(hear(wire)["result"]["content"][0]["text"]) == {"a": 1}
    ask(wire, 3, "tools/call", {"name": "other"})
    assert hear(wire)["error"]["code"] == -32602


def test_handlers_answer_or_refuse_and_everything_is_remembered(peer: ScriptedPeer) -> None:
    def refuse(params: dict[str, Any]) -> object:
        raise Refusal(-32000, "not today", params)

    peer.handlers["x/ok"] = lambda params: {"got": params}
    peer.handlers["x/no"] = refuse
    wire = connect(peer)
    ask(wire, 1, "x/ok", {"k": 1})
    ask(wire, 2, "x/no", {"k": 2})
    assert hear(wire)["result"] == {"got": {"k": 1}}
    assert hear(wire)["error"] == {"code": -32000, "message": "not today", "data": {"k": 2}}
    assert [message["method"] for message in peer.received] == ["x/ok", "x/no"]
    assert peer.wait_for("x/no")["id"] == 2
    with pytest.raises(TimeoutError, match="x/no came 1 of 2 times"):
        peer.wait_for("x/no", 2, timeout=0.0)


def test_answers_can_be_held_and_released_in_reverse(peer: ScriptedPeer) -> None:
    wire = connect(peer)
    peer.hold("ping")
    for number in (1, 2):
        ask(wire, number, "ping")
    ask(wire, 3, "tools/list")
    assert hear(wire)["id"] == 3
    peer.release("ping", newest_first=True)
    assert [hear(wire)["id"], hear(wire)["id"]] == [2, 1]
    ask(wire, 4, "ping")
    assert hear(wire)["id"] == 4


def test_answers_can_be_dropped_and_doubled(peer: ScriptedPeer) -> None:
    wire = connect(peer)
    peer.drop("ping")
    ask(wire, 1, "ping")
    ask(wire, 2, "ping")
    assert hear(wire)["id"] == 2
    peer.duplicate("ping")
    ask(wire, 3, "ping")
    ask(wire, 4, "ping")
    assert [hear(wire)["id"] for _ in range(3)] == [3, 3, 4]


def test_it_can_speak_first(peer: ScriptedPeer) -> None:
    with pytest.raises(RuntimeError, match="no connection"):
        peer.notify("too/early")
    wire = connect(peer)
    peer.notify("notifications/x", {"a": 1})
    assert hear(wire) == {"jsonrpc": "2.0", "method": "notifications/x", "params": {"a": 1}}
    number = peer.request("roots/list")
    assert hear(wire) == {"jsonrpc": "2.0", "id": number, "method": "roots/list", "params": {}}
    peer.send_raw(b"rubbish")
    wire.wait()
    assert wire.read(1) == [b"rubbish"]


def test_it_can_refuse_die_and_be_opened_again(peer: ScriptedPeer) -> None:
    peer.refuse(reason="later")
    peer.refuse(for_good=True)
    for kind in (EndKind.REFUSED, EndKind.IMPOSSIBLE):
        with pytest.raises(OpenFailed) as failure:
            connect(peer)
        assert failure.value.ending.kind is kind
    with pytest.raises(TimeoutError, match="0 of 1"):
        peer.wait_connected(timeout=0.0)
    for number in (1, 2):
        wire = connect(peer)
        peer.wait_connected(number)
        ask(wire, 1, "ping")
        assert hear(wire)["id"] == 1
        peer.die()
        with pytest.raises(WireEnded, match="exited with code 1"):
            wire.wait()


def test_dying_before_anybody_came_does_nothing() -> None:
    ScriptedPeer().die()


def test_a_mistake_in_the_script_is_answered_as_an_error(
    peer: ScriptedPeer, caplog: pytest.LogCaptureFixture
) -> None:
    peer.handlers["x/y"] = lambda params: params["typo"]
    wire = connect(peer)
    ask(wire, 1, "x/y")
    error = hear(wire)["error"]
    assert (error["code"], error["message"]) == (-32603, "the script failed: KeyError: 'typo'")
    assert "the handler of x/y failed" in caplog.text
