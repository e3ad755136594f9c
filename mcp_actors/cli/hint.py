"""What may have been meant, where the listing of a server shows that something was wrong; empty where not."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from mcp_actors import Client, errors
from mcp_actors.cli.listing import usage_of
from mcp_actors.protocol import types


def hint_about_tool(client: Client, name: str, given: Collection[str]) -> str:
    """About a call that failed."""
    try:
        tools = client.list_tools()
    except errors.McpError:
        # Whatever is wrong now, it is not what is to be reported.
        return ""
    tool = next((one for one in tools if one.name == name), None)
    if tool is None:
        return _not_listed("tool", name, tools)
    required = tool.input_schema.get("required")
    return _missing(tool, required if isinstance(required, list) else (), given)


def hint_about_prompt(client: Client, name: str, given: Collection[str]) -> str:
    """About a prompt that was not given."""
    try:
        prompts = client.list_prompts()
    except errors.McpError:
        return ""
    prompt = next((one for one in prompts if one.name == name), None)
    if prompt is None:
        return _not_listed("prompt", name, prompts)
    return _missing(prompt, [one.name for one in prompt.arguments or () if one.required], given)


def _not_listed(kind: str, name: str, listed: Sequence[types.Tool | types.Prompt]) -> str:
    names = ", ".join(one.name for one in listed)
    return f"the server lists no {kind} {name!r}; it lists {names}" if names else ""


def _missing(item: types.Tool | types.Prompt, required: Collection[object], given: Collection[str]) -> str:
    missing = ", ".join(str(key) for key in required if key not in given)
    return f"{missing} must be given: {item.name} {usage_of(item)}" if missing else ""
