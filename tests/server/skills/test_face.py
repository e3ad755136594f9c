"""A server with skills, and clients that verify every byte of them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_actors import Client, errors
from mcp_actors.server.server import Server
from mcp_actors.server.skills import SkillError
from mcp_actors.skills import EXTENSION
from tests.conftest import BOUND
from tests.server.skills.conftest import MakeSkill

pytestmark = pytest.mark.requirement("feature:skills")


@pytest.fixture
def server() -> Iterator[Server]:
    with Server("shop", page_size=2) as made:
        yield made


def connected(server: Server, **options: Any) -> Client:
    """A client, to be closed. What the server declares it learns now."""
    return Client.memory(server, name="shop", request_timeout=BOUND, **options)


def offered(server: Server) -> list[str]:
    """The URIs of all resources."""
    return [entry.key for entry in server.registry.resources.entries]


def uris(client: Client) -> list[str]:
    return [resource.uri for resource in client.list_resources(fresh=True)]


def names(client: Client) -> list[str]:
    return [skill.name for skill in client.skills.list()]


def refusal(client: Client, method: str, params: dict[str, Any]) -> errors.RemoteError:
    with pytest.raises(errors.RemoteError) as caught:
        client.request(method, params)
    return caught.value


def test_a_client_reads_and_verifies_a_skill_whole(server: Server, make_skill: MakeSkill) -> None:
    files = {"references/a b.md": b"one\r\n", "logo.png": b"\x89PNG\xff", "deep/er/empty": b""}
    server.add_skill(str(make_skill(files=files)))
    with connected(server) as client:
        (skill,) = client.skills.list()
        document = client.skills.read(skill)
        assert (document.body, document.front_matter["name"]) == ("\nBody.\n", "refunds")
        others = skill.files.keys() - {"SKILL.md"}
        assert {path: client.skills.read_file(document, path).data for path in others} == files
        assert client.skills.get(skill.uri) == skill
        assert client.server_capabilities.raw["extensions"] == {EXTENSION: {"directoryRead": True}}
        assert "resources" in client.server_capabilities.raw


def test_answers_may_be_kept_as_long_as_the_server_says(make_skill: MakeSkill) -> None:
    with Server("shop", ttl_ms=7_000, cache_scope="public") as server:
        server.add_skill(make_skill())
        with connected(server) as client:
            for method, params in (("skills/list", {}), ("skills/get", {"uri": "skill://refunds/SKILL.md"})):
                answer = client.request(method, params)
                assert (answer["ttlMs"], answer["cacheScope"]) == (7_000, "public")
                assert "nextCursor" not in answer


def test_listings_come_in_pages(server: Server, make_skill: MakeSkill) -> None:
    for name in ("c", "a", "e", "b", "d"):
        server.add_skill(make_skill(name, files={f"{n}.md": b"" for n in range(4)}))
    with connected(server) as client:
        assert names(client) == ["c", "a", "e", "b", "d"]
        first = client.request("skills/list", {})
        assert [entry["frontmatter"]["name"] for entry in first["skills"]] == ["c", "a"]
        found = client.skills.read_directory("skill://a")
        assert [one.name for one in found] == ["0.md", "1.md", "2.md", "3.md", "a"]
        page = client.request("resources/directory/read", {"uri": "skill://a"})
        cursor = page["nextCursor"]
        assert len(page["resources"]) == 2
        # A cursor belongs to its list.
        for method, params in (
            ("skills/list", {"cursor": cursor}),
            ("resources/directory/read", {"uri": "skill://b", "cursor": cursor}),
            ("skills/list", {"cursor": 7}),
        ):
            assert refusal(client, method, params).code == -32602


def test_skills_may_have_the_same_name_at_different_places(server: Server, make_skill: MakeSkill) -> None:
    path = make_skill()
    server.add_skill(path, uri_prefix="skill://acme/billing/")
    server.add_skill(path, uri_prefix="skill://acme/support")
    with connected(server) as client:
        found = [skill.uri for skill in client.skills.list()]
        assert found == ["skill://acme/billing/refunds/SKILL.md", "skill://acme/support/refunds/SKILL.md"]
        above = client.skills.read_directory("skill://acme")
        assert [(one.name, one.mime_type) for one in above] == [
            ("billing", "inode/directory"),
            ("support", "inode/directory"),
        ]
        with pytest.raises(ValueError, match=f"2 skills are named 'refunds'; give the URI: {found[0]}, "):
            server.remove_skill("refunds")
        server.remove_skill(found[0])
        assert uris(client) == [found[1]]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("skills/get", {"uri": "skill://nobody/SKILL.md"}),
        ("skills/get", {"uri": "skill://refunds"}),
        ("skills/get", {"uri": "skill://refunds/a.md"}),
        ("skills/get", {"uri": None}),
        ("skills/get", {}),
        ("resources/directory/read", {"uri": "skill://refunds/SKILL.md"}),
        ("resources/directory/read", {"uri": "skill://nobody"}),
        ("resources/directory/read", {"uri": "skill://"}),
        ("resources/directory/read", {}),
        ("resources/read", {"uri": "skill://refunds/b.md"}),
        ("resources/read", {"uri": "skill://refunds/../refunds/SKILL.md"}),
        ("resources/read", {"uri": "skill://refunds/%2e%2e/%2e%2e/secret"}),
    ],
)
def test_what_is_not_there_is_an_error_of_the_parameters(
    server: Server, make_skill: MakeSkill, method: str, params: dict[str, Any]
) -> None:
    server.add_skill(make_skill(files={"a.md": b""}))
    with connected(server) as client:
        assert refusal(client, method, params).code == -32602


def test_a_skill_stays_what_it_was_when_it_was_added(server: Server, make_skill: MakeSkill) -> None:
    path = make_skill(files={"a.md": b"old"})
    server.add_skill(path)
    (path / "a.md").write_bytes(b"new")
    (path / "SKILL.md").unlink()
    with connected(server) as client:
        document = client.skills.read("refunds")
        assert client.skills.read_file(document, "a.md").data == b"old"
        server.remove_skill("refunds")
        make_skill()
        server.add_skill(path)
        newer = client.skills.get(document.skill.uri)
        assert client.skills.read_file(newer, "a.md").data == b"new"
        assert newer.fingerprint != document.skill.fingerprint


def test_a_removed_skill_is_gone_with_its_files_and_stays_declared(
    server: Server, make_skill: MakeSkill
) -> None:
    server.add_skill(make_skill(files={"a.md": b"", "b.md": b""}))
    # One file of it is gone already.
    server.remove_resource("skill://refunds/a.md")
    server.remove_skill("refunds")
    assert offered(server) == []
    with pytest.raises(LookupError, match="there is no skill 'refunds'"):
        server.remove_skill("refunds")
    with connected(server) as client:
        assert client.skills.list() == []
        assert uris(client) == []


def test_a_skill_that_was_removed_before_anybody_looked_stays_declared(
    make_skill: MakeSkill,
) -> None:
    server = Server("shop")
    server.add_skill(make_skill())
    server.remove_skill("skill://refunds/SKILL.md")
    assert {"resources", "extensions"} <= server.profile().capabilities.keys()


@pytest.mark.parametrize("protocol", ["2026-07-28", "2025-11-25"])
def test_clients_are_told_that_the_resources_changed(
    server: Server, make_skill: MakeSkill, protocol: str
) -> None:
    server.add_skill(make_skill("first"))
    told = threading.Semaphore(0)
    with connected(server, protocol=protocol) as client:
        client.on_resources_changed(told.release)
        client.wait_ready()
        server.add_skill(make_skill("second"))
        assert told.acquire(timeout=BOUND)
        assert uris(client) == ["skill://first/SKILL.md", "skill://second/SKILL.md"]
        server.remove_skill("first")
        assert told.acquire(timeout=BOUND)
        assert uris(client) == ["skill://second/SKILL.md"]


def test_a_client_of_an_earlier_revision_finds_the_files_among_the_resources(
    server: Server, make_skill: MakeSkill
) -> None:
    server.add_skill(make_skill(files={"a.md": b"text"}))
    with connected(server, protocol="2025-11-25") as client:
        assert uris(client) == ["skill://refunds/SKILL.md", "skill://refunds/a.md"]
        assert client.read_resource("skill://refunds/a.md").text == "text"
        assert "extensions" not in client.server_capabilities.raw
        assert refusal(client, "skills/list", {}).code == -32601


def test_a_server_without_skills_does_not_declare_them(server: Server) -> None:
    with connected(server) as client:
        assert "extensions" not in client.server_capabilities.raw
        with pytest.raises(errors.CapabilityMissing):
            client.skills.list()


def test_what_the_author_declares_of_the_extension_wins(make_skill: MakeSkill) -> None:
    server = Server("shop", extensions={EXTENSION: {}, "com.example/x": {"y": 1}})
    server.add_skill(make_skill())
    assert server.profile().capabilities["extensions"] == {EXTENSION: {}, "com.example/x": {"y": 1}}


# Adding.


def test_a_folder_of_skills_is_added_in_the_order_of_names(server: Server, make_skill: MakeSkill) -> None:
    folder = make_skill("b").parent
    make_skill("a")
    (folder / "README.md").touch()
    (folder / ".git").mkdir()
    server.add_skills(folder, uri_prefix="skill://acme/")
    with connected(server) as client:
        assert [skill.uri for skill in client.skills.list()] == [
            "skill://acme/a/SKILL.md",
            "skill://acme/b/SKILL.md",
        ]


def test_of_a_folder_with_one_bad_skill_none_is_added(server: Server, make_skill: MakeSkill) -> None:
    folder = make_skill("a").parent
    make_skill("b", head="name: b\n")
    with pytest.raises(SkillError, match="b/SKILL.md: description must say"):
        server.add_skills(folder)
    assert offered(server) == []
    assert "extensions" not in server.profile().capabilities


def test_a_skill_whose_place_is_taken_is_not_added(server: Server, make_skill: MakeSkill) -> None:
    server.add_resource("skill://b/a.md", lambda: "mine")
    folder = make_skill("b", files={"a.md": b""}).parent
    make_skill("a")
    with pytest.raises(SkillError, match="b: there is a resource 'skill://b/a.md' already; remove it, or"):
        server.add_skills(folder)
    assert offered(server) == ["skill://b/a.md"]
    server.add_skill(folder / "a")
    with pytest.raises(SkillError, match="there is a resource 'skill://a/SKILL.md' already"):
        server.add_skill(folder / "a")
    assert offered(server) == ["skill://b/a.md", "skill://a/SKILL.md"]


def test_a_folder_of_no_skills_is_a_mistake(server: Server, tmp_path: Path) -> None:
    with pytest.raises(SkillError, match="a folder of skills has one folder for each; here is none"):
        server.add_skills(tmp_path)
    with pytest.raises(SkillError, match="nowhere: it cannot be read: No such file or directory"):
        server.add_skills(tmp_path / "nowhere")
    (tmp_path / "docs").mkdir()
    with pytest.raises(SkillError, match="docs: a skill has a file SKILL.md"):
        server.add_skills(tmp_path)


def test_a_folder_of_skills_may_be_a_link_but_may_not_lead_out(
    server: Server, make_skill: MakeSkill, tmp_path: Path
) -> None:
    folder = make_skill("a").parent
    (tmp_path / "linked").symlink_to(folder)
    server.add_skills(tmp_path / "linked")
    (folder / "b").symlink_to(make_skill("b").rename(tmp_path / "b"))
    with pytest.raises(SkillError, match="b: it is a link that leads out of the folder of skills"):
        server.add_skills(folder, uri_prefix="skill://x/")


def test_two_threads_that_add_the_same_skill_add_it_once(server: Server, make_skill: MakeSkill) -> None:
    path = make_skill(files={"a.md": b""})
    start = threading.Barrier(4)
    refused: list[ValueError] = []

    def add() -> None:
        start.wait(BOUND)
        try:
            server.add_skill(path)
        except ValueError as error:
            refused.append(error)

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(BOUND)
    assert len(refused) == 3
    with connected(server) as client:
        assert names(client) == ["refunds"]


def test_without_the_library_for_yaml_the_error_says_what_to_install(
    server: Server, make_skill: MakeSkill, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr("mcp_actors.skills.yaml_tree.import_module", absent)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'mcp-actors\[skills\]'"):
        server.add_skill(make_skill())
