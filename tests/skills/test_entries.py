"""Entries: what a server may say about a skill, and what makes an entry no entry."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from mcp_actors.protocol.codec import DecodeFailed
from mcp_actors.skills import Skill, SkillFile
from mcp_actors.skills.location import path_in, root_of
from tests.skills.entries import URI, entry, file

pytestmark = pytest.mark.requirement("feature:skills")

OWN = file(URI, b"")


@pytest.mark.parametrize(
    "uri",
    [
        "skill://a/SKILL.md",
        "skill://acme/billing/a/SKILL.md",
        "github://owner/repo/skills/a/SKILL.md",
        "file:///skills/a/SKILL.md",
        "skill:a/SKILL.md",
    ],
)
def test_the_directory_of_a_skill_has_its_name(uri: str) -> None:
    skill = Skill.from_wire(
        entry(uri, frontmatter={"name": "a", "description": "d"}, resources=[file(uri, b"")])
    )
    assert (skill.name, skill.root, list(skill.files)) == ("a", uri.removesuffix("/SKILL.md"), ["SKILL.md"])


@pytest.mark.parametrize(
    "uri",
    [
        "pdf-processing/SKILL.md",
        "skill://SKILL.md",
        "skill://pdf-processing",
        "skill://pdf-processing/SKILL.md?x=1",
        "skill://pdf-processing/SKILL.md#x",
        "skill://x/../pdf-processing/SKILL.md",
        "skill://x/%2E%2e/pdf-processing/SKILL.md",
        "skill://x//pdf-processing/SKILL.md",
        "skill://x%2fy/pdf-processing/SKILL.md",
        "skill://x%ff/pdf-processing/SKILL.md",
        "skill://x y/pdf-processing/SKILL.md",
        "skill://x\\pdf-processing/SKILL.md",
    ],
)
def test_a_uri_that_is_no_plain_way_to_a_skill_is_refused(uri: str) -> None:
    with pytest.raises(ValueError, match="URI|name of a file"):
        root_of(uri)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"uri": 7}, "uri"),
        ({"frontmatter": None}, "frontmatter"),
        ({"frontmatter": {"description": "d"}}, "no name"),
        ({"frontmatter": {"name": "pdf-processing"}}, "no description"),
        ({"frontmatter": {"name": "pdf-processing", "description": 7}}, "no description"),
        ({"frontmatter": {"name": "other", "description": "d"}}, "named 'other' belongs"),
        ({"resources": "static"}, "resources"),
        ({"resources": None}, "resources"),
        ({"resources": []}, "do not hold"),
        ({"resources": [OWN, OWN]}, "twice"),
        ({"resources": [OWN, {**OWN, "uri": "skill://pdf-processing/%53KILL.md"}]}, "twice"),
        ({"resources": [OWN, {**OWN, "uri": "skill://other/SKILL.md"}]}, "not a file of the skill"),
        ({"resources": [OWN, {**OWN, "uri": "skill://pdf-processing2/a"}]}, "not a file of the skill"),
        ({"resources": [OWN, {**OWN, "uri": "skill://pdf-processing/../a"}]}, "has a part"),
        ({"resources": [OWN, {**OWN, "uri": "skill://pdf-processing/%2e%2e/a"}]}, "has a part"),
        ({"resources": [OWN, {**OWN, "uri": "skill://pdf-processing/a?b"}]}, "not a file of the skill"),
        ({"resources": [{**OWN, "digest": "sha256:A" + "0" * 63}]}, "digest"),
        ({"resources": [{**OWN, "digest": "md5:" + "0" * 32}]}, "digest"),
        ({"resources": [{**OWN, "digest": OWN["digest"] + "\n"}]}, "digest"),
        ({"resources": [{**OWN, "size": -1}]}, "size"),
        ({"resources": [{**OWN, "size": True}]}, "size"),
        ({"resources": [{"uri": URI, "digest": OWN["digest"]}]}, "size"),
    ],
)
def test_an_entry_that_breaks_a_rule_is_no_entry(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(DecodeFailed, match=reason):
        Skill.from_wire(entry(URI) | changes)


def test_names_of_files_are_decoded() -> None:
    assert path_in("skill://a", "skill://a/my%20notes/%C3%BC.md") == "my notes/ü.md"


def test_nothing_that_was_received_is_lost() -> None:
    wire = entry(URI, _meta={"com.example/verified": True}, more=1)
    skill = Skill.from_wire(wire)
    assert skill.raw == wire
    assert skill.meta == {"com.example/verified": True}
    assert pickle.loads(pickle.dumps(skill)) == skill


def test_a_fingerprint_is_that_of_the_files_whatever_their_order() -> None:
    other = {**OWN, "uri": "skill://pdf-processing/a"}
    one = Skill.from_wire(entry(URI, resources=[OWN, other]))
    same = Skill.from_wire(entry(URI, resources=[other, OWN]))
    changed = Skill.from_wire(entry(URI, resources=[OWN, other | {"digest": "sha256:" + "0" * 64}]))
    fewer = Skill.from_wire(entry(URI, resources=[OWN]))
    assert one.fingerprint == same.fingerprint
    assert len({one.fingerprint, changed.fingerprint, fewer.fingerprint}) == 3


def test_an_entry_can_be_made_by_hand() -> None:
    files = [SkillFile(uri=URI, digest=OWN["digest"], size=0)]
    head = {"name": "pdf-processing", "description": "d"}
    skill = Skill(uri=URI, front_matter=head, resources=files)
    assert skill.to_wire() == {"uri": URI, "frontmatter": head, "resources": [OWN]}
    with pytest.raises(ValueError, match="do not hold"):
        Skill(uri=URI, front_matter=head, resources=[])
