"""What frames say: id rules, wrong frames, odd but legal ones, and a slow classifier to agree with."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from mcp_actors.protocol import codec, jsonrpc
from mcp_actors.protocol.jsonrpc import Answer, Batch, Failure, Malformed, Message, Notification, Request
from tests.protocol import toy_server as toy

ONE = b"[%s]" % toy.frame(id=1, result={"a": 1})


def payload(raw: Raw | None) -> Any:
    return None if raw is None else codec.decode(raw)


def test_a_result_with_an_integer_id_is_an_answer() -> None:
    message = jsonrpc.scan(toy.result(7, {"a": [1]}))
    assert isinstance(message, Answer)
    assert (message.id, payload(message.result)) == (7, {"a": [1]})


def test_a_result_of_null_is_an_answer() -> None:
    message = jsonrpc.scan(toy.result(7, None))
    assert isinstance(message, Answer)
    assert payload(message.result) is None


@pytest.mark.requirement("request:ids")
@pytest.mark.parametrize("id_", [0, -1, 10**30, "", "5", "\u2028"])
def test_integers_of_any_size_and_strings_are_ids_and_keep_their_type(id_: int | str) -> None:
    message = jsonrpc.scan(toy.result(id_, 1))
    assert isinstance(message, Answer)
    assert (type(message.id), message.id) == (type(id_), id_)


@pytest.mark.requirement("request:ids")
@pytest.mark.parametrize("id_", [True, False, 5.0, 5.5, [5], {"id": 5}])
@pytest.mark.parametrize("members", [{"result": 1}, {"error": {}}, {"method": "ping"}])
def test_booleans_floats_and_structures_are_no_ids(id_: Any, members: dict[str, Any]) -> None:
    message = jsonrpc.scan(toy.frame(id=id_, **members))
    assert message == Malformed("an id that is neither an integer nor a string")


def test_an_error_is_a_failure_with_or_without_an_id() -> None:
    named, null, absent = (
        jsonrpc.scan(frame)
        for frame in (toy.frame(id=7, error={}), toy.frame(id=None, error={}), toy.frame(error={}))
    )
    assert isinstance(named, Failure)
    assert isinstance(null, Failure)
    assert isinstance(absent, Failure)
    assert (named.id, null.id, absent.id) == (7, None, None)


def test_a_method_with_an_id_is_a_request_and_without_one_a_notification() -> None:
    request = jsonrpc.scan(toy.frame(id="q", method="ping"))
    assert request == Request("q", "ping", None)
    frame = toy.frame(method="n", params={"a": 1})
    told = jsonrpc.scan(frame)
    assert isinstance(told, Notification)
    assert (told.method, payload(told.params), told.size) == ("n", {"a": 1}, len(frame))


def test_a_request_whose_id_is_null_is_malformed() -> None:
    assert jsonrpc.scan(toy.frame(id=None, method="ping")) == Malformed("a request whose id is null")


@pytest.mark.parametrize(
    ("members", "reason", "id_"),
    [
        ({"id": 7, "result": 1, "error": {}}, "a response with both a result and an error", 7),
        ({"id": 7}, "neither a method, a result nor an error", 7),
        ({"result": 1}, "a result without an id", None),
        ({"id": None, "result": 1}, "a result without an id", None),
        ({"id": 7, "jsonrpc": "1.0", "result": 1}, "a message without jsonrpc 2.0", 7),
        ({"id": 7, "jsonrpc": "1.0", "method": "ping"}, "a message without jsonrpc 2.0", None),
        ({"id": 7, "method": 8}, "a method that is not a string", None),
    ],
)
def test_a_wrong_message_is_malformed_and_names_the_request_it_meant(
    members: dict[str, Any], reason: str, id_: int | None
) -> None:
    frame = json.dumps({"jsonrpc": "2.0", **members}).encode()
    assert jsonrpc.scan(frame) == Malformed(reason, id_)


@pytest.mark.parametrize("frame", [b"", b"\xff", b"{", b"1 2", b'{"jsonrpc":"2.0","id":1,"result":tru}'])
def test_what_is_no_json_is_malformed(frame: bytes) -> None:
    message = jsonrpc.scan(frame)
    assert isinstance(message, Malformed)
    assert message.reason.startswith("not valid JSON: ")


@pytest.mark.parametrize("frame", [b"1", b'"text"', b"null"])
def test_json_that_is_no_object_is_malformed(frame: bytes) -> None:
    assert jsonrpc.scan(frame) == Malformed("not a JSON object")


def test_a_batch_holds_its_messages_in_order() -> None:
    parts = (toy.result(1, {}), toy.error(2, -1), toy.frame(id=3, method="ping"), toy.news("n", a=1), b"4")
    batch = jsonrpc.scan(b"[%s]" % b",".join(parts))
    assert isinstance(batch, Batch)
    assert [type(message) for message in batch.messages] == [
        Answer, Failure, Request, Notification, Malformed,
    ]  # fmt: skip
    first = batch.messages[0]
    assert isinstance(first, Answer)
    assert (first.id, payload(first.result)) == (1, {})


def test_an_empty_batch_is_malformed() -> None:
    assert jsonrpc.scan(b"[]") == Malformed("an empty batch")


@pytest.mark.parametrize("value", ["\ud800", 10**40, "a\u2028b"])
def test_a_legal_oddity_reaches_its_caller_unchanged(value: Any) -> None:
    message = jsonrpc.scan(toy.frame(id=1, result={"odd": value}, extra="\udfff"))
    assert isinstance(message, Answer)
    assert payload(message.result) == {"odd": value}


def test_a_notification_in_an_odd_frame_counts_the_bytes_it_holds() -> None:
    with_params = jsonrpc.scan(toy.frame(method="n", params={"a": "\ud800"}))
    without = jsonrpc.scan(toy.frame(method="n", extra="\ud800"))
    assert isinstance(with_params, Notification)
    assert isinstance(without, Notification)
    assert with_params.size == len('{"a": "\\ud800"}')
    assert without.size == 0


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
@pytest.mark.parametrize("members", [b'"id":7,"result":', b'"method":"n","params":', b'"id":7,"error":'])
def test_no_depth_of_nesting_raises(opening: bytes, closing: bytes, members: bytes) -> None:
    for depth in (*range(900, 1100), 100_000):
        value = opening * depth + (b"1" if closing == b"}" else b"") + closing * depth
        plain = b'{"jsonrpc":"2.0",%s%s}' % (members, value)
        jsonrpc.scan(plain)
        jsonrpc.scan(b"[%s]" % plain)


def test_an_answer_too_deep_to_be_kept_still_names_its_request() -> None:
    deepest = [
        message
        for depth in range(900, 1100)
        if isinstance(batch := jsonrpc.scan(ONE.replace(b'{"a": 1}', b"[" * depth + b"]" * depth)), Batch)
        and isinstance(message := batch.messages[0], Malformed)
    ]
    assert deepest
    assert all(message == Malformed("nested too deep", 1) for message in deepest)


# A classifier that decodes everything and takes its time.


def slowly(frame: bytes) -> Any:
    try:
        value = json.loads(frame.decode())
    except (ValueError, RecursionError):
        return "no JSON"
    if isinstance(value, list) and value:
        return [kind(item) for item in value]
    return kind(value)


def kind(value: Any) -> Any:
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        return "malformed"
    id_ = value.get("id")
    if id_ is not None and type(id_) not in (int, str):
        return "malformed"
    if "method" in value:
        return called(value, id_)
    if ("result" in value) == ("error" in value):
        return "malformed"
    if "error" in value:
        return ("failure", id_, value["error"])
    return "malformed" if id_ is None else ("answer", id_, value["result"])


def called(value: dict[str, Any], id_: Any) -> Any:
    if not isinstance(value["method"], str) or ("id" in value and id_ is None):
        return "malformed"
    params = value.get("params")
    if "id" in value:
        return ("request", id_, value["method"], params)
    return ("notification", value["method"], params)


def plain(message: Message) -> Any:
    match message:
        case Batch(messages):
            return [plain(item) for item in messages]
        case Answer(id_, result):
            return ("answer", id_, payload(result))
        case Failure(id_, error):
            return ("failure", id_, payload(error))
        case Request(id_, method, params):
            return ("request", id_, method, payload(params))
        case Notification(method, params, _):
            return ("notification", method, payload(params))
        case Malformed():
            return "malformed"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
IDS = st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.floats(allow_nan=False)
ANSWERS = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "id": st.integers() | st.text(max_size=4), "result": VALUES}
)
MESSAGES = ANSWERS | st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.sampled_from(("2.0", "2.0", "2.0", "1.0", 2.0)),
        "id": IDS,
        "method": st.text(max_size=6) | VALUES,
        "params": VALUES,
        "result": VALUES,
        "error": VALUES,
        "extra": VALUES,
    },
)


@given(MESSAGES | st.lists(MESSAGES | VALUES, max_size=3) | VALUES, st.booleans())
def test_the_scan_agrees_with_a_slow_classifier(value: Any, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    frame = text.encode("utf-8", "surrogatepass")
    expected = slowly(frame)
    assert plain(jsonrpc.scan(frame)) == ("malformed" if expected == "no JSON" else expected)


@given(st.binary(max_size=40), st.binary(max_size=10))
def test_no_bytes_raise(noise: bytes, more: bytes) -> None:
    for frame in (noise, toy.result(1, 2)[: len(noise)] + more, b"[" + noise + b"]"):
        message = jsonrpc.scan(frame)
        if slowly(frame) == "no JSON":
            assert not isinstance(message, Batch)


@given(st.binary(min_size=1, max_size=6), st.integers(0, 60))
def test_a_damaged_answer_is_malformed_or_fails_in_its_payload_alone(damage: bytes, at: int) -> None:
    frame = toy.result(1, {"text": "abcdefghijklmnop"})
    damaged = frame[:at] + damage + frame[at + len(damage) :]
    message = jsonrpc.scan(damaged)
    if isinstance(message, Answer) and slowly(damaged) == "no JSON":
        with pytest.raises(codec.DecodeFailed):
            codec.decode(message.result)


@given(st.integers() | st.text())
def test_frames_we_send_say_what_they_should(id_: int | str) -> None:
    assert json.loads(jsonrpc.result_frame(id_)) == {"jsonrpc": "2.0", "id": id_, "result": {}}
    failure = {"code": -32601, "message": "no"}
    assert json.loads(jsonrpc.error_frame(id_, -32601, "no")) == {
        "jsonrpc": "2.0",
        "id": id_,
        "error": failure,
    }
