"""Reading skills and their files: what is handed out, and everything that is refused before it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors import errors
from mcp_actors.client.skills import Skill, SkillPolicy, Skills
from tests.client.skills.shelf import (
    DESCRIPTION,
    FORMS,
    NAME,
    SKILL_MD,
    Shelf,
    head_of,
    reads,
)
from tests.client.toy_host import ToyHost
from tests.skills.entries import URI, entry, file

pytestmark = pytest.mark.requirement("feature:skills")

MakeSkills = Callable[..., Skills]


def check_of(error: pytest.ExceptionInfo[errors.InvalidResponse]) -> Any:
    return error.value.details["check"]


@pytest.mark.parametrize("blobs", [False, True])
def test_a_document_holds_what_the_file_says(skills: Skills, shelf: Shelf, blobs: bool) -> None:
    shelf.blobs = blobs
    document = skills.read(skills.list()[0])
    assert document.text == SKILL_MD
    assert document.body == "\nSkill body.\n"
    assert document.front_matter == {"name": NAME, "description": DESCRIPTION}
    assert document.origin == "library"


@pytest.mark.parametrize("blobs", [False, True])
def test_a_supporting_file_is_read_by_its_path(skills: Skills, shelf: Shelf, blobs: bool) -> None:
    shelf.blobs = blobs
    document = skills.read(skills.list()[0])
    contents = skills.read_file(document, "./references/FORMS.md")
    assert (contents.path, contents.uri, contents.origin) == ("references/FORMS.md", FORMS, "library")
    assert (contents.text, contents.data) == ("Supporting content.\n", b"Supporting content.\n")
    assert contents.mime_type == "text/markdown"
    assert skills.read_file(document.skill, "references/FORMS.md") == contents


def test_a_file_need_not_be_text(skills: Skills, shelf: Shelf) -> None:
    shelf.blobs, shelf.files[FORMS] = True, b"\xff\x00"
    shelf.entry["resources"][1] = file(FORMS, shelf.files[FORMS])
    contents = skills.read_file(skills.get(URI), "references/FORMS.md")
    assert contents.data == b"\xff\x00"
    with pytest.raises(UnicodeDecodeError):
        _ = contents.text


def test_a_skill_is_read_by_its_uri_or_its_name(skills: Skills, library: ToyHost) -> None:
    assert skills.read(URI) == skills.read(NAME)
    assert [len(library.all_heard(method)) for method in ("skills/get", "skills/list")] == [1, 1]


def test_a_name_that_two_skills_share_is_no_answer(skills: Skills, library: ToyHost) -> None:
    twins = [entry("skill://acme/billing/refunds/SKILL.md"), entry("skill://acme/support/refunds/SKILL.md")]
    library.answers["skills/list"] = lambda _: {"skills": twins}
    with pytest.raises(ValueError, match=r"2 skills are named 'refunds'.*billing.*support"):
        skills.read("refunds")
    with pytest.raises(ValueError, match="lists no skill named 'pdf', but: refunds, refunds"):
        skills.read("pdf")
    library.answers["skills/list"] = lambda _: {"skills": []}
    with pytest.raises(ValueError, match="none at all"):
        skills.read("pdf")
    assert reads(library) == []


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/etc/passwd",
        "../other/SKILL.md",
        "references/../../other",
        "references/./FORMS.md",
        "references//FORMS.md",
        "references/",
        "..\\other",
        "a\x00b",
        "././a",
        FORMS,
    ],
)
def test_a_path_that_may_lead_out_of_the_skill_is_refused(
    skills: Skills, library: ToyHost, path: str
) -> None:
    with pytest.raises(ValueError, match="is not the path of a file inside a skill"):
        skills.read_file(skills.get(URI), path)
    assert reads(library) == []


@pytest.mark.parametrize("path", ["references/OTHER.md", "%2e%2e/other", "references", "skill.md"])
def test_a_file_that_the_entry_does_not_list_fails_like_a_wrong_digest(
    skills: Skills, shelf: Shelf, library: ToyHost, path: str
) -> None:
    shelf.files["skill://pdf-processing/references/OTHER.md"] = b"new"
    with pytest.raises(errors.InvalidResponse, match="its entry lists no file") as caught:
        skills.read_file(skills.get(URI), path)
    assert check_of(caught) == "unlisted"
    assert reads(library) == []


def test_the_document_itself_is_not_a_supporting_file(skills: Skills, library: ToyHost) -> None:
    with pytest.raises(ValueError, match=r"SKILL\.md is what read\(\) reads"):
        skills.read_file(skills.get(URI), "SKILL.md")
    assert reads(library) == []


@pytest.mark.parametrize(
    ("forged", "check"),
    [(b"Supporting content!\n", "digest"), (b"Supporting", "size"), (b"", "size")],
)
def test_a_forged_supporting_file_is_refused(skills: Skills, shelf: Shelf, forged: bytes, check: str) -> None:
    document = skills.read(URI)
    shelf.files[FORMS] = forged
    with pytest.raises(errors.InvalidResponse, match=r"FORMS\.md has") as caught:
        skills.read_file(document, "references/FORMS.md")
    assert check_of(caught) == check


def test_a_newer_skill_is_read_under_its_newer_entry_though_the_old_copy_may_be_kept(
    skills: Skills, shelf: Shelf
) -> None:
    old = skills.read(URI).skill
    shelf.files[URI] = SKILL_MD.replace("body", "text").encode()
    shelf.entry["resources"][0] = file(URI, shelf.files[URI])
    assert skills.read(URI).body == "\nSkill text.\n"
    with pytest.raises(errors.InvalidResponse) as caught:
        skills.read(old)
    assert check_of(caught) == "digest"


def test_the_front_matter_of_a_nested_skill_is_just_text(skills: Skills, shelf: Shelf) -> None:
    nested = "skill://pdf-processing/forms/SKILL.md"
    shelf.files[nested] = b"---\n[broken\n---\n"
    shelf.entry["resources"].append(file(nested, shelf.files[nested]))
    assert skills.read_file(skills.read(URI), "forms/SKILL.md").text.startswith("---\n[broken")


@pytest.mark.parametrize(
    ("contents", "reason"),
    [
        ([], "in 0 parts"),
        ([{"uri": URI, "text": "a"}, {"uri": URI, "text": "b"}], "in 2 parts"),
        ([{"uri": URI, "blob": "A"}], "garbled"),
        ([{"uri": URI, "text": "\ud800"}], "garbled"),
    ],
)
def test_an_answer_that_is_not_one_file_is_refused(
    skills: Skills, library: ToyHost, contents: Any, reason: str
) -> None:
    library.answers["resources/read"] = lambda _: {"contents": contents}
    with pytest.raises(errors.InvalidResponse, match=reason) as caught:
        skills.read(URI)
    assert check_of(caught) == "content"


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        (SkillPolicy(max_files=1), "it has 2 files, the limit is 1"),
        (SkillPolicy(max_total_bytes=100), "bytes, the limit is 100"),
        (SkillPolicy(max_file_bytes=30), "bytes in one file, the limit is 30"),
    ],
)
def test_a_skill_above_a_limit_is_refused_by_its_entry_alone(
    make_skills: MakeSkills, library: ToyHost, policy: SkillPolicy, reason: str
) -> None:
    skills = make_skills(policy=policy)
    (skill,) = skills.list()
    for read in (lambda: skills.read(skill), lambda: skills.read_file(skill, "references/FORMS.md")):
        with pytest.raises(errors.InvalidResponse, match=reason) as caught:
            read()
        assert check_of(caught) == "limit"
    assert reads(library) == []


def test_a_skill_at_the_limits_of_the_extension_is_read(make_skills: MakeSkills, shelf: Shelf) -> None:
    more = [f"skill://pdf-processing/f{number}" for number in range(510)]
    shelf.entry["resources"] += [file(uri, b"") for uri in more]
    rest = 16 * 1024 * 1024 - sum(one["size"] for one in shelf.entry["resources"])
    shelf.entry["resources"][-1]["size"] = rest
    assert make_skills().read(URI).body == "\nSkill body.\n"
    shelf.entry["resources"][-2]["size"] = 1
    with pytest.raises(errors.InvalidResponse, match="16777217 bytes"):
        make_skills().read(URI)


def test_a_dynamic_skill_is_read_only_on_request(
    make_skills: MakeSkills, shelf: Shelf, library: ToyHost
) -> None:
    shelf.entry["resources"] = "dynamic"
    skill = make_skills().get(URI)
    assert (skill.dynamic, skill.files, skill.fingerprint) == (True, {}, None)
    for read in (lambda: make_skills().read(skill), lambda: make_skills().read_file(skill, "a")):
        with pytest.raises(errors.InvalidResponse, match="dynamic") as caught:
            read()
        assert check_of(caught) == "dynamic"
    assert reads(library) == []

    skills = make_skills(policy=SkillPolicy(allow_dynamic=True))
    shelf.files["skill://pdf-processing/my%20file%25.md"] = b"x"
    assert skills.read(skill).body == "\nSkill body.\n"
    assert skills.read_file(skill, "my file%.md").data == b"x"


def test_the_front_matter_of_a_dynamic_skill_is_compared_all_the_same(
    make_skills: MakeSkills, shelf: Shelf
) -> None:
    shelf.entry["resources"] = "dynamic"
    shelf.files[URI] = b"---\nname: pdf-processing\ndescription: other\n---\n"
    with pytest.raises(errors.InvalidResponse) as caught:
        make_skills(policy=SkillPolicy(allow_dynamic=True)).read(URI)
    assert check_of(caught) == "front_matter"


@pytest.mark.parametrize("blobs", [False, True])
@pytest.mark.parametrize("size", [201, 1_000])
def test_a_dynamic_file_above_the_limit_is_refused(
    make_skills: MakeSkills, shelf: Shelf, blobs: bool, size: int
) -> None:
    shelf.entry["resources"], shelf.blobs = "dynamic", blobs
    shelf.files[URI] += b"x" * (size - len(shelf.files[URI]))
    with pytest.raises(errors.InvalidResponse, match="bytes") as caught:
        make_skills(policy=SkillPolicy(allow_dynamic=True, max_file_bytes=200)).read(URI)
    assert check_of(caught) == "limit"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("no head at all", "it has none"),
        ("---\nname: pdf-processing\n", "it has none"),
        ("\n---\nname: pdf-processing\n---\n", "it has none"),
        ("---\nname: [\n---\n", "it has .* in line"),
        ("---\nname: pdf-processing\n---\n", "description is not in the file"),
        (
            SKILL_MD.replace("---\n\n", "license: MIT\n---\n"),
            "license is 'MIT' in the file, but not in the entry",
        ),
        (f"---\n{'#' * 70_000}\n---\n", "more than 65536 bytes"),
    ],
)
def test_a_head_that_is_not_the_entrys_is_refused(
    skills: Skills, shelf: Shelf, text: str, reason: str
) -> None:
    shelf.files[URI] = text.encode()
    shelf.entry["resources"][0] = file(URI, shelf.files[URI])
    with pytest.raises(errors.InvalidResponse, match=reason) as caught:
        skills.read(URI)
    assert check_of(caught) == "front_matter"


def test_a_head_that_is_not_utf8_is_refused(skills: Skills, shelf: Shelf) -> None:
    shelf.blobs, shelf.files[URI] = True, b"---\nname: \xff\n---\n"
    shelf.entry["resources"][0] = file(URI, shelf.files[URI])
    with pytest.raises(errors.InvalidResponse, match="not UTF-8") as caught:
        skills.read(URI)
    assert check_of(caught) == "front_matter"


def test_every_field_of_the_head_is_compared(skills: Skills, shelf: Shelf) -> None:
    head = {"name": NAME, "description": "d", "metadata": {"version": "2.1", "tags": ["a", "b"]}}
    shelf.files[URI] = head_of(head).encode()
    shelf.entry |= {"frontmatter": head, "resources": [file(URI, shelf.files[URI])]}
    assert skills.read(URI).front_matter == head
    shelf.entry["frontmatter"] = head | {"metadata": {"version": "2.1", "tags": ["a", "c"]}}
    with pytest.raises(errors.InvalidResponse, match=r"metadata\.tags\[1\] is 'b' in the file, but 'c'"):
        skills.read(URI)


def test_without_the_library_for_yaml_nothing_is_sent(
    skills: Skills, library: ToyHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    (skill,) = skills.list()

    def absent(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr("mcp_actors.skills.yaml_tree.import_module", absent)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'mcp-actors\[skills\]'") as caught:
        skills.read(skill)
    assert caught.value.name == "yaml"
    assert reads(library) == []
    assert skills.read_file(skill, "references/FORMS.md").text == "Supporting content.\n"


def test_a_callers_mistake_is_told_at_once(skills: Skills) -> None:
    with pytest.raises(TypeError, match="skill must be an entry, a URI or a name, not NoneType"):
        skills.read(None)  # type: ignore[arg-type]  # what is tested
    with pytest.raises(TypeError, match="skill must be an entry or a document, not str"):
        skills.read_file(URI, "a")  # type: ignore[arg-type]  # what is tested
    with pytest.raises(TypeError, match="path must be a string, not bytes"):
        skills.read_file(Skill.from_wire(entry()), b"a")  # type: ignore[arg-type]  # what is tested


@pytest.mark.parametrize(
    ("settings", "error"), [({"max_files": 0}, ValueError), ({"max_file_bytes": True}, TypeError)]
)
def test_a_policy_that_makes_no_sense_is_refused(settings: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match=next(iter(settings))):
        SkillPolicy(**settings)
