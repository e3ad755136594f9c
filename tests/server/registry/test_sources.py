"""Resources without a function: texts, files and directories, and no way out of these."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from mcp_actors.protocol import types
from mcp_actors.protocol.codec import Json, decode
from mcp_actors.server.content import resource_result
from mcp_actors.server.registry import (
    DirectoryResource,
    FileResource,
    Registry,
    ResourceMissing,
    ResourceTooLarge,
    TextResource,
    directory,
)
from mcp_actors.server.registry.media_types import as_text, is_textual, media_type_of

PREFIX = "file:///docs/"


def read(registry: Registry, uri: str) -> Json:
    """As a client would read it: the one part of the resource."""
    found = registry.resource_for(uri)
    if found is None:
        raise ResourceMissing(uri)
    entry, values = found
    (part,) = resource_result(entry.function(**values), uri, entry.definition.mime_type)["contents"]
    return part


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A directory, and a secret beside it."""
    docs = tmp_path / "docs"
    (docs / "sub" / "deep").mkdir(parents=True)
    (docs / "a.txt").write_text("alpha")
    (docs / "sub" / "b 100%41.json").write_text('{"b": 1}')
    (docs / "sub" / "deep" / "c.bin").write_bytes(b"\x00\xff")
    (docs / ".env").write_text("SECRET=1")
    (docs / ".git").mkdir()
    (docs / ".git" / "config").write_text("secret")
    (tmp_path / "docs-old").mkdir()
    (tmp_path / "docs-old" / "secret.txt").write_text("secret")
    (tmp_path / "secret.txt").write_text("secret")
    return docs


@pytest.fixture
def registry(root: Path) -> Registry:
    made = Registry()
    made.add_source(DirectoryResource("file:///docs", root))
    return made


def test_a_text_is_a_resource() -> None:
    registry = Registry()
    registry.add_source(TextResource("x://host/notes", "grüß", title="Notes"))
    (entry,) = registry.resources.entries
    assert entry.wire == {
        "uri": "x://host/notes",
        "name": "notes",
        "title": "Notes",
        "mimeType": "text/plain",
        "size": 6,
    }
    assert read(registry, "x://host/notes") == {
        "uri": "x://host/notes",
        "mimeType": "text/plain",
        "text": "grüß",
    }


def test_what_is_said_about_a_text_is_kept() -> None:
    (entry,) = TextResource("x:///", "{}", name="n", mime_type="application/json").entries()
    assert (entry.definition.name, entry.definition.mime_type) == ("n", "application/json")
    (nameless,) = TextResource("x:", "").entries()
    assert nameless.definition.name == "x:"


def test_a_file_is_read_anew_each_time(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    source = FileResource("x:page", path)
    (entry,) = source.entries()
    assert entry.wire == {"uri": "x:page", "name": "page.md", "mimeType": "text/markdown"}
    with pytest.raises(ResourceMissing, match="^there is no resource 'x:page'$"):
        source.read()
    path.write_text("one")
    assert source.read() == "one"
    path.write_text("two")
    assert source.read() == "two"


def test_a_file_that_is_no_text_is_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(b"text after all")
    assert FileResource("x:a", path).read() == b"text after all"
    assert FileResource("x:a", path, mime_type="text/plain").read() == "text after all"
    path.write_bytes(b"\xff")
    assert FileResource("x:a", path, mime_type="text/plain").read() == b"\xff"


def test_a_file_above_its_limit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("12345")
    assert FileResource("x:a", path, max_bytes=5).read() == "12345"
    with pytest.raises(ResourceTooLarge, match="'x:a' is larger than 4 bytes"):
        FileResource("x:a", path, max_bytes=4).read()


def test_a_file_that_grows_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("12345")
    empty = tmp_path / "empty"
    empty.touch()
    small = os.stat(empty)
    monkeypatch.setattr(os, "fstat", lambda _: small)
    with pytest.raises(ResourceTooLarge):
        FileResource("x:a", path, max_bytes=4).read()


def test_neither_pipe_nor_socket_nor_directory_is_a_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(tmp_path / "socket"))
    for name in ("pipe", "socket", "."):
        with pytest.raises(ResourceMissing):
            FileResource("x:a", tmp_path / name).read()


