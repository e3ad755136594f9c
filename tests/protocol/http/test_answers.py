"""Which request a frame answers: by id and type, in any order of members, and never somebody else's."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.protocol.http.answers import (
    agreed_version,
    answer_in,
    answers,
    error_code,
    error_in,
    error_words,
)

pytestmark = pytest.mark.requirement("transport:http")

ids = st.integers() | st.text(max_size=3) | st.sampled_from([1, "1", 0, "0", -1])


def body(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0"} | members, separators=(",", ":")).encode()


@st.composite
def responses(draw: st.DrawFn) -> tuple[bytes, Any]:
    """A response in any order of members, and the id it carries."""
    id_ = draw(ids)
    outcome = draw(st.sampled_from([("result", {"id": 5}), ("error", {"code": 1, "message": "id"})]))
    members = draw(st.permutations([("jsonrpc", "2.0"), ("id", id_), outcome]))
    separators = draw(st.sampled_from([(",", ":"), (", ", ": ")]))
    return json.dumps(dict(members), separators=separators).encode(), id_


@given(responses(), ids)
def test_a_frame_answers_the_request_whose_id_it_carries_and_no_other(
    response: tuple[bytes, Any], id_: int | str
) -> None:
    frame, carried = response
    ours = type(carried) is type(id_) and carried == id_
    assert answers(frame, id_) == ours
    assert answer_in(frame, id_) == (frame if ours else None)
    assert answers(frame, carried)


@pytest.mark.parametrize(
    "frame",
    [
        body(id=7, method="sampling/createMessage", params={}),
        body(method="notifications/progress", params={"id": 7}),
        body(id=71, result={}),
        body(id="7", result={}),
        body(id=None, result={}),
        body(id=7, result={})[:-1],
        b"not json",
        b"",
        b"[]",
        b"[" + body(id=8, result={}) + b"]",
    ],
)
def test_what_is_no_answer_of_ours_is_not_delivered_as_one(frame: bytes) -> None:
    assert not answers(frame, 7)
    assert answer_in(frame, 7) is None
    assert error_in(frame, 7) is None


def test_a_batch_answers_what_its_members_answer() -> None:
    batch = b"[" + body(method="notifications/message") + b"," + body(id=7, result={}) + b"]"
    assert answers(batch, 7)
    assert answer_in(batch, 7) == batch


def test_a_response_that_breaks_the_rules_ends_the_request_it_names() -> None:
    both = body(id=7, result={}, error={})
    assert answer_in(both, 7) == both
    assert error_in(both, 7) == both


@pytest.mark.parametrize("named", [{}, {"id": None}])
def test_an_error_without_id_gets_ours(named: dict[str, Any]) -> None:
    error = {"code": -32020, "message": "é \ud800", "data": {"n": 10**30}}
    for read in (answer_in, error_in):
        for id_ in (7, "seven"):
            frame = read(body(error=error, **named), id_)
            assert frame is not None
            assert json.loads(frame) == {"jsonrpc": "2.0", "id": id_, "error": error}


def test_an_error_with_a_made_up_id_is_ours_only_where_the_exchange_was_refused() -> None:
    made_up = body(id="server-error", error={"code": -32600, "message": "Bad Request"})
    frame = error_in(made_up, 7)
    assert frame is not None
    assert json.loads(frame) == json.loads(made_up) | {"id": 7}
    assert answer_in(made_up, 7) is None


def test_an_error_that_is_ours_already_is_passed_on_as_it_came() -> None:
    frame = b'{ "jsonrpc":"2.0", "id":7, "error":{"code":1,"message":""} }'
    assert error_in(frame, 7) is frame


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (body(id=7, error={"code": -32022, "message": ""}), -32022),
        (body(id=7, error={"code": "no", "message": ""}), None),
        (body(id=7, error={"code": True, "message": ""}), None),
        (body(id=7, error=[]), None),
        (body(id=7, result={"code": 1}), None),
        (b'{"jsonrpc":"2.0","id":7,"error":{"code":1,"data":%s}}' % (b"1" * 5000), None),
        (b"", None),
    ],
)
def test_the_code_of_an_error_is_read_where_there_is_one(frame: bytes, code: int | None) -> None:
    assert error_code(frame) == code


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (body(id=7, error={"code": 1, "message": "no"}), "no"),
        (body(id=7, error={"code": 1, "message": 7}), ""),
        (body(id=7, result={"message": "no"}), ""),
    ],
)
def test_the_words_of_an_error_are_read_where_there_are_any(frame: bytes, words: str) -> None:
    assert error_words(frame) == words


@pytest.mark.parametrize(
    ("frame", "version"),
    [
        (body(id=1, result={"protocolVersion": "2025-03-26", "capabilities": {}}), "2025-03-26"),
        (body(id=1, result={"protocolVersion": 7}), None),
        (body(id=1, result={}), None),
        (body(id=1, result=[]), None),
        (body(id=1, error={"code": 1, "message": ""}), None),
        (b"{", None),
    ],
)
def test_the_agreed_version_is_read_where_there_is_one(frame: bytes, version: str | None) -> None:
    assert agreed_version(frame) == version
