"""The git server, in both eras of the protocol."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.real.installing import unavailable
from tests.real.programs import ERAS, MARKS, PATIENCE, MakeStdio, kill_and_notice

pytestmark = MARKS


def git(folder: Path, *words: str) -> None:
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(folder), *identity, *words], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit and one change that is not in it."""
    folder = tmp_path / "repository"
    folder.mkdir()
    try:
        git(folder, "init", "--quiet")
    except FileNotFoundError:
        unavailable("git is not installed")
    (folder / "poem.txt").write_text("one\n")
    git(folder, "add", "poem.txt")
    git(folder, "commit", "--quiet", "--message", "First words")
    (folder / "poem.txt").write_text("one\ntwo ü\n", encoding="utf-8")
    return folder


@pytest.mark.requirement("connection:recover")
@pytest.mark.parametrize("era", ERAS)
def test_a_repository_is_looked_at_before_and_after_a_kill(
    era: str, git_server: list[str], repository: Path, make_stdio: MakeStdio
) -> None:
    client = make_stdio(git_server, protocol="auto" if era == ERAS[0] else era, **PATIENCE).wait_ready()
    assert (client.protocol_version, client.server_info.name) == (era, "mcp-git")
    where = {"repo_path": str(repository)}
    assert "modified:   poem.txt" in client.call_tool("git_status", where).text
    assert "+two ü" in client.call_tool("git_diff_unstaged", where).text
    assert "First words" in client.call_tool("git_log", where).text
    client.call_tool("git_add", {**where, "files": ["poem.txt"]})
    assert "+two ü" in client.call_tool("git_diff_staged", where).text
    assert client.call_tool("git_status", {"repo_path": str(repository / "nothing")}).is_error
    kill_and_notice(client, "mcp_server_git")
    assert "modified:   poem.txt" in client.call_tool("git_status", where, wait=True).text
    assert client.protocol_version == era


def test_tools_that_only_look_say_so(git_server: list[str], make_stdio: MakeStdio) -> None:
    tools = {one.name: one for one in make_stdio(git_server, **PATIENCE).list_tools()}
    assert tools["git_status"].raw["annotations"]["readOnlyHint"] is True
    assert tools["git_commit"].raw["annotations"]["readOnlyHint"] is False
