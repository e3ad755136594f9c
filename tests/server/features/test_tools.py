"""Tools of a server as its clients see them, in each revision."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from typing import Any

import pytest

from mcp_actors import Client, Image, Refusal, Server, ToolError, errors, types
from mcp_actors.server.context import Context
from tests.client.waiting import BOUND, opened_at_the_end
from tests.server.conftest import Connect, MakeServer
from tests.server.talk import VERSIONS

SECRET = "the password is hunter2"


@dataclass
class Point:
    """A place."""

    x: int
    y: int


@pytest.fixture
def shop(server: Server) -> Server:
    """A server with a tool of each kind."""

    @server.tool(title="Sum", annotations=types.ToolAnnotations(read_only_hint=True))
    def add(a: int, b: int = 1) -> int:
        """Add two numbers."""
        return a + b

    @server.tool()
    def mirror(point: Point) -> Point:
        return Point(point.y, point.x)

    @server.tool(structured_output=False)
    def greet(name: str) -> str:
        return f"Hello, {name}"

    @server.tool()
    def draw() -> Image:
        return Image(b"png", format="png")

    @server.tool()
    def complain() -> str:
        raise ToolError("the shop is closed")

    @server.tool()
    def break_down() -> str:
        raise RuntimeError(SECRET)

    @server.tool()
    def refuse() -> str:
        raise Refusal(4711, "not today", {"until": "Monday"})

    return server


@pytest.fixture(params=VERSIONS)
def client(request: pytest.FixtureRequest, shop: Server, connect: Connect) -> Client:
    return connect(shop, request.param)


@pytest.mark.requirement("feature:tools")
@pytest.mark.requirement("negotiation:versions")
@pytest.mark.requirement("transport:memory")
def test_a_function_is_a_tool_in_every_revision(client: Client) -> None:
    tools = {tool.name: tool for tool in client.list_tools()}
    assert list(tools) == ["add", "mirror", "greet", "draw", "complain", "break_down", "refuse"]
    assert tools["add"].description == "Add two numbers."
    assert tools["add"].input_schema["required"] == ["a"]
    assert client.call_tool("add", {"a": 2, "b": 3}).text == "5"
    assert client.call_tool("greet", {"name": "Ada"}).text == "Hello, Ada"


@pytest.mark.requirement("feature:tools")
def test_data_comes_back_as_data_and_as_text(shop: Server, connect: Connect, era: str) -> None:
    client = connect(shop, era)
    client.list_tools()
    result = client.call_tool("mirror", {"point": {"x": 1, "y": 2}})
    assert result.structured_content == {"x": 2, "y": 1}
    assert result.text == '{"x":2,"y":1}'
    assert client.call_tool("draw").content[0].to_wire()["mimeType"] == "image/png"
    tools = {tool.name: tool for tool in client.list_tools()}
    assert tools["add"].title == "Sum"
    assert tools["add"].annotations is not None
    assert tools["add"].annotations.read_only_hint is True


@pytest.mark.requirement("error:translate")
def test_what_a_tool_says_about_its_failure_is_told_and_nothing_else(client: Client) -> None:
    failed = client.call_tool("complain")
    assert (failed.is_error, failed.text) == (True, "the shop is closed")
    broken = client.call_tool("break_down")
    assert (broken.is_error, broken.text) == (True, "tool 'break_down' failed")
    with pytest.raises(errors.RemoteError, match="not today") as refused:
        client.call_tool("refuse")
    assert (refused.value.code, refused.value.data) == (4711, {"until": "Monday"})


def test_a_server_in_development_tells_the_text_of_every_exception(
    make_server: MakeServer, connect: Connect, era: str
) -> None:
    server = make_server(expose_errors=True)

    @server.tool()
    def break_down() -> str:
        raise RuntimeError(SECRET)

    text = connect(server, era).call_tool("break_down").text
    assert text == f"tool 'break_down' failed: RuntimeError: {SECRET}"


@pytest.mark.requirement("feature:schema")
@pytest.mark.parametrize("version", VERSIONS)
def test_arguments_that_do_not_fit_are_told_as_the_revision_wants_it(
    shop: Server, connect: Connect, version: str
) -> None:
    client = connect(shop, version)
    if version >= "2025-11-25":
        result = client.call_tool("add", {"a": "two"})
        assert result.is_error
        assert "a" in result.text
    else:
        with pytest.raises(errors.RemoteError) as refused:
            client.call_tool("add", {"a": "two"})
        assert refused.value.code == -32602


def test_a_tool_that_does_not_exist_is_an_error_of_the_protocol(client: Client) -> None:
    with pytest.raises(errors.RemoteError, match="there is no tool 'nothing'") as unknown:
        client.call_tool("nothing")
    assert unknown.value.code == -32602


@pytest.mark.parametrize(
    "params", [{"name": 7}, {}, {"name": "add", "arguments": [1]}, {"name": "add", "arguments": "a"}]
)
def test_a_call_that_is_none_is_an_error_of_the_protocol(
    shop: Server, connect: Connect, era: str, params: dict[str, Any]
) -> None:
    with pytest.raises(errors.RemoteError) as unfit:
        connect(shop, era).request("tools/call", params)
    assert unfit.value.code == -32602


@pytest.mark.requirement("error:translate")
@pytest.mark.parametrize("result", [float("nan"), object(), {"a": {1: object()}}, b"bytes"])
def test_a_result_without_a_form_on_the_wire_is_an_internal_error(
    server: Server, connect: Connect, era: str, result: object
) -> None:
    @server.tool()
    def odd() -> Any:
        return result

    client = connect(server, era)
    with pytest.raises(errors.RemoteError, match="no usable result") as unusable:
        client.call_tool("odd")
    assert unusable.value.code == -32603
    assert client.list_tools()


@pytest.mark.parametrize(
    ("declared", "enough"),
    [(None, False), (lambda _: "hi", True)],
    ids=["undeclared", "declared"],
)
def test_a_tool_may_need_a_client_that_declares_more(
    server: Server, connect: Connect, era: str, declared: Any, enough: bool
) -> None:
    @server.tool(required_capability={"sampling": {}})
    def think() -> str:
        return "thought"

    client = connect(server, era, sampling_handler=declared)
    if enough:
        assert client.call_tool("think").text == "thought"
        return
    with pytest.raises(errors.RemoteError) as missing:
        client.call_tool("think")
    assert missing.value.code == -32021
    assert missing.value.data == {"requiredCapabilities": {"sampling": {}}}


@pytest.mark.parametrize(
    ("declared", "enough"),
    [({"tools": {}}, True), ({}, False), (True, False), (None, False), ([], False)],
)
def test_a_capability_is_looked_at_as_deep_as_it_is_needed(
    server: Server, talk: Any, declared: Any, enough: bool
) -> None:
    @server.tool(required_capability={"sampling": {"tools": {}}})
    def think() -> str:
        return "thought"

    answer = talk(server, "2026-07-28", sampling=declared).tool("think")
    assert ("result" in answer) is enough
    assert enough or answer["error"]["code"] == -32021


def test_a_tool_that_takes_too_long_is_answered_for_and_told(
    server: Server, connect: Connect, era: str
) -> None:
    told, gate = threading.Event(), threading.Event()

    @server.tool(timeout=0.05)
    def dawdle(ctx: Context) -> str:
        gate.wait(BOUND)
        if ctx.cancelled:
            told.set()
        return "too late"

    with opened_at_the_end(gate):
        client = connect(server, era)
        result = client.call_tool("dawdle")
        assert (result.is_error, result.text) == (True, "tool 'dawdle' took longer than 0.05 s")
    assert told.wait(BOUND)


def test_a_tool_that_keeps_its_time_is_not_answered_for(server: Server, connect: Connect, era: str) -> None:
    @server.tool(timeout=BOUND, structured_output=False)
    def hurry() -> str:
        return "in time"

    assert connect(server, era).call_tool("hurry").text == "in time"


def test_schemas_may_be_written_by_hand(server: Server, connect: Connect, era: str) -> None:
    @server.tool(
        input_schema={
            "type": "object",
            "properties": {"x": {"type": "integer", "maximum": 9}},
            "required": ["x"],
        },
        output_schema={"type": "object", "properties": {"y": {"type": "integer"}}, "required": ["y"]},
    )
    def double(**given: Any) -> dict[str, Any]:
        return {"y" if given["x"] else "z": 2 * given["x"]}

    client = connect(server, era)
    [tool] = client.list_tools()
    assert tool.input_schema["properties"]["x"]["maximum"] == 9
    assert tool.output_schema is not None
    assert tool.output_schema["required"] == ["y"]
    assert client.call_tool("double", {"x": 3}).structured_content == {"y": 6}
    assert client.call_tool("double", {"x": 10}).is_error
    with pytest.raises(errors.RemoteError, match="no usable result"):
        client.call_tool("double", {"x": 0})


def test_one_schema_may_be_written_by_hand_and_the_other_follow_from_the_function(
    server: Server, connect: Connect, era: str
) -> None:
    @server.tool(input_schema={"type": "object"})
    def mirror(**given: Any) -> Point:
        return Point(given["y"], given["x"])

    @server.tool(output_schema={"type": "object"})
    def odd() -> Any:
        return object()

    client = connect(server, era)
    assert client.call_tool("mirror", {"x": 1, "y": 2}).structured_content == {"x": 2, "y": 1}
    with pytest.raises(errors.RemoteError, match="no usable result"):
        client.call_tool("odd")


def test_a_schema_that_cannot_be_used_is_refused_where_it_is_written(server: Server) -> None:
    with pytest.raises(ValueError, match="schema"):
        server.tool(input_schema={"type": "object", "properties": {"x": {"type": "no such type"}}})(lambda: 1)


def test_a_decorator_without_parentheses_is_told_so(server: Server) -> None:
    for decorate in (server.add_tool, server.add_prompt):
        with pytest.raises(TypeError, match=r"@server\.(tool|prompt)\(\)"):
            decorate("text")  # type: ignore[arg-type]


def test_the_log_has_what_the_client_is_not_told(
    shop: Server, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "mcp_actors.server"):
        connect(shop).call_tool("break_down")
    assert SECRET in caplog.text


def test_functions_come_back_as_they_are(server: Server) -> None:
    def function(prefix: str = "") -> list[str]:
        return [prefix]

    assert server.tool()(function) is function
    assert server.prompt()(function) is function
    assert server.resource("demo://x")(function) is function
    assert server.completion(argument="prefix", prompt="function")(function) is function
    assert server.middleware(function) is function
    assert server.on_notification("x")(function) is function
    assert server.method("x", extension="com.example/x")(function) is function
