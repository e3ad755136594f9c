"""ToolFunction: a tool of a server as a Python function, with a name, a docstring and a signature."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import Parameter, Signature
from typing import Any, Protocol, TypedDict, Unpack

from mcp_actors.client.export.combining import accepts_null
from mcp_actors.client.export.schema import object_schema
from mcp_actors.client.notifications import ProgressHandler
from mcp_actors.client.tool_signature import parameter_names, signature_of, takes_more
from mcp_actors.protocol import types
from mcp_actors.protocol.codec import JsonObject


class ToolCaller(Protocol):
    """What lists and calls tools: a client."""

    def list_tools(self, *, fresh: bool = False) -> list[types.Tool]: ...
    def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        on_progress: ProgressHandler | None = None,
        wait: bool = False,
    ) -> types.CallToolResult: ...


class CallOptions(TypedDict, total=False):
    """How a tool is called, as in `Client.call_tool`."""

    timeout: float | None
    on_progress: ProgressHandler | None
    wait: bool


class ToolFunction:
    """A tool that is called like a function: ``tool(timezone="Europe/Vienna")``.

    Required arguments may be given by position, in the order of the tool's schema. An argument that is
    missing or unknown is a ``TypeError`` before anything is sent; whether a value fits is the server's to
    say. None for an optional argument means that it is not given, unless the tool takes null. The result is
    that of `Client.call_tool`: a tool that failed says so in ``is_error``.
    """

    __name__: str
    __qualname__: str
    __signature__: Signature

    def __init__(self, client: ToolCaller, tool: types.Tool, **options: Unpack[CallOptions]) -> None:
        self._client = client
        self._options = options
        self._schema = object_schema(tool.input_schema)
        self._parameters = parameter_names(self._schema["properties"])
        self.tool = tool
        self.__name__ = self.__qualname__ = tool.name
        self.__signature__ = signature_of(self._schema, open_ended=takes_more(tool.input_schema))
        self.__doc__ = self._docstring()

    @property
    def name(self) -> str:
        """The tool's name, as the server says it."""
        return self.tool.name

    @property
    def title(self) -> str | None:
        """The tool's name for people, if it has one."""
        return self.tool.title

    @property
    def description(self) -> str | None:
        """What the server says about the tool."""
        return self.tool.description

    @property
    def input_schema(self) -> JsonObject:
        """The JSON Schema of the arguments, exactly as it came."""
        return self.tool.input_schema

    def __call__(self, /, *args: Any, **arguments: Any) -> types.CallToolResult:
        return self._client.call_tool(self.name, self._bound(args, arguments), **self._options)

    def with_options(self, **options: Unpack[CallOptions]) -> ToolFunction:
        """The same tool, called with ``timeout=``, ``on_progress=`` or ``wait=``. Among the arguments they
        could not be told from those of the tool."""
        unknown = options.keys() - CallOptions.__annotations__.keys()
        if unknown:
            raise TypeError(
                f"the options are timeout, on_progress and wait, not {', '.join(sorted(unknown))}"
            )
        return ToolFunction(self._client, self.tool, **(self._options | options))

    def refresh(self) -> ToolFunction:
        """The same tool as the server describes it now. Raises ``KeyError`` if there is none any more."""
        for tool in self._client.list_tools(fresh=True):
            if tool.name == self.name:
                return ToolFunction(self._client, tool, **self._options)
        raise KeyError(f"the server has no tool {self.name!r} any more")

    def __repr__(self) -> str:
        return f"<tool {self.summary}>"

    @property
    def summary(self) -> str:
        """Name and parameters in one line."""
        return f"{self.name}{self.__signature__.replace(return_annotation=Signature.empty)}"

    def _bound(self, args: tuple[Any, ...], arguments: dict[str, Any]) -> JsonObject:
        """The arguments under the names that the server knows."""
        named = {self._parameters.get(name, name): value for name, value in arguments.items()}
        try:
            given = self.__signature__.bind(*args, **named).arguments
        except TypeError as error:
            raise TypeError(f"{error}; the tool is {self.summary}") from None
        for parameter in self.__signature__.parameters.values():
            if parameter.kind is Parameter.VAR_KEYWORD:
                given |= given.pop(parameter.name, {})
        own = {parameter: name for name, parameter in self._parameters.items()}
        meant = {own.get(name, name): value for name, value in given.items()}
        return {name: value for name, value in meant.items() if value is not None or self._takes_null(name)}

    def _takes_null(self, name: str) -> bool:
        schema = self._schema["properties"].get(name, {})
        return name in self._schema.get("required", ()) or accepts_null(schema)

    def _docstring(self) -> str:
        said = (self.description or self.title or f"The tool {self.name}.").strip()
        told = [
            f"    {self._parameters[name]}: {' '.join(member['description'].split())}"
            for name, member in self._schema["properties"].items()
            if member.get("description")
        ]
        return "\n".join([said, "", "Args:", *told]) if told else said
