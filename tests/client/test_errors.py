"""The errors of a client: one tree, plain first lines, and what a program may do about each."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from msgspec import Raw

from mcp_actors import errors
from mcp_actors.client.failures import Circumstances, broken_down, describe, error_from, error_type, late
from mcp_actors.protocol import outcomes
from mcp_actors.protocol.endings import Ending, EndKind

ABOUT = Circumstances("tools/call 'add'", "calculator", "ready", 2.5)
EXITED = Ending(EndKind.EXIT, "the server exited with code 3", exit_code=3)
ELSEWHERE = Ending(EndKind.REFUSED, "calculator could not be reached: it refused the connection")
LARGE = Ending(EndKind.OVERSIZED, "the server sent a frame above the limit of 16 bytes")


@pytest.mark.requirement("error:tree")
@pytest.mark.requirement("error:plain")
@pytest.mark.parametrize(
    ("outcome", "kind", "retryable", "line"),
    [
        (
            outcomes.Rejected(Raw(b'{"code":-32602,"message":"no a"}')),
            errors.RemoteError,
            False,
            "tools/call 'add' failed: no a (code -32602)",
        ),
        (
            outcomes.Rejected(Raw(b'{"code":-32603,"message":"oops"}')),
            errors.RemoteError,
            True,
            "tools/call 'add' failed: oops (code -32603)",
        ),
        (
            outcomes.Rejected(Raw(b'{"message":"no code"}')),
            errors.InvalidResponse,
            False,
            "tools/call 'add' got an error without a code: no code",
        ),
        (
            outcomes.BadAnswer("a response with both a result and an error"),
            errors.InvalidResponse,
            False,
            "tools/call 'add' got an answer that breaks the protocol: "
            "a response with both a result and an error",
        ),
        (
            outcomes.NotGranted("a:1"),
            errors.CapabilityMissing,
            False,
            "tools/call 'add' failed: calculator did not grant the subscription",
        ),
        (
            outcomes.TimedOut(30.0),
            errors.RequestTimeout,
            False,
            "no answer to tools/call 'add' within 30 s (state: ready)",
        ),
        (
            outcomes.Lost(EXITED, "unknown"),
            errors.ConnectionLost,
            False,
            "tools/call 'add' lost its connection: the server exited with code 3; it may or may not have run",
        ),
        (
            outcomes.Lost(EXITED, "not_sent"),
            errors.ConnectionLost,
            True,
            "tools/call 'add' lost its connection: the server exited with code 3; it was not sent",
        ),
        (
            outcomes.Lost(LARGE, "unknown"),
            errors.FrameTooLarge,
            False,
            "tools/call 'add' failed: the server sent a frame above the limit of 16 bytes",
        ),
        (
            outcomes.NotReady("backoff", EXITED),
            errors.Unavailable,
            True,
            "tools/call 'add' was not sent: calculator is not ready (state: backoff); next try in 2.5 s: "
            "the server exited with code 3",
        ),
        (
            outcomes.Parked(3, EXITED),
            errors.StartFailed,
            False,
            "calculator could not be started in 3 attempts: the server exited with code 3",
        ),
        (
            outcomes.Parked(2, ELSEWHERE),
            errors.StartFailed,
            False,
            "calculator could not be reached in 2 attempts: it refused the connection",
        ),
        (
            outcomes.Parked(1, outcomes.NoCommonVersion(("2026-07-28",), ("1999-01-01", "2000-01-01"))),
            errors.UnsupportedVersion,
            False,
            "calculator and this client share no protocol version "
            "(ours: 2026-07-28; theirs: 1999-01-01, 2000-01-01)",
        ),
        (
            outcomes.Crowded(3),
            errors.Backpressure,
            True,
            "tools/call 'add' was not sent: calculator did not read its input through 3 attempts",
        ),
        (
            outcomes.Withdrawn("server", "too busy"),
            errors.Cancelled,
            False,
            "tools/call 'add' was cancelled by the server: too busy",
        ),
        (
            outcomes.Withdrawn("caller", ""),
            errors.Cancelled,
            False,
            "tools/call 'add' was cancelled by the caller",
        ),
        (
            outcomes.Stopped(),
            errors.ClientClosed,
            False,
            "tools/call 'add' ended because the client was closed",
        ),
    ],
)
def test_every_outcome_becomes_one_plain_error(
    outcome: Any, kind: type[errors.McpError], retryable: bool, line: str
) -> None:
    error = error_from(outcome, ABOUT)
    assert type(error) is kind
    assert str(error).splitlines()[0] == line
    assert error.retryable is retryable
    assert error is not error_from(outcome, ABOUT)
    if kind is not errors.InvalidResponse and kind is not errors.UnsupportedVersion:
        assert error_type(outcome) == error.type


@pytest.mark.requirement("error:tree")
@pytest.mark.parametrize(
    ("kind", "type_", "also"),
    [
        (errors.StartFailed, "transport", ConnectionError),
        (errors.ConnectionLost, "transport", ConnectionError),
        (errors.FrameTooLarge, "protocol", errors.ProtocolError),
        (errors.UnsupportedVersion, "protocol", errors.ProtocolError),
        (errors.InvalidResponse, "protocol", errors.ProtocolError),
        (errors.RemoteError, "jsonrpc", errors.McpError),
        (errors.Unavailable, "state", errors.McpError),
        (errors.ForkedClient, "state", errors.McpError),
        (errors.RequestTimeout, "timeout", TimeoutError),
        (errors.ClientClosed, "shutdown", errors.McpError),
        (errors.CapabilityMissing, "capability", errors.McpError),
        (errors.Backpressure, "backpressure", errors.McpError),
        (errors.Cancelled, "cancelled", errors.McpError),
    ],
)
def test_the_tree_is_the_documented_one(
    kind: type[errors.McpError], type_: str, also: type[Exception]
) -> None:
    assert issubclass(kind, errors.McpError)
    assert issubclass(kind, also)
    assert kind.type == type_


@pytest.mark.requirement("error:plain")
def test_waiting_in_vain_has_words_of_its_own() -> None:
    waiting = Circumstances("", "calculator", "backoff")
    assert str(late(outcomes.TimedOut(5.0), EXITED, waiting)) == (
        "calculator was not ready within 5 s (state: backoff): the server exited with code 3"
    )
    assert str(late(outcomes.TimedOut(5.0), None, ABOUT)) == (
        "tools/call 'add' was not sent: calculator was not ready within 5 s (state: ready)"
    )
    assert str(error_from(outcomes.Stopped(), waiting)) == "the wait ended because the client was closed"
    assert str(broken_down(ValueError("x"), waiting)) == "this client broke down: x; start() tries again"


@pytest.mark.requirement("error:plain")
@pytest.mark.parametrize(
    ("cause", "line"),
    [
        (None, ""),
        (EXITED, "the server exited with code 3"),
        (outcomes.BadAnswer("rubbish"), "rubbish"),
        (outcomes.TimedOut(10.0), "no handshake within 10 s"),
        (
            outcomes.Rejected(Raw(b'{"code":-1,"message":"go away"}')),
            "the server refused the handshake: go away (-1)",
        ),
        (outcomes.Rejected(Raw(b"5")), "the server refused the handshake: not an object"),
        (outcomes.NoCommonVersion((), ()), "no common protocol version (ours: none; theirs: none)"),
    ],
)
def test_a_cause_is_one_plain_line(cause: Any, line: str) -> None:
    assert describe(cause) == line


@pytest.mark.requirement("error:plain")
def test_what_a_server_says_cannot_forge_lines_or_flood_them() -> None:
    evil = "nice\nFATAL: forged \x1b[31m line\u2028" + "x" * 10_000
    raw = Raw(b'{"code":-1,"message":%s}' % json.dumps(evil).encode())
    for error in (
        error_from(outcomes.Rejected(raw), ABOUT),
        error_from(outcomes.Withdrawn("server", evil), ABOUT),
        error_from(outcomes.NoCommonVersion((), (evil,)), ABOUT),
    ):
        assert "\x1b" not in str(error)
        assert len(str(error).splitlines()) == 1
        assert len(str(error)) < 1_000
    assert "\n" not in describe(outcomes.Rejected(raw))
    assert error_from(outcomes.Rejected(raw), ABOUT).details == {"message": evil}


def test_errors_travel_between_processes() -> None:
    made = [
        error_from(outcomes.Lost(EXITED, "unknown"), ABOUT),
        error_from(outcomes.NotReady("backoff", EXITED), ABOUT),
        error_from(outcomes.Rejected(Raw(b'{"code":1,"message":"x","data":[1]}')), ABOUT),
        error_from(outcomes.TimedOut(1.0), ABOUT),
    ]
    for error in made:
        copy = pickle.loads(pickle.dumps(error))
        assert (type(copy), str(copy), copy.retryable) == (type(error), str(error), error.retryable)
