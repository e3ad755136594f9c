"""Pages: complete, in order, and not confused by what comes and goes in between."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.protocol.codec import Json, encode
from mcp_actors.server.registry import PAGE_SIZE, InvalidCursor, Registry, page
from tests.server.registry.fakes import tool


def offering(*names: str) -> Registry:
    registry = Registry()
    for name in names:
        registry.add_tool(tool(name))
    return registry


def keys(registry: Registry, cursor: str | None, size: int = 2) -> tuple[list[str], str | None]:
    items, following = page(registry.tools.entries, cursor, size, kind="tools")
    return [entry.key for entry in items], following


def after_two(registry: Registry) -> str:
    _, cursor = keys(registry, None)
    assert cursor is not None
    return cursor


@pytest.mark.requirement("feature:pagination")
def test_pages_follow_each_other_to_the_end() -> None:
    registry = offering(*"abcde")
    first, cursor = keys(registry, None)
    second, further = keys(registry, cursor)
    assert (first, second) == (["a", "b"], ["c", "d"])
    assert keys(registry, further) == (["e"], None)


def test_a_page_that_holds_all_is_the_last() -> None:
    assert keys(offering(*"ab"), None) == (["a", "b"], None)
    assert keys(offering(), None) == ([], None)
    assert PAGE_SIZE == 100


def test_a_cursor_is_good_for_more_than_one_use() -> None:
    registry = offering(*"abcd")
    cursor = after_two(registry)
    assert keys(registry, cursor) == keys(registry, cursor) == (["c", "d"], None)


def test_what_is_removed_or_comes_back_in_between_hides_nothing() -> None:
    registry = offering(*"abcdef")
    cursor = after_two(registry)
    registry.add_tool(registry.remove_tool("b"))
    registry.remove_tool("a")
    assert keys(registry, cursor, 9) == (["c", "d", "e", "f", "b"], None)
    registry.remove_tool("c")
    assert keys(registry, cursor, 9) == (["d", "e", "f", "b"], None)


def test_a_replaced_entry_keeps_its_place_on_the_pages() -> None:
    registry = offering(*"abc")
    cursor = after_two(registry)
    registry.add_tool(tool("b"), replace=True)
    assert keys(registry, cursor) == (["c"], None)


def test_a_page_after_everything_is_gone_is_empty() -> None:
    registry = offering(*"abc")
    cursor = after_two(registry)
    for name in "abc":
        registry.remove_tool(name)
    assert keys(registry, cursor) == ([], None)


def test_entries_that_the_caller_may_not_see_do_not_disturb() -> None:
    registry = offering(*"abcdef")
    visible = [entry for entry in registry.tools.entries if entry.key not in "bd"]
    items, cursor = page(visible, None, 2)
    assert [entry.key for entry in items] == ["a", "c"]
    assert cursor is not None
    assert [entry.key for entry in page(visible, cursor, 2)[0]] == ["e", "f"]


def test_in_another_process_the_name_decides() -> None:
    cursor = after_two(offering(*"abcd"))
    assert keys(offering(*"xabcd"), cursor, 9) == (["c", "d"], None)
    # The number says that something else was there, and the name is unknown: better once more than never.
    assert keys(offering(*"xycd"), cursor, 9)[0] == ["y", "c", "d"]


def forged(value: Json) -> str:
    return base64.urlsafe_b64encode(encode(value)).rstrip(b"=").decode()


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "x",
        "ü",
        "====",
        "\ud800",
        "bm90IGpzb24",
        forged(None),
        forged(["tools", 2]),
        forged(["tools", True, "b"]),
        forged(["tools", "2", "b"]),
        forged(["tools", 2, 3]),
        forged(["prompts", 2, "b"]),
        forged({"tools": 2}),
        forged(["tools", 2, "b"]) + "=",
        " " + forged(["tools", 2, "b"]),
        forged(["tools", 2, "b" * 70_000]),
    ],
)
@pytest.mark.requirement("feature:pagination")
def test_a_cursor_that_was_never_given_out_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidCursor, match="was not given out"):
        keys(offering(*"abc"), cursor)


def test_the_error_about_a_cursor_is_short() -> None:
    with pytest.raises(InvalidCursor) as caught:
        keys(offering(*"abc"), "z" * 10_000)
    assert len(str(caught.value)) < 150


def test_a_page_without_room_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="at least one entry, not 0"):
        page((), None, 0)


@given(
    names=st.lists(st.text("abcdefgh", min_size=1, max_size=2), unique=True, max_size=12),
    changes=st.lists(st.tuples(st.booleans(), st.text("abcdefgh", min_size=1, max_size=2)), max_size=12),
    size=st.integers(1, 4),
)
def test_whatever_stays_is_seen_once_however_the_rest_changes(
    names: list[str], changes: list[tuple[bool, str]], size: int
) -> None:
    registry = offering(*names)
    waiting = list(changes)
    stayed, seen, cursor = set(names), [], None
    while True:
        found, cursor = keys(registry, cursor, size)
        seen += found
        if cursor is None:
            break
        if waiting:
            add, name = waiting.pop()
            if add and registry.get_tool(name) is None:
                registry.add_tool(tool(name))
            elif not add and registry.get_tool(name) is not None:
                registry.remove_tool(name)
                stayed.discard(name)
    assert [name for name in seen if name in stayed] == [name for name in names if name in stayed]
