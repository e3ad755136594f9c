"""Tools as functions: how they are found, called, described and handed to models."""

from __future__ import annotations

import copy
import inspect
import threading
from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors import Client, errors
from mcp_actors.client.tool_function import ToolCaller, ToolFunction
from mcp_actors.client.toolbox import Toolbox
from mcp_actors.protocol import types
from tests.client.toy_host import SILENCE, STATELESS, Refusal, ToyHost
from tests.client.toy_host import tool as listed
from tests.client.waiting import BOUND

MakeClient = Callable[..., Client]
MakeHost = Callable[..., ToyHost]

TIME = {
    "name": "get_current_time",
    "description": "The time of a place.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "timezone": {"type": "string", "description": "Such as\n Europe/Vienna"},
            "style": {"type": "string", "enum": ["short", "long"], "default": "long"},
        },
        "required": ["timezone"],
    },
}
TOOLS: list[dict[str, Any]] = [
    TIME,
    {"name": "files.read-all", "inputSchema": {"type": "object", "properties": {"filter[id]": {}}}},
    {"name": "x.y", "inputSchema": {"type": "object"}},
    {"name": "x-y", "inputSchema": {"type": "object"}},
    {"name": "refresh", "inputSchema": {"type": "object", "properties": {}}},
    {"name": "import", "title": "Bring in", "inputSchema": {"type": "object", "properties": {}}},
]


def echo(request: dict[str, Any]) -> Any:
    params = request["params"]
    return {
        "content": [],
        "structuredContent": {"name": params["name"], "arguments": params.get("arguments")},
    }


@pytest.fixture(params=[STATELESS, "2025-11-25"])
def tools(request: pytest.FixtureRequest, make_host: MakeHost, make_client: MakeClient) -> Toolbox:
    host = make_host(version=request.param)
    host.answers["tools/list"] = lambda _: {"tools": TOOLS}
    host.answers["tools/call"] = echo
    box: Toolbox = make_client(host).tools
    return box


class Recorder:
    """A client that only remembers."""

    def __init__(self, *described: dict[str, Any]) -> None:
        self.described = list(described or TOOLS)
        self.listings = 0
        self.fresh: list[bool] = []
        self.calls: list[tuple[str, Any, dict[str, Any]]] = []

    def list_tools(self, *, fresh: bool = False) -> list[types.Tool]:
        self.listings += 1
        self.fresh.append(fresh)
        return [types.Tool.from_wire(one) for one in self.described]

    def call_tool(self, name: str, arguments: Any = None, **options: Any) -> types.CallToolResult:
        self.calls.append((name, arguments, options))
        return types.CallToolResult(content=[])


def function(schema: dict[str, Any], **more: Any) -> ToolFunction:
    return Toolbox(Recorder({"name": "tool", "inputSchema": schema, **more}))["tool"]


def sent(tool: ToolFunction, *args: Any, **arguments: Any) -> Any:
    """The arguments that reach the client."""
    recorder = Recorder()
    ToolFunction(recorder, tool.tool)(*args, **arguments)
    return recorder.calls[0][1]


# Over a wire.


def test_a_tool_is_called_by_attribute_and_by_item(tools: Toolbox) -> None:
    asked = tools.get_current_time(timezone="Europe/Vienna")
    assert asked.data == {"name": "get_current_time", "arguments": {"timezone": "Europe/Vienna"}}
    assert tools["files.read-all"](**{"filter[id]": 7}).data["arguments"] == {"filter[id]": 7}
    assert tools.files_read_all(filter_id_=7).data["arguments"] == {"filter[id]": 7}
    assert tools.import_().data["name"] == "import"


def test_a_model_s_answer_is_dispatched_under_the_exported_names(tools: Toolbox) -> None:
    (exported,) = [one for one in tools.to_anthropic() if one["name"].startswith("files")]
    (key,) = exported["input_schema"]["properties"]
    answer = tools.call(exported["name"], {key: "7"})
    assert answer.data == {"name": "files.read-all", "arguments": {"filter[id]": "7"}}
    text = '{"timezone": "Asia/Tokyo", "style": null}'
    assert tools.call("get_current_time", text).data["arguments"] == {"timezone": "Asia/Tokyo"}
    assert tools.call("refresh").data == {"name": "refresh", "arguments": {}}
    assert tools.call("refresh", "").data["arguments"] == {}


