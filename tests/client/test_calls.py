"""One blocking call: its answer, its deadline, its progress, and the mistakes of its caller."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import pytest

from mcp_actors import Client, Progress, errors
from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.types import Tool
from tests.client.toy_host import SILENCE, VERSIONS, Refusal, ToyHost, text, tool
from tests.client.waiting import BOUND, in_thread, until

MakeClient = Callable[..., Client]
MakeHost = Callable[..., ToyHost]
_ENDING = Ending(EndKind.BROKEN, "the server is gone")


@pytest.mark.requirement("request:one-outcome")
def test_many_callers_get_each_its_own_answer_whatever_the_order(client: Client, host: ToyHost) -> None:
    host.answers["tools/call"] = lambda _: SILENCE
    calls = [
        in_thread(lambda number=number: client.call_tool("echo", {"n": number}).text)  # type: ignore[misc]
        for number in range(32)
    ]
    host.await_heard("tools/call", 32)
    requests = host.all_heard("tools/call")
    for request in requests[1::2] + requests[::2][::-1]:
        host.reply(request, text(str(request["params"]["arguments"]["n"])))
        host.reply(request, text("a second answer to the same request"))
    assert [call.result(BOUND) for call in calls] == [str(number) for number in range(32)]
    until(lambda: client.stats().unknown_responses == 32)
    assert client.stats().pending == 0


@pytest.mark.requirement("request:ids")
def test_ids_only_grow_also_over_reconnects(client: Client, host: ToyHost) -> None:
    for wire in range(1, 4):
        client.call_tool("echo")
        host.drop()
        host.await_wires(wire + 1)
        client.wait_ready()
    ids = [one["id"] for one in host.heard if "id" in one]
    assert ids == sorted(set(ids))


@pytest.mark.requirement("request:unknown-id")
@pytest.mark.parametrize(
    "wrong",
    [str, float, lambda _: True, lambda _: None, lambda _: "", lambda id_: -id_, lambda id_: id_ + 2**70],
)
def test_an_answer_that_nobody_waits_for_is_counted_and_harmless(
    wrong: Callable[[int], Any], client: Client, host: ToyHost
) -> None:
    host.answers["tools/call"] = lambda _: SILENCE
    call = client.submit_tool("echo")
    request = host.await_heard("tools/call")
    host.say({"jsonrpc": "2.0", "id": wrong(request["id"]), "result": text("wrong")})
    until(lambda: client.stats().unknown_responses + client.stats().violations == 1)
    host.reply(request, text("right"))
    assert call.result(BOUND).text == "right"


@pytest.mark.requirement("request:timeout")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_deadline_cancels_upstream_once_and_drops_the_late_answer(
    version: str, make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(version=version)
    client = make_client(host).wait_ready()
    host.answers["tools/call"] = lambda _: SILENCE
    with pytest.raises(errors.RequestTimeout) as caught:
        client.call_tool("slow", timeout=0.05)
    assert str(caught.value).splitlines()[0] == "no answer to tools/call 'slow' within 0.05 s (state: ready)"
    assert isinstance(caught.value, TimeoutError)
    request = host.await_heard("tools/call")
    host.await_heard("notifications/cancelled", requestId=request["id"])
    host.reply(request, text("late"))
    host.answers["tools/call"] = lambda _: text("next")
    assert client.call_tool("quick").text == "next"
    assert client.stats().late_responses == 1
    assert len(host.all_heard("notifications/cancelled")) == 1


@pytest.mark.requirement("request:no-leak")
@pytest.mark.requirement("request:tombstones")
def test_five_hundred_timeouts_leave_only_tombstones(client: Client, host: ToyHost) -> None:
    host.answers["tools/call"] = lambda _: SILENCE
    futures = [client.submit_tool("slow", timeout=0.01) for _ in range(500)]
    assert all(isinstance(future.exception(BOUND), errors.RequestTimeout) for future in futures)
    until(lambda: client.stats().in_flight == 0)
    stats = client.stats()
    assert (stats.pending, stats.tombstones) == (0, 500)
    assert client._trees.value is not None
    machine = client._trees.value.wiring.board.machine
    assert machine is not None
    for _ in range(4):
        machine.conversation.tombstones.sweep()
    assert client.stats().tombstones == 0


@pytest.mark.requirement("request:server-cancelled")
def test_a_server_may_cancel_the_one_call_it_names(client: Client, host: ToyHost) -> None:
    host.answers["tools/call"] = lambda _: SILENCE
    first, second = client.submit_tool("a"), client.submit_tool("b")
    host.await_heard("tools/call", 2)
    one, other = host.all_heard("tools/call")
    host.notify("notifications/cancelled", requestId=one["id"], reason="shutting a door")
    with pytest.raises(errors.Cancelled) as caught:
        first.result(BOUND)
    assert str(caught.value) == "tools/call 'a' was cancelled by the server: shutting a door"
    host.reply(other, text("b"))
    assert second.result(BOUND).text == "b"
    assert client.state == "ready"


@pytest.mark.requirement("request:lost")
def test_a_loss_fails_every_call_in_flight_and_repeats_none(client: Client, host: ToyHost) -> None:
    host.answers["tools/call"] = lambda _: SILENCE
    calls = [in_thread(lambda: client.call_tool("echo")) for _ in range(8)]
    host.await_heard("tools/call", 8)
    host.drop()
    for call in calls:
        error = call.exception(BOUND)
        assert isinstance(error, errors.ConnectionLost)
        assert isinstance(error, ConnectionError)
        assert (error.outcome, error.retryable) == ("unknown", False)
        assert str(error).splitlines()[0] == (
            "tools/call 'echo' lost its connection: the server exited with code 7; it may or may not have run"
        )
    client.ping(wait=True)
    assert len(host.all_heard("tools/call")) == 8


@pytest.mark.requirement("request:lost")
def test_a_call_on_a_wire_that_is_known_to_be_gone_was_not_sent(client: Client, host: ToyHost) -> None:
    gone = threading.Event()
    wire = client._trees.value.wiring.links.of(1)  # type: ignore[union-attr]
    assert wire is not None
    # The wire refuses before its end is told: the reader has no permit to find out.
    host.answers["tools/call"] = lambda _: gone.set() or SILENCE  # type: ignore[func-returns-value]
    host.ends[-1].wire._incoming.end(_ENDING, drop=False)
    with pytest.raises(errors.ConnectionLost) as caught:
        client.call_tool("echo")
    assert (caught.value.outcome, caught.value.retryable) == ("not_sent", True)
    assert "it was not sent" in str(caught.value)
    assert not gone.is_set()


@pytest.mark.requirement("request:lost")
@pytest.mark.parametrize(
    ("hints", "sent"),
    [({"readOnlyHint": True}, 2), ({"idempotentHint": True}, 2), ({"destructiveHint": True}, 1), ({}, 1)],
)
def test_a_lost_call_is_replayed_only_if_the_last_listing_allows_it(
    hints: dict[str, bool], sent: int, client: Client, host: ToyHost
) -> None:
    host.answers["tools/list"] = lambda _: {"tools": [tool("risky", **hints)]}
    client.list_tools()
    host.answers["tools/call"] = lambda _: host.drop() or SILENCE if host.wires == 1 else text("again")  # type: ignore[func-returns-value]
    if sent == 2:
        assert client.call_tool("risky", replay=True).text == "again"
    else:
        with pytest.raises(errors.ConnectionLost):
            client.call_tool("risky", replay=True)
        client.ping(wait=True)
    assert len(host.all_heard("tools/call")) == sent


@pytest.mark.requirement("request:lost")
def test_nothing_is_replayed_unasked_or_before_a_listing(client: Client, host: ToyHost) -> None:
    host.answers["tools/call"] = lambda _: host.drop() or SILENCE  # type: ignore[func-returns-value]
    with pytest.raises(errors.ConnectionLost):
        client.call_tool("read", replay=True)
    host.await_wires(2)
    client.wait_ready()
    client.list_tools()
    with pytest.raises(errors.ConnectionLost):
        client.call_tool("read")
    assert len(host.all_heard("tools/call")) == 2


def test_a_step_of_the_wall_clock_changes_nothing(
    client: Client, host: ToyHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.answers["tools/call"] = lambda _: SILENCE
    call = client.submit_tool("echo", timeout=0.1)
    monkeypatch.setattr(time, "time", lambda: 0.0)
    host.reply(host.await_heard("tools/call"), text("in time"))
    assert call.result(BOUND).text == "in time"
    with pytest.raises(errors.RequestTimeout):
        client.call_tool("echo", timeout=0.05)


# Not ready.


@pytest.mark.requirement("connection:unavailable")
def test_after_the_first_ready_a_call_while_not_ready_fails_at_once(
    host: ToyHost, make_client: MakeClient
) -> None:
    client = make_client(host, backoff_min=60, backoff_max=60).wait_ready()
    host.drop()
    until(lambda: client.state == "backoff")
    with pytest.raises(errors.Unavailable) as caught:
        client.call_tool("echo")
    error = caught.value
    assert (error.state, error.type, error.retryable) == ("backoff", "state", True)
    assert error.retry_after is not None
    assert 0 < error.retry_after <= 60
    assert str(error).startswith(
        "tools/call 'echo' was not sent: memory is not ready (state: backoff); next try in "
    )
    assert str(error).splitlines()[0].endswith(" s: the server exited with code 7")
    with pytest.raises(errors.Unavailable):
        client.submit_tool("echo").result(BOUND)
    with pytest.raises(errors.Unavailable):
        client.list_tools()


@pytest.mark.requirement("connection:unavailable")
def test_wait_waits_inside_the_deadline(host: ToyHost, make_client: MakeClient) -> None:
    client = make_client(host, backoff_min=60, backoff_max=60).wait_ready()
    host.drop()
    until(lambda: client.state == "backoff")
    calls: list[Callable[[], Any]] = [
        lambda: client.call_tool("echo", wait=True, timeout=0.05),
        lambda: client.submit_tool("echo", wait=True, timeout=0.05).result(BOUND),
    ]
    for call in calls:
        with pytest.raises(errors.RequestTimeout) as caught:
            call()
        assert str(caught.value).splitlines()[0] == (
            "tools/call 'echo' was not sent: memory was not ready within 0.05 s (state: backoff): "
            "the server exited with code 7"
        )


@pytest.mark.requirement("connection:unavailable")
def test_wait_goes_on_when_the_server_is_back(host: ToyHost, make_client: MakeClient) -> None:
    client = make_client(host).wait_ready()
    usual = host.answers["server/discover"]
    host.answers["server/discover"] = lambda _: SILENCE
    host.drop()
    host.await_heard("server/discover", 2)
    waits: list[Callable[[], Any]] = [
        lambda: client.call_tool("echo", wait=True),
        lambda: client.list_tools(wait=True),
        lambda: client.list_resources(wait=True),
        lambda: client.list_prompts(wait=True),
        lambda: client.read_resource("toy:a", wait=True),
        lambda: client.get_prompt("greet", wait=True),
        lambda: client.request("tools/list", wait=True),
        lambda: client.submit_tool("echo", wait=True).result(BOUND),
        lambda: client.ping(wait=True),
    ]
    calls = [in_thread(wait) for wait in waits]
    until(lambda: client.stats().in_flight == len(waits))
    host.answers["server/discover"] = usual
    request = host.await_heard("server/discover", 2)
    host.reply(request, usual(request))
    for call in calls:
        call.result(BOUND)


# Progress.


@pytest.mark.requirement("request:progress")
@pytest.mark.parametrize("version", VERSIONS)
def test_progress_comes_on_the_callers_own_thread_before_the_call_returns(
    version: str, make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(version=version)

    def answer(request: dict[str, Any]) -> Any:
        host.progress(request, 1, total=3, message="one")
        host.progress(request, 2.5)
        host.notify("notifications/progress", progressToken=request["id"] + 1, progress=99)
        return text("done")

    host.answers["tools/call"] = answer
    heard: list[tuple[threading.Thread, Progress]] = []
    client = make_client(host)
    client.call_tool("echo", on_progress=lambda news: heard.append((threading.current_thread(), news)))
    token = host.await_heard("tools/call")["id"]
    assert heard == [
        (threading.current_thread(), Progress(1.0, 3.0, "one", token)),
        (threading.current_thread(), Progress(2.5, None, None, token)),
    ]


@pytest.mark.requirement("request:progress")
def test_progress_after_the_end_is_dropped(client: Client, host: ToyHost) -> None:
    heard: list[Progress] = []
    client.on_progress(heard.append)
    client.call_tool("echo", on_progress=heard.append)
    host.progress(host.await_heard("tools/call"), 1)
    client.ping()
    assert heard == []


def test_no_progress_is_asked_for_unless_somebody_wants_it(client: Client, host: ToyHost) -> None:
    client.call_tool("echo")
    assert "progressToken" not in host.await_heard("tools/call")["params"]["_meta"]


def test_an_on_progress_that_raises_ends_its_own_call_and_cancels_upstream(
    client: Client, host: ToyHost
) -> None:
    def answer(request: dict[str, Any]) -> Any:
        host.progress(request, 1)
        return SILENCE

    def fail(_: Progress) -> None:
        raise LookupError("mine")

    host.answers["tools/call"] = answer
    with pytest.raises(LookupError, match="mine"):
        client.call_tool("echo", on_progress=fail)
    request = host.await_heard("tools/call")
    host.await_heard("notifications/cancelled", requestId=request["id"])
    client.ping()


@pytest.mark.parametrize("value", ["x", None, [], {}, True, 1e308, -5, 2**80])
def test_progress_of_any_shape_is_survived(value: Any, client: Client, host: ToyHost) -> None:
    def answer(request: dict[str, Any]) -> Any:
        host.progress(request, value, total=value, message=value)
        return text("done")

    host.answers["tools/call"] = answer
    heard: list[Progress] = []
    assert client.call_tool("echo", on_progress=heard.append).text == "done"
    assert [type(one.progress) for one in heard] == [float]


def test_steady_progress_does_not_extend_the_deadline(client: Client, host: ToyHost) -> None:
    stop = threading.Event()

    def answer(request: dict[str, Any]) -> Any:
        def talk() -> None:
            number = 0
            while not stop.wait(0.001):
                number += 1
                host.progress(request, number)

        in_thread(talk)
        return SILENCE

    host.answers["tools/call"] = answer
    try:
        with pytest.raises(errors.RequestTimeout):
            client.call_tool("echo", timeout=0.1, on_progress=lambda _: None)
    finally:
        stop.set()


# Answers of the wrong kind.


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
    assert client.request("ping") == {}


# The caller's own mistakes.


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ({"a": object()}, TypeError, "object"),
        ({"a": {1, 2}}, TypeError, "set"),
        ({"a": b"x"}, TypeError, "bytes"),
        ({"a": math.nan}, ValueError, "NaN"),
        ({"a": [None, {"b": math.inf}]}, ValueError, "NaN and infinity"),
        ({1: "a"}, TypeError, "keys are strings"),
        (["a"], TypeError, "arguments must be a mapping of names to values, not list"),
        ("a", TypeError, "arguments must be a mapping of names to values, not str"),
    ],
)
def test_arguments_that_are_no_json_are_refused_before_anything_is_written(
    arguments: Any, kind: type[Exception], words: str, client: Client, host: ToyHost
) -> None:
    with pytest.raises(kind, match=words):
        client.call_tool("echo", arguments)
    with pytest.raises(kind, match=words):
        client.submit_tool("echo", arguments)
    client.ping()
    assert host.all_heard("tools/call") == []
    assert client.stats().in_flight == 0


def test_arguments_that_hold_themselves_are_refused(client: Client) -> None:
    endless: dict[str, Any] = {}
    endless["self"] = endless
    with pytest.raises(ValueError, match="nested too deep"):
        client.call_tool("echo", endless)


@pytest.mark.parametrize(
    "value", ["\ud800", {"\udfff": 1}, 2**200, -(2**63), "\u2028\u0085\x1c", "𝄞", [[[]]]]
)
def test_legal_oddities_reach_the_server(value: Any, client: Client, host: ToyHost) -> None:
    client.call_tool("echo", {"a": value})
    assert host.await_heard("tools/call")["params"]["arguments"] == {"a": value}


def test_any_mapping_will_do_as_arguments(client: Client) -> None:
    assert client.call_tool("echo", MappingProxyType({"a": 1})).text == '{"a": 1}'
    assert client.request("tools/call", MappingProxyType({"name": "x"}))["content"]
    client.get_prompt("greet", MappingProxyType({"who": "me"}))


@pytest.mark.parametrize(
    ("timeout", "kind"),
    [
        (0, ValueError),
        (-1, ValueError),
        (math.nan, ValueError),
        (math.inf, ValueError),
        (10**400, ValueError),
        ("5", TypeError),
        (True, TypeError),
    ],
)
def test_timeouts_that_make_no_sense_are_refused(
    timeout: Any, kind: type[Exception], client: Client, host: ToyHost
) -> None:
    uses: list[Callable[[], Any]] = [
        lambda: client.call_tool("echo", timeout=timeout),
        lambda: client.submit_tool("echo", timeout=timeout),
        lambda: client.list_tools(timeout=timeout),
        lambda: client.read_resource("toy:a", timeout=timeout),
        lambda: client.ping(timeout=timeout),
        lambda: client.request("x", timeout=timeout),
        lambda: client.wait_ready(timeout),
        lambda: client.close(timeout),
    ]
    for use in uses:
        with pytest.raises(kind, match="timeout must be"):
            use()
    assert len(host.heard) == 1


def test_parameters_of_the_wrong_type_are_named(client: Client) -> None:
    wrong: list[tuple[Callable[[], Any], str]] = [
        (lambda: client.call_tool(5), "name must be a string, not int"),  # type: ignore[arg-type]
        (lambda: client.read_resource(None), "uri must be a string, not NoneType"),  # type: ignore[arg-type]
        (lambda: client.get_prompt(b"x"), "name must be a string, not bytes"),  # type: ignore[arg-type]
        (lambda: client.request(3), "method must be a string, not int"),  # type: ignore[arg-type]
        (lambda: client.request("x", [1]), "params must be a mapping"),  # type: ignore[arg-type]
        (lambda: client.request("x", {"_meta": 5}), "_meta must be a mapping"),
        (lambda: client.call_tool("x", on_progress=5), "on_progress must be callable, not int"),  # type: ignore[arg-type]
        (lambda: client.on_notification(5), "handler must be callable"),  # type: ignore[arg-type]
        (lambda: client.on_notification(print, 5), "method must be a string"),  # type: ignore[arg-type]
        (lambda: client.on_progress(None), "handler must be callable"),  # type: ignore[arg-type]
    ]
    for use, words in wrong:
        with pytest.raises(TypeError, match=words):
            use()
    client.ping()


def test_arguments_above_the_frame_limit_are_refused_with_both_sizes(
    host: ToyHost, make_client: MakeClient
) -> None:
    client = make_client(host, max_frame_bytes=1000)
    with pytest.raises(ValueError, match=r"tools/call 'echo' has 10\d\d bytes .* max_frame_bytes \(1000\)"):
        client.call_tool("echo", {"a": "x" * 1000})
    client.ping()


@pytest.mark.requirement("flow:frame-limit")
def test_an_answer_above_the_frame_limit_fails_the_call_and_the_next_works(
    host: ToyHost, make_client: MakeClient
) -> None:
    client = make_client(host, max_frame_bytes=1000).wait_ready()
    host.answers["tools/call"] = lambda _: text("x" * 2000)
    with pytest.raises(errors.FrameTooLarge, match="above the limit of 1000 bytes"):
        client.call_tool("echo")
    host.answers["tools/call"] = lambda _: text("small")
    assert client.call_tool("echo", wait=True).text == "small"
    assert client.stats().reconnects == 1


def test_a_server_without_tools_is_not_asked_for_any(make_host: MakeHost, make_client: MakeClient) -> None:
    host = make_host(capabilities={"prompts": {}})
    client = make_client(host)
    with pytest.raises(errors.CapabilityMissing) as caught:
        client.call_tool("echo")
    assert str(caught.value) == "tools/call 'echo' was not sent: memory does not offer tools"
    assert (caught.value.type, caught.value.details) == ("capability", {"capability": "tools"})
    for use in (client.list_tools, client.list_resources):
        with pytest.raises(errors.CapabilityMissing):
            use()
    assert isinstance(client.submit_tool("echo").exception(BOUND), errors.CapabilityMissing)
    assert [one["method"] for one in host.heard] == ["server/discover"]


def test_a_listing_is_typed(client: Client) -> None:
    listed = client.list_tools()
    assert all(isinstance(one, Tool) for one in listed)
    assert listed[1].annotations is not None
    assert listed[1].annotations.read_only_hint
