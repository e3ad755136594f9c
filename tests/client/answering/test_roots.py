"""Roots: places in, ``file://`` URIs out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from mcp_actors.client.answering.desk import Desk, Unanswered
from mcp_actors.protocol.revisions import ALL, Revision
from mcp_actors.protocol.types import Root

pytestmark = pytest.mark.requirement("feature:roots")


def listed(roots: Any, revision: Revision = ALL[0]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = Desk(roots=roots).answer("roots/list", None, revision)["roots"]
    return found


@pytest.mark.parametrize("revision", ALL, ids=str)
def test_paths_and_uris_and_roots_may_be_mixed(revision: Revision) -> None:
    assert listed(["/a", Path("/b c"), "file:///d", Root(uri="file:///e", name="E")], revision) == [
        {"uri": "file:///a"},
        {"uri": "file:///b%20c"},
        {"uri": "file:///d"},
        {"uri": "file:///e", "name": "E"},
    ]


def test_a_relative_path_counts_from_the_directory_of_the_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    desk = Desk(roots=["x/../y"])
    monkeypatch.chdir("/")
    assert desk.answer("roots/list", {}, ALL[0]) == {"roots": [{"uri": (tmp_path / "y").as_uri()}]}


def test_odd_characters_of_a_path_are_encoded() -> None:
    assert listed(["/a#b?c%d", "/ü", os.fsdecode(b"/\xff")]) == [
        {"uri": "file:///a%23b%3Fc%25d"},
        {"uri": "file:///%C3%BC"},
        {"uri": "file:///%FF"},
    ]


def test_no_places_are_an_answer_too() -> None:
    desk = Desk(roots=())
    assert desk.serves("roots/list")
    assert desk.answer("roots/list", {}, ALL[0]) == {"roots": []}


def test_a_function_is_asked_anew_each_time() -> None:
    places = ["/a"]
    desk = Desk(roots=lambda: places)
    assert desk.answer("roots/list", {}, ALL[0]) == {"roots": [{"uri": "file:///a"}]}
    places.append("/b")
    assert desk.answer("roots/list", {}, ALL[0]) == {"roots": [{"uri": "file:///a"}, {"uri": "file:///b"}]}


BAD: list[tuple[Any, type[Exception]]] = [
    ("/work", TypeError),
    (b"/work", TypeError),
    (Path("/work"), TypeError),
    (Root(uri="file:///x"), TypeError),
    ({"/work"}, TypeError),
    ([b"/work"], TypeError),
    ([None], TypeError),
    ([""], ValueError),
    (["https://example.com"], ValueError),
    (["file:/x"], ValueError),
    ([Root(uri="https://example.com")], ValueError),
    ([Root(uri=5)], ValueError),  # type: ignore[arg-type]  # that is the mistake
]


@pytest.mark.parametrize(("roots", "error"), BAD)
def test_what_is_no_place_is_refused_when_the_desk_is_made(roots: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="root"):
        Desk(roots=roots)


@pytest.mark.parametrize(("roots", "error"), BAD)
def test_what_is_no_place_is_a_failure_of_the_function(roots: Any, error: type[Exception]) -> None:
    with pytest.raises(Unanswered, match=error.__name__) as caught:
        Desk(roots=lambda: roots).answer("roots/list", {}, ALL[0])
    assert caught.value.code == -32603
