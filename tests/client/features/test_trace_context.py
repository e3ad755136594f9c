"""Trace context: what a tracer gives goes along with every request."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors import Client
from tests.client.features.news_host import NewsHost
from tests.client.toy_host import STATELESS, VERSIONS, ToyHost
from tests.client.waiting import BOUND

MakeClient = Callable[..., Client]
MakeHost = Callable[..., ToyHost]
MakeNews = Callable[..., NewsHost]

TRACE = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate": "v=1"}
CALLS: dict[str, Callable[[Client], Any]] = {
    "tools/list": lambda client: client.list_tools(),
    "tools/call": lambda client: client.call_tool("echo"),
    "resources/list": lambda client: client.list_resources(),
    "resources/read": lambda client: client.read_resource("toy:a"),
    "resources/subscribe": lambda client: client.subscribe_resource("toy:a"),
    "prompts/list": lambda client: client.list_prompts(),
    "prompts/get": lambda client: client.get_prompt("greet"),
    "completion/complete": lambda client: client.complete("greet", "who", ""),
    "custom/thing": lambda client: client.request("custom/thing"),
    "logging/setLevel": lambda client: client.set_logging_level("info"),
    "ping": lambda client: client.ping(),
}
#: What they are called since 2026-07-28, where a log level is nothing to be sent by itself.
MODERN = {"resources/subscribe": "subscriptions/listen", "ping": "server/discover"}
SENT = [
    (call, MODERN.get(call, call) if version == STATELESS else call, version)
    for call in CALLS
    for version in VERSIONS
    if (call, version) != ("logging/setLevel", STATELESS)
]


@pytest.mark.requirement("telemetry:metrics")
@pytest.mark.parametrize(("call", "name", "version"), SENT)
def test_it_goes_along_with_every_request(
    call: str, name: str, version: str, make_news: MakeNews, make_client: MakeClient
) -> None:
    host = make_news(version)
    host.capabilities = host.capabilities | {"completions": {}}
    host.answers["completion/complete"] = lambda _: {"completion": {"values": []}}
    host.answers["custom/thing"] = lambda _: {}
    client = make_client(host, trace_context=lambda: TRACE).wait_ready()
    opening = len(host.all_heard(name))
    CALLS[call](client)
    meta = host.await_heard(name, opening + 1)["params"].get("_meta", {})
    assert {key: meta.get(key) for key in TRACE} == TRACE


@pytest.mark.requirement("telemetry:metrics")
def test_it_goes_along_with_futures_and_batches(host: ToyHost, make_client: MakeClient) -> None:
    client = make_client(host, trace_context=lambda: TRACE)
    client.submit_tool("echo").result(BOUND)
    with client.batch() as batch:
        calls = [batch.call_tool("echo"), batch.request("tools/list")]
    for call in calls:
        call.result(BOUND)
    heard = host.all_heard("tools/call") + host.all_heard("tools/list")
    assert [one["params"]["_meta"]["traceparent"] for one in heard] == [TRACE["traceparent"]] * 3


@pytest.mark.requirement("telemetry:metrics")
def test_it_is_asked_for_anew_on_the_callers_thread(host: ToyHost, make_client: MakeClient) -> None:
    numbers = itertools.count(1)
    client = make_client(host, trace_context=lambda: {"traceparent": str(next(numbers))}).wait_ready()
    client.call_tool("echo")
    client.call_tool("echo")
    seen = [one["params"]["_meta"]["traceparent"] for one in host.all_heard("tools/call")]
    assert seen == ["1", "2"]


@pytest.mark.requirement("telemetry:metrics")
@pytest.mark.parametrize("given", [RuntimeError("no span"), None, 5, {"a": object()}, {"progressToken": 1}])
def test_a_tracer_that_fails_stops_no_work(
    given: Any, host: ToyHost, make_client: MakeClient, caplog: pytest.LogCaptureFixture
) -> None:
    def trace() -> Any:
        if isinstance(given, Exception):
            raise given
        return given

    client = make_client(host, trace_context=trace).wait_ready()
    with caplog.at_level(logging.WARNING, "mcp_actors"):
        assert client.call_tool("echo", {"x": 1}).text == '{"x": 1}'
        assert len(client.list_tools()) == 2
    assert "traceparent" not in host.await_heard("tools/call")["params"]["_meta"]
    assert "trace_context failed" in caplog.text


@pytest.mark.requirement("telemetry:metrics")
@pytest.mark.parametrize("version", [STATELESS, "2025-11-25"])
def test_the_callers_own_meta_has_the_last_word(
    version: str, make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(version=version)
    client = make_client(host, trace_context=lambda: TRACE)
    client.call_tool("echo", meta={"traceparent": "mine", "example.org/x": [1]})
    client.request("tools/call", {"name": "echo", "_meta": {"traceparent": "mine", "example.org/x": [1]}})
    for one in host.all_heard("tools/call"):
        meta = one["params"]["_meta"]
        assert (meta["traceparent"], meta["tracestate"], meta["example.org/x"]) == ("mine", "v=1", [1])


@pytest.mark.requirement("telemetry:metrics")
@pytest.mark.parametrize(
    "key",
    [
        "progressToken",
        "io.modelcontextprotocol/protocolVersion",
        "io.modelcontextprotocol/clientInfo",
        "io.modelcontextprotocol/clientCapabilities",
    ],
)
def test_what_the_client_writes_itself_is_refused(key: str, client: Client, host: ToyHost) -> None:
    for call in (
        lambda: client.call_tool("echo", meta={key: 1}),
        lambda: client.submit_tool("echo", meta={key: 1}),
        lambda: client.read_resource("toy:a", meta={key: 1}),
        lambda: client.get_prompt("greet", meta={key: 1}),
        lambda: client.request("tools/call", {"name": "echo", "_meta": {key: 1}}),
    ):
        with pytest.raises(ValueError, match="the client writes it itself"):
            call()
    assert [one["method"] for one in host.heard] == ["server/discover"]


@pytest.mark.requirement("telemetry:metrics")
@pytest.mark.parametrize("version", VERSIONS)
def test_without_a_tracer_nothing_is_added(
    version: str, make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(version=version)
    make_client(host).call_tool("echo")
    meta = host.await_heard("tools/call")["params"].get("_meta", {})
    assert not {"traceparent", "tracestate", "baggage"} & meta.keys()


@pytest.mark.requirement("telemetry:metrics")
def test_a_tracer_is_callable(host: ToyHost, make_client: MakeClient) -> None:
    with pytest.raises(TypeError, match="trace_context must be callable, not dict"):
        make_client(host, trace_context=TRACE)
