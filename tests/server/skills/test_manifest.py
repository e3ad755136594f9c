"""The front matter of a skill: what is published of it, and what may not stand there."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_actors.server.skills import SkillError
from mcp_actors.server.skills.manifest import read_manifest

pytestmark = pytest.mark.requirement("feature:skills")

PATH = Path("refunds/SKILL.md")


def manifest(head: str, folder: str = "refunds") -> object:
    return read_manifest(PATH, f"---\n{head}\n---\n".encode(), folder)


def test_every_field_is_published_as_it_is_written() -> None:
    head = "name: refunds\ndescription: Refund\nmetadata:\n  version: '1.0'\nallowed-tools: [Read, 7]\nx: no"
    assert manifest(head) == {
        "name": "refunds",
        "description": "Refund",
        "metadata": {"version": "1.0"},
        "allowed-tools": ["Read", 7],
        "x": "no",
    }
    assert manifest("name: refunds\ndescription: d\nmetadata:")


@pytest.mark.parametrize("name", ["a", "7", "a-b", "a1-2b-c", "x" * 64])
def test_names_are_lowercase_with_single_hyphens(name: str) -> None:
    assert manifest(f"name: '{name}'\ndescription: d", name)


@pytest.mark.parametrize(
    "name", ["", "A", "a--b", "-a", "a-", "a_b", "a b", "ä", "x" * 65, "a.b", "a/b", "..", '"a\\n"', "7", "~"]
)
def test_any_other_name_is_refused(name: str) -> None:
    with pytest.raises(SkillError, match="refunds/SKILL.md: name must be 1 to 64 lowercase letters"):
        manifest(f"name: {name}\ndescription: d", name)


def test_the_name_is_that_of_the_folder() -> None:
    with pytest.raises(SkillError, match="name is 'refunds', but the folder of the skill is called 'other'"):
        manifest("name: refunds\ndescription: d", "other")


def test_a_description_may_have_1024_characters_and_not_one_more() -> None:
    assert manifest(f"name: refunds\ndescription: {'ü' * 1024}")
    with pytest.raises(SkillError, match="description has 1025 characters; at most 1024 are allowed"):
        manifest(f"name: refunds\ndescription: {'ü' * 1025}")


@pytest.mark.parametrize(
    ("head", "rule"),
    [
        ("name: refunds", "description must say what the skill is for, not None"),
        ("name: refunds\ndescription: ' '", "description must say what the skill is for, not ' '"),
        ("name: refunds\ndescription: 7", "description must say what the skill is for, not 7"),
        ("description: d", "name must be 1 to 64 lowercase letters"),
        ("name: refunds\ndescription: d\nmetadata: x", "metadata must be a mapping, not 'x'"),
        (
            "name: refunds\ndescription: d\nmetadata: {a: b, io.modelcontextprotocol/x: y}",
            "metadata has 'io.modelcontextprotocol/x', but names below io.modelcontextprotocol/ are reserved",
        ),
        ("- name", "the front matter: it must be a mapping"),
        ("", "the front matter: it must be a mapping"),
        ("name: a\nname: b", "the front matter: it has the key 'name' twice, again in line 2"),
        ("a: &x b\nc: *x", "the front matter: it has an alias in line 2"),
        ("a: .inf", "the front matter: '.inf' is a number that JSON cannot hold"),
        ('a: "\\ud800"', "the front matter: '\\ud800' has half of a character"),
        ('"\\ud800": b', "the front matter: '\\ud800' has half of a character"),
        (f"a: {'x' * 65_536}", "the front matter: it has more than 65536 bytes"),
    ],
)
def test_a_front_matter_that_breaks_a_rule_is_refused(head: str, rule: str) -> None:
    with pytest.raises(SkillError) as caught:
        manifest(head)
    assert str(caught.value).startswith(f"refunds/SKILL.md: {rule}")
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b"", "it has none"),
        (b"# Refunds\n", "it has none"),
        (b"---\nname: refunds\n", "it has none"),
        (b"---\nname: \xff\n---\n", "it is not UTF-8"),
    ],
)
def test_a_file_without_a_front_matter_is_refused(data: bytes, rule: str) -> None:
    with pytest.raises(SkillError, match=f"refunds/SKILL.md: the front matter: {rule}"):
        read_manifest(PATH, data, "refunds")
