"""Results: what a handler may return, what it becomes on the wire, and one error for all that it may not."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.protocol import types
from mcp_actors.protocol.codec import JsonObject, decode, encode
from mcp_actors.server.content import (
    CONTENT_TYPES,
    AssistantMessage,
    Audio,
    File,
    Image,
    Message,
    UnusableResult,
    UserMessage,
    completion_result,
    prompt_result,
    resource_result,
    tool_result,
)
from mcp_actors.server.media import Media
from mcp_actors.server.signatures import signature_of
from tests.server.registry.fakes import FakeTool

PLAIN = FakeTool()
URI = "x:a"
HELLO = {"type": "text", "text": "hello"}
CONTENTS = types.TextResourceContents(uri="x:b", text="t")
EMBEDDED = {"type": "resource", "resource": {"uri": "x:b", "text": "t"}}


@dataclass
class Point:
    x: int
    y: int


class Box(msgspec.Struct):
    size: int


class Model(pydantic.BaseModel):
    day: date


class Color(str, Enum):  # noqa: UP042 - the kind whose str() is not its text
    RED = "red"


class Odd:
    pass


def blocks(value: Any) -> list[JsonObject]:
    result = tool_result(value, PLAIN)
    assert set(result) == {"content"}
    assert decode(encode(result)) == result
    found: list[JsonObject] = result["content"]
    return found


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, []),
        ("hello", [HELLO]),
        ("", [{"type": "text", "text": ""}]),
        (Color.RED, [{"type": "text", "text": "red"}]),
        (types.TextContent(text="hello"), [HELLO]),
        ([types.TextContent(text="hello"), "hello", 3], [HELLO, HELLO, {"type": "text", "text": "3"}]),
        (
            ("hello", Image(b"\x00", format="gif")),
            [HELLO, {"type": "image", "data": "AA==", "mimeType": "image/gif"}],
        ),
        (Image(b"\x00"), [{"type": "image", "data": "AA==", "mimeType": "image/png"}]),
        (Audio(b"\x00"), [{"type": "audio", "data": "AA==", "mimeType": "audio/wav"}]),
        (CONTENTS, [EMBEDDED]),
        (types.EmbeddedResource(resource=CONTENTS), [EMBEDDED]),
        (types.ResourceLink(uri="x:b", name="b"), [{"type": "resource_link", "uri": "x:b", "name": "b"}]),
    ],
)
def test_content_becomes_blocks(value: Any, expected: list[JsonObject]) -> None:
    assert blocks(value) == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        (True, "true"),
        (1.5, "1.5"),
        ([], "[]"),
        (["a", "b"], '["a","b"]'),
        ((1, None), "[1,null]"),
        ({"a": {"b": None}}, '{"a":{"b":null}}'),
        ({1: "a"}, '{"1":"a"}'),
        ({"type": "text", "text": "data"}, '{"type":"text","text":"data"}'),
        (Point(1, 2), '{"x":1,"y":2}'),
        ([Point(1, 2)], '[{"x":1,"y":2}]'),
        (Box(3), '{"size":3}'),
        (Model(day=date(2026, 1, 2)), '{"day":"2026-01-02"}'),
        ({"m": [Model(day=date(2026, 1, 2))]}, '{"m":[{"day":"2026-01-02"}]}'),
        ({"d": Decimal("1.5"), "s": {1}}, '{"d":"1.5","s":[1]}'),
        (date(2026, 1, 2), '"2026-01-02"'),
        (2**70, str(2**70)),
    ],
)
def test_data_becomes_json_text(value: Any, text: str) -> None:
    assert blocks(value) == [{"type": "text", "text": text}]


def test_a_result_passes_through() -> None:
    made = types.CallToolResult(content=[types.TextContent(text="hello")], is_error=True, meta={"k": 1})
    assert tool_result(made, PLAIN) == {"_meta": {"k": 1}, "content": [HELLO], "isError": True}


@pytest.mark.requirement("feature:tools")
def test_with_an_output_schema_the_result_is_structured_and_text() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "integer"}}}
    assert tool_result({"x": 1}, FakeTool(schema)) == {
        "content": [{"type": "text", "text": '{"x":1}'}],
        "structuredContent": {"x": 1},
    }
    wrapped = FakeTool({"type": "object", "required": ["result"]}, wrapped_output=True)
    assert tool_result(None, wrapped)["structuredContent"] == {"result": None}


def test_real_signatures_give_the_structured_form() -> None:
    def where() -> Point:
        return Point(1, 2)

    def how_many() -> int:
        return 3

    def picture() -> Image:
        return Image(b"")

    assert tool_result(where(), signature_of(where))["structuredContent"] == {"x": 1, "y": 2}
    assert tool_result(how_many(), signature_of(how_many))["structuredContent"] == {"result": 3}
    signature = signature_of(picture, content_types=CONTENT_TYPES)
    assert tool_result(picture(), signature)["content"][0]["type"] == "image"
    with pytest.raises(UnusableResult):
        tool_result("three", signature_of(how_many))


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ({"x": "one"}, r"does not fit the output schema: /x: "),
        ({"x": float("nan")}, "cannot be checked"),
        ({"x": {1, 2}}, "cannot be checked"),
    ],
)
def test_a_structured_result_that_does_not_fit_is_unusable(value: Any, complaint: str) -> None:
    schema = {"type": "object", "properties": {"x": {"type": "integer"}}}
    with pytest.raises(UnusableResult, match=complaint):
        tool_result(value, FakeTool(schema))


def test_a_schema_that_is_none_makes_the_result_unusable() -> None:
    with pytest.raises(UnusableResult, match="cannot be checked against the output schema: the schema"):
        tool_result({}, FakeTool({"type": 7}))


def test_a_result_of_ones_own_must_keep_the_promise_unless_it_is_an_error() -> None:
    promise = FakeTool({"type": "object", "required": ["x"]})
    good = types.CallToolResult(content=[], structured={"x": 1})
    assert tool_result(good, promise) == {"content": [], "structuredContent": {"x": 1}}
    failed = types.CallToolResult(content=[], is_error=True)
    assert tool_result(failed, promise) == {"content": [], "isError": True}
    with pytest.raises(UnusableResult, match="returned a result without it"):
        tool_result(types.CallToolResult(content=[]), promise)
    with pytest.raises(UnusableResult, match="does not fit"):
        tool_result(types.CallToolResult(content=[], structured={}), promise)


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (b"x", "bytes do not say what they are: return Image"),
        (bytearray(b"x"), "bytes do not say"),
        (["a", Image(b""), b"x"], "bytes do not say"),
        (Odd(), "a value of type Odd cannot be returned"),
        ([Odd()], "a value of type list cannot be returned"),
        ({"x": float("nan")}, "NaN and infinity"),
        ({"x": {1.5, float("inf")}}, "NaN and infinity"),
        (lambda: None, "a value of type function cannot be returned"),
        (iter(()), "cannot be returned"),
        (types.CallToolResult(content=["text"]), "a CallToolResult holds what has no JSON form"),  # type: ignore[list-item]
        (types.CallToolResult(content=[Odd()]), "a CallToolResult holds"),  # type: ignore[list-item]
        (types.CallToolResult(content=[], structured=Odd()), "a CallToolResult holds"),
    ],
)
def test_what_has_no_form_on_the_wire_is_unusable(value: Any, complaint: str) -> None:
    with pytest.raises(UnusableResult, match=complaint):
        tool_result(value, PLAIN)


def test_a_value_that_holds_itself_is_unusable() -> None:
    endless: list[Any] = []
    endless.append(endless)
    makers: list[Callable[[], JsonObject]] = [
        lambda: tool_result(endless, PLAIN),
        lambda: resource_result(endless, URI),
        lambda: tool_result({"a": endless}, FakeTool({"type": "object"})),
    ]
    for make in makers:
        with pytest.raises(UnusableResult):
            make()


values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(st.characters()),
        st.binary(max_size=3),
        st.sampled_from([Odd(), Point(1, 2), Image(b"x"), CONTENTS, Color.RED, UserMessage("x"), Decimal(1)]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(
            st.one_of(st.text(max_size=3), st.integers(), st.sampled_from(["role", "content", "type"])),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=6,
)


@given(value=values)
@pytest.mark.parametrize(
    "make",
    [
        lambda value: tool_result(value, PLAIN),
        lambda value: tool_result(value, FakeTool({"type": "object"}, wrapped_output=True)),
        lambda value: tool_result(types.CallToolResult(content=[], structured=value), PLAIN),
        lambda value: resource_result(value, URI),
        lambda value: prompt_result(value),
        lambda value: prompt_result({"role": "user", "content": {"type": "text", "text": value}}),
        lambda value: completion_result(value),
    ],
)
def test_whatever_is_returned_becomes_json_or_is_unusable(
    make: Callable[[Any], JsonObject], value: Any
) -> None:
    with contextlib.suppress(UnusableResult):
        encode(make(value))


# Resources.


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ("text", {"uri": URI, "mimeType": "text/plain", "text": "text"}),
        (Color.RED, {"uri": URI, "mimeType": "text/plain", "text": "red"}),
        (b"\x00", {"uri": URI, "mimeType": "application/octet-stream", "blob": "AA=="}),
        (bytearray(b"\x00"), {"uri": URI, "mimeType": "application/octet-stream", "blob": "AA=="}),
        (Image(b"\x00"), {"uri": URI, "mimeType": "image/png", "blob": "AA=="}),
        (File(b"text", name="a.md"), {"uri": URI, "mimeType": "text/markdown", "text": "text"}),
        (CONTENTS, {"uri": "x:b", "text": "t"}),
        (types.EmbeddedResource(resource=CONTENTS), {"uri": "x:b", "text": "t"}),
        ({"a": 1}, {"uri": URI, "mimeType": "application/json", "text": '{"a":1}'}),
        (["a", "b"], {"uri": URI, "mimeType": "application/json", "text": '["a","b"]'}),
        (Point(1, 2), {"uri": URI, "mimeType": "application/json", "text": '{"x":1,"y":2}'}),
    ],
)
def test_a_resource_is_text_or_bytes(value: Any, part: JsonObject) -> None:
    assert resource_result(value, URI) == {"contents": [part]}


def test_the_media_type_of_the_definition_wins_over_the_guess() -> None:
    for value in ("text", b"\x00", {"a": 1}):
        assert resource_result(value, URI, "a/b")["contents"][0]["mimeType"] == "a/b"
    assert resource_result(Image(b""), URI, "a/b")["contents"][0]["mimeType"] == "image/png"


def test_a_resource_may_have_several_parts() -> None:
    parts = resource_result([CONTENTS, "text", b"\x00"], URI)["contents"]
    assert [part["uri"] for part in parts] == ["x:b", URI, URI]
    made = types.ReadResourceResult(contents=[CONTENTS])
    assert resource_result(made, URI) == {"contents": [{"uri": "x:b", "text": "t"}]}


def test_a_resource_must_be_something() -> None:
    with pytest.raises(UnusableResult, match="nothing was returned for the resource 'x:a'"):
        resource_result(None, URI)
    with pytest.raises(UnusableResult, match="type Odd cannot be returned"):
        resource_result(Odd(), URI)


# Prompts.


def user(content: JsonObject) -> JsonObject:
    return {"role": "user", "content": content}


@pytest.mark.requirement("feature:prompts")
@pytest.mark.parametrize(
    ("value", "messages"),
    [
        ("hello", [user(HELLO)]),
        ([], []),
        (UserMessage("hello"), [user(HELLO)]),
        (AssistantMessage("hello"), [{"role": "assistant", "content": HELLO}]),
        (Message("assistant", types.TextContent(text="hello")), [{"role": "assistant", "content": HELLO}]),
        (UserMessage(["hello", CONTENTS]), [user(HELLO), user(EMBEDDED)]),
        (["hello", AssistantMessage("hello")], [user(HELLO), {"role": "assistant", "content": HELLO}]),
        (("hello", CONTENTS), [user(HELLO), user(EMBEDDED)]),
        (Image(b"\x00"), [user({"type": "image", "data": "AA==", "mimeType": "image/png"})]),
        ({"role": "user", "content": "hello"}, [user(HELLO)]),
        ([{"role": "user", "content": HELLO}], [user(HELLO)]),
        (types.PromptMessage(role="user", content=types.TextContent(text="hello")), [user(HELLO)]),
    ],
)
def test_a_prompt_is_made_of_messages(value: Any, messages: list[JsonObject]) -> None:
    assert prompt_result(value) == {"messages": messages}
    assert prompt_result(value, "about") == {"description": "about", "messages": messages}


def test_a_filled_in_prompt_passes_through() -> None:
    made = types.GetPromptResult(messages=[], description="mine")
    assert prompt_result(made, "about") == {"messages": [], "description": "mine"}


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (None, "not of a value of type NoneType"),
        (3, "not of a value of type int"),
        ([["hello"], [3]], "not of a value of type int"),
        (b"x", "not of a value of type bytes"),
        ({"role": "user"}, "'content' is missing"),
        ({"content": "x"}, "'role' is missing"),
        ({"role": "system", "content": "x"}, "by the user or the assistant, not by 'system'"),
        ({"role": ["user"], "content": "x"}, "not by"),
        (UserMessage({"text": "x"}), "not of a value of type dict"),
    ],
)
def test_what_says_nothing_is_no_prompt(value: Any, complaint: str) -> None:
    with pytest.raises(UnusableResult, match=complaint):
        prompt_result(value)


def test_nobody_else_speaks_in_a_prompt() -> None:
    with pytest.raises(ValueError, match="not by 'system'"):
        Message("system", "x")  # type: ignore[arg-type]  # that is the point


# Completions.


def completed(values: Any) -> JsonObject:
    found: JsonObject = completion_result(values)["completion"]
    return found


@pytest.mark.requirement("feature:completion")
def test_suggestions_are_cut_to_a_hundred() -> None:
    many = [str(number) for number in range(150)]
    assert completed(many) == {"values": many[:100], "hasMore": True, "total": 150}
    assert completed(many[:100]) == {"values": many[:100], "hasMore": False, "total": 100}
    assert completed(None) == completed(()) == {"values": [], "hasMore": False, "total": 0}
    assert completed({"a"}) == {"values": ["a"], "hasMore": False, "total": 1}


def test_suggestions_may_come_without_end() -> None:
    assert completed(map(str, itertools.count())) == {"values": [str(n) for n in range(100)], "hasMore": True}
    assert completed(iter(["a"])) == {"values": ["a"], "hasMore": False, "total": 1}


def test_a_completion_that_was_made_passes_through() -> None:
    made = types.Completion(values=["a"], total=7, has_more=True)
    assert completed(made) == {"values": ["a"], "hasMore": True, "total": 7}
    assert completed(types.CompleteResult(completion=made)) == completed(made)
    many = types.Completion(values=["a"] * 101)
    assert completed(many) == {"values": ["a"] * 100, "hasMore": True}


def failing() -> Iterator[str]:
    yield "a"
    raise OSError("the disk is gone")


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ("text", "a list of texts, not a value of type str"),
        ({"a": 1}, "a list of texts, not a value of type dict"),
        (3, "a list of texts, not a value of type int"),
        ([1], "texts, not a value of type int"),
        (failing(), "the suggestions ended with OSError: the disk is gone"),
    ],
)
def test_what_is_no_list_of_texts_suggests_nothing(values: Any, complaint: str) -> None:
    with pytest.raises(UnusableResult, match=complaint):
        completion_result(values)


# Image, Audio, File.


def test_media_are_read_from_files_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a b.jpg"
    path.write_bytes(b"\x01")
    image = Image(path=path)
    path.unlink()
    assert image.block() == {"type": "image", "data": "AQ==", "mimeType": "image/jpeg"}
    with pytest.raises(FileNotFoundError):
        Image(path=path)


@pytest.mark.parametrize(
    ("options", "mime_type"),
    [
        ({"format": "jpg"}, "image/jpeg"),
        ({"format": ".WEBP"}, "image/webp"),
        ({"format": "svg"}, "image/svg+xml"),
        ({"mime_type": "image/x-mine", "format": "png"}, "image/x-mine"),
        ({"format": "nonsense"}, "image/png"),
    ],
)
def test_the_kind_of_an_image_is_said_in_either_way(options: dict[str, str], mime_type: str) -> None:
    assert Image(memoryview(b""), **options).mime_type == mime_type  # type: ignore[arg-type]


def test_the_kind_of_a_sound_is_said_in_either_way() -> None:
    assert Audio(b"", format="mp3").mime_type == "audio/mpeg"
    assert Audio(b"", format="wav").mime_type == "audio/wav"


def test_media_may_be_annotated() -> None:
    noted = types.Annotations(priority=1.0)
    for media in (Image(b"", annotations=noted), Audio(b"", annotations=noted), File(b"", annotations=noted)):
        assert media.block()["annotations"] == {"priority": 1.0}


def test_a_file_is_embedded_under_its_name_and_not_its_path(tmp_path: Path) -> None:
    path = tmp_path / "ä b.json"
    path.write_text("{}")
    assert File(path=path).block() == {
        "type": "resource",
        "resource": {"uri": "file:///%C3%A4%20b.json", "mimeType": "application/json", "text": "{}"},
    }


@pytest.mark.parametrize(
    ("file", "contents"),
    [
        (File(b"a"), {"uri": "file:///file", "mimeType": "text/plain", "text": "a"}),
        (File(b"\xff"), {"uri": "file:///file", "mimeType": "application/octet-stream", "blob": "/w=="}),
        (File(b"a", name="a.pdf"), {"uri": "file:///a.pdf", "mimeType": "application/pdf", "blob": "YQ=="}),
        (File(b"a", uri="x:y"), {"uri": "x:y", "mimeType": "text/plain", "text": "a"}),
        (
            File(b"\xff", mime_type="text/plain"),
            {"uri": "file:///file", "mimeType": "text/plain", "blob": "/w=="},
        ),
    ],
)
def test_a_file_is_text_if_it_can_be(file: File, contents: JsonObject) -> None:
    assert file.block()["resource"] == contents


@pytest.mark.parametrize("kind", [Image, Audio, File])
def test_media_take_either_bytes_or_a_path(kind: type[Media]) -> None:
    for options in ({}, {"data": b"", "path": "x"}, {"data": "text"}):
        with pytest.raises(TypeError, match=kind.__name__):
            kind(**options)


def test_media_of_no_kind_have_no_block() -> None:
    with pytest.raises(NotImplementedError):
        Media(b"").block()


def test_the_text_of_a_wrapped_result_is_the_value_itself() -> None:
    wrapped = FakeTool({"type": "object", "required": ["result"]}, wrapped_output=True)
    assert [tool_result(value, wrapped)["content"][0]["text"] for value in (3, "three", [3])] == [
        "3",
        "three",
        "[3]",
    ]
