"""Faults of a stdio server, one row each: what the caller gets, and that the next call works.

The numbers are those of the table of faults in the project's reliability document.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from mcp_actors import errors
from tests.client.faulty_client import MakeFaulty
from tests.client.waiting import BOUND

LOST = (errors.ConnectionLost,)
PROTOCOL = (errors.ProtocolError,)
TIMEOUT = (errors.RequestTimeout,)


@dataclass(frozen=True)
class Row:
    """A fault that happens inside a call. ``gives`` is the text of the answer, or the errors it may raise."""

    number: int
    mode: str
    gives: str | tuple[type[errors.McpError], ...]
    restarted: bool = False
    version: str = "2026-07-28"
    options: dict[str, Any] = field(default_factory=dict)
    seconds: float = BOUND

    def __str__(self) -> str:
        return f"{self.number}-{self.mode}" + ("" if self.version == "2026-07-28" else f"-{self.version}")


SHORT = 0.3
#: R in the table: the server is started anew.
R = True

ROWS = [
    Row(3, "exit", LOST, R),
    Row(3, "sigkill", LOST, R),
    Row(5, "answer-then-exit", "last words", R),
    Row(6, "grandchild-holds-stdout", LOST, R),
    Row(13, "close-stdout", LOST, R),
    Row(16, "stderr-flood", "quiet again"),
    Row(17, "half-a-frame", LOST + PROTOCOL, R),
    Row(18, "drip", "ünhurried"),
    Row(20, "endless-line", (errors.FrameTooLarge,), R),
    Row(21, "large-frame", (errors.FrameTooLarge,), R, options={"max_frame_bytes": 100_000}),
    Row(22, "bad-utf8", "after bad bytes"),
    Row(22, "answer-in-bad-utf8", TIMEOUT + PROTOCOL, seconds=SHORT),
    Row(23, "rubbish", "after rubbish"),
    Row(23, "crlf", "windows"),
    Row(24, "separators", "a\u2028b\u2029c\u0085d\u000be"),
    Row(25, "split-characters", "ü€𝄞"),
    Row(26, "no-newline-then-exit", "unended", R),
    Row(27, "deep", PROTOCOL + TIMEOUT, seconds=SHORT),
    Row(27, "deep-notification", "after the deep"),
    Row(28, "digits", PROTOCOL + TIMEOUT, seconds=SHORT),
    Row(28, "digits-as-id", "after the digits"),
    Row(29, "nan", ""),
    Row(30, "surrogate", "\ud800"),
    Row(31, "duplicate-members", "the last counts"),
    Row(33, "twice", "first"),
    Row(34, "unknown-ids", "mine"),
    Row(35, "odd-ids", "mine"),
    Row(36, "wrong-shapes", "after wrong shapes"),
    Row(36, "result-and-error", PROTOCOL),
    Row(37, "null-id-error", "still served"),
    Row(38, "batch", "in a batch", version="2025-03-26"),
    Row(38, "batch", TIMEOUT, version="2025-11-25", seconds=SHORT),
    Row(38, "batch", TIMEOUT, seconds=SHORT),
    Row(39, "asks-back", '["ok", -32601, -32601, -32601]', version="2025-11-25"),
    Row(42, "idle-chatter", "after chatter"),
    Row(43, "error-answer", (errors.RemoteError,)),
    Row(51, "notification-flood", "after the flood"),
    Row(54, "list-changed-flood", "after the flood"),
    Row(55, "ping-flood", "after the pings", version="2025-11-25"),
    Row(55, "ping-flood", "after the pings"),
    Row(58, "late", TIMEOUT, seconds=SHORT),
    Row(59, "silence", TIMEOUT, seconds=SHORT),
]


@pytest.mark.requirement("error:matrix")
@pytest.mark.requirement("error:plain")
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_fault_inside_a_call(row: Row, make_faulty: MakeFaulty) -> None:
    faulty = make_faulty(row.mode, "--version", row.version, **row.options)
    assert faulty.client.wait_ready().protocol_version == row.version
    if isinstance(row.gives, str):
        assert faulty.fault(timeout=row.seconds).text == row.gives
    else:
        with pytest.raises(row.gives) as caught:
            faulty.fault(timeout=row.seconds)
        assert "tools/call 'fault'" in str(caught.value).splitlines()[0]
        assert not isinstance(caught.value, BaseExceptionGroup)
    faulty.check_recovery(2 if row.restarted else 1)
