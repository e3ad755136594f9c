"""Asking: what becomes of a question, as the handler sees it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw

from mcp_actors import InvalidAnswer, NoAnswer, RequestCancelled
from mcp_actors.protocol.serving.questions import Answered, Declined, Unanswered, Unaskable, Unreadable
from mcp_actors.server.asking import NoAsker, answer_of


@pytest.mark.parametrize(
    ("verdict", "error", "words"),
    [
        (Declined(Raw(b'{"code":1,"message":"no"}')), NoAnswer, "the client refused roots/list: no"),
        (Declined(Raw(b"7")), NoAnswer, "the client refused roots/list: without a reason"),
        (Unaskable("it is gone"), NoAnswer, "the client cannot be asked: it is gone"),
        (Unanswered("too slow", expired=True), NoAnswer, "the client did not answer roots/list: too slow"),
        (Unanswered("it is over"), RequestCancelled, "it is over"),
        (Answered(Raw(b"7")), InvalidAnswer, "the client's answer to roots/list is no object"),
        (Unreadable("odd"), InvalidAnswer, "the client's answer to roots/list cannot be read: odd"),
        (Declined(Raw(b'"\xff"')), NoAnswer, "the client refused roots/list: without a reason"),
    ],
)
def test_what_is_no_answer_is_raised(verdict: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as raised:
        answer_of(verdict, "roots/list")
    assert str(raised.value) == words


def test_an_answer_with_text_that_is_none_is_invalid() -> None:
    with pytest.raises(InvalidAnswer, match="the client's answer to roots/list cannot be read: "):
        answer_of(Answered(Raw(b'{"roots":"\xff"}')), "roots/list")


def test_an_answer_is_an_object() -> None:
    assert answer_of(Answered(Raw(b'{"roots":[]}')), "roots/list") == {"roots": []}


def test_where_nobody_can_be_asked_nothing_fits() -> None:
    asker = NoAsker("tools/list")
    with pytest.raises(NoAnswer, match="while it waits for tools/list"):
        asker.ask({}, 1.0)
    assert str(asker.misfit("words")) == "words"
