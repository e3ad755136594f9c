"""The small parts of the server machine: what a server says of itself, terms, finishing, frames."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_actors.protocol.envelope import META_PREFIX
from mcp_actors.protocol.revisions import HANDSHAKE, STATELESS
from mcp_actors.protocol.serving import frames
from mcp_actors.protocol.serving.finishing import CACHEABLE, Freshness, finished
from mcp_actors.protocol.serving.profile import TASK_METHODS, TASKS, Profile
from mcp_actors.protocol.serving.terms import Refused, Terms, has
from tests.protocol.serving.talk import INFO, LEGACY, MODERN, OFFER, VERSIONS, profile, revision

SERVER_INFO = META_PREFIX + "serverInfo"


# What a server says of itself.


@pytest.mark.requirement("negotiation:capabilities")
@pytest.mark.parametrize("version", VERSIONS)
def test_capabilities_are_told_in_the_words_of_the_revision(version: str) -> None:
    said = profile().said(revision(version))
    assert set(said) == set(OFFER) & revision(version).server_capability_keys
    assert all(said[key] == OFFER[key] for key in said)


@pytest.mark.requirement("negotiation:versions")
def test_a_profile_knows_its_revisions() -> None:
    offered = profile(revisions=(*STATELESS, *HANDSHAKE[1:3]))
    assert offered.versions == [MODERN, "2025-06-18", "2025-03-26"]
    assert offered.newest_handshake() is HANDSHAKE[1]
    assert offered.revision("2025-06-18", stateless=False) is HANDSHAKE[1]
    assert offered.revision("2025-06-18", stateless=True) is None
    assert offered.revision(MODERN, stateless=True) is STATELESS[0]
    assert offered.revision(MODERN, stateless=False) is None
    assert offered.revision("2025-11-25", stateless=False) is None
    assert profile(revisions=STATELESS).newest_handshake() is None


@pytest.mark.requirement("negotiation:capabilities")
@pytest.mark.parametrize("version", VERSIONS)
def test_what_a_server_offers_follows_from_what_it_says(version: str) -> None:
    spoken = revision(version)
    extension = TASK_METHODS if version == MODERN else frozenset()
    assert {method for method in spoken.requests if profile().offers(method, spoken)} == spoken.requests
    assert all(profile().offers(method, spoken) for method in extension)
    silent = profile({})
    offered = {method for method in spoken.requests | TASK_METHODS if silent.offers(method, spoken)}
    ungated = {"initialize", "ping"} if version != MODERN else {"server/discover", "subscriptions/listen"}
    assert offered == ungated | ({"completion/complete"} if version == "2024-11-05" else set())


@pytest.mark.requirement("negotiation:experimental")
def test_the_methods_of_an_extension_exist_only_with_it_and_only_at_2026_07_28() -> None:
    offered = Profile(INFO, {"extensions": {"a/b": {}}}, extension_methods={"b/do": "a/b", "c/do": "a/c"})
    assert offered.offers("b/do", STATELESS[0])
    assert not offered.offers("c/do", STATELESS[0])
    assert not any(offered.offers("b/do", one) for one in HANDSHAKE)
    assert not Profile(INFO, {}).offers("tasks/get", STATELESS[0])


def test_a_revision_that_is_not_spoken_has_no_methods() -> None:
    assert not profile(revisions=STATELESS).offers("ping", HANDSHAKE[0])


# Terms.


@pytest.mark.parametrize(
    ("capabilities", "path", "there"),
    [
        ({"a": {}}, "a", True),
        ({"a": True}, "a", True),
        ({"a": 0}, "a", True),
        ({"a": False}, "a", False),
        ({"a": None}, "a", False),
        ({}, "a", False),
        ({"a": {"b": {}}}, "a.b", True),
        ({"a": {"b": False}}, "a.b", False),
        ({"a": True}, "a.b", False),
        ({}, "a.b", False),
        ([], "a", False),
    ],
)
def test_a_capability_is_there_unless_it_says_no(capabilities: Any, path: str, there: bool) -> None:
    assert has(capabilities, path) is there


def test_terms_know_what_the_client_declared() -> None:
    terms = Terms(revision(MODERN), {"roots": {}, "extensions": {TASKS: {}, "a/b": True}})
    assert terms.declares("roots")
    assert not terms.declares("sampling")
    assert terms.extension(TASKS)
    assert not terms.extension("a/b")
    assert not terms.extension("a/c")
    assert not Terms(revision(MODERN), {"extensions": [TASKS]}).extension(TASKS)
    assert not Terms(revision(MODERN), {}).extension(TASKS)


# Finishing.


def told(result: dict[str, Any], method: str = "tools/call", version: str = MODERN) -> dict[str, Any]:
    return finished(result, method, revision(version), info=INFO, freshness=Freshness(5, "public"))


def test_a_modern_result_names_its_kind_and_its_server() -> None:
    assert told({"a": 1}) == {"resultType": "complete", "a": 1, "_meta": {SERVER_INFO: INFO}}


@pytest.mark.requirement("feature:mrtr")
def test_what_a_result_says_itself_stands() -> None:
    given = {"resultType": "input_required", "_meta": {"x": 1, SERVER_INFO: {"name": "other"}}}
    assert told(given) == given
    kept = {"ttlMs": 9, "cacheScope": "private"}
    assert told(kept, "tools/list").items() >= kept.items()
    assert told({"_meta": None})["_meta"] == {SERVER_INFO: INFO}


@pytest.mark.requirement("feature:caching")
@pytest.mark.parametrize("method", sorted(CACHEABLE))
def test_results_that_may_be_kept_say_for_how_long(method: str) -> None:
    assert {key: told({}, method)[key] for key in ("ttlMs", "cacheScope")} == {
        "ttlMs": 5,
        "cacheScope": "public",
    }
    asking = told({"resultType": "input_required"}, method)
    assert "ttlMs" not in asking
    assert "cacheScope" not in asking


@pytest.mark.requirement("feature:caching")
def test_other_results_may_not_be_kept() -> None:
    assert "ttlMs" not in told({}, "tools/call")
    assert {"tools/list", "prompts/list", "resources/list", "resources/templates/list"} <= CACHEABLE
    assert {"server/discover", "resources/read"} <= CACHEABLE


@pytest.mark.requirement("negotiation:degrade")
@pytest.mark.parametrize("version", LEGACY)
def test_an_older_client_is_not_told_words_that_came_later(version: str) -> None:
    given = {"resultType": "complete", "ttlMs": 1, "cacheScope": "public", "a": 1, "_meta": {"x": 1}}
    assert told(given, "tools/list", version) == {"a": 1, "_meta": {"x": 1}}


def test_finishing_leaves_the_given_result_alone() -> None:
    given: dict[str, Any] = {"_meta": {"x": 1}}
    for version in VERSIONS:
        told(given, "tools/list", version)
    assert given == {"_meta": {"x": 1}}


# Frames.


@pytest.mark.parametrize("id_", [0, -7, 2**80, "", "a", 'say "a"', "é\n", "\ud800"])
def test_frames_hold_what_they_are_given(id_: Any) -> None:
    answer, failure = frames.answer(id_, b'{"a":1}'), frames.failure(id_, b'{"code":1}')
    assert json.loads(answer) == {"jsonrpc": "2.0", "id": id_, "result": {"a": 1}}
    assert json.loads(failure) == {"jsonrpc": "2.0", "id": id_, "error": {"code": 1}}
    assert b"\n" not in answer


def test_an_error_has_data_only_if_there_are_any() -> None:
    assert json.loads(frames.error_body(Refused(-7, "no"))) == {"code": -7, "message": "no"}
    assert json.loads(frames.error_body(Refused(-7, "no", {"a": 1})))["data"] == {"a": 1}
    assert json.loads(frames.unnamed(Refused(-7, "no"))) == {
        "jsonrpc": "2.0",
        "error": {"code": -7, "message": "no"},
    }


def test_a_notification_without_params_has_none() -> None:
    assert json.loads(frames.notification("a/b", {})) == {"jsonrpc": "2.0", "method": "a/b"}
    assert json.loads(frames.notification("a/b", {"c": 1}))["params"] == {"c": 1}
    request = json.loads(frames.request(7, "a/b", {}))
    assert request == {"jsonrpc": "2.0", "id": 7, "method": "a/b", "params": {}}
