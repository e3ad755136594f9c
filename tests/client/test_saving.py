"""Saving what a server sent: where it goes, how it is named, and where it never goes."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_actors import errors
from mcp_actors.client.saving import save
from mcp_actors.protocol import types

PIXEL = b"\x89PNG pixel"


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def image(data: bytes = PIXEL, mime_type: str = "image/png") -> types.ImageContent:
    return types.ImageContent(data=encoded(data), mime_type=mime_type)


def blob(uri: str, data: bytes = b"data", mime_type: str | None = None) -> types.BlobResourceContents:
    return types.BlobResourceContents(uri=uri, blob=encoded(data), mime_type=mime_type)


def text(uri: str, said: str = "text", mime_type: str | None = None) -> types.TextResourceContents:
    return types.TextResourceContents(uri=uri, text=said, mime_type=mime_type)


def files(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_a_block_goes_into_the_file_that_is_named(tmp_path: Path) -> None:
    path = save(image(), tmp_path / "chart.jpg")
    assert path == tmp_path / "chart.jpg"
    assert path.read_bytes() == PIXEL
    assert save(image(), str(tmp_path / "other.png")).read_bytes() == PIXEL


def test_a_path_without_a_suffix_gets_the_one_of_the_mime_type(tmp_path: Path) -> None:
    assert save(image(), tmp_path / "chart").name == "chart.png"
    assert save(types.AudioContent(data="", mime_type="audio/wav"), tmp_path / "sound").name == "sound.wav"
    assert save(blob("x:y"), tmp_path / "thing").name == "thing.bin"


@pytest.mark.parametrize(
    ("mime_type", "suffix"),
    [
        ("image/jpeg", ".jpg"),
        ("IMAGE/PNG", ".png"),
        ("text/plain; charset=utf-8", ".txt"),
        ("application/pdf", ".pdf"),
        ("text/html", ".html"),
        ("audio/mpeg", ".mp3"),
        ("application/json", ".json"),
        ("application/x-of-our-own", ".bin"),
        ("../../etc/passwd", ".bin"),
        ("", ".bin"),
        (None, ".bin"),
    ],
)
def test_the_suffix_of_a_mime_type(mime_type: str | None, suffix: str, tmp_path: Path) -> None:
    assert save(blob("x:y", mime_type=mime_type), tmp_path / "file").suffix == suffix


def test_a_directory_gets_a_file_that_is_named_after_the_resource(tmp_path: Path) -> None:
    assert save(blob("file:///a/report.pdf"), tmp_path) == tmp_path / "report.pdf"
    assert save(
        text("https://a.example/notes/%C3%BCber%20uns?x=1#y", mime_type="text/plain"), tmp_path
    ).name == ("über uns.txt")
    assert save(blob("x:%2e%2e%2fetc%2f..%5c..%5cpasswd.old"), tmp_path).name == "passwd.old"
    assert save(image(), tmp_path).name == "image.png"
    embedded = types.EmbeddedResource(resource=text("memo://today/", mime_type="text/markdown"))
    assert save(embedded, tmp_path).name == "resource.md"


def test_a_path_that_ends_like_a_directory_must_be_one(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        save(image(), f"{tmp_path}/missing/")


def test_a_result_goes_into_a_directory_that_is_made(tmp_path: Path) -> None:
    result = types.CallToolResult(
        content=[
            types.TextContent(text="not a file"),
            image(b"1"),
            image(b"2"),
            types.ResourceLink(uri="a:b", name="not included"),
            types.EmbeddedResource(resource=blob("x:/IMAGE.png", b"3")),
        ]
    )
    paths = save(result, tmp_path / "new" / "place")
    assert [path.name for path in paths] == ["image.png", "image-2.png", "IMAGE-3.png"]
    assert files(tmp_path / "new" / "place") == {"image.png": b"1", "image-2.png": b"2", "IMAGE-3.png": b"3"}


def test_a_resource_with_one_part_may_go_into_a_file(tmp_path: Path) -> None:
    result = types.ReadResourceResult(contents=[text("a:b", "für")])
    assert save(result, tmp_path / "one.txt") == [tmp_path / "one.txt"]
    assert (tmp_path / "one.txt").read_bytes() == "für".encode()
    assert save(result, tmp_path / "folder") == [tmp_path / "folder" / "b.bin"]
    (tmp_path / "v1.0").mkdir()
    assert save(result, tmp_path / "v1.0") == [tmp_path / "v1.0" / "b.bin"]


def test_a_list_of_blocks_can_be_saved_and_a_result_without_any_writes_nothing(tmp_path: Path) -> None:
    assert len(save([image(b"1"), text("x:a.txt")], tmp_path)) == 2
    assert save(types.CallToolResult(content=[]), tmp_path / "empty") == []


@pytest.mark.parametrize("thing", [types.TextContent(text="t"), "text", 3, [image(), "x"]])
def test_what_cannot_be_saved_is_refused(thing: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="images, sounds, resources and results can be saved, not"):
        save(thing, tmp_path / "new")
    assert files(tmp_path) == {}


def test_nothing_is_replaced_unless_it_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "b.bin").write_bytes(b"precious")
    result = types.ReadResourceResult(contents=[blob("x:a", b"new"), blob("x:b", b"new")])
    with pytest.raises(FileExistsError, match=r"b\.bin is there already; pass overwrite=True to replace it"):
        save(result, tmp_path)
    assert files(tmp_path) == {"b.bin": b"precious"}
    save(result, tmp_path, overwrite=True)
    assert files(tmp_path) == {"a.bin": b"new", "b.bin": b"new"}


def test_bad_base64_is_told_before_anything_is_written(tmp_path: Path) -> None:
    bad = types.BlobResourceContents(uri="x:b", blob="!")
    with pytest.raises(errors.InvalidResponse, match="resource 'x:b' holds no base64"):
        save([blob("x:a"), bad], tmp_path / "new")
    assert files(tmp_path) == {}


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_link_in_the_directory_leads_nowhere(overwrite: bool, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"precious")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "a.bin").symlink_to(outside)
    (inside / "b.bin").symlink_to(tmp_path / "nothing yet")
    for name in "ab":
        if overwrite:
            assert save(blob(f"x:{name}"), inside, overwrite=True).read_bytes() == b"data"
        else:
            with pytest.raises(FileExistsError):
                save(blob(f"x:{name}"), inside)
    assert outside.read_bytes() == b"precious"
    assert not (tmp_path / "nothing yet").exists()


EVIL = [
    "file:///../../etc/passwd",
    "file:///..",
    "x:..",
    "x:/a/../..",
    "x:%2e%2e%2f%2e%2e%2fpasswd",
    "x:..%5c..%5cpasswd",
    "x:a\\..\\b",
    "x:/.ssh",
    "x:/.",
    "x:/%00a",
    "x:/a%0ab",
    "x:/%1b[31m",
    "x:C:\\Windows\\system.ini",
    "http://[broken",
    "",
    "x:" + "a" * 5_000,
    "x:/" + "." * 300,
    "x:/~root",
]


@pytest.mark.parametrize("uri", EVIL)
def test_a_server_never_chooses_where(uri: str, tmp_path: Path) -> None:
    inside = tmp_path / "a" / "inside"
    inside.mkdir(parents=True)
    path = save(blob(uri), inside)
    assert path.parent == inside
    assert path.resolve().parent == inside.resolve()
    assert list(files(inside)) == [path.name]
    assert not path.name.startswith(".")
    assert path.name.isprintable()
    assert len(path.name.encode()) < 255
    assert [entry.name for entry in (tmp_path / "a").iterdir()] == ["inside"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.text(st.sampled_from("./\\%2eEfF:x é\x00\n~?#[")), min_size=1, max_size=4))
def test_names_of_any_kind_stay_inside(tmp_path: Path, steps: list[str]) -> None:
    inside = tmp_path / "inside"
    inside.mkdir(exist_ok=True)
    result = types.ReadResourceResult(contents=[blob(f"x:/{step}") for step in steps])
    paths = save(result, inside, overwrite=True)
    assert all(path.parent == inside and path.is_file() for path in paths)
    assert len(set(paths)) == len(steps)
    assert [entry.name for entry in tmp_path.iterdir()] == ["inside"]
