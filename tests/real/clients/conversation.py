"""What every foreign client in Python says to our features server, whichever library it is made with."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeAlias

import mcp_types as wire
from mcp import MCPError

Json: TypeAlias = dict[str, Any]


class Face(Protocol):
    """The methods of a client that the conversation needs; results are those of the official package."""

    async def tools(self) -> list[Any]: ...

    async def call(
        self, name: str, arguments: Json | None = None, on_progress: Callable[..., Any] | None = None
    ) -> Any: ...

    async def resources(self) -> list[Any]: ...

    async def templates(self) -> list[Any]: ...

    async def read(self, uri: str) -> list[Any]: ...

    async def prompts(self) -> list[Any]: ...

    async def prompt(self, name: str, arguments: dict[str, str]) -> Any: ...

    async def complete(self, reference: Any, argument: dict[str, str]) -> list[str]: ...


async def converse(face: Face) -> Json:
    """Say everything; what came of it."""
    return {**await _calls(face), **await _failures(face), **await _reading(face), **await _questions(face)}


async def _calls(face: Face) -> Json:
    steps: list[list[Any]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        steps.append([progress, total, message])

    tools = await face.tools()
    add = next(tool for tool in tools if tool.name == "add")
    picture = await face.call("picture")
    counted = await face.call("count", {"to": 3}, hear)
    return {
        "tools": [tool.name for tool in tools],
        "add_schema": add.input_schema,
        "add": (await face.call("add", {"a": 40})).structured_content,
        "report": (await face.call("report", {"title": "sales"})).structured_content,
        "picture": [block.type for block in picture.content],
        "count": counted.structured_content,
        "progress": steps,
    }


async def _failures(face: Face) -> Json:
    return {
        "bad_arguments": _failed(await face.call("add", {"a": "many"})),
        "refuse": _failed(await face.call("refuse")),
        "crash": _failed(await face.call("crash")),
        "unknown_tool": await _code(face.call("no_such_tool")),
        "unknown_resource": await _code(face.read("toy://nothing")),
        "missing_note": await _code(face.read("note://nothing")),
        "unknown_prompt": await _code(face.prompt("no_such_prompt", {})),
        "missing_argument": await _code(face.prompt("letter", {})),
    }


async def _reading(face: Face) -> Json:
    (greeting,) = await face.read("toy://greeting")
    (few,) = await face.read("bytes://few")
    (note,) = await face.read("note://one")
    letter = await face.prompt("letter", {"to": "Ada"})
    to_letter = wire.PromptReference(type="ref/prompt", name="letter")
    to_note = wire.ResourceTemplateReference(type="ref/resource", uri="note://{name}")
    return {
        "resources": [str(one.uri) for one in await face.resources()],
        "templates": [one.uri_template for one in await face.templates()],
        "read": [greeting.text, list(base64.b64decode(few.blob)), note.text],
        "prompts": [one.name for one in await face.prompts()],
        "letter": [[one.role, one.content.text] for one in letter.messages],
        "completions": [
            await face.complete(to_letter, {"name": "tone", "value": "k"}),
            await face.complete(to_note, {"name": "name", "value": "o"}),
        ],
    }


async def _questions(face: Face) -> Json:
    return {
        "introduce": _text(await face.call("introduce")),
        "check_in": _text(await face.call("check_in")),
        "opinion": _text(await face.call("opinion", {"topic": "tea"})),
        "places": (await face.call("places")).structured_content,
        "everything": _text(await face.call("everything_at_once", {"topic": "tea"})),
    }


def fill_in(message: str) -> Json:
    """A user who is Ada, 36 years old, and lives on the third floor."""
    return {"floor": 3} if message == "Which floor, Ada?" else {"name": "Ada", "age": 36}


def muse(params: Any) -> Any:
    """A model that repeats what it is told."""
    first = params.messages[0].content
    (block,) = first if isinstance(first, list) else [first]
    text = wire.TextContent(type="text", text=f"{params.system_prompt or 'hm'}! {block.text}")
    return wire.CreateMessageResult(role="assistant", content=text, model="parrot")


def tell(report: Json) -> None:
    """Hand the report to the test that runs this program."""
    sys.stdout.write(json.dumps(report))


def _text(result: Any) -> str:
    assert not result.is_error, result
    (block,) = result.content
    return str(block.text)


def _failed(result: Any) -> str:
    assert result.is_error, result
    (block,) = result.content
    return str(block.text)


async def _code(request: Awaitable[Any]) -> int | str:
    try:
        return f"no error: {await request}"
    except MCPError as error:
        return error.error.code
