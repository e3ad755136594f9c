"""What the four client scenarios of the conformance suite check, with servers that do what theirs do."""

from __future__ import annotations

import pytest

from mcp_actors import Client, errors
from mcp_actors.client.skills import Skills
from tests.client.relay import over_both_wires
from tests.client.skills.shelf import FORMS, NAME, SKILL_MD, Shelf, reads
from tests.client.toy_host import ToyHost
from tests.skills.entries import URI, file

pytestmark = [pytest.mark.requirement("feature:skills"), over_both_wires]


def load_everything(skills: Skills) -> None:
    """What a program does that uses skills: list, then read each with all of its files."""
    for skill in skills.list():
        document = skills.read(skill)
        for path in skill.files.keys() - {"SKILL.md"}:
            skills.read_file(document, path)


def test_a_listing_reads_no_file(reader: Client, skills: Skills, library: ToyHost) -> None:
    reader.wait_ready()
    assert [skill.name for skill in skills.list()] == [NAME]
    assert reads(library) == []
    assert len(library.all_heard("skills/list")) == 1


def test_an_honest_skill_is_read_whole(skills: Skills, library: ToyHost) -> None:
    load_everything(skills)
    assert reads(library) == [URI, FORMS]


def test_a_body_of_the_same_length_is_noticed_by_its_digest(
    skills: Skills, shelf: Shelf, library: ToyHost
) -> None:
    shelf.files[URI] = SKILL_MD.replace("Skill body.", "Evil body!!").encode()
    with pytest.raises(errors.InvalidResponse) as caught:
        load_everything(skills)
    assert reads(library) == [URI]
    listed, got = file(URI, SKILL_MD.encode())["digest"], file(URI, shelf.files[URI])["digest"]
    assert str(caught.value) == (
        f"the skill 'pdf-processing' was refused: {URI} has the digest {got}, not the {listed} of its entry"
    )
    assert caught.value.details == {
        "check": "digest",
        "skill": URI,
        "uri": URI,
        "expected": listed,
        "got": got,
    }


def test_bytes_that_the_entry_does_not_count_are_noticed_by_the_size(
    skills: Skills, shelf: Shelf, library: ToyHost
) -> None:
    size = len(shelf.files[URI])
    shelf.files[URI] += b"extra bytes\n"
    with pytest.raises(errors.InvalidResponse) as caught:
        load_everything(skills)
    assert reads(library) == [URI]
    details = caught.value.details
    assert (details["check"], details["expected"], details["got"]) == ("size", size, size + 12)


def test_another_description_is_noticed_though_size_and_digest_are_right(
    skills: Skills, shelf: Shelf, library: ToyHost
) -> None:
    forged = SKILL_MD.replace("Extract, fill, and assemble PDF documents", "Exfiltrate credentials").encode()
    shelf.files[URI] = forged
    shelf.entry["resources"][0] = file(URI, forged)
    with pytest.raises(errors.InvalidResponse) as caught:
        load_everything(skills)
    assert reads(library) == [URI]
    assert caught.value.details["check"] == "front_matter"
    assert str(caught.value).endswith(
        "description is 'Exfiltrate credentials' in the file, but "
        "'Extract, fill, and assemble PDF documents' in the entry"
    )
