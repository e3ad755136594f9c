"""What a session keeps of its client's words is bounded."""

from __future__ import annotations

import pytest

from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.serving.actions import Violation
from mcp_actors.protocol.serving.bundles import Bundle
from mcp_actors.protocol.serving.reception import MAX_INTRODUCTION, MAX_URI
from mcp_actors.protocol.serving.states import Phase
from tests.protocol.serving.talk import LEGACY, Talk, initialize, only, ready, the_answer

pytestmark = pytest.mark.requirement("security:limits")


@pytest.mark.parametrize("version", LEGACY)
def test_a_client_that_says_too_much_about_itself_is_refused_and_may_try_again(version: str) -> None:
    talk = Talk()
    much = initialize(version, capabilities={"experimental": {"x": "y" * MAX_INTRODUCTION}})
    refused = the_answer(talk.request(1, "initialize", **much), 1)
    assert (refused["code"], talk.phase) == (jsonrpc.INVALID_PARAMS, Phase.FRESH)
    enough = initialize(version, capabilities={"experimental": {"x": "y" * (MAX_INTRODUCTION - 1000)}})
    assert the_answer(talk.request(2, "initialize", **enough), 2)["protocolVersion"] == version


def test_a_uri_that_is_too_long_is_not_watched() -> None:
    talk = ready()
    refused = the_answer(talk.request(1, "resources/subscribe", uri="a" * (MAX_URI + 1)), 1)
    assert refused["code"] == jsonrpc.INVALID_PARAMS
    assert the_answer(talk.request(2, "resources/subscribe", uri="a" * MAX_URI), 2) == {}


def test_the_answers_to_a_huge_array_may_come_in_any_order() -> None:
    """Each is looked up, not looked for: else those of 16 MiB of requests would take an hour."""
    bundle = Bundle(range(400_000))
    for number in reversed(range(1, 400_000)):
        assert bundle.add(number, b"1") is None
    whole = bundle.add(0, b"1")
    assert whole is not None
    assert whole.count(b"1") == 400_000


def test_a_method_that_is_complained_of_cannot_write_lines_of_a_log() -> None:
    actions = Talk().hear(b'{"jsonrpc":"2.0","method":"x\\ny\\u001b[2J' + b"z" * 1000 + b'","params":[1]}')
    (violation,) = only(actions, Violation)
    assert violation.detail.isprintable()
    assert len(violation.detail) < 200