def test_a_tool_that_failed_returns_its_result_and_raises_nothing(
    make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host()
    host.answers["tools/call"] = lambda _: {"content": [{"type": "text", "text": "no"}], "isError": True}
    result = Toolbox(make_client(host)).echo(anything=1)
    assert (result.is_error, result.text) == (True, "no")


def test_the_options_of_a_call_are_bound_to_a_copy(make_host: MakeHost, make_client: MakeClient) -> None:
    host = make_host()
    host.answers["tools/call"] = lambda _: SILENCE
    quick = Toolbox(make_client(host)).echo.with_options(timeout=0.05)
    with pytest.raises(errors.RequestTimeout):
        quick(timeout=3)
    host.await_heard("tools/call")
    assert host.all_heard("tools/call")[0]["params"]["arguments"] == {"timeout": 3}


def test_a_listing_that_fails_is_told_by_every_use_but_by_dir(
    make_host: MakeHost, make_client: MakeClient
) -> None:
    def refuse(_request: Any) -> Any:
        raise Refusal(-32000, "not now")

    host = make_host()
    host.answers["tools/list"] = refuse
    tools = Toolbox(make_client(host))
    for use in (
        len,
        list,
        lambda tools: "echo" in tools,
        lambda tools: tools["echo"],
        lambda tools: tools.echo,
    ):
        with pytest.raises(errors.RemoteError):
            use(tools)
    assert "call" in dir(tools)
    del host.answers["tools/list"]


def test_the_client_is_what_a_toolbox_needs(make_host: MakeHost, make_client: MakeClient) -> None:
    client: ToolCaller = make_client(make_host())
    assert [tool.name for tool in Toolbox(client)] == ["echo", "read"]


# What it holds.


def test_the_tools_are_listed_once_at_the_first_use() -> None:
    recorder = Recorder()
    tools = Toolbox(recorder)
    assert repr(tools) == "<Toolbox, not listed yet>"
    assert recorder.listings == 0
    assert len(tools) == 6
    assert [tool.name for tool in tools] == [one["name"] for one in TOOLS]
    assert "get_current_time" in tools
    assert "files_read-all" in tools
    assert "nothing" not in tools
    assert 3 not in tools
    assert recorder.listings == 1


def test_refreshing_lists_again_and_learning_does_not() -> None:
    recorder = Recorder()
    tools = Toolbox(recorder)
    old = tools.get_current_time
    recorder.described = [{**TIME, "description": "New"}]
    assert len(tools) == 6
    assert tools.refresh() is tools
    assert recorder.fresh == [False, True]
    assert [tool.description for tool in tools] == ["New"]
    assert old.description == "The time of a place."
    assert old.refresh().description == "New"
    tools.learn([])
    assert list(tools) == []
    recorder.described = []
    recorder.described.append({"name": "other", "inputSchema": {}})
    with pytest.raises(KeyError, match="no tool 'get_current_time' any more"):
        old.refresh()


def test_an_unknown_tool_is_told_with_those_that_were_meant() -> None:
    tools = Toolbox(Recorder())
    with pytest.raises(AttributeError, match="no tool 'get_current_tiem'; did you mean 'get_current_time'?"):
        _ = tools.get_current_tiem
    with pytest.raises(
        KeyError, match="no tool 'files-read-all'; did you mean 'files.read-all' or 'files_read_all'?"
    ):
        _ = tools["files-read-all"]
    with pytest.raises(KeyError, match="no tool 'qqq'"):
        tools.call("qqq")


def test_an_attribute_that_may_mean_two_tools_is_refused() -> None:
    tools = Toolbox(Recorder())
    with pytest.raises(AttributeError, match=r"'x_y' may mean the tools \['x.y', 'x-y'\]"):
        _ = tools.x_y
    assert tools["x.y"].name == "x.y"
    assert "x_y" not in dir(tools)
    tools.learn([types.Tool(name=name, input_schema={}) for name in ("x.y", "x_y")])
    assert tools.x_y.name == "x_y"


def test_a_tool_named_like_a_method_is_reached_with_an_underscore() -> None:
    tools = Toolbox(Recorder())
    assert tools.refresh_.name == "refresh"
    assert tools["refresh"].name == "refresh"
    assert {"get_current_time", "files_read_all", "refresh_", "import_", "call"} <= set(dir(tools))


def test_probing_for_private_names_lists_nothing() -> None:
    recorder = Recorder()
    tools = Toolbox(recorder)
    assert not hasattr(tools, "_repr_html_")
    assert not hasattr(tools, "__wrapped__")
    assert copy.copy(tools) is not tools
    assert recorder.listings == 0
    tools.learn([types.Tool(name="_hidden", input_schema={})])
    assert tools._hidden.name == "_hidden"
    assert not hasattr(tools, "_repr_html_")


def test_the_repr_shows_what_can_be_called() -> None:
    tools = Toolbox(Recorder()).refresh()
    lines = repr(tools).splitlines()
    assert lines[0] == "<Toolbox of 6 tools>"
    assert lines[1] == (
        "  get_current_time(timezone: str, *, style: Literal['short', 'long'] = 'long')  The time of a place."
    )
    assert lines[5] == "  refresh()"
    assert lines[6] == "  import()  Bring in"
    tools.learn([types.Tool(name=f"t{number}", input_schema={}) for number in range(60)])
    assert repr(tools).endswith("  t49(**arguments)\n  and 10 more")


def test_threads_may_share_a_toolbox() -> None:
    tools = Toolbox(Recorder())
    together, found = threading.Barrier(4), []

    def use() -> None:
        together.wait(BOUND)
        found.append(tools.get_current_time.name)

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(BOUND)
    assert found == ["get_current_time"] * 4


def test_exports_are_those_of_the_listing() -> None:
    tools = Toolbox(Recorder(TIME))
    assert [one["function"]["name"] for one in tools.to_openai()] == ["get_current_time"]
    assert tools.to_openai(strict=True, api="responses")[0]["strict"] is True
    assert tools.to_anthropic()[0]["name"] == tools.to_gemini()[0]["name"] == "get_current_time"


@pytest.mark.parametrize("arguments", ["[1]", [1], 3])
def test_arguments_that_are_no_object_are_refused(arguments: Any) -> None:
    with pytest.raises(TypeError, match="arguments of tool .* must be an object, not"):
        Toolbox(Recorder()).call("refresh", arguments)


def test_arguments_that_are_no_json_are_refused() -> None:
    with pytest.raises(ValueError, match="Expecting property name"):
        Toolbox(Recorder()).call("refresh", "{nonsense")


# The functions.


def test_a_tool_function_describes_itself() -> None:
    tool = Toolbox(Recorder())["get_current_time"]
    assert tool.__name__ == tool.__qualname__ == tool.name == "get_current_time"
    assert tool.__doc__ == "The time of a place.\n\nArgs:\n    timezone: Such as Europe/Vienna"
    assert tool.input_schema == TIME["inputSchema"]
    assert inspect.signature(tool) == tool.__signature__
    assert list(inspect.signature(tool).parameters) == ["timezone", "style"]
    assert inspect.signature(tool).return_annotation is types.CallToolResult
    assert repr(tool) == (
        "<tool get_current_time(timezone: str, *, style: Literal['short', 'long'] = 'long')>"
    )
    assert Toolbox(Recorder())["import"].__doc__ == "Bring in"
    assert function({}).__doc__ == "The tool tool."


def test_required_arguments_may_be_given_by_position_in_the_order_of_the_schema() -> None:
    schema = {
        "properties": {"c": {}, "b": {"type": "integer"}, "a": {"type": "string"}},
        "required": ["a", "b"],
    }
    tool = function(schema)
    assert sent(tool, 1, "x") == {"b": 1, "a": "x"}
    assert sent(tool, 1, a="x", c=[2]) == {"b": 1, "a": "x", "c": [2]}


@pytest.mark.parametrize(
    ("args", "arguments", "message"),
    [
        ((), {}, "missing a required argument: 'a'; the tool is tool"),
        ((), {"a": 1, "z": 2}, "got an unexpected keyword argument 'z'"),
        ((1, 2), {}, "too many positional arguments"),
        ((1,), {"a": 1}, "multiple values for argument 'a'"),
    ],
)
def test_a_wrong_call_is_a_type_error_before_anything_is_sent(
    args: Any, arguments: Any, message: str
) -> None:
    recorder = Recorder(
        {"name": "tool", "inputSchema": {"properties": {"a": {}, "b": {}}, "required": ["a"]}}
    )
    with pytest.raises(TypeError, match=message):
        Toolbox(recorder).tool(*args, **arguments)
    assert recorder.calls == []


def test_arguments_named_self_name_or_timeout_are_the_tools_own() -> None:
    schema: dict[str, Any] = {"properties": {"self": {}, "name": {}, "timeout": {}, "on_progress": {}}}
    given = {"self": 1, "name": 2, "timeout": 3, "on_progress": 4}
    assert sent(function(schema), **given) == given


def test_options_add_up_and_unknown_ones_are_refused() -> None:
    recorder = Recorder()
    tool = Toolbox(recorder)["refresh"].with_options(timeout=5.0).with_options(wait=True)
    tool()
    assert recorder.calls == [("refresh", {}, {"timeout": 5.0, "wait": True})]
    with pytest.raises(TypeError, match="the options are timeout, on_progress and wait, not patience"):
        tool.with_options(patience=1)  # type: ignore[call-arg]


def test_none_is_sent_where_the_tool_takes_null_and_means_nothing_elsewhere() -> None:
    schema = {
        "properties": {
            "needed": {"type": "string"},
            "number": {"type": "integer"},
            "maybe": {"type": ["integer", "null"]},
            "any": {},
        },
        "required": ["needed"],
    }
    tool = function(schema)
    assert sent(tool, None, number=None, maybe=None, any=None) == {"needed": None, "maybe": None, "any": None}
    assert sent(tool, "x") == {"needed": "x"}


def test_names_that_python_cannot_say_have_a_form_that_it_can() -> None:
    properties: dict[str, Any] = {"from": {}, "a-b": {}, "a_b": {}, "1st": {}, "größe": {}, "": {}}
    tool = function({"properties": properties})
    given = {"from": 1, "a-b": 2, "a_b": 3, "1st": 4, "größe": 5, "": 6}
    assert sent(tool, **given) == given
    first, second, third, *rest = tool.__signature__.parameters
    assert (first, third, rest) == ("from_", "a_b", ["_1st", "größe", "_"])
    assert sent(tool, **{second: 2}) == {"a-b": 2}


@pytest.mark.parametrize(
    ("schema", "takes"),
    [
        ({}, True),
        ({"type": "object"}, True),
        ({"properties": {"a": {}}}, False),
        ({"properties": {}}, False),
        ({"additionalProperties": False}, False),
        ({"properties": {"arguments": {}}, "additionalProperties": {"type": "string"}}, True),
        ({"properties": {}, "patternProperties": {"^x": {}}}, True),
        ({"anyOf": [{"properties": {"a": {}}}]}, False),
    ],
)
def test_whether_a_tool_takes_arguments_that_it_does_not_name(schema: dict[str, Any], takes: bool) -> None:
    if takes:
        assert sent(function(schema), unnamed=1) == {"unnamed": 1}
    else:
        with pytest.raises(TypeError):
            sent(function(schema), unnamed=1)


@pytest.mark.parametrize(
    ("schema", "annotation"),
    [
        ({"type": "string"}, "str"),
        ({"type": "integer"}, "int"),
        ({"type": "number"}, "float"),
        ({"type": "boolean"}, "bool"),
        ({"type": "object"}, "dict"),
        ({"type": "array"}, "list"),
        ({"type": "array", "items": {"type": ["string", "null"]}}, "list[str | None]"),
        ({"enum": ["a", 1, True]}, "Literal['a', 1, True]"),
        ({"const": "a"}, "Literal['a']"),
        ({"enum": [1.5]}, "float"),
        ({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]}, "str | list[int]"),
        ({"oneOf": [{"type": "string"}, {}]}, "Any"),
        ({}, "Any"),
    ],
)
def test_annotations_are_as_exact_as_pythons_types_allow(schema: dict[str, Any], annotation: str) -> None:
    tool = function({"properties": {"a": schema}, "required": ["a"]})
    assert repr(tool) == f"<tool tool(a: {annotation})>"
    optional = function({"properties": {"a": {**schema, "default": None}}})
    assert optional.__signature__.parameters["a"].default is None


def test_arguments_that_are_no_json_are_named(host: ToyHost, make_client: MakeClient) -> None:
    client = make_client(host)
    with pytest.raises(ValueError, match="the arguments of tool 'echo' are not JSON"):
        client.tools.call("echo", "{a")


def test_after_a_reconnection_the_tools_are_those_of_the_new_server(
    host: ToyHost, make_client: MakeClient
) -> None:
    client = make_client(host)
    assert "echo" in client.tools
    host.answers["tools/list"] = lambda _: {"tools": [listed("new")]}
    host.drop()
    client.call_tool("new", wait=True)
    assert [one.name for one in client.tools] == ["new"]
