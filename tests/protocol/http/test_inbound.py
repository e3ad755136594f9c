"""Incoming requests: what is refused by its headers, and by the rules of which era the rest is served."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_actors.protocol import codec
from mcp_actors.protocol.http import inbound
from mcp_actors.protocol.http.inbound import Post, read_post
from mcp_actors.protocol.http.rejections import Rejected
from mcp_actors.protocol.jsonrpc import Batch, Notification, Request
from mcp_actors.protocol.revisions import Era

pytestmark = pytest.mark.requirement("transport:http")

META = "io.modelcontextprotocol/"
MODERN = "2026-07-28"
BOTH = "application/json, text/event-stream"
DESCRIBED = {META + "protocolVersion": MODERN, META + "clientCapabilities": {}}


def frame(method: str = "tools/list", params: Any = None, id_: Any = 7) -> bytes:
    message = {"jsonrpc": "2.0", "method": method}
    return codec.encode(
        message | ({} if id_ is None else {"id": id_}) | ({} if params is None else {"params": params})
    )


def headers(**given: str) -> dict[str, str]:
    return {"accept": BOTH} | {name.replace("_", "-"): value for name, value in given.items()}


def post(body: bytes, **given: str) -> Post:
    return read_post(headers(**given), body, lambda _name: None)


def refusal(body: bytes, **given: str) -> tuple[int, int, object]:
    with pytest.raises(Rejected) as caught:
        post(body, **given)
    return caught.value.status, caught.value.code, caught.value.id


SAID = {"mcp_protocol_version": MODERN, "mcp_method": "tools/list"}


# Before the body.


@pytest.mark.parametrize("method", ["PUT", "PATCH", "HEAD", "TRACE", "post"])
def test_a_method_that_mcp_does_not_have_is_told_which_it_has(method: str) -> None:
    with pytest.raises(Rejected) as caught:
        inbound.check_method(method)
    assert caught.value.status == 405
    assert caught.value.fields == (("Allow", "POST, GET, DELETE, OPTIONS"),)
    for known in inbound.METHODS:
        inbound.check_method(known)


def length_of(given: dict[str, str], *, terminated: bool = False) -> int | None:
    return inbound.check_body(headers(**given), max_bytes=100, terminated=terminated)


@pytest.mark.requirement("security:limits")
def test_a_body_is_judged_before_any_of_it_is_read() -> None:
    json = {"content_type": "application/json; charset=utf-8"}
    assert length_of(json | {"content_length": "100"}) == 100
    assert length_of(json | {"content_length": " 0 "}) == 0
    assert length_of(json, terminated=True) is None
    for given, status in (
        ({"content_length": "1"}, 415),
        ({"content_type": "text/plain", "content_length": "1"}, 415),
        (json, 411),
        (json | {"content_length": "101"}, 413),
        (json | {"content_length": "9" * 5000}, 413),
        (json | {"content_length": "-1"}, 400),
        (json | {"content_length": "1,1"}, 400),
        (json | {"content_length": "²"}, 400),
    ):
        with pytest.raises(Rejected) as caught:
            length_of(given)
        assert caught.value.status == status


# Bodies.


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", -32700),
        (b"{", -32700),
        (b"\xff", -32700),
        (b'{"a":' * 100_000, -32700),
        (b"[]", -32600),
        (b"3", -32600),
        (b'{"id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1}', -32600),
    ],
)
def test_a_body_that_is_no_message_is_refused_without_an_id(body: bytes, code: int) -> None:
    assert refusal(body) == (400, code, None)
    assert refusal(body, **SAID) == (400, code, None)


def test_text_that_is_no_utf_8_is_found_where_the_params_are_looked_into() -> None:
    body = frame(params={"_meta": DESCRIBED, "x": "?"}).replace(b"?", b"\xff")
    assert refusal(body, **SAID) == (400, -32700, None)


# Eras.


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", " 2025-11-25 "])
def test_the_versions_of_the_handshake_are_served_by_its_rules(version: str) -> None:
    assert post(frame(), mcp_protocol_version=version).era is Era.HANDSHAKE


def test_without_any_sign_a_message_is_of_the_handshake_era() -> None:
    for body in (
        frame(),
        frame(params={"_meta": {"progressToken": 1}}),
        frame(params={"_meta": "odd \\ one"}),
        frame(params=["\\"]),
        frame("notifications/initialized", id_=None),
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
        frame(params={"text": f"{META}protocolVersion"}),
    ):
        assert post(body).era is Era.HANDSHAKE


@pytest.mark.parametrize("version", [MODERN, "2099-01-01", "", "v999.0.0", "2025-11-25,2025-11-25"])
def test_any_other_version_is_left_to_the_rules_of_the_newer_era(version: str) -> None:
    assert post(frame(), mcp_protocol_version=version).era is Era.STATELESS


def test_a_message_that_describes_itself_is_of_the_newer_era_whatever_its_headers_say() -> None:
    body = frame(params={"_meta": DESCRIBED})
    assert post(body, **SAID).era is Era.STATELESS
    assert refusal(body) == (400, -32020, 7)
    assert refusal(body, mcp_protocol_version="2025-11-25") == (400, -32020, 7)


def test_a_key_in_escapes_is_the_same_key() -> None:
    body = frame(params={"_meta": DESCRIBED}).replace(b'"io.model', b'"\\u0069o.model')
    assert refusal(body) == (400, -32020, 7)


@pytest.mark.parametrize(
    "meta",
    [
        None,
        {},
        {META + "protocolVersion": MODERN},
        {META + "clientCapabilities": {}},
        {META + "protocolVersion": 3, META + "clientCapabilities": {}},
        "odd",
    ],
)
def test_an_invalid_meta_is_left_to_those_who_judge_it_whatever_the_headers_say(meta: Any) -> None:
    assert post(frame(params={"_meta": meta}), mcp_protocol_version=MODERN).era is Era.STATELESS
    assert post(frame(params={"_meta": meta}), mcp_protocol_version=MODERN, mcp_method="x").era is (
        Era.STATELESS
    )


def test_the_newer_era_has_neither_batches_nor_responses_of_clients() -> None:
    batch = b"[" + frame() + b"]"
    assert refusal(batch, **SAID) == (400, -32600, None)
    assert refusal(b'{"jsonrpc":"2.0","id":1,"result":{}}', **SAID) == (400, -32600, None)
    assert refusal(b'{"jsonrpc":"2.0","id":1,"error":{}}', **SAID) == (400, -32600, None)
    assert isinstance(post(batch).message, Batch)


def test_nothing_says_which_headers_a_notification_has() -> None:
    found = post(frame("notifications/x", {"_meta": DESCRIBED}, None))
    assert found.era is Era.STATELESS
    assert isinstance(found.message, Notification)


# Accept.


def test_both_types_must_be_accepted() -> None:
    assert refusal(frame(), accept="application/json") == (406, -32600, 7)
    assert refusal(frame("notifications/x", id_=None), accept="text/html") == (406, -32600, None)
    assert post(frame(), accept="*/*").requests


def test_only_the_older_era_may_leave_accept_out() -> None:
    assert read_post({}, frame(), lambda _name: None).era is Era.HANDSHAKE
    with pytest.raises(Rejected) as caught:
        read_post({"mcp-protocol-version": MODERN}, frame(), lambda _name: None)
    assert caught.value.status == 406


# What a POST holds.


def test_a_post_tells_what_is_to_be_answered() -> None:
    assert post(frame("initialize")).opens
    assert not post(frame("initialize", id_=None)).opens
    assert not post(b"[" + frame("initialize") + b"]").opens
    batch = b"[" + frame(id_=1) + b"," + frame("notifications/x", id_=None) + b"," + frame(id_="1") + b"]"
    assert [one.id for one in post(batch).requests] == [1, "1"]
    assert post(frame("notifications/x", id_=None)).requests == ()
    assert isinstance(post(frame()).message, Request)


# GET and DELETE.


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({}, None),
        ({"mcp_protocol_version": "2025-06-18"}, None),
        ({"accept": "text/event-stream"}, None),
        ({"accept": "application/json"}, 406),
        ({"mcp_protocol_version": MODERN}, 405),
        ({"mcp_protocol_version": "2099-01-01"}, 400),
    ],
)
def test_a_get_is_for_event_streams_of_the_handshake_era(given: dict[str, str], status: int | None) -> None:
    if status is None:
        inbound.check_get(headers(**given))
        return
    with pytest.raises(Rejected) as rejected:
        inbound.check_get(headers(**given))
    assert rejected.value.status == status
    assert (status == 405) is (rejected.value.fields == (("Allow", "POST"),))


def test_without_a_version_the_oldest_one_of_streamable_http_is_assumed() -> None:
    assert inbound.version_of({}) == "2025-03-26"
    assert inbound.version_of({"mcp-protocol-version": " 2025-11-25 "}) == "2025-11-25"
    assert inbound.version_of({"mcp-protocol-version": "odd"}) == "2025-03-26"
