"""Names of tools: legal ones stay, others become legal, none gets lost."""

from __future__ import annotations

import pytest

from mcp_actors.client.export import names_for, to_openai
from tests.client.export.apis import tool


def exported(*names: str, limit: int = 64) -> dict[str, str]:
    return names_for([tool(name=name) for name in names], limit)


def test_a_legal_name_stays() -> None:
    assert exported("get_time", "Get-Time_2") == {"get_time": "get_time", "Get-Time_2": "Get-Time_2"}


def test_characters_that_no_api_takes_become_underscores() -> None:
    assert exported("calendar.read", "Create CIFS Share", "größe/x") == {
        "calendar_read": "calendar.read",
        "Create_CIFS_Share": "Create CIFS Share",
        "gr__e_x": "größe/x",
    }


def test_a_name_begins_with_a_letter_or_an_underscore() -> None:
    assert exported("21st_magic", "-x", "") == {"_21st_magic": "21st_magic", "_-x": "-x", "_": ""}


def test_a_long_name_is_cut_and_signed() -> None:
    long = "get_drug_name_by_abuse_types_and_related_adverse_reactions_and_controlled_substance_status"
    ((name, original),) = exported(long).items()
    assert original == long
    assert len(name) == 64
    assert name.startswith(long[:50])
    ((longer, _),) = exported(long, limit=128).items()
    assert longer == long


def test_two_names_that_would_become_one_are_told_apart() -> None:
    names = exported("a.b", "a/b", "a_b", "a" * 70 + "1", "a" * 70 + "2")
    assert names["a_b"] == "a_b"
    assert len(names) == 5
    assert {name[:4] for name in names} == {"a_b", "a_b_", "aaaa"}


def test_a_name_that_looks_like_a_signed_one_is_not_taken_away() -> None:
    (signed,) = [name for name, original in exported("a.b", "a_b").items() if original == "a.b"]
    names = exported("a.b", "a_b", signed)
    assert names[signed] == signed
    assert sorted(names.values()) == sorted(["a.b", "a_b", signed])


def test_tools_of_the_same_name_from_two_servers_are_told_apart() -> None:
    names = exported("search", "search", "search")
    assert len(names) == 3
    assert set(names.values()) == {"search"}


def test_a_single_tool_needs_no_list() -> None:
    assert names_for(tool(name="a.b")) == {"a_b": "a.b"}
    assert to_openai(tool(name="a.b")) == to_openai([tool(name="a.b")])


def test_a_limit_that_leaves_no_room_for_a_name_is_refused() -> None:
    with pytest.raises(ValueError, match="limit must be at least 10, not 9"):
        exported("a", limit=9)
