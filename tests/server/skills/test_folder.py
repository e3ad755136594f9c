"""Reading a folder: everything that belongs to a skill, nothing from outside, and not too much."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_actors.server.skills import SkillError, folder
from mcp_actors.server.skills.folder import read_folder
from tests.server.skills.conftest import MakeSkill

pytestmark = pytest.mark.requirement("feature:skills")


def rule_of(path: Path) -> tuple[str, str]:
    """The path below the folder, and the rule, that reading it fails with."""
    with pytest.raises(SkillError) as caught:
        read_folder(path)
    assert str(caught.value) == f"{caught.value.path}: {caught.value.rule}"
    return os.path.relpath(caught.value.path, path), caught.value.rule


def test_files_are_found_by_their_paths_the_entry_file_first(make_skill: MakeSkill) -> None:
    path = make_skill(files={"A.md": b"a", "z/deep/b.bin": b"\xff", "z/a": b"", "my notes/50%?.md": b"n"})
    found = read_folder(path)
    assert list(found) == ["SKILL.md", "A.md", "my notes/50%?.md", "z/a", "z/deep/b.bin"]
    assert (found["z/deep/b.bin"], found["z/a"]) == (b"\xff", b"")


def test_hidden_files_caches_and_empty_folders_are_no_part_of_a_skill(make_skill: MakeSkill) -> None:
    path = make_skill(files={".git/config": b"", "a/.DS_Store": b"", "__pycache__/x.pyc": b""})
    (path / "empty").mkdir()
    assert list(read_folder(path)) == ["SKILL.md"]


def test_a_folder_without_the_entry_file_is_no_skill(tmp_path: Path, make_skill: MakeSkill) -> None:
    (tmp_path / "skill.md").write_text("")
    assert rule_of(tmp_path) == (".", "a skill has a file SKILL.md, spelled like that; here is none")
    assert rule_of(make_skill() / "SKILL.md") == (".", "it is no folder")
    assert rule_of(tmp_path / "nowhere") == (".", "it is no folder")


def test_a_folder_that_cannot_be_looked_into_is_refused(
    make_skill: MakeSkill, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_path: Path) -> None:
        raise PermissionError(13, "Permission denied")

    path = make_skill()
    monkeypatch.setattr(os, "scandir", refuse)
    assert rule_of(path) == (".", "it cannot be read: Permission denied")


def test_a_link_out_of_the_skill_is_refused(make_skill: MakeSkill, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("key")
    path = make_skill(files={"a/b": b""})
    # Its name begins as the skill's does.
    (tmp_path / "skills" / "refunds-old").mkdir()
    for target in ("../../../secret", str(tmp_path / "secret"), "../../refunds-old", "/dev/zero"):
        (path / "a" / "link").symlink_to(target)
        assert rule_of(path) == ("a/link", "it is a link that leads out of the skill")
        (path / "a" / "link").unlink()


def test_a_link_to_a_file_inside_is_that_file(make_skill: MakeSkill) -> None:
    # As configurations are mounted into containers.
    path = make_skill(files={"..2026/notes.md": b"n", "a/real.md": b"r"})
    (path / "..data").symlink_to("..2026")
    (path / "notes.md").symlink_to("..data/notes.md")
    (path / "a" / "same.md").symlink_to("real.md")
    assert list(read_folder(path).items())[1:] == [
        ("a/real.md", b"r"),
        ("a/same.md", b"r"),
        ("notes.md", b"n"),
    ]


def test_the_folder_itself_may_be_a_link(make_skill: MakeSkill, tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(make_skill())
    assert list(read_folder(tmp_path / "linked")) == ["SKILL.md"]


def test_a_link_to_a_folder_is_refused_so_that_nothing_is_read_for_ever(make_skill: MakeSkill) -> None:
    path = make_skill()
    (path / "again").symlink_to(".")
    assert rule_of(path) == ("again", "it is a link to a folder; only files may be linked")


def _broken_link(path: Path) -> None:
    path.symlink_to("nowhere")


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(path))


@pytest.mark.parametrize("make", [_broken_link, _pipe, _socket])
def test_what_is_no_ordinary_file_is_refused_and_holds_nobody_up(
    make_skill: MakeSkill, make: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_skill()
    monkeypatch.chdir(path)
    make(path / "odd")
    assert rule_of(path) == ("odd", "it is no ordinary file, or cannot be read")


def test_a_link_put_there_after_the_folder_was_looked_through_is_not_followed(
    make_skill: MakeSkill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret").write_text("key")
    path = make_skill(files={"a/b": b"harmless"})
    look = folder._paths

    def then_swap(shown: Path, root: Path) -> list[str]:
        found = list(look(shown, root))
        (path / "a" / "b").unlink()
        (path / "a" / "b").symlink_to(tmp_path / "secret")
        return found

    monkeypatch.setattr(folder, "_paths", then_swap)
    assert rule_of(path) == ("a/b", "it is no ordinary file, or cannot be read")


@pytest.mark.parametrize("name", [b"a\\b", b"a\nb", b"\x7f", b"\xff"])
def test_a_name_that_no_uri_can_hold_is_refused(make_skill: MakeSkill, name: bytes) -> None:
    path = make_skill()
    try:
        with open(os.path.join(os.fsencode(path), name), "wb"):
            pass
    except OSError:
        pytest.skip("this file system has no such names")
    assert rule_of(path)[1] == "its name has characters that no URI of a skill can hold"


def test_512_files_are_a_skill_and_513_are_not(make_skill: MakeSkill) -> None:
    path = make_skill(files={f"{number // 100}/{number}": b"" for number in range(511)})
    assert len(read_folder(path)) == 512
    (path / "one-more").touch()
    assert rule_of(path) == (".", "a skill has at most 512 files and folders")


def test_empty_folders_cannot_take_for_ever(make_skill: MakeSkill) -> None:
    path = make_skill()
    for number in range(513):
        (path / str(number)).mkdir()
    assert rule_of(path) == (".", "a skill has at most 512 files and folders")


def test_16_mib_are_a_skill_and_one_byte_more_is_not(make_skill: MakeSkill) -> None:
    path = make_skill(files={"a": b"a"})
    size = sum(map(len, read_folder(path).values()))
    (path / "z").write_bytes(bytes(16 * 1024 * 1024 - size))
    assert sum(map(len, read_folder(path).values())) == 16 * 1024 * 1024
    with open(path / "a", "ab") as file:
        file.write(b"a")
    assert rule_of(path) == ("z", "with it the skill has more than 16777216 bytes, which is the limit")
