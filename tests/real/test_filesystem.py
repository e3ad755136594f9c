"""The filesystem server: files are written, edited, read and found, within the folders that it may use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_actors import Client
from tests.client.waiting import until
from tests.real.programs import MARKS, PATIENCE, MakeStdio, kill_and_notice

pytestmark = MARKS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    # The server speaks of real paths; the system's temporary folder may be a link.
    place = (tmp_path / "work").resolve()
    place.mkdir()
    return place


@pytest.fixture
def client(node_server: Callable[[str], list[str]], folder: Path, make_stdio: MakeStdio) -> Client:
    """A client of a server that may use one folder."""
    return make_stdio([*node_server("filesystem"), str(folder)], **PATIENCE)


def test_a_file_is_written_edited_and_read(client: Client, folder: Path) -> None:
    path = str(folder / "poem.txt")
    client.call_tool("write_file", {"path": path, "content": "Röslein rot\nRöslein weiß\n"})
    assert (folder / "poem.txt").read_text(encoding="utf-8") == "Röslein rot\nRöslein weiß\n"
    edits = [{"oldText": "weiß", "newText": "auf der Heiden"}]
    difference = client.call_tool("edit_file", {"path": path, "edits": edits}).text
    assert "-Röslein weiß" in difference
    assert "+Röslein auf der Heiden" in difference
    result = client.call_tool("read_text_file", {"path": path})
    assert result.text == "Röslein rot\nRöslein auf der Heiden\n"
    assert result.structured_content == {"content": result.text}
    assert client.call_tool("read_text_file", {"path": path, "head": 1}).text == "Röslein rot"


def test_folders_are_made_listed_and_searched(client: Client, folder: Path) -> None:
    client.call_tool("create_directory", {"path": str(folder / "deep" / "deeper")})
    client.call_tool("write_file", {"path": str(folder / "deep" / "deeper" / "x.md"), "content": "x"})
    (folder / "top.md").write_text("top")
    assert set(client.call_tool("list_directory", {"path": str(folder)}).text.splitlines()) == {
        "[DIR] deep",
        "[FILE] top.md",
    }
    found = client.call_tool("search_files", {"path": str(folder), "pattern": "**/x.md"}).text
    assert found == str(folder / "deep" / "deeper" / "x.md")
    move = {"source": str(folder / "top.md"), "destination": str(folder / "deep" / "moved.md")}
    client.call_tool("move_file", move)
    assert (folder / "deep" / "moved.md").read_text() == "top"


def test_a_megabyte_goes_there_and_back(client: Client, folder: Path) -> None:
    path, text = str(folder / "large.txt"), "0123456789abcdeü" * 65536
    client.call_tool("write_file", {"path": path, "content": text})
    assert client.call_tool("read_text_file", {"path": path}).text == text


def test_an_image_comes_back_as_an_image(client: Client, folder: Path) -> None:
    (folder / "dot.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (content,) = client.call_tool("read_media_file", {"path": str(folder / "dot.png")}).raw["content"]
    assert (content["type"], content["mimeType"]) == ("image", "image/png")


def test_files_elsewhere_and_files_that_are_not_there_are_errors_of_the_tool(
    client: Client, folder: Path
) -> None:
    denied = client.call_tool("read_text_file", {"path": "/etc/passwd"})
    assert denied.is_error
    assert "outside allowed directories" in denied.text
    assert client.call_tool("read_text_file", {"path": str(folder / "nothing")}).is_error
    assert client.call_tool("read_text_file", {"wrong": "argument"}).is_error


@pytest.mark.requirement("connection:recover")
def test_files_are_still_there_after_a_kill(client: Client, folder: Path) -> None:
    path = str(folder / "kept.txt")
    client.call_tool("write_file", {"path": path, "content": "kept"})
    kill_and_notice(client, "server-filesystem")
    assert client.call_tool("read_text_file", {"path": path}, wait=True).text == "kept"


@pytest.mark.requirement("connection:recover")
def test_the_folders_are_those_that_the_client_names_also_when_they_change_and_after_a_kill(
    node_server: Callable[[str], list[str]], folder: Path, tmp_path: Path, make_stdio: MakeStdio
) -> None:
    other = (tmp_path / "other").resolve()
    other.mkdir()
    roots = [folder]
    client = make_stdio(node_server("filesystem"), roots=lambda: roots, **PATIENCE)
    until(lambda: may_use(client, folder), otherwise=lambda: "the server did not learn its folder")
    assert not may_use(client, other)
    roots[:] = [other]
    client.send_roots_changed()
    until(lambda: may_use(client, other), otherwise=lambda: "the server did not learn its new folder")
    assert not may_use(client, folder)
    kill_and_notice(client, "server-filesystem")
    until(lambda: may_use(client, other), otherwise=lambda: "the next server did not learn its folder")


def may_use(client: Client, folder: Path) -> bool:
    return not client.call_tool("list_directory", {"path": str(folder)}, wait=True).is_error
