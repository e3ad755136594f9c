"""From what a handler returns to what goes over the wire: plain JSON objects."""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Iterable, Mapping, Sized
from itertools import islice
from typing import Any, Final, TypeAlias

import msgspec

from mcp_actors.protocol import codec, types
from mcp_actors.protocol.codec import Json, JsonObject
from mcp_actors.protocol.types import Content
from mcp_actors.protocol.types.resource_contents import Contents
from mcp_actors.schemas import Schemas
from mcp_actors.server.media import Audio, File, Image, Media
from mcp_actors.server.messages import AssistantMessage, Message, UserMessage
from mcp_actors.server.registry.contracts import Output
from mcp_actors.server.registry.media_types import BINARY, JSON, TEXT
from mcp_actors.server.signatures.problems import UnusableResult

__all__ = [
    "CONTENT_TYPES",
    "AssistantMessage",
    "Audio",
    "File",
    "Image",
    "Message",
    "UnusableResult",
    "UserMessage",
    "completion_result",
    "prompt_result",
    "resource_result",
    "tool_result",
]

#: What a return annotation may name without promising data.
CONTENT_TYPES: Final = (Media,)
#: MCP, server/utilities/completion.
MAX_COMPLETIONS: Final = 100

Bytes: TypeAlias = bytes | bytearray | memoryview

_BLOCK_LIKE: Final = (Content, Contents, Media)
# Any thread may use it.
_SCHEMAS: Final = Schemas()


def tool_result(value: Any, signature: Output) -> JsonObject:
    """The answer to a call of a tool.

    Raises:
        UnusableResult: the value has no form on the wire, or not the one that the tool promises.
    """
    schema = signature.output_schema
    if schema is None:
        if type(value) is str:
            return {"content": [{"type": "text", "text": value}]}
        if isinstance(value, types.CallToolResult):
            return _wire(value)
        return {"content": _blocks(value)}
    if isinstance(value, types.CallToolResult):
        return _checked_result(value, schema)
    structured = signature.structured(value)
    _check(structured, schema)
    # MCP 2025-06-18, server/tools: also as text, for clients that do not know structured content. These need
    # not see the wrapper either.
    said = structured["result"] if signature.wrapped_output else structured
    text = said if isinstance(said, str) else _json(said)
    return {"content": [_text(text)], "structuredContent": structured}


def resource_result(value: Any, uri: str, mime_type: str | None = None) -> JsonObject:
    """The answer to the reading of a resource; ``mime_type`` is what its definition says.

    Raises:
        UnusableResult: the value has no form on the wire.
    """
    if isinstance(value, types.ReadResourceResult):
        return _wire(value)
    if value is None:
        raise UnusableResult(f"nothing was returned for the resource {uri!r}: an empty one is an empty text")
    if isinstance(value, list | tuple) and any(isinstance(one, Contents | Media | Bytes) for one in value):
        return {"contents": [_contents(one, uri, mime_type) for one in value]}
    return {"contents": [_contents(value, uri, mime_type)]}


def prompt_result(value: Any, description: str | None = None) -> JsonObject:
    """The answer to the filling in of a prompt.

    Raises:
        UnusableResult: the value is no message, and no list of messages.
    """
    if isinstance(value, types.GetPromptResult):
        return _wire(value)
    several = value if isinstance(value, list | tuple) else (value,)
    messages = [message for one in several for message in _messages(one)]
    return (
        {"messages": messages} if description is None else {"description": description, "messages": messages}
    )


def completion_result(values: Any) -> JsonObject:
    """The answer to a wish for suggestions: the first hundred of them, and whether there are more.

    Raises:
        UnusableResult: they are no texts.
    """
    if isinstance(values, types.CompleteResult):
        values = values.completion
    if isinstance(values, types.Completion):
        return {"completion": _cut(values.values, values.total, bool(values.has_more))}
    if values is None:
        values = ()
    if isinstance(values, str | Bytes | Mapping) or not isinstance(values, Iterable):
        raise UnusableResult(f"a completion returns a list of texts, not {_kind(values)}")
    total = len(values) if isinstance(values, Sized) else None
    return {"completion": _cut(_some(values), total, False)}


# Blocks.


def _blocks(value: Any) -> list[JsonObject]:
    if value is None:
        return []
    if isinstance(value, list | tuple) and any(isinstance(one, _BLOCK_LIKE) for one in value):
        return [_block(one) for one in value]
    return [_block(value)]


def _block(value: Any) -> JsonObject:
    """One content block; data becomes JSON text."""
    known = _known_block(value)
    if known is not None:
        return known
    if isinstance(value, Bytes):
        raise UnusableResult(
            "bytes do not say what they are: return Image(data, format=…), Audio(data, format=…) "
            "or File(data, name=…)"
        )
    return _text(_json(value))


