"""Headers of 2026-07-28 that repeat the body: what is equal, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.protocol import codec
from mcp_actors.protocol.http.header_values import MAX_INTEGER, encode
from mcp_actors.protocol.http.mirrors import check_mirrors
from mcp_actors.protocol.http.param_headers import ParamHeaders
from mcp_actors.protocol.http.rejections import Rejected
from mcp_actors.protocol.http.request_headers import RequestHeaders
from mcp_actors.protocol.jsonrpc import Request

pytestmark = pytest.mark.requirement("transport:http")

VERSION = "2026-07-28"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
SCHEMA = {
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "dry": {"type": "boolean", "x-mcp-header": "Dry"},
        "deep": {"properties": {"er": {"type": "string", "x-mcp-header": "Deeper"}}},
    }
}
TOOLS = {"deploy": ParamHeaders.of(SCHEMA), "plain": ParamHeaders()}
PARAMS = {"Region": "region", "Count": "count", "Dry": "dry"}


def check(method: str, params: Any, **headers: str) -> int | None:
    """The code of the refusal, None if there is none; headers are given in Python's spelling."""
    given_headers = {name.replace("_", "-").lower(): value for name, value in headers.items()}
    refusal: Rejected | None = None
    try:
        check_mirrors(given_headers, Request(7, method, None), params, VERSION, TOOLS.get)
    except Rejected as rejected:
        refusal = rejected
    assert refusal is None or (refusal.status, refusal.id) == (400, 7)
    return None if refusal is None else refusal.code


def call(arguments: Any = None, **headers: str) -> int | None:
    said = {"mcp_protocol_version": VERSION, "mcp_method": "tools/call", "mcp_name": "deploy"}
    return check("tools/call", {"name": "deploy", "arguments": arguments}, **(said | headers))


def test_headers_that_repeat_the_body_pass() -> None:
    assert check("tools/list", {}, mcp_protocol_version=VERSION, mcp_method="tools/list") is None
    assert check("tools/list", {}, mcp_protocol_version=f" {VERSION}\t", mcp_method=" tools/list ") is None


@pytest.mark.parametrize(
    "headers",
    [
        {"mcp_method": "tools/list"},
        {"mcp_protocol_version": VERSION},
        {"mcp_protocol_version": "2025-11-25", "mcp_method": "tools/list"},
        {"mcp_protocol_version": VERSION, "mcp_method": "Tools/List"},
        {"mcp_protocol_version": VERSION, "mcp_method": "prompts/list"},
        {"mcp_protocol_version": VERSION, "mcp_method": "tools/list,tools/list"},
        {"mcp_protocol_version": VERSION, "mcp_method": ""},
        {"mcp_protocol_version": VERSION, "mcp_method": "tools/list\xe9"},
    ],
)
def test_a_missing_or_other_version_or_method_is_refused(headers: dict[str, str]) -> None:
    assert check("tools/list", {}, **headers) == -32020


@pytest.mark.parametrize(
    ("method", "key"),
    [
        ("tools/call", "name"),
        ("prompts/get", "name"),
        ("resources/read", "uri"),
        ("tasks/get", "taskId"),
        ("tasks/update", "taskId"),
        ("tasks/cancel", "taskId"),
    ],
)
def test_the_name_is_repeated_for_what_has_one(method: str, key: str) -> None:
    said = {"mcp_protocol_version": VERSION, "mcp_method": method}
    assert check(method, {key: "a b"}, **said, mcp_name="a b") is None
    assert check(method, {key: "ä"}, **said, mcp_name=encode("ä")) is None
    assert check(method, {key: "a b"}, **said) == -32020
    assert check(method, {key: "a b"}, **said, mcp_name="A B") == -32020
    assert check(method, {key: "a"}, **said, mcp_name="a, a") == -32020
    assert check(method, {key: ""}, **said, mcp_name="") is None


@pytest.mark.parametrize("value", ["=?base64?YQ?=", "=?base64?Y!==?=", "=?base64?YQ=a?=", "=?base64?/w==?="])
def test_a_name_in_bad_base64_is_refused(value: str) -> None:
    said = {"mcp_protocol_version": VERSION, "mcp_method": "prompts/get"}
    assert check("prompts/get", {"name": "a"}, **said, mcp_name=value) == -32020


@pytest.mark.parametrize("value", ["=?base64?YQ==", "YQ==?=", "=?base64?=", "=?BASE64?YQ==?="])
def test_half_a_wrapper_is_a_plain_value(value: str) -> None:
    said = {"mcp_protocol_version": VERSION, "mcp_method": "prompts/get"}
    assert check("prompts/get", {"name": value}, **said, mcp_name=value) is None


def test_a_body_without_a_name_is_left_to_those_who_judge_bodies_unless_a_header_has_one() -> None:
    said = {"mcp_protocol_version": VERSION, "mcp_method": "tools/call"}
    assert check("tools/call", {}, **said) is None
    assert check("tools/call", {"name": 3}, **said) is None
    assert check("tools/call", {}, **said, mcp_name="deploy") == -32020


