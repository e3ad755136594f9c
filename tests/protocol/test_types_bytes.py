"""What results give besides their fields: bytes, parts by kind, values, plain JSON."""

from __future__ import annotations

import base64
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors import errors
from mcp_actors.protocol import types
from mcp_actors.protocol.codec import encode


def image(data: str) -> types.ImageContent:
    return types.ImageContent(data=data, mime_type="image/png")


@given(st.binary(max_size=40), st.sampled_from(["plain", "url", "bare", "lines"]))
def test_base64_of_every_common_form_is_read(data: bytes, form: str) -> None:
    said = base64.b64encode(data).decode()
    if form == "url":
        said = base64.urlsafe_b64encode(data).decode()
    elif form == "bare":
        said = said.rstrip("=")
    elif form == "lines":
        said = "\r\n".join(said[start : start + 7] for start in range(0, len(said), 7)) + "\n"
    assert image(said).bytes == data


@pytest.mark.parametrize("said", ["A", "AAE!", "ä", "AA=E", "data:image/png;base64,AAE="])
def test_what_is_no_base64_is_told_and_never_guessed(said: str) -> None:
    for part, name in (
        (image(said), "the image block"),
        (types.AudioContent(data=said, mime_type="audio/wav"), "the audio block"),
        (types.BlobResourceContents(uri="a:b", blob=said), "resource 'a:b'"),
        (
            types.EmbeddedResource(resource=types.BlobResourceContents(uri="a:b", blob=said)),
            "resource 'a:b'",
        ),
    ):
        with pytest.raises(errors.InvalidResponse, match=f"{name} holds no base64"):
            _ = part.bytes


def test_everything_that_can_be_saved_gives_its_bytes_and_its_kind() -> None:
    text = types.TextResourceContents(uri="a:t", text="für \ud800", mime_type="text/plain")
    blob = types.BlobResourceContents(uri="a:b", blob="AAE=")
    assert text.bytes == "für ?".encode()
    assert blob.bytes == blob.data == b"\x00\x01"
    embedded = types.EmbeddedResource(resource=text)
    assert (embedded.uri, embedded.mime_type, embedded.bytes) == ("a:t", "text/plain", text.bytes)
    assert image("AAE=").bytes == image("AAE=").binary


def test_a_result_gives_its_blocks_by_kind() -> None:
    result = types.CallToolResult.from_wire(
        {
            "content": [
                {"type": "text", "text": "t"},
                {"type": "image", "data": "AAE=", "mimeType": "image/png"},
                {"type": "audio", "data": "AAE=", "mimeType": "audio/wav"},
                {"type": "resource", "resource": {"uri": "a:b", "text": "r"}},
                {"type": "resource_link", "uri": "a:c", "name": "c"},
                {"type": "hologram"},
            ]
        }
    )
    assert [block.mime_type for block in result.images] == ["image/png"]
    assert [block.mime_type for block in result.audio] == ["audio/wav"]
    assert [resource.uri for resource in result.resources] == ["a:b"]
    assert [link.uri for link in result.links] == ["a:c"]


def test_the_bytes_of_a_resource_are_those_of_its_only_part() -> None:
    part = types.BlobResourceContents(uri="a:b", blob="AAE=")
    assert types.ReadResourceResult(contents=[part]).bytes == b"\x00\x01"
    for count in (0, 2):
        with pytest.raises(ValueError, match=f"this resource has {count} parts"):
            _ = types.ReadResourceResult(contents=[part] * count).bytes


def test_the_text_of_a_prompt_is_that_of_its_messages() -> None:
    message = {"role": "user", "content": {"type": "text", "text": "a"}}
    picture = {"role": "user", "content": {"type": "image", "data": "", "mimeType": "image/png"}}
    prompt = types.GetPromptResult.from_wire({"messages": [message, picture, message]})
    assert prompt.text == "a\na"


@pytest.mark.parametrize(
    ("wire", "data"),
    [
        ({"structuredContent": {"a": 1}}, {"a": 1}),
        ({"structuredContent": None}, None),
        ({"structuredContent": [1], "content": [{"type": "text", "text": "2"}]}, [1]),
        ({"content": [{"type": "text", "text": '{"a": [1, 2.5, null]}'}]}, {"a": [1, 2.5, None]}),
        ({"content": [{"type": "text", "text": " 42 "}]}, 42),
        ({"content": [{"type": "text", "text": "true"}]}, True),
        ({"content": [{"type": "text", "text": "sunny"}]}, "sunny"),
        ({"content": [{"type": "text", "text": ""}]}, ""),
        ({"content": [{"type": "text", "text": "NaN"}]}, "NaN"),
        ({"content": [{"type": "text", "text": "-Infinity"}]}, "-Infinity"),
        ({"content": [{"type": "text", "text": "[" * 100_000}]}, "[" * 100_000),
        ({"content": [{"type": "text", "text": "1"}, {"type": "text", "text": "2"}]}, "1\n2"),
        ({"content": [{"type": "text", "text": "no"}], "isError": True}, "no"),
        ({"content": []}, None),
        ({"content": [{"type": "image", "data": "", "mimeType": "image/png"}]}, None),
    ],
)
def test_the_data_of_a_result_is_its_structure_or_its_text_as_json_if_it_is_json(
    wire: Any, data: Any
) -> None:
    result = types.CallToolResult.from_wire({"content": [], **wire})
    assert result.data == data
    assert type(result.data) is type(data)


def test_a_result_as_json_is_what_was_received_and_belongs_to_the_caller() -> None:
    wire = {
        "content": [{"type": "text", "text": "t", "novelty": [1]}],
        "isError": True,
        "unknownMember": {"a": 1},
    }
    result = types.CallToolResult.parse(encode(wire))
    plain = result.to_json()
    assert plain == wire
    plain["content"][0]["novelty"].append(2)
    plain["more"] = 1
    assert result.to_json() == wire == result.raw
    assert pickle.loads(pickle.dumps(result)).to_json() == wire
    assert types.ListToolsResult(tools=[]).to_json() == {"tools": []}
    assert types.ReadResourceResult(contents=[]).to_json() == {"contents": []}
