"""How a conversation opens: the handshake, requests that need none, and both on one wire."""

from __future__ import annotations

import pytest

from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.revisions import STATELESS
from mcp_actors.protocol.serving import events as E
from mcp_actors.protocol.serving.actions import (
    Attend,
    CancelTimer,
    End,
    Heard,
    Run,
    Send,
    SetTimer,
    Transition,
    Violation,
)
from mcp_actors.protocol.serving.policy import SessionPolicy
from mcp_actors.protocol.serving.reception import MAX_INTRODUCTION
from mcp_actors.protocol.serving.states import Phase
from mcp_actors.protocol.serving.terms import Terms
from tests.protocol.serving.talk import (
    INFO,
    LEGACY,
    MODERN,
    OFFER,
    VERSIONS,
    Talk,
    frame,
    greeted,
    initialize,
    only,
    profile,
    ready,
    revision,
    sent,
    the_answer,
)

UNSUPPORTED = -32022


@pytest.mark.requirement("negotiation:versions")
@pytest.mark.parametrize("version", LEGACY)
def test_initialize_is_answered_in_the_clients_revision(version: str) -> None:
    talk = Talk()
    actions = talk.request(1, "initialize", **initialize(version))
    result = the_answer(actions, 1)
    assert result == {
        "protocolVersion": version,
        "capabilities": {k: v for k, v in OFFER.items() if k in revision(version).server_capability_keys},
        "serverInfo": INFO,
    }
    assert talk.machine.agreed == Terms(revision(version), {}, {"name": "ann"})
    assert only(actions, Transition) == [Transition(Phase.FRESH, Phase.GREETED)]


@pytest.mark.requirement("negotiation:versions")
@pytest.mark.parametrize("version", ["1999-01-01", MODERN, ""])
def test_initialize_with_another_revision_is_answered_with_the_newest_that_shakes_hands(version: str) -> None:
    result = the_answer(Talk().request(1, "initialize", **initialize(version)), 1)
    assert result["protocolVersion"] == LEGACY[0]


@pytest.mark.requirement("negotiation:versions")
def test_a_server_of_2026_07_28_alone_answers_initialize_with_what_it_speaks() -> None:
    talk = Talk(profile(revisions=STATELESS))
    error = the_answer(talk.request(1, "initialize", **initialize("2025-06-18")), 1)
    assert error["code"] == UNSUPPORTED
    assert error["data"] == {"supported": [MODERN], "requested": "2025-06-18"}
    assert talk.phase is Phase.FRESH


def test_instructions_are_told_in_the_handshake() -> None:
    talk = Talk(profile(instructions="be kind"))
    assert the_answer(talk.request(1, "initialize", **initialize()), 1)["instructions"] == "be kind"


@pytest.mark.parametrize(
    "params",
    [
        {"protocolVersion": 7, "capabilities": {}},
        {"capabilities": {}},
        {"protocolVersion": "2025-11-25", "capabilities": []},
        {"protocolVersion": "2025-11-25", "capabilities": None},
    ],
)
def test_an_initialize_that_makes_no_sense_is_refused_and_may_be_repeated(params: dict[str, object]) -> None:
    talk = Talk()
    assert the_answer(talk.request(1, "initialize", **params), 1)["code"] == jsonrpc.INVALID_PARAMS
    (change,) = only(talk.request(2, "initialize", **initialize()), Transition)
    assert change == Transition(Phase.FRESH, Phase.GREETED)


@pytest.mark.requirement("security:limits")
def test_an_introduction_that_is_too_long_is_refused_and_may_be_repeated() -> None:
    talk = Talk()
    long = initialize(clientInfo={"name": "x" * MAX_INTRODUCTION})
    assert the_answer(talk.request(1, "initialize", **long), 1)["code"] == jsonrpc.INVALID_PARAMS
    assert talk.machine.agreed is None
    (change,) = only(talk.request(2, "initialize", **initialize()), Transition)
    assert change == Transition(Phase.FRESH, Phase.GREETED)


def test_a_client_may_say_little_about_itself() -> None:
    talk = Talk()
    talk.request(1, "initialize", protocolVersion=LEGACY[0], clientInfo="ann")
    assert talk.machine.agreed == Terms(revision(LEGACY[0]), {}, None)


