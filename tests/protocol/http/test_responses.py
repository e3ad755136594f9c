"""What a response means: one test for every row of the protocol's tables, in both eras."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from mcp_actors.protocol.http.request_headers import Outbound
from mcp_actors.protocol.http.responses import (
    Accepted,
    ErrorBody,
    EventStreamBody,
    Fault,
    JsonBody,
    LegacyHint,
    NotOffered,
    Reply,
    SessionGone,
    Unauthorized,
    Verdict,
    judge,
    judge_stream,
    needs_body,
    stream_needs_body,
)
from mcp_actors.protocol.http.scopes import Shortage

pytestmark = pytest.mark.requirement("transport:http")

JSON, SSE, HTML = "application/json", "text/event-stream", "text/html"
RESULT = b'{"jsonrpc":"2.0","id":7,"result":{}}'
SESSION = {"Mcp-Session-Id": "s-1"}

MODERN = Outbound("request", 7, "tools/call", True, {})
LEGACY = Outbound("request", 7, "tools/call", False, SESSION)
SESSIONLESS = Outbound("request", 7, "tools/call", False, {})
PROBE = Outbound("request", 7, "server/discover", True, {}, probing=True)
DISCOVER = Outbound("request", 7, "server/discover", True, {})
INITIALIZE = Outbound("request", 7, "initialize", False, {})
NOTIFICATION = Outbound("notification", None, "notifications/initialized", False, SESSION)
MODERN_NOTIFICATION = Outbound("notification", None, "notifications/custom", True, {})
RESPONSE = Outbound("response", 7, None, False, SESSION)

REQUESTS = [MODERN, LEGACY, SESSIONLESS, PROBE, DISCOVER, INITIALIZE]
ONE_WAY = [NOTIFICATION, MODERN_NOTIFICATION, RESPONSE]
ALL = [*REQUESTS, *ONE_WAY]


def error(code: int, id_: Any = 7, words: str = "no") -> bytes:
    message = {"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": words}}
    return json.dumps(message, separators=(",", ":")).encode()


def name(outbound: Outbound) -> str:
    return f"{outbound.kind}-{outbound.method}-{outbound.modern}-{outbound.carries_session}"


def reply(status: int, body: bytes = b"", content_type: str | None = JSON) -> Reply:
    return Reply(status, content_type, None, body)


# 2xx


@pytest.mark.parametrize("outbound", REQUESTS, ids=name)
@pytest.mark.parametrize("content_type", [JSON, "application/json; charset=utf-8", "Application/JSON"])
def test_a_json_body_with_our_answer_is_the_answer(outbound: Outbound, content_type: str) -> None:
    assert judge(outbound, reply(200, RESULT, content_type)) == JsonBody(RESULT)
    assert judge(outbound, reply(200, error(-32603), content_type)) == JsonBody(error(-32603))


@pytest.mark.parametrize("outbound", REQUESTS, ids=name)
@pytest.mark.parametrize("content_type", [SSE, "text/event-stream;charset=UTF-8", "TEXT/EVENT-STREAM"])
def test_an_event_stream_is_read_as_one(outbound: Outbound, content_type: str) -> None:
    assert judge(outbound, Reply(200, content_type)) == EventStreamBody()
    assert not needs_body(outbound, Reply(200, content_type))


@pytest.mark.parametrize("outbound", REQUESTS, ids=name)
def test_an_error_of_a_200_without_id_gets_ours(outbound: Outbound) -> None:
    assert judge(outbound, reply(200, error(-32603, None))) == JsonBody(error(-32603))


@pytest.mark.parametrize("outbound", [MODERN, LEGACY, SESSIONLESS, DISCOVER, INITIALIZE], ids=name)
@pytest.mark.parametrize(
    "answer",
    [
        reply(200),
        reply(202),
        reply(204, content_type=None),
        reply(200, RESULT, HTML),
        reply(200, RESULT, "text/plain"),
        reply(200, RESULT, None),
        reply(200, b"<html>", JSON),
        reply(200, RESULT[:-1]),
        reply(200, RESULT.replace(b"7", b"8")),
        reply(200, error(-32603, "other")),
        reply(200, b'{"jsonrpc":"2.0","method":"notifications/message"}'),
    ],
)
def test_a_success_without_our_answer_is_a_breach_at_once(outbound: Outbound, answer: Reply) -> None:
    verdict = judge(outbound, answer)
    assert isinstance(verdict, Fault)
    assert (verdict.status, verdict.retryable, verdict.breach) == (answer.status, False, True)
    assert str(answer.status) in verdict.reason


@pytest.mark.parametrize("outbound", ONE_WAY, ids=name)
@pytest.mark.parametrize(
    "answer", [reply(202), reply(204), reply(200, RESULT), Reply(200, SSE), reply(200, b"ok", HTML)]
)
def test_what_needs_no_answer_has_arrived_with_any_success(outbound: Outbound, answer: Reply) -> None:
    assert judge(outbound, answer) == Accepted()
    assert not needs_body(outbound, answer)


# Sessions


def test_the_answer_to_initialize_may_open_a_session() -> None:
    assert judge(INITIALIZE, Reply(200, JSON, "s-2", RESULT)) == JsonBody(RESULT, "s-2")
    assert judge(INITIALIZE, Reply(200, SSE, "s-2")) == EventStreamBody("s-2")
    assert judge(INITIALIZE, Reply(200, JSON, "", RESULT)) == JsonBody(RESULT)


@pytest.mark.parametrize("outbound", [MODERN, LEGACY, PROBE], ids=name)
def test_any_other_answer_opens_none(outbound: Outbound) -> None:
    assert judge(outbound, Reply(200, JSON, "not\nvalid", RESULT)) == JsonBody(RESULT)
    assert judge(outbound, Reply(200, SSE, "s-2")) == EventStreamBody()


@pytest.mark.requirement("security:limits")
@pytest.mark.parametrize("session_id", ["x" * 1025, "a b", "ü"])
def test_a_session_id_that_breaks_the_rules_is_a_breach(session_id: str) -> None:
    verdict = judge(INITIALIZE, Reply(200, JSON, session_id, RESULT))
    assert isinstance(verdict, Fault)
    assert verdict.breach
    assert session_id not in verdict.reason


@pytest.mark.parametrize("outbound", [LEGACY, NOTIFICATION, RESPONSE], ids=name)
@pytest.mark.parametrize("body", [b"", b"<html>", error(-32600, None), error(-32601)])
def test_404_to_a_session_means_that_it_is_gone(outbound: Outbound, body: bytes) -> None:
    assert judge(outbound, reply(404, body)) == SessionGone()


# As servers of several languages write it.
FORGETFUL = [
    error(-32000, None, "Bad Request: No valid session ID provided"),
    error(-32000, 7, "Bad Request: Unknown Mcp-Session-Id header"),
    error(-32001, None, "Session not found"),
    error(-32600, "server-error", "Bad Request: Invalid or expired session ID"),
    error(-32000, None, "Bad Request: Server not initialized"),
    b'{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}',
    b"Invalid session ID\n",
]


@pytest.mark.parametrize("body", FORGETFUL)
def test_400_that_speaks_of_the_session_means_the_same(body: bytes) -> None:
    for outbound in (LEGACY, NOTIFICATION, RESPONSE):
        assert judge(outbound, reply(400, body)) == SessionGone()
    assert judge_stream(reply(400, body), resuming_session=True) == SessionGone()


@pytest.mark.parametrize("body", FORGETFUL)
def test_without_a_session_it_is_an_error_like_any_other(body: bytes) -> None:
    assert isinstance(judge(SESSIONLESS, reply(400, body)), ErrorBody | Fault)
    assert judge_stream(reply(400, body), resuming_session=False) == NotOffered(400)


@pytest.mark.requirement("negotiation:era")
@pytest.mark.parametrize("code", [-32020, -32021, -32022])
def test_an_error_of_the_stateless_era_ends_what_was_agreed_with_a_server_of_the_other(code: int) -> None:
    for outbound in (LEGACY, SESSIONLESS, NOTIFICATION, RESPONSE):
        assert judge(outbound, reply(400, error(code))) == SessionGone()
    # A server of the handshake era may use the code for what it likes, but not with this status.
    assert judge(LEGACY, reply(500, error(code))) == ErrorBody(500, error(code))


@pytest.mark.requirement("negotiation:era")
@pytest.mark.parametrize("body", [body for body in FORGETFUL if body.startswith(b"{")])
def test_a_stateless_server_that_misses_a_session_is_none_any_more(body: bytes) -> None:
    assert judge(MODERN, reply(400, body)) == SessionGone()
    assert isinstance(judge(PROBE, reply(400, body)), ErrorBody)


def test_words_about_a_session_that_are_not_json_rpc_say_nothing_about_the_era() -> None:
    # A proxy may have sessions of its own.
    assert isinstance(judge(MODERN, reply(400, b"Your session has expired")), Fault)


@pytest.mark.parametrize(
    "body",
    [
        error(-32602, 7, "no such session: the tool wants another"),
        error(-32603, 7, "the session store failed"),
        error(-32000, 7, "obsession"),
        error(-32000, 7, "Bad Request: Unsupported protocol version"),
    ],
)
def test_400_about_what_was_asked_for_is_the_answer(body: bytes) -> None:
    assert judge(LEGACY, reply(400, body)) == ErrorBody(400, body)
    assert judge(MODERN, reply(400, body)) == ErrorBody(400, body)


@pytest.mark.parametrize("status", [400, 405, 410, 500])
def test_no_other_status_says_so(status: int) -> None:
    assert isinstance(judge(LEGACY, reply(status)), Fault)


# Authorization


@pytest.mark.parametrize("outbound", ALL, ids=name)
@pytest.mark.parametrize("status", [401, 403])
def test_401_and_403_are_about_authorization_whatever_was_sent(outbound: Outbound, status: int) -> None:
    assert judge(outbound, reply(status, b"", HTML)) == Unauthorized(status)


@pytest.mark.parametrize("outbound", ALL, ids=name)
def test_what_the_server_says_of_it_is_told(outbound: Outbound) -> None:
    verdict = judge(outbound, reply(403, b"Host not allowed", "text/plain"))
    assert isinstance(verdict, Unauthorized)
    assert verdict.words(shown=True) == "HTTP 403: the server does not allow it: 'Host not allowed'"


def test_whoever_has_not_said_who_asks_is_told_how() -> None:
    assert Unauthorized(401).words(shown=False) == "HTTP 401: the server wants to know who asks; pass auth="
    assert Unauthorized(403).words(shown=False) == "HTTP 403: the server does not allow it"


@pytest.mark.parametrize("outbound", ALL, ids=name)
def test_scopes_that_are_missing_say_more_than_any_answer(outbound: Outbound) -> None:
    challenges = ("Basic realm=x", 'Bearer error="insufficient_scope", scope="read write"')
    answer = structs.replace(reply(403, error(-32600, None)), challenges=challenges)
    verdict = judge(outbound, answer)
    assert verdict == Unauthorized(403, None, Shortage(("read", "write")))
    assert isinstance(verdict, Unauthorized)
    assert "the server wants the scopes 'read write'" in verdict.words(shown=True)
    assert (verdict.details["status"], verdict.details["scopes_wanted"]) == (403, ["read", "write"])
    # Whoever has shown no token lacks more than scopes.
    other = judge(outbound, structs.replace(reply(401), challenges=challenges))
    assert other == Unauthorized(401, None, None, "insufficient_scope")


@pytest.mark.parametrize(
    ("challenge", "words"),
    [
        ("Bearer", "HTTP 401: the server refuses the authorization it was shown"),
        (
            'Bearer error="invalid_token"',
            "HTTP 401: the server refuses the authorization it was shown: invalid_token",
        ),
        (
            'Bearer error="invalid_token", error_description="The token\x1b[2J ended at 12:00"',
            "HTTP 401: the server refuses the authorization it was shown: "
            "invalid_token (The token\\x1b[2J ended at 12:00)",
        ),
        (
            'Bearer error_description="of nothing"',
            "HTTP 401: the server refuses the authorization it was shown",
        ),
        (
            f'Bearer error="{"x" * 1000}"',
            f"HTTP 401: the server refuses the authorization it was shown: {'x' * 200}",
        ),
    ],
)
def test_a_refusal_is_told_in_the_words_of_the_server_on_one_short_line(challenge: str, words: str) -> None:
    verdict = judge(ALL[0], structs.replace(reply(401), challenges=(challenge,)))
    assert isinstance(verdict, Unauthorized)
    assert verdict.words(shown=True) == words


@pytest.mark.parametrize("outbound", REQUESTS, ids=name)
def test_the_error_of_a_403_is_kept_for_the_case_that_nobody_can_authorize(outbound: Outbound) -> None:
    assert judge(outbound, reply(403, error(-32600, None))) == Unauthorized(403, error(-32600))


# Errors with a body


@pytest.mark.parametrize(
    ("status", "code"),
    [(400, -32602), (400, -32020), (400, -32022), (400, -32021), (404, -32601), (400, -32700), (400, -32600)],
)
@pytest.mark.parametrize("id_", [7, None, "server-error"])
def test_a_modern_refusal_is_delivered_under_the_id_of_its_request(status: int, code: int, id_: Any) -> None:
    assert judge(MODERN, reply(status, error(code, id_))) == ErrorBody(status, error(code))


@pytest.mark.parametrize("outbound", [MODERN, SESSIONLESS, LEGACY, DISCOVER], ids=name)
@pytest.mark.parametrize("status", [400, 405, 406, 413, 415, 429, 500, 503])
@pytest.mark.parametrize("content_type", [JSON, None, "text/plain"])
def test_a_json_rpc_body_is_read_at_any_status(
    outbound: Outbound, status: int, content_type: str | None
) -> None:
    assert judge(outbound, reply(status, error(-32000), content_type)) == ErrorBody(status, error(-32000))


def test_404_with_a_json_rpc_body_is_a_missing_method_without_it_a_missing_endpoint() -> None:
    assert judge(SESSIONLESS, reply(404, error(-32601))) == ErrorBody(404, error(-32601))
    assert judge(MODERN, reply(404, b"Not Found", "text/plain")) == Fault(
        404, "HTTP 404 with 'Not Found' (text/plain)"
    )


@pytest.mark.parametrize("outbound", ONE_WAY, ids=name)
def test_an_error_to_what_needs_no_answer_is_a_fault_that_repeats_it(outbound: Outbound) -> None:
    verdict = judge(outbound, reply(400, error(-32600, None)))
    assert isinstance(verdict, Fault)
    assert "-32600" in verdict.reason


# The probe


@pytest.mark.parametrize("code", [-32020, -32021, -32022, -32601, -32602, -32000])
@pytest.mark.parametrize("status", [400, 404, 500])
def test_the_probe_s_error_is_delivered_for_the_handshake_to_judge(status: int, code: int) -> None:
    assert judge(PROBE, reply(status, error(code, None))) == ErrorBody(status, error(code))


@pytest.mark.parametrize("status", [400, 404, 405, 406, 410, 415, 422])
@pytest.mark.parametrize("body", [b"", b"<html>nope</html>", b'{"detail":"Not Found"}', b'"\x1b[31m"'])
def test_any_other_refusal_of_the_probe_means_the_older_era(status: int, body: bytes) -> None:
    assert_older_era(judge(PROBE, reply(status, body)), status)


@pytest.mark.parametrize(
    "answer", [reply(200), reply(202), reply(204), reply(200, b"<html>", HTML), reply(200, b"{}")]
)
def test_a_success_without_an_answer_to_the_probe_means_the_older_era(answer: Reply) -> None:
    assert_older_era(judge(PROBE, answer), answer.status)


def assert_older_era(verdict: Verdict, status: int) -> None:
    assert isinstance(verdict, ErrorBody)
    assert verdict.status == status
    message = json.loads(verdict.frame)
    assert (message["id"], message["error"]["code"]) == (7, -32601)
    assert f"HTTP {status}" in message["error"]["message"]
    assert "\x1b" not in message["error"]["message"]


@pytest.mark.parametrize("status", [408, 425, 429, 502, 503, 504])
@pytest.mark.parametrize("body", [b"", error(-32000)])
def test_an_outage_says_nothing_about_the_era(status: int, body: bytes) -> None:
    verdict = judge(PROBE, reply(status, body))
    assert isinstance(verdict, Fault)
    assert verdict.retryable


@pytest.mark.parametrize("status", [500, 501, 307])
def test_nor_does_any_other_failure_without_a_json_rpc_body(status: int) -> None:
    assert isinstance(judge(PROBE, reply(status, b"Internal Server Error", HTML)), Fault)


@pytest.mark.parametrize("status", [400, 404, 405])
def test_where_the_era_is_known_a_refused_server_discover_is_a_fault(status: int) -> None:
    assert isinstance(judge(DISCOVER, reply(status)), Fault)


# initialize


@pytest.mark.parametrize("status", [400, 404, 405])
@pytest.mark.parametrize("body", [b"", b"Cannot POST /sse", b'{"error":"x"}'])
def test_a_refused_initialize_hints_at_the_older_transport(status: int, body: bytes) -> None:
    verdict = judge(INITIALIZE, reply(status, body, "text/plain"))
    assert isinstance(verdict, LegacyHint)
    assert (verdict.status, verdict.frame) == (status, None)
    quoted = ascii(body.decode()) if body else "nothing"
    assert verdict.words.startswith(f"HTTP {status} with {quoted} (text/plain) to initialize")
    assert verdict.words.endswith("; is the path of the URL right?") == (status != 400)


@pytest.mark.parametrize("code", [-32601, -32602, -32000])
def test_its_error_is_kept_for_the_case_that_there_is_none(code: int) -> None:
    verdict = judge(INITIALIZE, reply(400, error(code, None)))
    assert isinstance(verdict, LegacyHint)
    assert verdict.frame == error(code)


@pytest.mark.parametrize("code", [-32020, -32021, -32022])
def test_a_modern_error_to_initialize_is_no_such_hint(code: int) -> None:
    assert judge(INITIALIZE, reply(400, error(code))) == ErrorBody(400, error(code))


@pytest.mark.parametrize("status", [406, 410, 415, 429, 500, 503])
def test_other_statuses_are_no_such_hint_either(status: int) -> None:
    assert isinstance(judge(INITIALIZE, reply(status)), Fault)
    assert judge(INITIALIZE, reply(status, error(-32000))) == ErrorBody(status, error(-32000))


# Faults


@pytest.mark.parametrize("outbound", ALL, ids=name)
@pytest.mark.parametrize(
    ("status", "retryable"),
    [
        (500, True),
        (502, True),
        (503, True),
        (504, True),
        (501, False),
        (505, False),
        (429, True),
        (408, True),
        (425, True),
    ],
)
def test_an_outage_may_pass(outbound: Outbound, status: int, retryable: bool) -> None:
    verdict = judge(outbound, reply(status, b"<html>down</html>", HTML))
    assert verdict == Fault(status, f"HTTP {status} with the page 'down' (text/html)", retryable)


@pytest.mark.parametrize(
    ("page", "told"),
    [
        (
            b"<!DOCTYPE html>\n<!--[if IE]>" + b" " * 500 + b"<TITLE\n>\n Bad\x1b\ngateway </title>",
            r"Bad\x1b gateway",
        ),
        (b"<title>Error</title><body>\n<pre>Cannot POST /mcp</pre>", "Error, Cannot POST /mcp"),
        (b"<title>502</title><h1>502</h1><hr>nginx", "502, nginx"),
        (b"<style>a < b { x }</style><Script>if (1 <2) '<p>'</SCRIPT><b>down", "down"),
        (b"<title>" + b"long " * 30 + b"</title>", "long " * 24),
    ],
)
def test_of_a_page_is_told_what_one_would_read(page: bytes, told: str) -> None:
    verdict = judge(MODERN, reply(502, page, "text/html; charset=utf-8"))
    assert verdict == Fault(502, f"HTTP 502 with the page '{told}' (text/html)", True)
    verdict = judge(MODERN, reply(200, page, "text/html; charset=utf-8"))
    assert verdict == Fault(200, f"no answer in HTTP 200 with the page '{told}' (text/html)", breach=True)


@pytest.mark.parametrize("page", [b"<title></title>", b"<style>a", b"<" * 9000])
def test_a_page_that_says_nothing_is_quoted(page: bytes) -> None:
    verdict = judge(MODERN, reply(502, page, HTML))
    assert verdict == Fault(502, f"HTTP 502 with {ascii(page[:120].decode())} (text/html)", True)


@pytest.mark.parametrize("outbound", [MODERN, SESSIONLESS, LEGACY, *ONE_WAY], ids=name)
@pytest.mark.parametrize("status", [400, 405, 406, 413, 415, 431])
def test_a_refusal_without_a_json_rpc_body_does_not_pass(outbound: Outbound, status: int) -> None:
    assert judge(outbound, reply(status, content_type=None)) == Fault(status, f"HTTP {status} with nothing")


@pytest.mark.parametrize("outbound", ALL, ids=name)
@pytest.mark.parametrize("status", [301, 302, 303, 304, 307, 308])
def test_a_redirect_is_not_followed_here_whatever_it_says(outbound: Outbound, status: int) -> None:
    assert judge(outbound, reply(status, error(-32000))) == Fault(
        status, f"HTTP {status}: a redirect that is not followed"
    )


@pytest.mark.parametrize("outbound", ALL, ids=name)
@pytest.mark.parametrize("status", [0, 100, 101, 600, 999])
def test_a_status_that_is_none_is_a_breach(outbound: Outbound, status: int) -> None:
    verdict = judge(outbound, reply(status))
    assert isinstance(verdict, Fault)
    assert verdict.breach


def test_a_reason_escapes_and_shortens_what_the_server_wrote() -> None:
    verdict = judge(MODERN, reply(500, b"\x1b[31m\xff" + b"x" * 10_000, "\x1b[31m" + "x" * 10_000))
    assert isinstance(verdict, Fault)
    assert verdict.reason.isascii()
    assert verdict.reason.isprintable()
    assert len(verdict.reason) < 500


# GET


def test_a_stream_to_listen_to_is_one() -> None:
    assert judge_stream(Reply(200, SSE), resuming_session=False) == EventStreamBody()


@pytest.mark.parametrize("status", [400, 404, 405, 406, 409, 410, 501])
def test_a_server_without_such_a_stream_may_say_so_in_many_ways(status: int) -> None:
    assert judge_stream(reply(status), resuming_session=False) == NotOffered(status)


@pytest.mark.parametrize("answer", [reply(200, b"{}"), reply(200, b"<html>", HTML), reply(202), reply(204)])
def test_a_success_without_a_stream_is_none(answer: Reply) -> None:
    assert judge_stream(answer, resuming_session=False) == NotOffered(answer.status)


def test_404_where_there_was_a_stream_means_that_the_session_is_gone() -> None:
    assert judge_stream(reply(404), resuming_session=True) == SessionGone()
    assert judge_stream(reply(400), resuming_session=True) == NotOffered(400)


def test_a_refused_stream_may_say_why_in_its_body() -> None:
    assert [status for status in (200, 400, 404, 405, 409, 500) if stream_needs_body(reply(status))] == [400]


def test_a_second_stream_is_asked_for_again_until_the_first_is_over_for_the_server() -> None:
    verdict = judge_stream(reply(409), resuming_session=True)
    assert isinstance(verdict, Fault)
    assert verdict.retryable
    assert judge_stream(reply(409), resuming_session=False) == NotOffered(409)


@pytest.mark.parametrize("status", [401, 403])
def test_a_stream_may_need_authorization_too(status: int) -> None:
    assert judge_stream(reply(status), resuming_session=True) == Unauthorized(status)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_stream_may_come_back_after_an_outage(status: int) -> None:
    verdict = judge_stream(reply(status), resuming_session=False)
    assert isinstance(verdict, Fault)
    assert verdict.retryable


def test_a_stream_elsewhere_is_not_followed() -> None:
    assert isinstance(judge_stream(reply(307), resuming_session=False), Fault)
    assert isinstance(judge_stream(reply(999), resuming_session=False), Fault)


# Whatever comes


@given(
    st.sampled_from(ALL),
    st.sampled_from([200, 202, 301, 400, 401, 403, 404, 405, 429, 500, 503]) | st.integers(100, 599),
    st.sampled_from([None, "", JSON, SSE, HTML, ";", "application/json;"]),
    st.none() | st.text(max_size=5),
    st.sampled_from([RESULT, error(-32022), error(-32601, None), b"", b"[", b"[1]"]) | st.binary(max_size=20),
)
def test_every_response_means_something_and_every_frame_answers_our_request(
    outbound: Outbound, status: int, content_type: str | None, session_id: str | None, body: bytes
) -> None:
    answer = Reply(status, content_type, session_id, body)
    verdict = judge(outbound, answer)
    frame = getattr(verdict, "frame", None)
    assert frame is None or json.loads(frame)["id"] == 7
    assert (outbound.kind == "request") or frame is None
    assert not isinstance(verdict, SessionGone) or outbound.carries_session
    assert isinstance(verdict, Accepted) == (outbound.kind != "request" and 200 <= status < 300)
    if not needs_body(outbound, answer):
        assert judge(outbound, Reply(status, content_type, session_id)) == verdict
