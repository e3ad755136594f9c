"""The five revisions, and the choice of one."""

from __future__ import annotations

import itertools

import pytest

from mcp_actors.protocol.revisions import (
    ALL,
    HANDSHAKE,
    NEWEST,
    NEWEST_HANDSHAKE,
    STATELESS,
    Era,
    Revision,
    by_version,
    capability_for,
    client_capability_for,
    negotiate,
)
from mcp_actors.protocol.revisions.revision import change, gates

VERSIONS = [revision.version for revision in ALL]


def revision(version: str) -> Revision:
    found = by_version(version)
    assert found is not None
    return found


@pytest.mark.requirement("negotiation:versions")
def test_all_five_revisions_are_known_newest_first() -> None:
    assert VERSIONS == ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
    assert [revision.era for revision in ALL] == [Era.STATELESS] + [Era.HANDSHAKE] * 4
    assert (NEWEST, *HANDSHAKE) == ALL
    assert STATELESS == (NEWEST,)
    assert NEWEST_HANDSHAKE.version == "2025-11-25"


@pytest.mark.requirement("negotiation:versions")
def test_a_version_is_found_by_its_exact_date_only() -> None:
    assert [by_version(version) for version in VERSIONS] == list(ALL)
    assert [str(revision) for revision in ALL] == VERSIONS
    assert by_version("2025-11-2") is None
    assert by_version("") is None


@pytest.mark.requirement("negotiation:versions")
@pytest.mark.parametrize("size", range(1, 6))
def test_the_newest_revision_in_common_is_chosen_whatever_the_order(size: int) -> None:
    for offered in itertools.permutations(VERSIONS, size):
        assert negotiate(offered) == revision(max(offered))


@pytest.mark.requirement("negotiation:versions")
def test_our_preference_decides_not_the_peers() -> None:
    old_first = tuple(reversed(ALL))
    assert negotiate(VERSIONS, preferred=old_first) == ALL[-1]
    assert negotiate(["2026-07-28", "2025-06-18"], preferred=HANDSHAKE) == revision("2025-06-18")


@pytest.mark.requirement("negotiation:versions")
def test_versions_that_nobody_knows_are_passed_over() -> None:
    assert negotiate(["2099-01-01", "2024-11-05", "draft"]) == revision("2024-11-05")
    assert negotiate(["2099-01-01"]) is None
    assert negotiate([]) is None
    assert negotiate(["2026-07-28"], preferred=HANDSHAKE) is None


def test_each_method_names_the_capability_that_it_needs() -> None:
    assert capability_for("tools/call", NEWEST) == "tools"
    assert capability_for("resources/subscribe", NEWEST_HANDSHAKE) == "resources.subscribe"
    assert capability_for("tasks/cancel", NEWEST_HANDSHAKE) == "tasks.cancel"
    assert capability_for("ping", NEWEST_HANDSHAKE) is None
    assert capability_for("server/discover", NEWEST) is None
    # Completion got its capability with the second revision.
    assert capability_for("completion/complete", ALL[-1]) is None
    assert capability_for("completion/complete", ALL[-2]) == "completions"


def test_each_request_of_a_server_names_the_capability_that_it_needs() -> None:
    assert client_capability_for("elicitation/create", NEWEST) == "elicitation"
    assert client_capability_for("sampling/createMessage", ALL[-1]) == "sampling"
    assert client_capability_for("ping", NEWEST_HANDSHAKE) is None
    assert client_capability_for("tasks/get", NEWEST) is None


@pytest.mark.parametrize("revision", ALL, ids=str)
def test_gates_name_methods_and_capabilities_of_their_own_revision(revision: Revision) -> None:
    assert revision.capabilities.keys() <= revision.requests
    asked = revision.server_requests | revision.input_requests
    assert revision.server_request_capabilities.keys() <= asked
    assert {gate.split(".")[0] for gate in revision.capabilities.values()} <= revision.server_capability_keys
    client_gates = {gate.split(".")[0] for gate in revision.server_request_capabilities.values()}
    assert client_gates <= revision.client_capability_keys


def test_habits_come_and_go_with_the_revisions() -> None:
    assert [revision.version for revision in ALL if revision.has_batching] == ["2025-03-26"]
    assert [revision for revision in ALL if revision.has_ping] == list(HANDSHAKE)
    assert [revision for revision in ALL if revision.stateless] == list(STATELESS)
    assert [revision for revision in ALL if revision.has_version_header] == list(ALL[:3])


def test_the_notifications_of_both_directions_are_one_set() -> None:
    assert "notifications/initialized" in NEWEST_HANDSHAKE.notifications
    assert "notifications/message" in NEWEST_HANDSHAKE.notifications
    assert "notifications/initialized" not in NEWEST.notifications


def test_a_change_that_adds_twice_or_removes_in_vain_is_a_mistake() -> None:
    names = frozenset({"a", "b"})
    assert change(names, added={"c"}, removed={"a"}) == {"b", "c"}
    with pytest.raises(ValueError, match="added twice: .*'a'"):
        change(names, added={"a"})
    with pytest.raises(ValueError, match="removed in vain: .*'c'"):
        change(names, removed={"c"})


def test_a_table_of_gates_cannot_be_changed() -> None:
    table = gates({"a": "x", "b": "y"}, added={"a": "z"}, removed={"b"})
    assert dict(table) == {"a": "z"}
    with pytest.raises(TypeError):
        table["a"] = "other"  # type: ignore[index]  # that is the point
