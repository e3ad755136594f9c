"""The headers of a POST, GET and DELETE in both eras, and what a frame is from the wire's point of view."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.protocol import codec
from mcp_actors.protocol.http.header_values import decode
from mcp_actors.protocol.http.param_headers import ParamHeaders
from mcp_actors.protocol.http.request_headers import Outbound, RequestHeaders
from mcp_actors.protocol.jsonrpc import error_frame, result_frame

pytestmark = pytest.mark.requirement("transport:http")

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
MODERN = "2026-07-28"
POST = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
MODERN_POST = POST | {"MCP-Protocol-Version": MODERN}
REGION = ParamHeaders.of({"properties": {"region": {"type": "string", "x-mcp-header": "Region"}}})
TOOLS = {"deploy": REGION, "plain": ParamHeaders()}


def frame(method: str, params: Any = None, *, id_: Any = None) -> bytes:
    message = {"jsonrpc": "2.0", "method": method}
    return codec.encode(
        message | ({} if id_ is None else {"id": id_}) | ({} if params is None else {"params": params})
    )


def modern(method: str, params: dict[str, Any] | None = None) -> bytes:
    return frame(method, {"_meta": {VERSION_KEY: MODERN, "progressToken": 7}} | (params or {}), id_=7)


def outbound(data: bytes, version: str | None = None, session_id: str | None = None) -> Outbound:
    return RequestHeaders(TOOLS.get, version, session_id).outbound(data)


# The handshake era.


def test_initialize_carries_neither_version_nor_session() -> None:
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    }
    for version in (None, "2025-11-25", MODERN):
        said = outbound(frame("initialize", params, id_=1), version, "old")
        assert said == Outbound("request", 1, "initialize", False, POST)
        assert not said.carries_session


@pytest.mark.parametrize(
    ("version", "headers"),
    [
        (None, {}),
        ("2024-11-05", {}),
        ("2025-03-26", {}),
        ("2025-06-18", {"MCP-Protocol-Version": "2025-06-18"}),
        ("2025-11-25", {"MCP-Protocol-Version": "2025-11-25"}),
        ("unheard-of", {}),
    ],
)
def test_after_the_handshake_everything_carries_what_it_settled(
    version: str | None, headers: dict[str, str]
) -> None:
    settled = POST | headers | {"Mcp-Session-Id": "s-1"}
    call = outbound(
        frame("tools/call", {"name": "deploy", "arguments": {"region": "eu"}}, id_="a"), version, "s-1"
    )
    assert call == Outbound("request", "a", "tools/call", False, settled)
    assert call.carries_session
    news = outbound(frame("notifications/initialized"), version, "s-1")
    assert news == Outbound("notification", None, "notifications/initialized", False, settled)
    for answer in (result_frame(3), error_frame(3, -32601, "no")):
        assert outbound(answer, version, "s-1") == Outbound("response", 3, None, False, settled)


def test_without_a_session_none_is_named() -> None:
    assert outbound(frame("ping", id_=1), "2025-06-18").headers == POST | {
        "MCP-Protocol-Version": "2025-06-18"
    }


def test_a_cancellation_names_its_request() -> None:
    for id_ in (5, "five"):
        data = frame("notifications/cancelled", {"requestId": id_, "reason": "no longer needed"})
        assert outbound(data).cancels == id_
    assert outbound(frame("notifications/other", {"requestId": 5})).cancels is None


# The stateless era.


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("tools/call", {"name": "add", "uri": "x:y", "taskId": "t"}, "add"),
        ("prompts/get", {"name": "hello world"}, "hello world"),
        ("resources/read", {"uri": "file:///ü", "name": "n"}, "=?base64?ZmlsZTovLy/DvA==?="),
        ("tasks/get", {"taskId": "t-1", "name": "n"}, "t-1"),
        ("tasks/update", {"taskId": "t-1"}, "t-1"),
        ("tasks/cancel", {"taskId": "t-1"}, "t-1"),
        ("tools/call", {}, None),
        ("tools/list", {"name": "n", "uri": "u", "taskId": "t"}, None),
        ("tasks/list", {"taskId": "t"}, None),
        ("completion/complete", {"ref": {"name": "n"}}, None),
    ],
)
def test_a_modern_request_repeats_its_version_method_and_name(
    method: str, params: dict[str, Any], name: str | None
) -> None:
    expected = MODERN_POST | {"Mcp-Method": method} | ({} if name is None else {"Mcp-Name": name})
    assert outbound(modern(method, params), session_id="s") == Outbound("request", 7, method, True, expected)


def test_the_version_of_the_message_counts_not_the_one_agreed_on() -> None:
    data = frame("tools/list", {"_meta": {VERSION_KEY: "2027-01-01"}}, id_=1)
    assert outbound(data, MODERN).headers["MCP-Protocol-Version"] == "2027-01-01"


def test_once_the_era_is_known_a_message_that_says_nothing_of_it_belongs_to_it() -> None:
    said = outbound(frame("notifications/custom"), MODERN, "s")
    assert said == Outbound(
        "notification",
        None,
        "notifications/custom",
        True,
        MODERN_POST | {"Mcp-Method": "notifications/custom"},
    )


def test_server_discover_is_a_probe_until_the_era_is_known() -> None:
    assert outbound(modern("server/discover")).probing
    assert not outbound(modern("server/discover"), MODERN).probing
    assert not outbound(modern("tools/list")).probing


@pytest.mark.parametrize(
    ("params", "headers"),
    [
        ({"name": "deploy", "arguments": {"region": "eu", "x": 1}}, {"Mcp-Param-Region": "eu"}),
        ({"name": "deploy", "arguments": {"region": None}}, {}),
        ({"name": "deploy"}, {}),
        ({"name": "plain", "arguments": {"region": "eu"}}, {}),
        ({"name": "unlisted", "arguments": {"region": "eu"}}, {}),
    ],
)
def test_annotated_arguments_are_repeated_where_the_listing_says_so(
    params: dict[str, Any], headers: dict[str, str]
) -> None:
    said = outbound(modern("tools/call", params))
    assert {name: value for name, value in said.headers.items() if name.startswith("Mcp-Param")} == headers


def test_annotated_arguments_are_not_repeated_in_a_prompt_s_headers() -> None:
    said = outbound(modern("prompts/get", {"name": "deploy", "arguments": {"region": "eu"}}))
    assert "Mcp-Param-Region" not in said.headers


# Unusual frames.


def test_lone_surrogates_elsewhere_do_not_hide_what_a_frame_says() -> None:
    params = {"name": "deploy", "arguments": {"region": "eu", "text": "\ud800"}}
    said = outbound(modern("tools/call", params))
    assert said == Outbound(
        "request",
        7,
        "tools/call",
        True,
        MODERN_POST | {"Mcp-Method": "tools/call", "Mcp-Name": "deploy", "Mcp-Param-Region": "eu"},
    )
    assert outbound(frame("notifications/cancelled", {"requestId": 5, "reason": "\ud800"})).cancels == 5
    answer = b'{"jsonrpc":"2.0","id":3,"result":{"text":"\\ud800"}}'
    assert outbound(answer) == Outbound("response", 3, None, False, POST)
    failure = b'{"jsonrpc":"2.0","id":3,"error":{"message":"\\ud800"}}'
    assert outbound(failure) == Outbound("response", 3, None, False, POST)


def test_what_has_no_header_form_gets_no_header() -> None:
    said = outbound(modern("tools/call", {"name": "\ud800", "arguments": {}}))
    assert said.headers == MODERN_POST | {"Mcp-Method": "tools/call"}


@pytest.mark.parametrize(
    "params",
    [
        [1, 2],
        {"name": 7, "uri": [], "taskId": {}, "requestId": 1.5, "_meta": []},
        {"_meta": {VERSION_KEY: 7}},
    ],
)
def test_params_of_an_odd_shape_are_sent_all_the_same(params: Any) -> None:
    data = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%s}' % codec.encode(params)
    assert outbound(data) == Outbound("request", 1, "tools/call", False, POST)
    assert outbound(frame("notifications/cancelled", params)).cancels is None


def test_odd_methods_with_no_params_are_sent_all_the_same() -> None:
    assert outbound(b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}').kind == "request"
    said = outbound(frame("a\r\nX-Injected: b", id_=1), MODERN)
    assert decode(said.headers["Mcp-Method"]) == "a\r\nX-Injected: b"
    assert "\r" not in said.headers["Mcp-Method"]


@pytest.mark.parametrize("data", [b"[]", b"{", b"7", b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]'])
def test_what_is_not_one_message_is_a_mistake(data: bytes) -> None:
    with pytest.raises(ValueError, match="not one JSON-RPC message"):
        outbound(data)


# GET and DELETE.


def test_listening_and_leaving_carry_what_the_handshake_settled() -> None:
    headers = RequestHeaders(TOOLS.get, "2025-11-25", "s-1")
    settled = {"MCP-Protocol-Version": "2025-11-25", "Mcp-Session-Id": "s-1"}
    assert headers.listening() == settled | {"Accept": "text/event-stream"}
    assert headers.listening("e-7") == settled | {"Accept": "text/event-stream", "Last-Event-ID": "e-7"}
    assert headers.leaving() == settled


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_an_event_s_id_reaches_the_server_as_the_bytes_it_came_in(id_: str) -> None:
    header = RequestHeaders(TOOLS.get).listening(id_)["Last-Event-ID"]
    assert header.encode("latin-1") == id_.encode("utf-8")


# Whatever is called, the headers say the same as the body.

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@given(
    st.sampled_from(["tools/call", "prompts/get", "resources/read", "tasks/get", "tools/list", "x/y"]),
    st.fixed_dictionaries({}, optional={"name": texts, "uri": texts, "taskId": texts}),
    st.integers() | texts,
)
def test_modern_headers_say_the_same_as_the_body(method: str, params: dict[str, str], id_: int | str) -> None:
    body = {
        "jsonrpc": "2.0",
        "id": id_,
        "method": method,
        "params": params | {"_meta": {VERSION_KEY: MODERN}},
    }
    said = outbound(json.dumps(body).encode())
    assert (said.kind, said.id, said.method, said.modern) == ("request", id_, method, True)
    member = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri", "tasks/get": "taskId"}
    named = params.get(member.get(method, ""))
    assert (decode(said.headers["Mcp-Name"]) if "Mcp-Name" in said.headers else None) == named
