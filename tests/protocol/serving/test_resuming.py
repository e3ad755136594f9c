"""A session that goes on in another process than the one in which its client shook hands."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_actors.protocol.serving import events as E
from mcp_actors.protocol.serving.actions import Attend, Run
from mcp_actors.protocol.serving.keepsake import Keepsake
from mcp_actors.protocol.serving.news import News
from mcp_actors.protocol.serving.states import Phase
from tests.protocol.serving.talk import (
    INFO,
    LEGACY,
    MODERN,
    OBLIGING,
    Talk,
    only,
    profile,
    ready,
    revision,
    sent,
    the_answer,
)

pytestmark = [
    pytest.mark.requirement("transport:http"),
    pytest.mark.requirement("negotiation:phases"),
]


def resumed(keepsake: Keepsake, talk: Talk | None = None) -> Talk:
    talk = talk or Talk()
    talk.feed(E.Resumed(keepsake))
    return talk


@pytest.mark.parametrize("version", LEGACY)
def test_what_was_agreed_on_holds_where_the_session_goes_on(version: str) -> None:
    kept = Keepsake(version, OBLIGING, INFO)
    talk = resumed(kept)
    assert (talk.phase, talk.machine.keepsake) == (Phase.READY, kept)
    (run,) = only(talk.request(1, "tools/call", name="a"), Run)
    terms = run.job.terms
    assert (terms.revision, terms.capabilities, terms.client_info) == (revision(version), OBLIGING, INFO)
    (question,) = sent(talk.ask(method="roots/list"))
    assert question["method"] == "roots/list"


def test_what_a_client_set_since_holds_too() -> None:
    first = ready("2025-11-25")
    first.request(1, "logging/setLevel", level="error")
    first.request(2, "resources/subscribe", uri="a://b")
    first.request(3, "resources/subscribe", uri="a://a")
    first.request(4, "resources/subscribe", uri="a://c")
    first.request(5, "resources/unsubscribe", uri="a://c")
    kept = first.machine.keepsake
    assert kept is not None
    assert (kept.log_level, kept.watched) == ("error", ("a://a", "a://b"))
    talk = resumed(kept)
    assert [told["params"] for told in sent(talk.feed(E.Published(News("updated", "a://b"))))] == [
        {"uri": "a://b"}
    ]
    assert talk.feed(E.Published(News("updated", "a://c"))) == []
    talk.request(1, "tools/call", name="a")
    assert talk.say(1, "message", level="warning", data="") == []
    assert len(sent(talk.say(1, "message", level="error", data=""))) == 1


def test_who_goes_on_hears_of_changes_without_having_said_anything() -> None:
    talk = Talk()
    assert only(talk.feed(E.Resumed(Keepsake("2025-11-25", {}))), Attend) == [Attend(True)]
    assert len(sent(talk.feed(E.Published(News("tools"))))) == 1


@pytest.mark.parametrize("version", [MODERN, "2023-01-01", ""])
def test_no_session_goes_on_under_a_revision_that_has_none(version: str) -> None:
    talk = resumed(Keepsake(version, {}))
    assert (talk.phase, talk.machine.keepsake) == (Phase.FRESH, None)


def test_no_session_goes_on_under_a_revision_that_is_not_spoken_any_more() -> None:
    offered = profile(revisions=(revision("2025-11-25"),))
    talk = resumed(Keepsake("2025-06-18", {}), Talk(offered))
    assert talk.phase is Phase.FRESH
    assert the_answer(talk.request(1, "tools/list"), 1)["message"] == "tools/list came before initialize"


def test_nobody_shakes_hands_in_a_session_that_goes_on() -> None:
    talk = resumed(Keepsake("2025-11-25", {}))
    answer: Any = the_answer(talk.request(1, "initialize", protocolVersion="2025-11-25"), 1)
    assert json.dumps(answer).count("initialized already") == 1


def test_a_session_that_is_under_way_takes_no_other_ones_place() -> None:
    talk = ready("2025-11-25")
    before = talk.machine.keepsake
    assert talk.feed(E.Resumed(Keepsake("2025-06-18", {}, log_level="error"))) == []
    assert talk.machine.keepsake == before
