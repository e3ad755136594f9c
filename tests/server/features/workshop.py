"""A workshop: tools that run as tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from mcp_actors import Refusal, RequestCancelled, Server, ToolError
from mcp_actors.client.gate import TASKS_EXTENSION
from mcp_actors.server.context import Context

#: What a client, or a server, says that knows of tasks.
DECLARED: Final[dict[str, Any]] = {"extensions": {TASKS_EXTENSION: {}}}


@dataclass
class Guest:
    """Who comes."""

    name: str


def furnish(server: Server) -> Server:
    @server.tool(task_support="optional", structured_output=False)
    def build(what: str, ctx: Context) -> str:
        if what == "refused":
            raise Refusal(4711, "no stones")
        if what == "failed":
            raise ToolError("it fell down")
        if what == "gave up":
            raise RequestCancelled("enough")
        ctx.report_progress(1)
        return f"a {what}"

    @server.tool(task_support="required", structured_output=False)
    def dig() -> str:
        return "a hole"

    @server.tool(structured_output=False)
    def look() -> str:
        return "seen"

    @server.tool(task_support="optional", structured_output=False)
    def host(ctx: Context) -> str:
        return f"welcome, {ctx.elicit('Who?', Guest).data.name}"

    return server
