"""The table of the server machine: total, and with no arrow that is not drawn."""

from __future__ import annotations

from itertools import product
from typing import get_args

import pytest

from mcp_actors.protocol import jsonrpc, session
from mcp_actors.protocol.serving import events as E
from mcp_actors.protocol.serving.actions import Transition
from mcp_actors.protocol.serving.keepsake import Keepsake
from mcp_actors.protocol.serving.news import News
from mcp_actors.protocol.serving.questions import Question
from mcp_actors.protocol.serving.states import EDGES, Phase
from mcp_actors.protocol.session import TABLE
from tests.protocol.serving.talk import IN_PHASE, Talk, closing, frame, greeted, initialize, only, ready

EVENTS = get_args(E.Event)
SAMPLES: dict[type, E.Event] = {
    E.Received: E.Received(jsonrpc.scan(frame(id=1, method="ping"))),
    E.Resumed: E.Resumed(Keepsake("2025-11-25", {})),
    E.Concluded: E.Concluded(1, b"{}"),
    E.Said: E.Said(1, "notifications/progress", {"progress": 1}),
    E.Asked: E.Asked(Question("ann", "roots/list", {}, None, 9.0)),
    E.QuestionExpired: E.QuestionExpired(1),
    E.Forgone: E.Forgone("ann"),
    E.Published: E.Published(News("tools")),
    E.Dismissed: E.Dismissed(1, "enough"),
    E.PhaseExpired: E.PhaseExpired(),
    E.Gone: E.Gone("it hung up"),
    E.StopAsked: E.StopAsked(5.0),
    E.GraceOver: E.GraceOver(),
}


@pytest.mark.requirement("negotiation:phases")
def test_every_phase_has_a_cell_for_every_event() -> None:
    assert set(TABLE) == set(Phase) == set(EDGES)
    assert all(set(cells) == set(EVENTS) for cells in TABLE.values())


@pytest.mark.requirement("negotiation:phases")
@pytest.mark.parametrize(("phase", "kind"), list(product(Phase, EVENTS)))
def test_every_event_may_come_in_every_phase(phase: Phase, kind: type) -> None:
    talk = IN_PHASE[phase]()
    actions = talk.feed(SAMPLES[kind])
    changes = [(change.before, change.after) for change in only(actions, Transition)]
    assert changes == ([(phase, talk.phase)] if talk.phase is not phase else [])


def edge(before: Phase, after: Phase) -> Talk:
    """A session that went this way with its last event."""
    talk = IN_PHASE[before]()
    if after is Phase.GREETED:
        talk.request(1, "initialize", **initialize())
    elif (before, after) == (Phase.FRESH, Phase.READY):
        talk.feed(SAMPLES[E.Resumed])
    elif after is Phase.READY:
        talk.notify("notifications/initialized")
    elif after is Phase.CLOSING:
        talk.modern(1, "tools/list")
        talk.feed(E.StopAsked(1.0))
    else:
        talk.feed(E.Gone("it hung up"))
    return talk


@pytest.mark.requirement("negotiation:phases")
def test_every_drawn_arrow_can_be_gone_and_the_arrows_are_these() -> None:
    arrows = {(before, after) for before, afters in EDGES.items() for after in afters}
    assert all(edge(before, after).phase is after for before, after in arrows)
    fresh, greeted_, ready_, closing_, closed_ = Phase
    assert arrows == {
        (fresh, greeted_),
        (fresh, ready_),
        (fresh, closing_),
        (fresh, closed_),
        (greeted_, ready_),
        (greeted_, closing_),
        (greeted_, closed_),
        (ready_, closing_),
        (ready_, closed_),
        (closing_, closed_),
    }


def test_a_change_that_is_not_drawn_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    talk = greeted()
    monkeypatch.setitem(TABLE[Phase.GREETED], E.GraceOver, lambda *_: Phase.FRESH)
    with pytest.raises(AssertionError):
        talk.feed(E.GraceOver())


@pytest.mark.parametrize("kind", EVENTS)
def test_nothing_happens_in_a_closed_session_but_that_questions_are_turned_down(kind: type) -> None:
    talk = IN_PHASE[Phase.CLOSED]()
    assert bool(talk.feed(SAMPLES[kind])) == (kind is E.Asked)


def test_the_machine_has_no_other_memory_than_its_own() -> None:
    first, second = ready(), closing()
    assert (first.phase, second.phase) == (Phase.READY, Phase.CLOSING)
    assert session.SessionMachine(lambda: first.profile).phase is Phase.FRESH