@pytest.mark.requirement("negotiation:phases")
def test_the_client_has_a_bounded_time_to_go_on_after_initialize() -> None:
    talk = Talk(policy=SessionPolicy(init_timeout=7.0))
    actions = talk.request(1, "initialize", **initialize())
    assert only(actions, SetTimer) == [SetTimer(E.PhaseExpired(), 7.0)]
    actions = talk.feed(E.PhaseExpired())
    assert only(actions, End) == [End("the client did not finish its handshake in time")]
    assert talk.phase is Phase.CLOSED


@pytest.mark.requirement("negotiation:phases")
def test_initialized_makes_the_session_ready_and_ends_its_timer() -> None:
    actions = greeted().notify("notifications/initialized")
    assert Heard("notifications/initialized", {}) in actions
    assert Transition(Phase.GREETED, Phase.READY) in actions
    assert CancelTimer(E.PhaseExpired()) in actions
    assert Attend(True) in actions


def test_a_late_timer_of_the_handshake_does_nothing() -> None:
    assert ready().feed(E.PhaseExpired()) == []
    assert Talk().feed(E.PhaseExpired()) == []


@pytest.mark.requirement("negotiation:phases")
def test_a_client_whose_time_is_over_is_told_so_about_all_it_waits_for() -> None:
    talk = greeted()
    talk.modern(1, "tools/list")
    talk.listen(2, toolsListChanged=True)
    actions = talk.feed(E.PhaseExpired())
    finals = {action.about: action.code for action in only(actions, Send) if action.final}
    assert finals == {1: jsonrpc.INTERNAL_ERROR, 2: None}
    assert not talk.machine.busy
    assert only(actions, Attend) == [Attend(False)]


def test_a_client_that_goes_on_without_saying_initialized_is_taken_at_its_deeds() -> None:
    talk = greeted()
    actions = talk.request(1, "tools/list")
    assert talk.phase is Phase.READY
    assert len(only(actions, Run)) == 1
    assert Attend(True) in actions


@pytest.mark.parametrize("params", [{"_meta": {"progressToken": 1}}, {}])
def test_a_bare_meta_proves_no_era(params: dict[str, object]) -> None:
    talk = greeted()
    talk.request(1, "tools/list", **params)
    assert talk.phase is Phase.READY


@pytest.mark.parametrize(
    "data",
    [
        frame(id=1, method="ping"),
        frame(id=1, method="initialize", params=initialize()),
        frame(id=1, method="tools/list", params=[1]),
    ],
)
def test_a_ping_or_nonsense_does_not_finish_the_handshake(data: bytes) -> None:
    talk = greeted()
    talk.hear(data)
    assert talk.phase is Phase.GREETED


def test_a_modern_request_does_not_finish_the_handshake() -> None:
    talk = greeted()
    talk.modern(1, "tools/list")
    talk.hear(frame(id=2, method="tools/list"), modern=True)
    assert talk.phase is Phase.GREETED


@pytest.mark.requirement("negotiation:phases")
@pytest.mark.parametrize("make", [greeted, ready])
def test_a_second_initialize_is_refused_and_changes_nothing(make: type[Talk]) -> None:
    talk = make()
    before, phase = talk.machine.agreed, talk.phase
    error = the_answer(talk.request(2, "initialize", **initialize("2024-11-05")), 2)
    assert error["code"] == jsonrpc.INVALID_REQUEST
    assert (talk.machine.agreed, talk.phase) == (before, phase)


@pytest.mark.requirement("negotiation:phases")
def test_a_request_before_initialize_is_refused() -> None:
    talk = Talk()
    assert the_answer(talk.request(1, "tools/list"), 1)["code"] == jsonrpc.INVALID_REQUEST
    assert the_answer(talk.request(2, "tools/fly"), 2)["code"] == jsonrpc.METHOD_NOT_FOUND
    assert talk.phase is Phase.FRESH


@pytest.mark.requirement("negotiation:phases")
@pytest.mark.requirement("feature:ping")
def test_a_ping_before_initialize_is_answered() -> None:
    assert the_answer(Talk().request(1, "ping"), 1) == {}


def test_without_a_handshake_era_a_bare_request_is_told_what_is_spoken() -> None:
    talk = Talk(profile(revisions=STATELESS))
    for id_, method in enumerate(("ping", "tools/list")):
        error = the_answer(talk.request(id_, method), id_)
        assert error["code"] == UNSUPPORTED
        assert error["data"]["supported"] == [MODERN]


def test_initialized_without_initialize_is_only_heard() -> None:
    talk = Talk()
    assert talk.notify("notifications/initialized") == [Heard("notifications/initialized", {})]
    assert talk.phase is Phase.FRESH


