"""Finding out the era and revision of a server, row by row of the table for pipes."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.envelope import META_PREFIX, Identity
from mcp_actors.protocol.handshake import Ask, Failed, Handshake, Settled, Step, candidates
from mcp_actors.protocol.offer import Offer
from mcp_actors.protocol.outcomes import BadAnswer, NoCommonVersion, Rejected
from mcp_actors.protocol.revisions import ALL, by_version
from tests.protocol import toy_server as toy

pytestmark = pytest.mark.requirement("negotiation:era")
IDENTITY = Identity({"name": "client"}, Offer(roots=True))
OURS = (toy.MODERN, *toy.LEGACY)


def handshake(protocol: str = "auto") -> Handshake:
    return Handshake(candidates(protocol), IDENTITY, count(1))


def probed(protocol: str = "auto") -> Handshake:
    shake = handshake(protocol)
    shake.begin(probe=True)
    return shake


def greeted(protocol: str = "auto") -> Handshake:
    shake = handshake(protocol)
    shake.begin(probe=False)
    return shake


def reply(shake: Handshake, frame: bytes) -> Step:
    message = jsonrpc.scan(frame)
    if isinstance(message, jsonrpc.Answer):
        return shake.answered(message.result)
    assert isinstance(message, jsonrpc.Failure)
    return shake.refused(message.error)


def asked(step: Step) -> dict[str, Any]:
    assert isinstance(step, Ask)
    message: dict[str, Any] = json.loads(step.frame)
    assert message["id"] == step.id
    return message


def agreed(step: Step) -> str:
    assert isinstance(step, Settled)
    return step.agreement.revision.version


# The two first questions.


def test_the_probe_is_discover_in_our_newest_revision() -> None:
    step = handshake().begin(probe=True)
    message = asked(step)
    assert message["method"] == "server/discover"
    assert message["params"]["_meta"][META_PREFIX + "protocolVersion"] == toy.MODERN
    assert isinstance(step, Ask)
    assert step.probing


def test_without_a_probe_initialize_offers_the_newest_handshake_revision() -> None:
    step = handshake().begin(probe=False)
    assert asked(step)["method"] == "initialize"
    assert asked(step)["params"] == {
        "protocolVersion": toy.LEGACY[0],
        "capabilities": {"roots": {"listChanged": True}},
        "clientInfo": {"name": "client"},
    }
    assert isinstance(step, Ask)
    assert not step.probing


def test_a_client_of_one_handshake_revision_never_probes() -> None:
    step = handshake("2024-11-05").begin(probe=True)
    assert asked(step)["params"]["protocolVersion"] == "2024-11-05"


def test_a_client_of_the_stateless_revision_alone_probes_and_takes_silence_for_no_answer() -> None:
    step = handshake(toy.MODERN).begin(probe=False)
    assert asked(step)["method"] == "server/discover"
    assert isinstance(step, Ask)
    assert not step.probing


# Each row of the table.


@pytest.mark.requirement("negotiation:versions")
def test_a_discover_result_settles_the_stateless_era() -> None:
    step = reply(probed(), toy.discovered(1, "2099-01-01", toy.MODERN, *toy.LEGACY))
    assert agreed(step) == toy.MODERN
    assert isinstance(step, Settled)
    assert step.closing_words == ()
    assert step.agreement.server_info == {"name": "toy"}
    assert step.agreement.capabilities == toy.CAPABILITIES


@pytest.mark.parametrize("code", [-32020, -32021])
def test_another_modern_error_means_a_modern_server_and_no_fallback(code: int) -> None:
    step = reply(probed(), toy.error(1, code))
    assert isinstance(step, Failed)
    assert isinstance(step.cause, Rejected)


@pytest.mark.parametrize("code", [-32601, -32602, -32600, -32603, -32000, 0, 1, 32022])
def test_any_other_error_means_initialize_on_the_same_wire(code: int) -> None:
    assert asked(reply(probed(), toy.error(1, code)))["method"] == "initialize"


@pytest.mark.parametrize(
    "error", [b'"no"', b"null", b"{nonsense", b"{}", b'{"code":true}', b'{"code":"-32022"}']
)
def test_an_error_nobody_can_read_means_initialize_too(error: bytes) -> None:
    assert asked(probed().refused(Raw(error)))["method"] == "initialize"


def test_silence_means_initialize() -> None:
    assert asked(probed().silent())["method"] == "initialize"


def test_silence_towards_a_stateless_client_fails() -> None:
    assert probed(toy.MODERN).silent() == Failed(BadAnswer("no answer to server/discover"))


def test_an_error_towards_a_stateless_client_fails_with_that_error() -> None:
    step = reply(probed(toy.MODERN), toy.error(1, -32601))
    assert isinstance(step, Failed)
    assert isinstance(step.cause, Rejected)


def test_the_probe_is_open_until_something_else_was_asked() -> None:
    shake = handshake()
    probing = [shake.probing]
    shake.begin(probe=True)
    probing.append(shake.probing)
    shake.silent()
    probing.append(shake.probing)
    assert probing == [False, True, False]


# A server that names its versions.


def test_a_server_that_names_a_version_of_ours_is_probed_once_more() -> None:
    shake = probed()
    again = reply(shake, toy.unsupported(1, toy.MODERN))
    assert asked(again)["method"] == "server/discover"
    assert asked(again)["id"] == 2
    last = reply(shake, toy.unsupported(2, toy.MODERN))
    assert isinstance(last, Failed)
    assert isinstance(last.cause, Rejected)


def test_a_server_that_names_only_handshake_versions_is_initialized() -> None:
    assert asked(reply(probed(), toy.unsupported(1, *toy.LEGACY)))["method"] == "initialize"
    assert asked(reply(probed(), toy.discovered(1, *toy.LEGACY)))["method"] == "initialize"


@pytest.mark.requirement("negotiation:versions")
@pytest.mark.parametrize("answer", [toy.unsupported, toy.discovered])
def test_a_server_with_nothing_in_common_fails_with_both_lists(answer: Any) -> None:
    step = reply(probed(), answer(1, "2099-01-01"))
    assert step == Failed(NoCommonVersion(OURS, ("2099-01-01",)))


def test_a_modern_client_does_not_initialize_a_legacy_server() -> None:
    step = reply(probed(toy.MODERN), toy.unsupported(1, *toy.LEGACY))
    assert step == Failed(NoCommonVersion((toy.MODERN,), toy.LEGACY))


def test_initialize_answered_by_a_modern_error_is_followed_by_a_probe() -> None:
    shake = greeted()
    assert asked(reply(shake, toy.unsupported(1, toy.MODERN)))["method"] == "server/discover"
    assert agreed(reply(shake, toy.discovered(2, toy.MODERN))) == toy.MODERN


def test_initialize_after_a_silent_probe_may_lead_back_to_the_probe_once() -> None:
    shake = probed()
    shake.silent()
    assert asked(reply(shake, toy.unsupported(2, toy.MODERN)))["method"] == "server/discover"
    assert asked(shake.silent())["method"] == "initialize"
    assert isinstance(reply(shake, toy.unsupported(4, toy.MODERN)), Failed)


def test_initialize_refused_without_a_common_version_fails_with_both_lists() -> None:
    step = reply(greeted("2025-06-18"), toy.unsupported(1, "2099-01-01"))
    assert step == Failed(NoCommonVersion(("2025-06-18",), ("2099-01-01",)))


def test_initialize_refused_by_any_other_error_fails_with_it() -> None:
    step = reply(greeted(), toy.error(1, -32602, {"why": "no reason"}))
    assert isinstance(step, Failed)
    assert isinstance(step.cause, Rejected)


@pytest.mark.requirement("negotiation:versions")
@pytest.mark.parametrize("code", [-32602, -32022])
def test_a_server_that_names_an_older_version_is_offered_that_one_once(code: int) -> None:
    shake = greeted()
    refusal = {"supported": ["2024-11-05"], "requested": "2025-11-25"}
    again = asked(reply(shake, toy.error(1, code, refusal)))
    assert (again["method"], again["params"]["protocolVersion"]) == ("initialize", "2024-11-05")
    assert isinstance(reply(shake, toy.error(2, code, refusal)), Failed)


@pytest.mark.requirement("negotiation:versions")
def test_a_version_that_was_just_offered_is_not_offered_again() -> None:
    assert isinstance(reply(greeted(), toy.error(1, -32602, {"supported": ["2025-11-25"]})), Failed)


# Versions of the handshake era.


@pytest.mark.requirement("negotiation:versions")
@pytest.mark.parametrize("version", toy.LEGACY)
def test_a_server_may_answer_with_any_handshake_revision_we_speak(version: str) -> None:
    step = reply(greeted(), toy.initialized(1, version))
    assert agreed(step) == version
    assert isinstance(step, Settled)
    assert [json.loads(frame)["method"] for frame in step.closing_words] == ["notifications/initialized"]


@pytest.mark.requirement("negotiation:versions")
@pytest.mark.parametrize("version", [toy.MODERN, "1999-01-01", "", None, 20251125, ["2025-11-25"]])
def test_a_version_we_cannot_speak_fails_with_both_lists(version: Any) -> None:
    step = reply(greeted(), toy.initialized(1, version))
    assert step == Failed(NoCommonVersion(OURS, (str(version),)))


@pytest.mark.requirement("negotiation:versions")
@pytest.mark.parametrize("version", OURS)
def test_one_named_revision_is_the_only_candidate(version: str) -> None:
    assert [revision.version for revision in candidates(version)] == [version]


@pytest.mark.requirement("negotiation:versions")
def test_all_revisions_are_candidates_newest_of_each_era_first() -> None:
    assert [revision.version for revision in candidates("auto")] == list(OURS)
    assert len(OURS) == len(ALL)


def test_an_unknown_revision_is_the_callers_mistake() -> None:
    with pytest.raises(ValueError, match="2025-11-25, .*not '1999-01-01'"):
        candidates("1999-01-01")


# Garbage.


NONSENSE = [b"17", b"null", b"[]", b'"text"', b'{"a":"\xff"}']


@pytest.mark.parametrize("result", NONSENSE)
def test_nonsense_in_answer_to_initialize_fails(result: bytes) -> None:
    step = greeted().answered(Raw(result))
    assert isinstance(step, Failed)
    assert isinstance(step.cause, BadAnswer)


@pytest.mark.parametrize("result", [*NONSENSE, b"{}", b'{"supportedVersions":"2026-07-28"}'])
def test_nonsense_in_answer_to_the_probe_means_initialize(result: bytes) -> None:
    assert asked(probed().answered(Raw(result)))["method"] == "initialize"


def test_nonsense_in_answer_to_a_stateless_client_fails() -> None:
    step = probed(toy.MODERN).answered(Raw(b"{}"))
    assert step == Failed(BadAnswer("the answer to server/discover names no versions"))


def test_versions_that_are_no_names_are_none() -> None:
    step = reply(probed(), toy.result(1, {"supportedVersions": [None, 1]}))
    assert step == Failed(NoCommonVersion(OURS, ()))


@pytest.mark.parametrize("member", ["capabilities", "serverInfo", "instructions"])
@pytest.mark.parametrize("value", [None, 7, []])
def test_members_of_a_wrong_type_count_as_absent(member: str, value: Any) -> None:
    step = reply(greeted(), toy.result(1, {"protocolVersion": "2025-06-18", member: value}))
    assert isinstance(step, Settled)
    agreement = step.agreement
    assert (agreement.capabilities, agreement.server_info, agreement.instructions) == ({}, {}, None)


def test_instructions_are_kept_and_a_wrong_meta_is_no_harm() -> None:
    value = {"supportedVersions": [toy.MODERN], "instructions": "be kind", "_meta": 7}
    step = reply(probed(), toy.result(1, value))
    assert isinstance(step, Settled)
    assert (step.agreement.instructions, step.agreement.server_info) == ("be kind", {})


ANSWERS = st.tuples(st.integers(0, 6), st.sampled_from(OURS))


# Only one example in dozens is a server stubborn in the way that matters.
@settings(max_examples=300)
@given(
    st.lists(ANSWERS, max_size=12) | ANSWERS.map(lambda stubborn: [stubborn] * 12),
    st.sampled_from(("auto", "auto", "auto", *OURS)),
)
def test_no_server_keeps_the_handshake_going_for_ever(script: list[tuple[int, str]], protocol: str) -> None:
    shake = handshake(protocol)
    step = shake.begin(probe=True)
    questions = 0
    for n, version in script:
        if not isinstance(step, Ask):
            break
        questions += 1
        answers = toy.introductions(step.id, asked(step)["method"], version)
        step = reply(shake, answers[n % len(answers)])
    assert questions <= 5
    if isinstance(step, Settled):
        assert by_version(step.agreement.revision.version) in candidates(protocol)
