"""The mistakes of a caller: told at once, by name, before anything is written."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import pytest

from mcp_actors import Client
from tests.client.toy_host import ToyHost

MakeClient = Callable[..., Client]


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


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("h.example/mcp", "url must be an http or https address with a host, not 'h.example/mcp'"),
        ("http://h.example/mcp\n", r"url must be .*, not 'http://h.example/mcp\\n'"),
        (" http://h.example/mcp", "url must be .*, not ' http://h.example/mcp'"),
        ("http://h.example:99999/mcp", "url must be .*, not 'http://h.example:99999/mcp'"),
        ("http://h.example:mcp/", "url must be .*, not 'http://h.example:mcp/'"),
        ("http://[::1/mcp", "url must be .*, not 'http://\\[::1/mcp'"),
        ("http://ann:opensesame@h.example/", "url must not hold a name or password"),
    ],
)
def test_an_address_that_cannot_be_gone_to_is_refused(url: str, words: str) -> None:
    for constructor in (Client.http, Client.sse):
        with pytest.raises(ValueError, match=words) as caught:
            constructor(url)
        assert "opensesame" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"verify": 1}, TypeError, "verify must be True, False, a path or an ssl.SSLContext, not int"),
        ({"verify": None}, TypeError, "verify must be True, False, .* not NoneType"),
        ({"proxies": "http://p"}, TypeError, "proxies must be a mapping of names to values, not str"),
        ({"proxies": {"https": 3128}}, TypeError, "the proxy for 'https' must be a string, not int"),
        ({"proxies": {"https://": "http://p"}}, ValueError, "'http', 'https' or 'all', not 'https://'"),
    ],
)
def test_a_way_to_a_server_that_cannot_be_understood_is_refused(
    options: dict[str, Any], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        Client.http("https://h.example/mcp", **options)


def test_a_scheme_may_be_given_no_proxy() -> None:
    Client.http("https://h.example/mcp", proxies={"https": None}).close()  # type: ignore[dict-item]


@pytest.mark.parametrize("take", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_client_says_that_it_cannot_be_given_to_another_process(
    take: Callable[[Client], object], client: Client
) -> None:
    with pytest.raises(TypeError, match="a client cannot be pickled or copied: .* at module level"):
        take(client)


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
