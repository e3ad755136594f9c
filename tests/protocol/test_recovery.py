"""Listings asked again after a loss: page by page, without endless rounds."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from mcp_actors.protocol.recovery import LISTINGS, Question, Relisting

pytestmark = pytest.mark.requirement("connection:recover")
EVERYTHING: dict[str, Any] = {"tools": {}, "resources": {}, "prompts": {}}


def page(cursor: object = None) -> Raw:
    return Raw(json.dumps({"nextCursor": cursor} if cursor is not None else {}).encode())


def test_nothing_listed_means_nothing_to_ask() -> None:
    assert Relisting((), EVERYTHING).next_page() is None


def test_each_listing_is_asked_once_from_its_first_page() -> None:
    relisting = Relisting(LISTINGS, EVERYTHING)
    asked = []
    page_now = relisting.next_page()
    while page_now is not None:
        assert page_now.method == relisting.method
        asked.append(page_now)
        page_now = relisting.next_page(page())
    assert asked == [Question(method, b"{}") for method in sorted(LISTINGS)]


def test_a_listing_the_server_no_longer_offers_is_not_asked() -> None:
    relisting = Relisting({"tools/list", "prompts/list"}, {"prompts": {}})
    assert relisting.next_page() == Question("prompts/list", b"{}")
    assert relisting.next_page(page()) is None


def test_cursors_are_followed_and_the_next_listing_starts_without_one() -> None:
    relisting = Relisting({"tools/list", "prompts/list"}, EVERYTHING)
    assert relisting.next_page() == Question("prompts/list", b"{}")
    assert relisting.next_page(page("")) == Question("prompts/list", b'{"cursor":""}')
    assert relisting.next_page(page("b")) == Question("prompts/list", b'{"cursor":"b"}')
    assert relisting.next_page(page()) == Question("tools/list", b"{}")
    assert relisting.next_page(page("b")) == Question("tools/list", b'{"cursor":"b"}')


def test_a_refused_listing_is_skipped() -> None:
    relisting = Relisting({"tools/list", "prompts/list"}, EVERYTHING)
    relisting.next_page()
    assert relisting.next_listing() == Question("tools/list", b"{}")
    assert relisting.next_listing() is None


@pytest.mark.parametrize("result", [b"{nonsense", b"[1]", b"null", b'{"nextCursor":7}'])
def test_an_answer_without_a_usable_cursor_ends_its_listing(result: bytes) -> None:
    relisting = Relisting({"tools/list"}, EVERYTHING)
    relisting.next_page()
    assert relisting.next_page(Raw(result)) is None


@given(st.lists(st.integers(0, 3), max_size=30))
def test_a_cursor_that_comes_again_ends_its_listing(cursors: list[int]) -> None:
    relisting = Relisting({"tools/list"}, EVERYTHING)
    relisting.next_page()
    seen: set[int] = set()
    for cursor in cursors:
        going_on = relisting.next_page(page(str(cursor))) is not None
        assert going_on == (cursor not in seen)
        if not going_on:
            break
        seen.add(cursor)


def test_a_listing_that_never_ends_is_left_after_a_thousand_pages() -> None:
    relisting = Relisting({"tools/list"}, EVERYTHING)
    pages = 0
    page_now = relisting.next_page()
    while page_now is not None:
        pages += 1
        page_now = relisting.next_page(page(str(pages)))
    assert pages == 1000
