"""Answers of every shape: the good, the large, and those that fail their own call alone."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from mcp_actors import Client, errors
from mcp_actors.protocol import jsonrpc
from tests.client.toy_host import SILENCE, Refusal, ToyHost, text
from tests.client.waiting import BOUND


@pytest.mark.requirement("error:tree")
def test_an_error_answer_carries_code_message_and_data(client: Client, host: ToyHost) -> None:
    def refuse(_: Any) -> Any:
        raise Refusal(-32602, "Unknown tool: nope", {"name": "nope"})

    host.answers["tools/call"] = refuse
    with pytest.raises(errors.RemoteError) as caught:
        client.call_tool("nope")
    error = caught.value
    assert (error.type, error.code, error.data, error.retryable) == (
        "jsonrpc",
        -32602,
        {"name": "nope"},
        False,
    )
    assert str(error) == "tools/call 'nope' failed: Unknown tool: nope (code -32602)"


@pytest.mark.parametrize(
    "answer",
    [
        b'"result":7',
        b'"result":{"content":"x"}',
        b'"result":null',
        b'"result":{"content":[]},"error":{"code":1,"message":"x"}',
        b'"error":"x"',
        b'"error":{"message":"no code"}',
        b'"error":{"code":"1","message":"x"}',
        b'"other":1',
        b'"result":{"content":[],"resultType":"input_required"}',
    ],
)
def test_an_answer_of_the_wrong_shape_fails_this_call_alone(
    answer: bytes, client: Client, host: ToyHost
) -> None:
    host.answers["tools/call"] = lambda _: SILENCE
    call = client.submit_tool("echo")
    id_ = host.await_heard("tools/call")["id"]
    host.say_bytes(b'{"jsonrpc":"2.0","id":%d,%s}' % (id_, answer))
    error = call.exception(BOUND)
    assert isinstance(error, errors.InvalidResponse)
    assert str(error).startswith("tools/call 'echo' got ")
    client.ping()


def test_an_answer_without_jsonrpc_fails_its_call(client: Client, host: ToyHost) -> None:
    host.answers["tools/call"] = lambda _: SILENCE
    call = client.submit_tool("echo")
    host.say({"id": host.await_heard("tools/call")["id"], "result": text("x")})
    with pytest.raises(errors.InvalidResponse, match="without jsonrpc 2.0"):
        call.result(BOUND)


def test_a_tool_that_failed_is_a_result_and_no_exception(client: Client, host: ToyHost) -> None:
    host.answers["tools/call"] = lambda _: text("disk full") | {"isError": True}
    result = client.call_tool("save")
    assert (result.is_error, result.text) == (True, "disk full")


@pytest.mark.requirement("flow:decode-offload")
def test_large_frames_are_scanned_off_the_connections_thread_at_most_eight_at_once(
    client: Client, host: ToyHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, threads, gate = jsonrpc.scan, [], threading.Event()
    entered = threading.Semaphore(0)

    def scan(frame: bytes) -> jsonrpc.Message:
        if len(frame) > 128_000:
            threads.append(threading.current_thread().name)
            entered.release()
            gate.wait(BOUND)
        return usual(frame)

    monkeypatch.setattr(jsonrpc, "scan", scan)
    host.answers["tools/call"] = lambda request: text("x" * request["params"]["arguments"]["n"])
    futures = [client.submit_tool("big", {"n": 130_000 + number}) for number in range(20)]
    for _ in range(8):
        assert entered.acquire(timeout=BOUND)
    assert len(threads) == 8
    assert client.state == "ready"
    gate.set()
    assert [len(future.result(BOUND).text) for future in futures] == [130_000 + n for n in range(20)]
    assert len(threads) == 20
    assert not {name for name in threads if name.endswith("connection")}


@pytest.mark.requirement("flow:decode-offload")
def test_large_answers_come_whole_and_in_order(client: Client, host: ToyHost) -> None:
    sizes = [300_000, 10, 2_000_000, 10, 130_000]
    host.answers["tools/call"] = lambda request: text("x" * request["params"]["arguments"]["n"])
    futures = [client.submit_tool("big", {"n": size}) for size in sizes]
    assert [len(future.result(BOUND).text) for future in futures] == sizes


def test_request_gives_plain_json(client: Client, host: ToyHost) -> None:
    host.answers["x/y"] = lambda request: [request["params"]["a"], 2**70, None]
    assert client.request("x/y", {"a": 1.5}) == [1.5, 2**70, None]
    host.answers["x/z"] = lambda _: {}
    assert client.request("x/z") == {}