def test_methods_without_a_name_may_have_the_header() -> None:
    said = {"mcp_protocol_version": VERSION, "mcp_method": "tools/list"}
    assert check("tools/list", {"name": "a"}, **said, mcp_name="b") is None


@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({"region": "us west 1"}, {"mcp_param_region": "us west 1"}),
        ({"region": " padded "}, {"mcp_param_region": "=?base64?IHBhZGRlZCA=?="}),
        ({"region": ""}, {"mcp_param_region": ""}),
        ({"count": 42}, {"mcp_param_count": "42"}),
        ({"count": 42}, {"mcp_param_count": "42.0"}),
        ({"count": 42.0}, {"mcp_param_count": "42"}),
        ({"count": -1}, {"mcp_param_count": "-1"}),
        ({"dry": True}, {"mcp_param_dry": "true"}),
        ({"dry": False}, {"mcp_param_dry": "false"}),
        ({"deep": {"er": "x"}}, {"mcp_param_deeper": "x"}),
        # Of another type than the schema wants: repeated as what it is, and refused by the schema.
        ({"count": "many"}, {"mcp_param_count": "many"}),
        ({"region": 3}, {"mcp_param_region": "3"}),
        # What has no header form cannot be repeated.
        ({"count": 1.5}, {}),
        ({"count": 2**53}, {}),
        ({"region": ["a"]}, {}),
        ({"region": "\ud800"}, {}),
        # Nothing there, nothing to repeat.
        ({"region": None}, {}),
        ({}, {}),
        (None, {}),
        ({"deep": "flat"}, {}),
        ({}, {"mcp_param_unknown": "ignored"}),
    ],
)
def test_arguments_that_their_headers_repeat_pass(arguments: Any, headers: dict[str, str]) -> None:
    assert call(arguments, **headers) is None


@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({"region": "us"}, {}),
        ({"region": "us"}, {"mcp_param_region": "eu"}),
        ({"region": "us"}, {"mcp_param_region": "US"}),
        ({"region": "us"}, {"mcp_param_region": "us,us"}),
        ({"region": "us"}, {"mcp_param_region": "=?base64?dXM?="}),
        ({"region": None}, {"mcp_param_region": "us"}),
        ({}, {"mcp_param_region": ""}),
        ({"count": 42}, {"mcp_param_count": "43"}),
        ({"count": 42}, {"mcp_param_count": "42.5"}),
        ({"count": 42}, {"mcp_param_count": "forty-two"}),
        ({"count": 42}, {"mcp_param_count": "4_2"}),
        ({"count": 42}, {"mcp_param_count": "٤٢"}),
        ({"count": 1}, {"mcp_param_count": "true"}),
        ({"count": 1}, {"mcp_param_count": "1" * 5000}),
        ({"count": 1.5}, {"mcp_param_count": "1.5"}),
        ({"dry": True}, {"mcp_param_dry": "True"}),
        ({"dry": True}, {"mcp_param_dry": "1"}),
        ({"dry": False}, {}),
        ({"region": ["a"]}, {"mcp_param_region": "a"}),
        ({"deep": {"er": "x"}}, {}),
    ],
)
def test_arguments_that_differ_from_their_headers_are_refused(
    arguments: Any, headers: dict[str, str]
) -> None:
    assert call(arguments, **headers) == -32020


def test_a_tool_without_annotations_or_that_nobody_knows_has_no_such_headers() -> None:
    said = {"mcp_protocol_version": VERSION, "mcp_method": "tools/call", "mcp_param_region": "x"}
    for name in ("plain", "unknown"):
        assert check("tools/call", {"name": name, "arguments": {}}, **said, mcp_name=name) is None


ARGUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "region": st.text(st.characters(codec="utf-8")) | st.none(),
        "count": st.integers(-MAX_INTEGER, MAX_INTEGER),
        "dry": st.booleans(),
    },
)


@given(ARGUMENTS)
def test_the_headers_that_our_client_makes_pass(arguments: dict[str, Any]) -> None:
    params = {"_meta": {VERSION_KEY: VERSION}, "name": "deploy", "arguments": arguments}
    frame = codec.encode({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params})
    made = RequestHeaders(TOOLS.get).outbound(frame).headers
    headers = {name.lower(): value for name, value in made.items()}
    check_mirrors(headers, Request(7, "tools/call", None), params, VERSION, TOOLS.get)


@given(ARGUMENTS, ARGUMENTS)
def test_the_headers_of_other_arguments_never_pass(one: dict[str, Any], other: dict[str, Any]) -> None:
    said = {"mcp-protocol-version": VERSION, "mcp-method": "tools/call", "mcp-name": "deploy"}
    headers = {name.lower(): value for name, value in TOOLS["deploy"].headers(other).items()}
    params = {"name": "deploy", "arguments": one}
    equal = {k: v for k, v in one.items() if v is not None} == {
        k: v for k, v in other.items() if v is not None
    }
    try:
        check_mirrors(said | headers, Request(7, "tools/call", None), params, VERSION, TOOLS.get)
    except Rejected:
        assert not equal
    else:
        assert equal
