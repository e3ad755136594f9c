"""MCP values: what is typed, what is kept, what is sent."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

import mcp_actors.protocol
from mcp_actors.protocol import types
from mcp_actors.protocol.codec import DecodeFailed, decode, encode

SCHEMA = {"type": "object", "$defs": {"a": {}}, "x-mine": [1, None], "additionalProperties": False}


def test_unknown_fields_are_ignored_and_kept_in_raw() -> None:
    wire = {"name": "a", "version": "1", "mood": "good"}
    value = types.Implementation.parse(encode(wire))
    assert value == types.Implementation(name="a", version="1")
    assert value.raw == wire
    assert value.raw is value.raw


def test_raw_is_read_from_raw_json_and_from_views() -> None:
    text = b'{"uri":"file:///a","q":1}'
    for data in (text, memoryview(text), msgspec.Raw(text)):
        assert types.Root.parse(data).raw == {"uri": "file:///a", "q": 1}


def test_the_origin_is_neither_compared_nor_printed_nor_a_field() -> None:
    parsed = types.Root.parse(b'{"uri":"file:///a","q":1}')
    made = types.Root(uri="file:///a")
    assert parsed == made
    assert repr(parsed) == repr(made) == "Root(uri='file:///a')"
    assert msgspec.to_builtins(parsed) == {"uri": "file:///a"}


def test_values_cannot_be_changed_and_take_only_names() -> None:
    root = types.Root(uri="file:///a")
    with pytest.raises(AttributeError):
        root.uri = "file:///b"  # type: ignore[misc]  # that is the point
    with pytest.raises(TypeError):
        types.Root("file:///a")  # type: ignore[call-arg, arg-type]  # that is the point


def test_a_made_value_is_sent_without_its_defaults_and_in_camel_case() -> None:
    tool = types.Tool(
        name="add", input_schema=SCHEMA, annotations=types.ToolAnnotations(read_only_hint=True), meta={"k": 1}
    )
    wire = {"_meta": {"k": 1}, "name": "add", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}}
    assert decode(encode(tool)) == tool.raw == wire


def test_a_received_value_is_sent_on_as_it_came_even_inside_a_made_one() -> None:
    tool = {"name": "a", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": False}, "mode": "stateless"}
    page = types.ListToolsResult.parse(encode({"tools": [tool, tool], "nextCursor": "", "extra": 1}))
    assert decode(encode(page)) == {"tools": [tool, tool], "nextCursor": "", "extra": 1}
    assert decode(encode(types.ListToolsResult(tools=[page.tools[1]]))) == {"tools": [tool]}


def test_a_changed_copy_is_sent_as_it_is_now() -> None:
    tool = types.Tool.parse(b'{"name":"a","inputSchema":{},"unknown":1}')
    assert msgspec.structs.replace(tool, name="b").to_wire() == {"name": "b", "inputSchema": {}}


@pytest.mark.parametrize(
    ("type_", "key", "item"),
    [
        (types.ListToolsResult, "tools", {"name": "a", "inputSchema": {}}),
        (types.ListResourcesResult, "resources", {"uri": "a:b", "name": "a"}),
        (types.ListResourceTemplatesResult, "resourceTemplates", {"uriTemplate": "a:{b}", "name": "a"}),
        (types.ListPromptsResult, "prompts", {"name": "a"}),
        (types.ReadResourceResult, "contents", {"uri": "a:b", "text": "t"}),
        (types.ListRootsResult, "roots", {"uri": "file:///a"}),
    ],
)
def test_each_item_of_a_list_keeps_its_own_raw(type_: type[Any], key: str, item: dict[str, Any]) -> None:
    items = [item | {"unknown": number} for number in range(3)]
    page = type_.parse(encode({key: items}))
    (field,) = type_.nested
    assert [value.raw for value in getattr(page, field)] == items


def test_a_page_carries_its_cursor_and_its_time_to_live() -> None:
    page = types.ListPromptsResult.parse(
        b'{"prompts":[],"nextCursor":"","ttlMs":-5,"cacheScope":"public","resultType":"complete"}'
    )
    assert (page.next_cursor, page.ttl_ms, page.cache_scope, page.complete) == ("", -5, "public", True)
    last = types.ListPromptsResult.parse(b'{"prompts":[]}')
    assert (last.next_cursor, last.ttl_ms, last.cache_scope, last.result_type) == (
        None,
        None,
        None,
        "complete",
    )


def test_values_survive_pickling_with_everything_they_know() -> None:
    wire = {"content": [{"type": "hologram", "depth": 3}], "isError": False, "unknown": 1}
    value = types.CallToolResult.from_wire(wire)
    back = pickle.loads(pickle.dumps(value))
    assert back == value
    assert back.raw == wire
    assert back.content[0].raw == {"type": "hologram", "depth": 3}
    assert copy.copy(value) == value


def test_schemas_stay_as_they_came() -> None:
    tool = types.Tool.from_wire({"name": "a", "inputSchema": SCHEMA, "outputSchema": SCHEMA})
    assert tool.input_schema == tool.output_schema == SCHEMA
    assert tool.input_schema["x-mine"] == [1, None]


def test_a_tool_is_shown_by_title_then_annotation_then_name() -> None:
    annotations = types.ToolAnnotations(title="Annotated")
    assert types.Tool(name="n", input_schema={}).display_name == "n"
    assert types.Tool(name="n", input_schema={}, annotations=types.ToolAnnotations()).display_name == "n"
    assert types.Tool(name="n", input_schema={}, annotations=annotations).display_name == "Annotated"
    assert types.Tool(name="n", input_schema={}, annotations=annotations, title="T").display_name == "T"


def test_other_things_are_shown_by_title_then_name() -> None:
    for make in (
        lambda **title: types.Implementation(name="n", version="1", **title),
        lambda **title: types.Resource(name="n", uri="a:b", **title),
        lambda **title: types.ResourceTemplate(name="n", uri_template="a:b", **title),
        lambda **title: types.Prompt(name="n", **title),
    ):
        assert make().display_name == "n"
        assert make(title="T").display_name == "T"


@pytest.mark.parametrize(
    ("extra", "mode"),
    [
        ({}, "stateful"),
        ({"mode": "stateless"}, "stateless"),
        ({"_meta": {"mode": "stateless"}}, "stateless"),
        ({"mode": "stateful", "_meta": {"mode": "stateless"}}, "stateful"),
        ({"mode": 7}, "stateful"),
    ],
)
def test_a_tools_mode_is_what_the_server_says_or_stateful(extra: dict[str, Any], mode: str) -> None:
    tool = types.Tool.from_wire({"name": "a", "inputSchema": {}} | extra)
    assert tool.mode == mode
    assert tool.declares_mode is (extra not in ({}, {"mode": 7}))


def test_annotations_have_the_protocols_defaults() -> None:
    hints = types.ToolAnnotations.parse(b"{}")
    assert not hints.read_only_hint
    assert hints.destructive_hint
    assert not hints.idempotent_hint
    assert hints.open_world_hint
    assert types.ToolExecution.parse(b"{}").task_support == "forbidden"


def test_nothing_structured_differs_from_a_structured_null() -> None:
    nothing = types.CallToolResult.parse(b'{"content":[]}')
    null = types.CallToolResult.parse(b'{"content":[],"structuredContent":null}')
    assert (nothing.structured_content, nothing.has_structured_content) == (None, False)
    assert (null.structured_content, null.has_structured_content) == (None, True)
    assert types.CallToolResult(content=[], structured=None).to_wire() == {
        "content": [],
        "structuredContent": None,
    }
    assert types.CallToolResult(content=[]).to_wire() == {"content": []}
    assert not nothing.is_error


def test_a_tools_answer_is_read_with_its_text() -> None:
    result = types.CallToolResult.from_wire(
        {
            "content": [
                {"type": "text", "text": "one"},
                {"type": "image", "data": "AAE=", "mimeType": "image/png"},
                {"type": "text", "text": "two"},
            ],
            "structuredContent": [1],
            "isError": True,
        }
    )
    assert result.text == "one\ntwo"
    assert result.structured_content == [1]
    assert result.is_error


@pytest.mark.parametrize(
    ("wire", "words"),
    [
        ({}, "missing required field `content`"),
        ({"content": None}, "Expected `array`, got `null`"),
        ({"content": [{"type": "text"}]}, r"missing required field `text` - at `\$.content"),
        ({"content": [{"type": 3}]}, r"Expected `str`, got `int`"),
        ({"content": [{}]}, r"missing required field `type`"),
        ({"content": ["text"]}, r"Expected `object`, got `str`"),
        ({"content": [], "isError": "no"}, r"Expected `bool`, got `str` - at `\$.isError`"),
    ],
)
def test_an_answer_of_the_wrong_shape_is_refused_with_its_place(wire: Any, words: str) -> None:
    for read in (types.CallToolResult.from_wire, lambda wire: types.CallToolResult.parse(encode(wire))):
        with pytest.raises(DecodeFailed, match=words):
            read(wire)


def test_the_parts_of_a_resource_are_text_or_bytes() -> None:
    result = types.ReadResourceResult.from_wire(
        {
            "contents": [
                {"uri": "a:1", "text": "one"},
                {"uri": "a:2", "blob": "AAE="},
                {"uri": "a:3", "text": "three"},
            ]
        }
    )
    text, blob, _ = result.contents
    assert isinstance(text, types.TextResourceContents)
    assert isinstance(blob, types.BlobResourceContents)
    assert blob.data == b"\x00\x01"
    assert result.text == "one\nthree"
    with pytest.raises(DecodeFailed, match="missing required field `text`"):
        types.ReadResourceResult.from_wire({"contents": [{"uri": "a:1"}]})
    with pytest.raises(DecodeFailed, match="Expected `object`"):
        types.ReadResourceResult.from_wire({"contents": ["blob"]})
    with pytest.raises(ValueError, match="base64|padding"):
        assert types.BlobResourceContents(uri="a:b", blob="A").data


def test_the_types_import_nothing_heavy() -> None:
    # The package's own __init__ is left out: it may import more, and has a test of its own.
    code = (
        "import sys, types; package = types.ModuleType('mcp_actors'); package.__path__ = [sys.argv[1]]\n"
        "sys.modules['mcp_actors'] = package; import mcp_actors.protocol.types; print(*sys.modules)"
    )
    command = [sys.executable, "-c", code, str(Path(mcp_actors.protocol.__path__[0]).parent)]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert not {"pydantic", "rich", "typer", "pykka", "requests", "urllib3"} & set(loaded.stdout.split())


def test_text_with_lone_surrogates_is_text() -> None:
    result = types.CallToolResult.parse(b'{"content":[{"type":"text","text":"\\ud800"}]}')
    assert result.text == "\ud800"
    assert encode(result) == b'{"content":[{"type":"text","text":"\\ud800"}]}'
    with pytest.raises(DecodeFailed, match="lone surrogate"):
        types.Root.parse(b'{"uri":"a","\\ud801":1}')
