"""Listing and getting entries: pages, bad entries, and servers without the extension."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors import Client, errors
from mcp_actors.client.skills import EXTENSION, Skills
from tests.client.skills.shelf import CAPABILITIES, DESCRIPTION, FORMS
from tests.client.toy_host import SILENCE, ToyHost
from tests.client.waiting import BOUND
from tests.skills.entries import URI, entry

pytestmark = pytest.mark.requirement("feature:skills")


def test_an_entry_tells_everything_about_a_skill(skills: Skills) -> None:
    (skill,) = skills.list()
    assert (skill.uri, skill.root) == (URI, "skill://pdf-processing")
    assert skill.description == DESCRIPTION
    assert {path: one.uri for path, one in skill.files.items()} == {
        "SKILL.md": URI,
        "references/FORMS.md": FORMS,
    }
    assert not skill.dynamic
    assert skill.raw["frontmatter"] == skill.front_matter


def test_pages_are_followed(skills: Skills, library: ToyHost) -> None:
    pages: dict[Any, Any] = {
        None: {"skills": [entry("skill://a/SKILL.md")], "nextCursor": ""},
        "": {"skills": [], "nextCursor": "2"},
        "2": {"skills": [entry("skill://x/y/b/SKILL.md")]},
    }
    library.answers["skills/list"] = lambda request: pages[request["params"].get("cursor")]
    assert [skill.name for skill in skills.list()] == ["a", "b"]


def test_a_listing_without_an_end_is_the_servers_mistake(skills: Skills, library: ToyHost) -> None:
    library.answers["skills/list"] = lambda _: {"skills": [], "nextCursor": "1"}
    with pytest.raises(errors.InvalidResponse, match="skills/list does not end: cursor '1' came again"):
        skills.list()
    cursors = iter(range(10_000))
    library.answers["skills/list"] = lambda _: {"skills": [], "nextCursor": str(next(cursors))}
    with pytest.raises(errors.InvalidResponse, match="there is a cursor after 1000 pages"):
        skills.list()


def test_a_bad_entry_is_left_out_and_the_others_stay(
    skills: Skills, library: ToyHost, caplog: pytest.LogCaptureFixture
) -> None:
    bad = entry("skill://bad/SKILL.md")
    del bad["resources"]
    library.answers["skills/list"] = lambda _: {"skills": [bad, entry("skill://good/SKILL.md"), 7]}
    with caplog.at_level(logging.WARNING):
        assert [skill.name for skill in skills.list()] == ["good"]
    assert [record.name for record in caplog.records] == ["mcp_actors.client.library"] * 2
    assert "the skill 'skill://bad/SKILL.md' was left out: " in caplog.text
    assert "resources" in caplog.text


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({}, "missing required field `skills`"),
        ([], "does not fit"),
        ({"skills": [], "resultType": "task"}, "a result of type 'task'"),
    ],
)
def test_an_answer_that_is_no_listing_fails_the_call(
    skills: Skills, library: ToyHost, answer: Any, reason: str
) -> None:
    library.answers["skills/list"] = lambda _: answer
    with pytest.raises(errors.InvalidResponse, match=reason):
        skills.list()


def test_a_skill_is_got_by_its_uri(skills: Skills, library: ToyHost) -> None:
    assert skills.get(URI) == skills.list()[0]
    assert library.await_heard("skills/get")["params"]["uri"] == URI


def test_a_uri_that_is_no_skill_is_the_servers_refusal(skills: Skills) -> None:
    with pytest.raises(errors.RemoteError) as caught:
        skills.get("skill://nothing/SKILL.md")
    assert caught.value.code == -32602


def test_a_uri_that_cannot_be_a_skill_is_not_asked_for(skills: Skills, library: ToyHost) -> None:
    with pytest.raises(ValueError, match=r"is not the URI of a SKILL\.md"):
        skills.get("skill://pdf-processing")
    assert library.all_heard("skills/get") == []


def test_the_entry_of_another_skill_is_refused(skills: Skills, library: ToyHost) -> None:
    library.answers["skills/get"] = lambda _: {"skill": entry("skill://other/SKILL.md")}
    with pytest.raises(errors.InvalidResponse, match="got the entry of 'skill://other/SKILL.md'"):
        skills.get(URI)


def test_a_bad_entry_fails_the_call_that_asked_for_it(skills: Skills, library: ToyHost) -> None:
    library.answers["skills/get"] = lambda _: {"skill": entry(URI, resources="dynamo")}
    with pytest.raises(errors.InvalidResponse, match="does not fit"):
        skills.get(URI)


CALLS: list[Callable[[Skills], Any]] = [
    lambda skills: skills.list(),
    lambda skills: skills.get(URI),
    lambda skills: skills.read(URI),
    lambda skills: skills.read("pdf-processing"),
    lambda skills: skills.read_directory("skill://pdf-processing"),
]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "declared",
    [
        {},
        {"extensions": {}},
        {"extensions": {EXTENSION: None}},
        {"experimental": {EXTENSION: False}},
    ],
)
def test_nothing_is_sent_to_a_server_without_the_extension(
    call: Callable[[Skills], Any],
    declared: dict[str, Any],
    version: str,
    make_host: Callable[..., ToyHost],
    make_client: Callable[..., Client],
) -> None:
    host = make_host(version=version, capabilities={"resources": {}, **declared})
    with pytest.raises(errors.CapabilityMissing) as caught:
        call(Skills(make_client(host), timeout=BOUND))
    path = caught.value.details["capability"]
    assert path.startswith("extensions.io.modelcontextprotocol/skills")
    assert str(caught.value).endswith(f"does not offer {path}")
    assert not {one.get("method", "").split("/")[0] for one in host.heard} & {"skills", "resources"}


@pytest.mark.parametrize(
    "declared",
    [
        {"extensions": {EXTENSION: {}}},
        {"experimental": {EXTENSION: {}}},
        {"experimental": {EXTENSION: True}, "extensions": {"com.example/other": {}}},
    ],
)
def test_the_extension_may_be_declared_in_either_place(
    declared: dict[str, Any], skills: Skills, library: ToyHost
) -> None:
    library.capabilities = {"resources": {}, **declared}
    assert len(skills.list()) == 1


def test_a_directory_is_read_page_by_page(skills: Skills, library: ToyHost) -> None:
    def answer(request: dict[str, Any]) -> Any:
        uri, cursor = request["params"]["uri"], request["params"].get("cursor")
        if cursor is None:
            sub = {"uri": f"{uri}/references", "name": "references", "mimeType": "inode/directory"}
            return {"resources": [sub], "nextCursor": "2"}
        return {"resources": [{"uri": f"{uri}/SKILL.md", "name": "SKILL.md"}]}

    library.answers["resources/directory/read"] = answer
    found = skills.read_directory("skill://pdf-processing")
    assert [(one.name, one.mime_type) for one in found] == [
        ("references", "inode/directory"),
        ("SKILL.md", None),
    ]


@pytest.mark.parametrize("settings", [{}, {"directoryRead": False}, {"directoryRead": "yes"}])
def test_directories_are_read_only_where_the_server_says_so(
    settings: dict[str, Any], skills: Skills, library: ToyHost
) -> None:
    library.capabilities = CAPABILITIES | {"extensions": {EXTENSION: settings}}
    with pytest.raises(errors.CapabilityMissing, match=r"skills\.directoryRead"):
        skills.read_directory("skill://pdf-processing")
    assert library.all_heard("resources/directory/read") == []


def test_one_deadline_covers_all_pages(skills: Skills, library: ToyHost) -> None:
    def answer(request: dict[str, Any]) -> Any:
        return {"skills": [], "nextCursor": "1"} if "cursor" not in request["params"] else SILENCE

    library.answers["skills/list"] = answer
    with pytest.raises(errors.RequestTimeout):
        skills.list(timeout=0.5)
    library.await_heard("skills/list", cursor="1")


def test_time_that_ran_out_between_requests_is_said_so(
    skills: Skills, monkeypatch: pytest.MonkeyPatch
) -> None:
    skills.list()
    monkeypatch.setattr("mcp_actors.runtime.deadline.Deadline.remaining", lambda _: 0.0)
    with pytest.raises(errors.RequestTimeout, match="skills/list was not sent: no time was left for it"):
        skills.list()


def test_a_timeout_must_be_one(skills: Skills, reader: Client) -> None:
    with pytest.raises(ValueError, match="timeout"):
        skills.list(timeout=0)
    with pytest.raises(TypeError, match="timeout"):
        Skills(reader, timeout="soon")  # type: ignore[arg-type]  # what is tested