@pytest.mark.requirement("negotiation:era")
def test_both_eras_are_served_on_one_wire_each_by_its_rules() -> None:
    talk = Talk()
    (early,) = only(talk.modern(1, "tools/list"), Run)
    talk.request(2, "initialize", **initialize("2025-06-18"))
    talk.notify("notifications/initialized")
    (old,) = only(talk.request(3, "tools/list"), Run)
    (new,) = only(talk.modern(4, "tools/list"), Run)
    assert [run.job.terms.revision.version for run in (early, old, new)] == [MODERN, "2025-06-18", MODERN]
    assert talk.machine.agreed is not None
    assert talk.machine.agreed.revision.version == "2025-06-18"


@pytest.mark.requirement("negotiation:era")
@pytest.mark.parametrize(
    "method", ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"]
)
def test_what_2026_07_28_has_not_is_unknown_to_a_request_of_it(method: str) -> None:
    talk = ready()
    error = the_answer(talk.modern(1, method, uri="a:b", level="info"), 1)
    assert error["code"] == jsonrpc.METHOD_NOT_FOUND


@pytest.mark.requirement("negotiation:era")
def test_a_wire_that_says_modern_has_its_requests_judged_so() -> None:
    talk = Talk()
    actions = talk.hear(frame(id=1, method="tools/list", params={}), modern=True)
    assert the_answer(actions, 1)["code"] == jsonrpc.INVALID_PARAMS


@pytest.mark.requirement("negotiation:era")
def test_a_client_that_counts_as_greeted_needs_no_handshake() -> None:
    terms = Terms(revision("2025-03-26"), {"roots": {}}, {"name": "ann"})
    talk = Talk(agreed=terms)
    assert talk.phase is Phase.READY
    (run,) = only(talk.request(1, "tools/list", _meta={"a": 1}), Run)
    assert run.job.terms == Terms(terms.revision, {"roots": {}}, {"name": "ann"}, {"a": 1})
    assert the_answer(talk.request(2, "initialize", **initialize()), 2)["code"] == jsonrpc.INVALID_REQUEST


@pytest.mark.requirement("negotiation:versions")
def test_a_client_that_counts_as_greeted_in_a_revision_that_is_not_spoken_is_told_so() -> None:
    talk = Talk(profile(revisions=STATELESS), agreed=Terms(revision("2025-06-18"), {}))
    error = the_answer(talk.request(1, "tools/list"), 1)
    assert (error["code"], error["data"]["requested"]) == (UNSUPPORTED, "2025-06-18")


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"{", jsonrpc.PARSE_ERROR),
        (b"\xff", jsonrpc.PARSE_ERROR),
        (b"7", jsonrpc.INVALID_REQUEST),
        (b"[]", jsonrpc.INVALID_REQUEST),
        (frame(id=None, method="ping"), jsonrpc.INVALID_REQUEST),
        (frame(id=True, method="ping"), jsonrpc.INVALID_REQUEST),
        (frame(id=1.5, method="ping"), jsonrpc.INVALID_REQUEST),
        (frame(id=1, method=7), jsonrpc.INVALID_REQUEST),
        (b'{"id":1,"method":"ping"}', jsonrpc.INVALID_REQUEST),
    ],
)
@pytest.mark.parametrize("make", [Talk, greeted, ready])
def test_what_is_no_message_is_answered_without_an_id(data: bytes, code: int, make: type[Talk]) -> None:
    talk = make()
    actions = talk.hear(data)
    (said,) = sent(actions)
    assert "id" not in said
    assert said["error"]["code"] == code
    (action,) = only(actions, Send)
    assert (action.about, action.final, action.code) == (None, False, code)
    assert [violation.kind for violation in only(actions, Violation)] == ["malformed"]
    assert talk.phase is make().phase


def test_a_notification_that_cannot_be_read_is_noted_and_not_answered() -> None:
    (violation,) = ready().hear(frame(method="notifications/progress", params=[1]))
    assert isinstance(violation, Violation)
    assert violation.kind == "malformed"


def test_a_notification_is_heard_whatever_it_is() -> None:
    assert ready().notify("notifications/roots/list_changed", a=1) == [
        Heard("notifications/roots/list_changed", {"a": 1})
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_spoken_revision_can_be_reached(version: str) -> None:
    talk = Talk()
    if version == MODERN:
        runs = only(talk.modern(1, "tools/list"), Run)
    else:
        runs = only(ready(version).request(1, "tools/list"), Run)
    assert [run.job.terms.revision.version for run in runs] == [version]
