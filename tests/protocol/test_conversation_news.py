"""What the server says unasked: news, progress, cancellations, requests, batches."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw

from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.actions import (
    Dispatch,
    Progress,
    Send,
    SetTimer,
    Unmatched,
    Violation,
)
from mcp_actors.protocol.events import (
    SweepDue,
)
from mcp_actors.protocol.outcomes import (
    Completed,
    Rejected,
    Withdrawn,
)
from tests.protocol import toy_server as toy
from tests.protocol.talk import Talk, outcomes, sent


@pytest.fixture
def talk() -> Talk:
    talk = Talk()
    talk.call()
    return talk


# News.


def test_news_is_handed_over_together_and_in_order() -> None:
    (dispatch,) = Talk().hear(toy.news("a", n=1), toy.news("b", n=2))
    assert isinstance(dispatch, Dispatch)
    assert [item.method for item in dispatch.notifications] == ["a", "b"]
    assert Talk().hear() == []


@pytest.mark.requirement("request:progress")
def test_progress_reaches_the_caller_who_asked_and_the_handlers() -> None:
    talk = Talk()
    talk.call(progress=True)
    progress, dispatch = talk.hear(toy.news("notifications/progress", progressToken=1, progress=0.5))
    assert progress == Progress("ann", {"progressToken": 1, "progress": 0.5})
    assert isinstance(dispatch, Dispatch)


@pytest.mark.requirement("request:progress")
def test_progress_nobody_asked_for_reaches_no_caller(talk: Talk) -> None:
    actions = talk.hear(toy.news("notifications/progress", progressToken=1))
    assert not [action for action in actions if isinstance(action, Progress)]


@pytest.mark.requirement("request:progress")
@pytest.mark.parametrize("token", [1, 2, True, "1", 1.0, None])
def test_progress_after_the_end_or_of_a_stranger_is_nobodys(token: Any) -> None:
    talk = Talk()
    talk.call(progress=True)
    assert len(talk.hear(toy.news("notifications/progress", progressToken=1), toy.result(1, {}))) == 4
    assert talk.hear(toy.news("notifications/progress", progressToken=token)) == []


@pytest.mark.parametrize("params", [None, Raw(b"[1]"), Raw(b'{"progressToken":"\xff"}')])
def test_progress_without_readable_params_is_nobodys(talk: Talk, params: Raw | None) -> None:
    talk.conversation.receive(jsonrpc.Notification("notifications/progress", params, 1))
    talk.conversation.flush()
    assert talk.taken() == []


@pytest.mark.requirement("request:server-cancelled")
@pytest.mark.parametrize(("reason", "told"), [("busy", "busy"), (7, ""), (None, "")])
def test_a_servers_cancellation_ends_the_one_call_it_names(talk: Talk, reason: Any, told: str) -> None:
    talk.call("bob")
    actions = talk.hear(toy.news("notifications/cancelled", requestId=1, reason=reason))
    assert outcomes(actions) == {"ann": Withdrawn("server", told)}
    assert sent(actions) == []
    assert isinstance(actions[-1], Dispatch)
    assert talk.hear(toy.result(1, {})) == [Unmatched(1, late=True)]
    assert [flight.caller for flight in talk.conversation.pending] == ["bob"]


@pytest.mark.requirement("request:server-cancelled")
def test_a_servers_cancellation_of_nothing_is_only_news(talk: Talk) -> None:
    (dispatch,) = talk.hear(toy.news("notifications/cancelled", requestId=True))
    assert isinstance(dispatch, Dispatch)


# The server's requests, and batches.


def test_a_ping_is_answered_with_its_own_id(talk: Talk) -> None:
    assert sent(talk.hear(toy.frame(id=1, method="ping"))) == [{"jsonrpc": "2.0", "id": 1, "result": {}}]
    assert len(talk.conversation.pending) == 1


@pytest.mark.requirement("connection:second-initialize")
def test_a_server_that_initializes_us_is_refused_and_counted_and_nothing_else_happens(talk: Talk) -> None:
    violation, send = talk.hear(toy.frame(id="q", method="initialize", params={}))
    assert violation == Violation("server-initialize", "the server sent initialize")
    assert sent([send])[0]["error"]["code"] == jsonrpc.METHOD_NOT_FOUND
    assert len(talk.conversation.pending) == 1


def test_an_unknown_request_is_refused(talk: Talk) -> None:
    (message,) = sent(talk.hear(toy.frame(id=5, method="sampling/createMessage")))
    assert (message["id"], message["error"]["code"]) == (5, jsonrpc.METHOD_NOT_FOUND)


def test_a_request_in_the_stateless_era_is_a_violation_and_gets_no_response() -> None:
    (violation,) = Talk(toy.MODERN).hear(toy.frame(id=5, method="ping"))
    assert violation == Violation("server-request", "the server sent ping")


def test_before_any_agreement_a_ping_is_answered_and_a_batch_is_not_taken() -> None:
    talk = Talk()
    talk.conversation.agreement = None
    assert len(sent(talk.hear(toy.frame(id=5, method="ping")))) == 1
    (violation,) = talk.hear(b"[%s]" % toy.frame(id=5, method="ping"))
    assert isinstance(violation, Violation)


def test_a_batch_is_taken_apart_where_the_revision_has_them() -> None:
    talk = Talk("2025-03-26")
    talk.call()
    talk.call("bob")
    parts = (toy.result(1, {}), toy.news("a"), toy.error(2, -1), toy.frame(id=9, method="ping"), b"7")
    actions = talk.hear(b"[%s]" % b",".join(parts))
    assert {caller: type(outcome) for caller, outcome in outcomes(actions).items()} == {
        "ann": Completed,
        "bob": Rejected,
    }
    assert [type(action) for action in actions if isinstance(action, Send | Violation | Dispatch)] == [
        Send, Violation, Dispatch,
    ]  # fmt: skip


@pytest.mark.parametrize("version", [toy.MODERN, "2025-11-25", "2025-06-18", "2024-11-05"])
def test_a_batch_is_a_violation_elsewhere(version: str) -> None:
    talk = Talk(version)
    talk.call()
    (violation,) = talk.hear(b"[%s]" % toy.result(1, {}))
    assert violation == Violation("batch", "an array outside revision 2025-03-26")
    assert len(talk.conversation.pending) == 1


def test_an_id_of_the_handshake_can_be_buried() -> None:
    talk = Talk()
    talk.conversation.bury(1)
    assert talk.taken() == [SetTimer(SweepDue(), 60.0)]
    assert talk.hear(toy.result(1, {})) == [Unmatched(1, late=True)]
