"""Content blocks, sampling and elicitation."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_actors.protocol import types
from mcp_actors.protocol.codec import DecodeFailed, decode, encode

BLOCKS: list[tuple[type[Any], dict[str, Any]]] = [
    (types.TextContent, {"type": "text", "text": "t"}),
    (types.ImageContent, {"type": "image", "data": "AAE=", "mimeType": "image/png"}),
    (types.AudioContent, {"type": "audio", "data": "AAE=", "mimeType": "audio/wav"}),
    (types.ResourceLink, {"type": "resource_link", "uri": "a:b", "name": "n"}),
    (types.EmbeddedResource, {"type": "resource", "resource": {"uri": "a:b", "blob": "AAE=", "unknown": 1}}),
    (types.ToolUseContent, {"type": "tool_use", "id": "1", "name": "n", "input": {}}),
    (
        types.ToolResultContent,
        {"type": "tool_result", "toolUseId": "1", "content": [{"type": "text", "text": "t"}]},
    ),
    (types.UnknownContent, {"type": "hologram", "depth": 3}),
]


@pytest.mark.parametrize(("type_", "wire"), BLOCKS)
def test_a_block_is_told_by_its_type_and_keeps_what_is_unknown(
    type_: type[Any], wire: dict[str, Any]
) -> None:
    wire = wire | {"novelty": [1]}
    result = types.CallToolResult.parse(encode({"content": [wire]}))
    (block,) = result.content
    assert type(block) is type_
    assert block.type == wire["type"]
    assert block.raw == wire
    assert decode(encode(types.CallToolResult(content=[block]))) == {"content": [wire]}


@pytest.mark.parametrize(("type_", "wire"), BLOCKS[:-1])
def test_a_block_made_by_hand_is_sent_with_its_type(type_: type[Any], wire: dict[str, Any]) -> None:
    parsed = type_.from_wire(wire)
    made = type_(**{name: getattr(parsed, name) for name in type_.__struct_fields__})
    assert made.to_wire() == wire


def test_one_unknown_block_harms_no_other() -> None:
    result = types.GetPromptResult.from_wire(
        {
            "messages": [
                {"role": "user", "content": {"type": "hologram", "depth": 3}, "unknown": 1},
                {"role": "assistant", "content": {"type": "text", "text": "t"}},
            ]
        }
    )
    first, second = result.messages
    assert isinstance(first.content, types.UnknownContent)
    assert first.content.raw == {"type": "hologram", "depth": 3}
    assert first.raw["unknown"] == 1
    assert second.content == types.TextContent(text="t")
    assert types.GetPromptResult(messages=[first]).to_wire() == {"messages": [first.raw]}


def test_binary_blocks_give_their_bytes() -> None:
    assert types.ImageContent(data="AAE=", mime_type="image/png").binary == b"\x00\x01"
    assert types.AudioContent(data="AAE=", mime_type="audio/wav").binary == b"\x00\x01"


def test_a_tool_result_tells_null_from_nothing() -> None:
    nothing = types.ToolResultContent(tool_use_id="1", content=[])
    answer = types.ToolResultContent(tool_use_id="1", content=[], structured={"a": 1})
    assert nothing.structured_content is None
    assert "structuredContent" not in nothing.to_wire()
    assert answer.structured_content == {"a": 1}


def test_a_sampling_message_holds_one_block_or_several() -> None:
    block = {"type": "text", "text": "t"}
    one = types.SamplingMessage.from_wire({"role": "user", "content": block})
    many = types.SamplingMessage.from_wire({"role": "user", "content": [block, {"type": "hologram"}, block]})
    assert one.content == types.TextContent(text="t")
    assert one.blocks == [types.TextContent(text="t")]
    assert (one.text, many.text) == ("t", "t\nt")
    assert [value.type for value in many.blocks] == ["text", "hologram", "text"]


def test_a_sampling_message_made_by_hand_is_sent_as_it_was_made() -> None:
    text = types.TextContent(text="t")
    block = {"type": "text", "text": "t"}
    one = types.SamplingMessage(role="user", content=text)
    several = types.SamplingMessage(role="user", content=[text])
    for message, wire in ((one, block), (several, [block])):
        params = types.CreateMessageParams(messages=[message], max_tokens=5)
        assert decode(encode(params)) == {
            "messages": [{"role": "user", "content": wire}],
            "maxTokens": 5,
        }


@pytest.mark.parametrize("content", [None, 3, "text", [None], {"type": "text"}, [{"type": "text"}]])
def test_a_sampling_message_of_the_wrong_shape_is_refused(content: Any) -> None:
    with pytest.raises(DecodeFailed):
        types.CreateMessageResult.from_wire({"role": "assistant", "model": "m", "content": content})


def test_tools_of_a_sampling_request_keep_what_is_unknown() -> None:
    params = types.CreateMessageParams.from_wire(
        {"messages": [], "maxTokens": 1, "tools": [{"name": "a", "inputSchema": {}, "unknown": 1}]}
    )
    assert params.tools is not None
    assert params.tools[0].raw["unknown"] == 1


def test_an_elicitation_without_a_mode_is_a_form() -> None:
    form = types.elicit_params({"message": "m", "requestedSchema": {"type": "object"}})
    page = types.elicit_params({"message": "m", "mode": "url", "url": "https://a.example"})
    assert isinstance(form, types.ElicitFormParams)
    assert form.mode == "form"
    assert isinstance(page, types.ElicitUrlParams)
    assert types.ElicitUrlParams(message="m", url="u").to_wire() == {
        "mode": "url",
        "message": "m",
        "url": "u",
    }
    for wrong in ({"message": "m", "mode": "smoke", "requestedSchema": {}}, {"mode": "url"}, None):
        with pytest.raises(DecodeFailed):
            types.elicit_params(wrong)
    assert types.ElicitResult.from_wire({"action": "accept", "content": {"age": 1.5}}).content == {"age": 1.5}
    with pytest.raises(DecodeFailed):
        types.ElicitResult.from_wire({"action": "shrug"})