def _known_block(value: Any) -> JsonObject | None:
    """The block of what is content already; None for data."""
    if isinstance(value, str):
        # A member of an Enum of texts is one, too; as a text, not by its name.
        return _text(value if type(value) is str else str.__str__(value))
    if isinstance(value, Media):
        return value.block()
    if isinstance(value, Contents):
        return {"type": "resource", "resource": _wire(value)}
    return _wire(value) if isinstance(value, Content) else None


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _wire(value: Any) -> JsonObject:
    """A value of the protocol that somebody made, maybe of things that do not belong there."""
    try:
        wire: JsonObject = value.to_wire()
        codec.encode(wire)
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        raise UnusableResult(f"a {type(value).__name__} holds what has no JSON form: {error}") from error
    return wire


# Data.


def _json(value: Any) -> str:
    try:
        try:
            return codec.encode(value).decode()
        except TypeError:
            # Sets, decimals, keys that are numbers, models: msgspec knows a form for them.
            plain = msgspec.to_builtins(value, str_keys=True, enc_hook=_dumped)
            return codec.encode(plain).decode()
    except (TypeError, ValueError, NotImplementedError, RecursionError) as error:
        raise UnusableResult(f"{_kind(value)} cannot be returned: {error}") from error


def _dumped(value: Any) -> Json:
    # A model of pydantic, which need not be installed.
    if hasattr(type(value), "model_dump"):
        return value.model_dump(mode="json")
    raise TypeError(f"{_kind(value)} has no JSON form")


def _checked_result(value: types.CallToolResult, schema: JsonObject) -> JsonObject:
    if not value.is_error:
        if not value.has_structured_content:
            raise UnusableResult("the tool promises structured content, and returned a result without it")
        _check(value.structured, schema)
    return _wire(value)


def _check(structured: Json, schema: JsonObject) -> None:
    try:
        fault = _SCHEMAS.check(schema, structured)
    except (TypeError, ValueError) as error:
        raise UnusableResult(f"the result cannot be checked against the output schema: {error}") from error
    if fault is not None:
        raise UnusableResult(f"the result does not fit the output schema: {fault}")


def _kind(value: object) -> str:
    return f"a value of type {type(value).__name__}"


# Resources.


def _contents(value: Any, uri: str, mime_type: str | None) -> JsonObject:
    if isinstance(value, types.EmbeddedResource):
        value = value.resource
    if isinstance(value, Contents):
        return _wire(value)
    if isinstance(value, Media):
        return value.contents(uri)
    if isinstance(value, str):
        text = value if type(value) is str else str.__str__(value)
        return {"uri": uri, "mimeType": mime_type or TEXT, "text": text}
    if isinstance(value, Bytes):
        blob = b2a_base64(value, newline=False).decode("ascii")
        return {"uri": uri, "mimeType": mime_type or BINARY, "blob": blob}
    return {"uri": uri, "mimeType": mime_type or JSON, "text": _json(value)}


# Prompts.


def _messages(value: Any) -> list[JsonObject]:
    """What one returned value says; several messages if its content is a list."""
    if isinstance(value, types.PromptMessage):
        return [_wire(value)]
    if isinstance(value, Mapping):
        value = _message(value)
    if not isinstance(value, Message):
        value = UserMessage(value)
    several = value.content if isinstance(value.content, list | tuple) else (value.content,)
    return [{"role": value.role, "content": _prompt_block(one)} for one in several]


def _message(value: Mapping[Any, Any]) -> Message:
    try:
        return Message(value["role"], value["content"])
    except KeyError as error:
        raise UnusableResult(f"a message has a role and a content; {error} is missing") from None
    except ValueError as error:
        raise UnusableResult(str(error)) from None


def _prompt_block(value: Any) -> JsonObject:
    if isinstance(value, dict) and isinstance(value.get("type"), str):
        block: JsonObject = codec.decode(_json(value).encode())
        return block
    known = _known_block(value)
    if known is None:
        raise UnusableResult(f"a prompt is made of texts, messages and content blocks, not of {_kind(value)}")
    return known


# Completions.


def _some(values: Iterable[Any]) -> list[Any]:
    """As many as matter: an iterator may have no end."""
    try:
        return list(islice(values, MAX_COMPLETIONS + 1))
    except Exception as error:
        raise UnusableResult(f"the suggestions ended with {type(error).__name__}: {error}") from error


def _cut(values: list[Any], total: int | None, more: bool) -> JsonObject:
    for one in values:
        if not isinstance(one, str):
            raise UnusableResult(f"a completion returns texts, not {_kind(one)}")
    more = more or len(values) > MAX_COMPLETIONS
    if total is None and not more:
        total = len(values)
    said: JsonObject = {} if total is None else {"total": total}
    return {"values": values[:MAX_COMPLETIONS], "hasMore": more} | said
