"""The demo server speaks both eras as the specification wants them, with a client and by hand."""

from __future__ import annotations

import io
import json
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from mcp_actors import Client, errors
from mcp_actors.cli import demo_server
from mcp_actors.cli.demo_server import COMMAND, META, VERSION, DemoServer

MODERN = {META + "protocolVersion": VERSION, META + "clientCapabilities": {}}


@pytest.fixture(params=["2026-07-28", "2025-11-25", "2024-11-05"])
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    with Client.stdio(COMMAND, protocol=request.param) as client:
        assert client.protocol_version == request.param
        yield client


def test_everything_works_in_both_eras(client: Client) -> None:
    assert client.server_info.name == "demo"
    assert client.instructions == demo_server.INSTRUCTIONS
    assert [tool.name for tool in client.list_tools()] == ["add", "slow_count", "crash"]
    assert client.call_tool("add", {"a": 1, "b": 2}).structured_content == {"result": 3}
    assert client.call_tool("add", {"a": 1}).is_error
    assert client.read_resource("demo://about").text == demo_server.INSTRUCTIONS
    assert [resource.name for resource in client.list_resources()] == ["about", "pid"]
    assert [prompt.name for prompt in client.list_prompts()] == ["greet"]
    assert client.get_prompt("greet").messages[0].role == "user"
    client.ping()


def test_progress_is_reported_and_a_cancelled_count_stops(client: Client) -> None:
    reports: list[float] = []
    client.call_tool(
        "slow_count", {"to": 3, "delay": 0.001}, on_progress=lambda report: reports.append(report.progress)
    )
    assert reports == [1, 2, 3]
    under_way = threading.Event()
    future = client.submit_tool(
        "slow_count", {"to": 10_000, "delay": 0.01}, on_progress=lambda _report: under_way.set()
    )
    assert under_way.wait(5)
    assert future.cancel()
    client.ping()


def test_a_crash_says_why(client: Client) -> None:
    with pytest.raises(errors.ConnectionLost) as lost:
        client.call_tool("crash", {"last_words": "FATAL: enough"})
    assert lost.value.crash_report is not None
    assert lost.value.crash_report.exit_code == 7
    assert lost.value.crash_report.stderr_tail == ("FATAL: enough",)


@pytest.mark.parametrize(
    ("method", "params"),
    [("tools/call", {"name": "dance"}), ("resources/read", {"uri": "demo://nothing"}), ("no/method", {})],
)
def test_what_does_not_exist_is_refused(client: Client, method: str, params: dict[str, Any]) -> None:
    with pytest.raises(errors.RemoteError) as refused:
        client.request(method, params)
    assert refused.value.code in (-32601, -32602)


def converse(monkeypatch: pytest.MonkeyPatch, *lines: bytes) -> list[dict[str, Any]]:
    """What the server answers to these lines, run in this process."""
    stdin, stdout = io.BytesIO(b"".join(line + b"\n" for line in lines)), io.BytesIO()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stdin))
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(stdout))
    before = set(threading.enumerate())
    DemoServer().run()
    for thread in set(threading.enumerate()) - before:
        thread.join(5)
    return [json.loads(line) for line in stdout.getvalue().splitlines()]


def asked(number: int, method: str, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


def told(method: str, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode()


def test_both_eras_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = converse(
        monkeypatch,
        b"no JSON",
        b"[]",
        asked(1, "initialize", protocolVersion="2025-06-18"),
        asked(2, "initialize", protocolVersion="1999-01-01"),
        told("notifications/initialized"),
        asked(3, "ping"),
        asked(4, "server/discover", _meta=MODERN),
        asked(5, "server/discover", _meta={META + "protocolVersion": "2099-01-01"}),
        asked(6, "ping", _meta=MODERN),
        asked(7, "server/discover"),
        asked(8, "tools/list", _meta=MODERN),
        asked(9, "prompts/get", name="greet", arguments={"name": "Ada"}),
        asked(10, "resources/list"),
        asked(11, "prompts/list"),
        asked(12, "resources/read", uri="demo://about"),
    )
    results: dict[int, Any] = {answer["id"]: answer.get("result") for answer in answers}
    codes = {answer["id"]: answer["error"]["code"] for answer in answers if "error" in answer}
    assert codes == {5: -32022, 6: -32601, 7: -32601}
    assert results[1]["protocolVersion"] == "2025-06-18"
    assert results[2]["protocolVersion"] == "2025-11-25"
    assert results[3] == {}
    assert results[4]["supportedVersions"] == [VERSION]
    assert {"resultType", "ttlMs", "cacheScope", "tools"} == set(results[8])
    assert results[9]["messages"][0]["content"]["text"] == "Say hello to Ada."
    assert [one["uri"] for one in results[10]["resources"]] == ["demo://about", "demo://pid"]
    assert "prompts" in results[11]
    assert results[12]["contents"][0]["uri"] == "demo://about"


def test_tools_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    answers = converse(
        monkeypatch,
        asked(1, "tools/call", name="add", arguments={"a": 1, "b": 2}, _meta=MODERN),
        asked(2, "tools/call", name="add", arguments={}),
        asked(3, "tools/call", name="dance"),
        asked(
            4, "tools/call", name="slow_count", arguments={"to": 1, "delay": 0}, _meta={"progressToken": "t"}
        ),
        asked(5, "tools/call", name="slow_count", arguments={"to": 9, "delay": 5}),
        told("notifications/cancelled", requestId=5),
        told("notifications/cancelled", requestId=99),
    )
    progress = [answer["params"] for answer in answers if "method" in answer]
    by_id = {answer["id"]: answer for answer in answers if "id" in answer}
    assert progress == [{"progressToken": "t", "progress": 1, "total": 1}]
    assert by_id[1]["result"]["structuredContent"] == {"result": 3}
    assert by_id[2]["result"]["isError"]
    assert by_id[3]["error"]["code"] == -32602
    assert by_id[4]["result"]["structuredContent"] == {"result": 1}
    assert set(by_id) == {1, 2, 3, 4}


def test_a_reader_that_is_gone_ends_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(io.BytesIO):
        def flush(self) -> None:
            raise BrokenPipeError

    class Ended(Exception):
        pass

    def end(_code: int) -> None:
        raise Ended

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(asked(1, "ping"))))
    gone = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", type("Output", (), {"buffer": Gone(), "keep": gone})())
    monkeypatch.setattr("os._exit", end)
    with pytest.raises(Ended):
        DemoServer().run()


def test_the_crash_ends_with_code_seven(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ended(Exception):
        pass

    def end(code: int) -> None:
        raise Ended(code)

    words = io.StringIO()
    monkeypatch.setattr("os._exit", end)
    monkeypatch.setattr(sys, "stderr", words)
    with pytest.raises(Ended, match="7"):
        demo_server.crash({}, demo_server.Call(DemoServer(), None))
    assert words.getvalue().startswith("FATAL")
