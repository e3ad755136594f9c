"""Requests on their way out: what is spliced in stands beside what was there."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_actors.client.outgoing import Outgoing, as_task, outgoing, retried, tool_call, with_meta
from mcp_actors.protocol import codec


def read(encoded: bytes) -> Any:
    """What a server makes of it."""
    return codec.decode(encoded)


def test_meta_is_added_key_by_key() -> None:
    request = outgoing("x", {"a": 1, "_meta": {"mine": 1, "old": 2}})
    assert with_meta(request, None) is request
    more = with_meta(request, {"old": 3, "new": {"b": None}})
    assert read(more.meta) == {"mine": 1, "old": 3, "new": {"b": None}}
    assert (more.what, more.method, more.params) == (request.what, request.method, request.params)
    assert read(with_meta(tool_call("t", None), {"k": 1}).meta) == {"k": 1}


@pytest.mark.parametrize(
    "key",
    [
        "progressToken",
        "io.modelcontextprotocol/protocolVersion",
        "io.modelcontextprotocol/clientInfo",
        "io.modelcontextprotocol/clientCapabilities",
    ],
)
def test_what_the_client_writes_itself_may_not_be_in_the_callers_meta(key: str) -> None:
    with pytest.raises(ValueError, match="meta must not hold"):
        with_meta(tool_call("t", None), {key: 1})
    with pytest.raises(ValueError, match="_meta must not hold"):
        outgoing("x", {"_meta": {key: 1}})


@pytest.mark.parametrize("meta", [5, [("a", 1)], "x"])
def test_meta_must_be_a_mapping(meta: Any) -> None:
    with pytest.raises(TypeError, match="meta must be a mapping"):
        with_meta(tool_call("t", None), meta)


@pytest.mark.parametrize("request_", [Outgoing("x", "x"), tool_call("t", {"a": {"b": []}})])
def test_a_retry_holds_the_same_params_and_what_was_answered(request_: Outgoing) -> None:
    held = read(request_.params)
    answers = {'k"1': b'{"action":"accept"}', "ü": b"{}"}
    again = retried(request_, answers, "s\n")
    assert read(again.params) == held | {
        "inputResponses": {'k"1': {"action": "accept"}, "ü": {}},
        "requestState": "s\n",
    }
    assert read(retried(request_, {}, "").params) == held | {"requestState": ""}
    assert read(retried(request_, answers, None).params).keys() == held.keys() | {"inputResponses"}
    assert retried(request_, {}, None) == request_


def test_a_task_says_how_long_it_is_to_be_kept_in_milliseconds() -> None:
    assert read(as_task(tool_call("t", None), 1.5).params)["task"] == {"ttl": 1500}
    assert read(as_task(tool_call("t", None), None).params)["task"] == {}
