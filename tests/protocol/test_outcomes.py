"""Which outcomes prove that the server has not seen a call."""

from __future__ import annotations

import pytest
from msgspec import Raw

from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.outcomes import (
    CallOutcome,
    Completed,
    Crowded,
    Lost,
    NotReady,
    TimedOut,
    Withdrawn,
    was_not_sent,
)

EOF = Ending(EndKind.EOF, "it hung up")


@pytest.mark.requirement("request:lost")
@pytest.mark.parametrize("outcome", [NotReady("backoff"), Lost(EOF, "not_sent")])
def test_what_was_refused_or_left_unsent_was_not_seen(outcome: CallOutcome) -> None:
    assert was_not_sent(outcome)


@pytest.mark.requirement("request:lost")
@pytest.mark.parametrize(
    "outcome",
    [Lost(EOF, "unknown"), TimedOut(1.0), Withdrawn("caller"), Completed(Raw(b"{}")), Crowded(3)],
)
def test_everything_else_may_have_been_seen_or_is_over(outcome: CallOutcome) -> None:
    assert not was_not_sent(outcome)
