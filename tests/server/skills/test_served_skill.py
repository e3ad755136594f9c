"""A skill as it is served: its URIs, its entry and its resources."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from mcp_actors.server.registry.entries import ResourceEntry
from mcp_actors.server.skills.directories import children
from mcp_actors.server.skills.served_skill import ServedSkill, checked_prefix
from mcp_actors.skills import Skill
from tests.server.skills.conftest import MakeSkill

pytestmark = pytest.mark.requirement("feature:skills")


def lines(skill: ServedSkill) -> dict[str, dict[str, Any]]:
    return {entry.key: entry.wire for entry in skill.resources}


def test_the_entry_has_every_file_with_digest_and_size(make_skill: MakeSkill) -> None:
    skill = ServedSkill.of(make_skill(files={"my notes/ü%.md": b"hello"}), "skill://", 1)
    uri = "skill://refunds/my%20notes/%C3%BC%25.md"
    assert skill.wire["resources"][1] == {
        "uri": uri,
        "digest": f"sha256:{hashlib.sha256(b'hello').hexdigest()}",
        "size": 5,
    }
    assert list(Skill.from_wire(skill.wire).files) == ["SKILL.md", "my notes/ü%.md"]
    assert skill.key == skill.wire["uri"] == "skill://refunds/SKILL.md"


def test_the_entry_file_is_a_resource_in_the_words_of_its_front_matter(make_skill: MakeSkill) -> None:
    path = make_skill()
    line = lines(ServedSkill.of(path, "skill://", 1))["skill://refunds/SKILL.md"]
    assert line == {
        "uri": "skill://refunds/SKILL.md",
        "name": "refunds",
        "description": "Refund an order",
        "mimeType": "text/markdown",
        "size": (path / "SKILL.md").stat().st_size,
    }


@pytest.mark.parametrize(
    ("name", "data", "kind", "value"),
    [
        ("a.md", b"text", "text/markdown", "text"),
        ("a.md", b"\xef\xbb\xbfa\r\n\x00", "text/markdown", "\ufeffa\r\n\x00"),
        ("a.txt", b"\xff", "text/plain", b"\xff"),
        ("a.png", b"text", "image/png", b"text"),
        ("LICENSE", b"text", "text/plain", "text"),
        ("LICENSE", b"\x00", "application/octet-stream", b"\x00"),
        ("empty", b"", "text/plain", ""),
    ],
)
def test_a_file_is_text_only_where_no_byte_of_it_is_lost(
    make_skill: MakeSkill, name: str, data: bytes, kind: str, value: str | bytes
) -> None:
    _, entry = ServedSkill.of(make_skill(files={f"a/{name}": data}), "skill://", 1).resources
    assert (entry.wire["name"], entry.wire["mimeType"], entry.wire["size"]) == (name, kind, len(data))
    assert entry.function() == value
    assert (value if isinstance(value, bytes) else value.encode()) == data


@pytest.mark.parametrize(
    ("prefix", "whole"),
    [
        ("skill://", "skill://"),
        ("skill://acme", "skill://acme/"),
        ("skill://acme/billing/", "skill://acme/billing/"),
        ("github://owner/repo/skills", "github://owner/repo/skills/"),
        ("file:///srv/skills/", "file:///srv/skills/"),
        ("skill://a%20b/", "skill://a%20b/"),
    ],
)
def test_a_prefix_ends_with_a_slash_whether_written_or_not(
    make_skill: MakeSkill, prefix: str, whole: str
) -> None:
    assert checked_prefix(prefix) == whole
    assert ServedSkill.of(make_skill(), prefix, 1).key == f"{whole}refunds/SKILL.md"


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "skill",
        "skill:",
        "skill:/",
        "skill:///",
        "skill://a//",
        "skill://a b/",
        "skill://ä/",
        "skill://a/../",
    ]
    + ["skill://./", "skill://a?b/", "skill://a#b/", "://a/", "skill://a/\n", "skill://a%2/", "7://a/"],
)
def test_a_prefix_that_is_no_way_to_a_skill_is_refused(make_skill: MakeSkill, prefix: str) -> None:
    with pytest.raises(ValueError, match="uri_prefix must be like skill://"):
        ServedSkill.of(make_skill(), prefix, 1)


@pytest.mark.parametrize("prefix", ["skill://%2e%2e/", "skill://a%2fb/", "skill://%ff/"])
def test_a_prefix_that_hides_a_way_out_is_refused(make_skill: MakeSkill, prefix: str) -> None:
    with pytest.raises(ValueError, match="has a part that is not the name of a file or directory"):
        ServedSkill.of(make_skill(), prefix, 1)


def test_a_link_to_a_skill_has_the_name_of_the_link(make_skill: MakeSkill, tmp_path: Path) -> None:
    (tmp_path / "v7").mkdir()
    make_skill().rename(tmp_path / "v7" / "checkout")
    (tmp_path / "refunds").symlink_to("v7/checkout")
    assert ServedSkill.of(tmp_path / "refunds", "skill://", 1).key == "skill://refunds/SKILL.md"


# Directories.


def files(*uris: str) -> list[ResourceEntry]:
    return [ResourceEntry.of(uri, str, name=uri.rsplit("/", 1)[-1]) for uri in uris]


FILES = files(
    "skill://acme/refunds/SKILL.md",
    "skill://acme/refunds/my%20notes/a.md",
    "skill://acme/refunds/my%20notes/b.md",
    "skill://acme/refunds-old/SKILL.md",
    "file:///srv/x/SKILL.md",
)


@pytest.mark.parametrize(
    ("uri", "found"),
    [
        ("skill://acme", ["refunds", "refunds-old"]),
        ("skill://acme/refunds", ["SKILL.md", "my notes"]),
        ("skill://acme/refunds/my%20notes", ["a.md", "b.md"]),
        ("file:///srv", ["x"]),
        ("skill://acme/refunds/SKILL.md", []),
        ("skill://acme/refund", []),
        ("skill://acme/refunds/", []),
        ("skill://", []),
        ("skill:/", []),
        ("skill:", []),
        ("file://", []),
        ("", []),
    ],
)
def test_a_directory_holds_what_is_directly_below_it(uri: str, found: list[str]) -> None:
    assert [child.wire["name"] for child in children(uri, FILES)] == found


def test_a_directory_in_a_directory_says_that_it_is_one() -> None:
    (_, notes) = children("skill://acme/refunds", FILES)
    assert notes.wire == {
        "uri": "skill://acme/refunds/my%20notes",
        "name": "my notes",
        "mimeType": "inode/directory",
    }
    assert (notes.key, notes.number) == (notes.wire["uri"], 2)