@pytest.mark.requirement("feature:resources")
def test_files_of_a_directory_are_read_by_their_uris(registry: Registry) -> None:
    assert read(registry, PREFIX + "a.txt") == {
        "uri": PREFIX + "a.txt",
        "mimeType": "text/plain",
        "text": "alpha",
    }
    assert read(registry, PREFIX + "sub/deep/c.bin")["blob"] == "AP8="
    assert read(registry, PREFIX + "sub/b%20100%2541.json")["text"] == '{"b": 1}'


def test_a_directory_lists_what_it_holds(registry: Registry) -> None:
    top = read(registry, PREFIX)
    assert (top["uri"], top["mimeType"]) == (PREFIX, "application/json")
    assert decode(top["text"].encode()) == {
        "entries": [
            {"uri": PREFIX + "a.txt", "name": "a.txt", "mimeType": "text/plain", "size": 5},
            {"uri": PREFIX + "sub", "name": "sub", "mimeType": "inode/directory"},
        ]
    }
    for uri in (PREFIX + "sub", PREFIX + "sub/"):
        listed = decode(read(registry, uri)["text"].encode())["entries"]
        assert [line["name"] for line in listed] == ["b 100%41.json", "deep"]
        assert read(registry, listed[0]["uri"])["text"] == '{"b": 1}'
        assert decode(read(registry, listed[1]["uri"])["text"].encode())["entries"][0]["name"] == "c.bin"


def test_the_entries_of_a_directory_bear_its_name(root: Path) -> None:
    listing, template = DirectoryResource("file:///docs/", root, title="Docs").entries()
    assert listing.wire == {
        "uri": PREFIX,
        "name": "docs",
        "title": "Docs",
        "mimeType": "application/json",
    }
    assert template.wire == {"uriTemplate": PREFIX + "{+path}", "name": "docs", "title": "Docs"}


@pytest.mark.parametrize(
    "path",
    [
        "nothing.txt",
        "a.txt/more",
        "../secret.txt",
        "sub/../../secret.txt",
        "%2e%2e/secret.txt",
        "..%2fsecret.txt",
        "%252e%252e/secret.txt",
        "../docs-old/secret.txt",
        "/etc/passwd",
        "//etc/passwd",
        "%2Fetc/passwd",
        "a.txt%00",
        ".env",
        ".git/config",
        "sub/%2egit",
    ],
)
def test_nothing_else_is_read(registry: Registry, path: str) -> None:
    with pytest.raises(ResourceMissing):
        read(registry, PREFIX + path)


@pytest.mark.parametrize(
    "path", ["../secret.txt", "sub/../../secret.txt", "/etc/passwd", "a\0", "../docs-old/secret.txt", ".env"]
)
def test_the_directory_itself_lets_nothing_out_either(root: Path, path: str) -> None:
    with pytest.raises(ResourceMissing) as caught:
        DirectoryResource(PREFIX, root).read(path)
    assert str(root) not in str(caught.value)


def test_hidden_files_are_shown_on_request(root: Path) -> None:
    source = DirectoryResource(PREFIX, root, hidden=True)
    shown = source.read(".env")
    assert isinstance(shown, types.TextResourceContents)
    assert shown.text == "SECRET=1"
    assert ".git" in source.contents().bytes.decode()


def test_links_lead_nowhere_but_below_the_root(registry: Registry, root: Path) -> None:
    (root / "out").symlink_to(root.parent / "secret.txt")
    (root / "old").symlink_to(root.parent / "docs-old")
    (root / "hidden").symlink_to(root / ".env")
    (root / "loop").symlink_to(root / "loop")
    (root / "in").symlink_to(root / "sub")
    for path in ("out", "old/secret.txt", "hidden", "loop"):
        with pytest.raises(ResourceMissing):
            read(registry, PREFIX + path)
    assert read(registry, PREFIX + "in/deep/c.bin")["blob"] == "AP8="
    assert {line["name"] for line in decode(read(registry, PREFIX)["text"].encode())["entries"]} == {
        "a.txt",
        "sub",
    }


