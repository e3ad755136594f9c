"""Toolbox: the tools of a server as functions, by attribute and by item."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Final, Literal

from mcp_actors import errors
from mcp_actors.client.export import names_for, restored, to_anthropic, to_gemini, to_openai
from mcp_actors.client.notifications import ProgressHandler
from mcp_actors.client.tool_function import ToolCaller, ToolFunction
from mcp_actors.client.tool_signature import python_name
from mcp_actors.protocol import types
from mcp_actors.protocol.codec import JsonObject

_MOST_SHOWN: Final = 50


class Shelf:
    """One listing, and every name under which its tools are found. Never changed, so any thread may read."""

    def __init__(self, tools: Iterable[types.Tool]) -> None:
        self.tools = {tool.name: tool for tool in tools}
        self._exported = names_for(self.tools.values())
        self._attributes: dict[str, list[str]] = {}
        for name in self.tools:
            attribute = python_name(name)
            taken = hasattr(Toolbox, attribute)
            self._attributes.setdefault(f"{attribute}_" if taken else attribute, []).append(name)

    def named(self, name: str) -> types.Tool | None:
        """The tool of that name, its own or the one it was exported under."""
        return self.tools.get(name) or self.tools.get(self._exported.get(name, ""))

    def under(self, attribute: str) -> list[str]:
        """The names of the tools that an attribute may mean. A tool's own name means that tool alone."""
        if attribute in self.tools and not hasattr(Toolbox, attribute):
            return [attribute]
        return self._attributes.get(attribute, [])

    @property
    def attributes(self) -> list[str]:
        """What can be written behind the dot."""
        return [attribute for attribute in self._attributes if len(self.under(attribute)) == 1]


class Toolbox:
    """The tools of a server: ``tools.get_current_time(timezone="Europe/Vienna")``, ``tools["get-time"]()``.

    The tools are listed at the first use, and again by `refresh`. Iterating gives a `ToolFunction` for each.
    A tool whose name Python cannot say has an attribute with ``_`` instead, if no other tool claims it.
    Threads may share it.
    """

    def __init__(self, client: ToolCaller) -> None:
        self._client = client
        self._shelf: Shelf | None = None

    # What it holds.

    def __iter__(self) -> Iterator[ToolFunction]:
        return (ToolFunction(self._client, tool) for tool in self._stocked().tools.values())

    def __len__(self) -> int:
        return len(self._stocked().tools)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._stocked().named(name) is not None

    def __getitem__(self, name: str) -> ToolFunction:
        tool = self._stocked().named(name)
        if tool is None:
            raise KeyError(self._missing(name))
        return ToolFunction(self._client, tool)

    def __getattr__(self, name: str) -> ToolFunction:
        # Python, its debuggers and notebooks probe for names with an underscore; that is no use of the tools.
        if name.startswith("_") and self.__dict__.get("_shelf") is None:
            raise AttributeError(name)
        shelf = self._stocked()
        found = shelf.under(name)
        if not found:
            raise AttributeError(self._missing(name))
        if len(found) > 1:
            raise AttributeError(f"{name!r} may mean the tools {found}: write tools[{found[0]!r}]")
        return ToolFunction(self._client, shelf.tools[found[0]])

    def __dir__(self) -> list[str]:
        own = list(super().__dir__())
        with contextlib.suppress(errors.McpError):
            return own + self._stocked().attributes
        return own

    def __repr__(self) -> str:
        if self._shelf is None:
            return "<Toolbox, not listed yet>"
        lines = [_line(tool) for tool in list(self)[:_MOST_SHOWN]]
        if len(self) > _MOST_SHOWN:
            lines.append(f"  and {len(self) - _MOST_SHOWN} more")
        return "\n".join([f"<Toolbox of {len(self)} tools>", *lines])

    # What it does.

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | str | None = None,
        *,
        timeout: float | None = None,
        on_progress: ProgressHandler | None = None,
        wait: bool = False,
    ) -> types.CallToolResult:
        """Do what a model asks for: call a tool by its own or its exported name.

        ``arguments`` is an object or its JSON text, as the APIs give them. Names that the export changed are
        changed back, and a null that stands for an argument left out is left out. Whether the arguments fit
        is the server's to say: a model can read its answer.
        """
        tool = self[name].tool
        given = restored(tool.input_schema, _arguments(tool.name, arguments))
        return self._client.call_tool(tool.name, given, timeout=timeout, on_progress=on_progress, wait=wait)

    def refresh(self) -> Toolbox:
        """List the tools again, past any answer that was kept."""
        self.learn(self._client.list_tools(fresh=True))
        return self

    def learn(self, tools: Iterable[types.Tool]) -> None:
        """Take over a listing that was made elsewhere."""
        self._shelf = Shelf(tools)

    def to_openai(
        self, *, strict: bool = False, api: Literal["chat", "responses"] = "chat"
    ) -> list[JsonObject]:
        """All tools, as OpenAI takes them."""
        return to_openai(self._stocked().tools.values(), strict=strict, api=api)

    def to_anthropic(self) -> list[JsonObject]:
        """All tools, as Anthropic takes them."""
        return to_anthropic(self._stocked().tools.values())

    def to_gemini(self) -> list[JsonObject]:
        """All tools, as Gemini's function declarations."""
        return to_gemini(self._stocked().tools.values())

    # Inside.

    def _stocked(self) -> Shelf:
        shelf = self._shelf
        if shelf is None:
            shelf = self._shelf = Shelf(self._client.list_tools())
        return shelf

    def _missing(self, name: str) -> str:
        shelf = self._stocked()
        known = [*shelf.tools, *shelf.attributes]
        close = list(dict.fromkeys(get_close_matches(name, known)))
        hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
        return f"no tool {name!r}{hint}"


def _arguments(tool: str, given: Mapping[str, Any] | str | None) -> Mapping[str, Any]:
    try:
        value = json.loads(given or "{}") if given is None or isinstance(given, str) else given
    except json.JSONDecodeError as error:
        raise ValueError(f"the arguments of tool {tool!r} are not JSON: {error}") from None
    if not isinstance(value, Mapping):
        raise TypeError(f"the arguments of tool {tool!r} must be an object, not {type(value).__name__}")
    return value


def _line(tool: ToolFunction) -> str:
    first = (tool.description or tool.title or "").strip().split("\n", 1)[0]
    return f"  {tool.summary}  {first}".rstrip()