def test_a_link_that_appears_after_the_check_is_not_followed(
    registry: Registry, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The path is resolved first; then somebody puts links to the outside where its steps were.
    (root / "sub").rename(root / "moved")
    (root / "sub").symlink_to(root.parent / "docs-old")
    (root / "a.txt").unlink()
    (root / "a.txt").symlink_to(root.parent / "secret.txt")
    monkeypatch.setattr(os.path, "realpath", os.path.abspath)
    for path in ("sub/secret.txt", "a.txt"):
        with pytest.raises(ResourceMissing):
            read(registry, PREFIX + path)


def test_a_root_may_be_a_link_itself(root: Path) -> None:
    link = root.parent / "link"
    link.symlink_to(root)
    assert DirectoryResource(PREFIX, link).read("a.txt").bytes == b"alpha"


def test_a_root_must_be_a_directory(root: Path) -> None:
    for path in (root / "a.txt", root / "nothing"):
        with pytest.raises(NotADirectoryError, match="is no directory"):
            DirectoryResource(PREFIX, path)


def test_files_above_the_limit_are_listed_but_not_read(root: Path) -> None:
    source = DirectoryResource(PREFIX, root, max_bytes=4)
    assert "a.txt" in source.contents().bytes.decode()
    with pytest.raises(ResourceTooLarge, match="larger than 4 bytes"):
        source.read("a.txt")


def test_odd_entries_of_a_directory_are_left_out_of_its_list(root: Path) -> None:
    os.mkfifo(root / "pipe")
    (root / "README").write_text("no suffix")
    if sys.platform == "linux":  # elsewhere every name is UTF-8
        Path(os.fsdecode(os.fsencode(root) + b"/\xff.txt")).touch()
    listed = decode(DirectoryResource(PREFIX, root).contents().bytes)["entries"]
    assert [line["name"] for line in listed] == ["README", "a.txt", "sub"]
    assert listed[0] == {"uri": PREFIX + "README", "name": "README", "size": 9}
    plain = DirectoryResource(PREFIX, root).read("README")
    assert (plain.bytes, plain.mime_type) == (b"no suffix", "text/plain")


def test_a_file_that_vanishes_during_the_listing_is_left_out(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(first: list[os.DirEntry[str]], *_: object) -> list[os.DirEntry[str]]:
        found = list(first)
        (root / "a.txt").unlink()
        return found

    monkeypatch.setattr(directory, "islice", gone)
    assert b"a.txt" not in DirectoryResource(PREFIX, root).contents().bytes


def test_a_long_list_says_that_it_is_cut(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory, "MAX_LISTED", 1)
    listed = decode(DirectoryResource(PREFIX, root).contents().bytes)
    assert (len(listed["entries"]), listed["truncated"]) == (1, True)


def test_no_descriptor_is_left_open(registry: Registry, root: Path) -> None:
    source = Path("/proc/self/fd") if Path("/proc/self/fd").exists() else Path("/dev/fd")
    before = len(os.listdir(source))
    (root / "out").symlink_to(root.parent / "secret.txt")
    for path in ("a.txt", "", "sub", "nothing", "a.txt/x", "out", "sub/deep/c.bin", "sub/deep/none"):
        try:
            read(registry, PREFIX + path)
        except ResourceMissing:
            continue
    assert len(os.listdir(source)) == before


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.md", "text/markdown"),
        ("a.JSON", "application/json"),
        ("a.png", "image/png"),
        ("a.tar.gz", None),
        ("data:text/html,x", None),
        ("README", None),
        ("a.", None),
        (".md", "text/markdown"),
    ],
)
def test_media_types_are_told_by_the_name_alone(name: str, expected: str | None) -> None:
    assert media_type_of(name) == expected


def test_text_is_what_is_said_or_seen_to_be_text() -> None:
    assert is_textual("Text/HTML; charset=x")
    assert is_textual("application/ld+json")
    assert not is_textual("image/png")
    assert as_text(b"a", None) == "a"
    assert as_text(b"a\0", None) is None
    assert as_text(b"a\0", "text/plain") == "a\0"
    assert as_text(b"a", "image/png") is None
    assert as_text(b"\xff", "text/plain") is None
