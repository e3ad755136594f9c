"""A server made with FastMCP and its tasks extension, for an environment that has these installed."""

from __future__ import annotations

import asyncio
import importlib
import os
from datetime import timedelta
from typing import Any

# Named at run time only: where the tests are type-checked, these packages need not be installed.
fastmcp: Any = importlib.import_module("fastmcp")
tasks: Any = importlib.import_module("fastmcp_tasks")
wire: Any = importlib.import_module("mcp_types")
task_config: Any = importlib.import_module("fastmcp.utilities.tasks").TaskConfig
#: As the default of a parameter it stands for the context of the call.
CONTEXT: Any = importlib.import_module("fastmcp.dependencies").CurrentContext()

server: Any = fastmcp.FastMCP("fastmcp-features", version="1.0", instructions="be quick")


def question(message: str, **fields: str) -> Any:
    """A form for the user, with fields of the JSON types given."""
    schema = {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in fields.items()},
        "required": list(fields),
    }
    return wire.ElicitRequest(params=wire.ElicitRequestFormParams(message=message, requested_schema=schema))


def add(a: int, b: int) -> int:
    """The sum of two numbers."""
    return a + b


def pid() -> int:
    """The number of this process."""
    return os.getpid()


def stock(item: str) -> dict[str, Any]:
    """A structured result."""
    return {"item": item, "places": [{"shelf": 1, "count": 2}]}


async def count(to: int, context: Any = CONTEXT) -> int:
    """Report progress from one to ``to``."""
    for number in range(1, to + 1):
        await context.report_progress(number, to, f"step {number}")
    return to


async def chatter(context: Any = CONTEXT) -> str:
    """Log once at each of three levels."""
    await context.debug("a detail")
    await context.warning("take care", logger_name="chatter")
    await context.error("too late")
    return "said"


async def ask_by_request(what: str, context: Any = CONTEXT) -> str:
    """Ask the user while the call waits, which only revisions before 2026-07-28 can."""
    outcome = await context.elicit(f"How many {what}?", int)
    return f"{outcome.data} {what}" if outcome.action == "accept" else str(outcome.action)


async def ask_by_result(what: str, context: Any = CONTEXT) -> Any:
    """Ask the user by a result that wants input, twice, which only 2026-07-28 can."""
    answers = context.input_responses or {}
    if "amount" in answers:
        return f"{context.request_state}: {answers['amount'].content['amount']} {what}"
    if "name" in answers:
        request = {"amount": question(f"How many {what}?", amount="integer")}
        name = answers["name"].content["name"]
        return wire.InputRequiredResult(input_requests=request, request_state=name)
    return wire.InputRequiredResult(input_requests={"name": question("Who asks?", name="string")})


async def hide_add(context: Any = CONTEXT) -> str:
    """Take a tool away from this session, which the client is told."""
    await context.disable_components(names={"add"}, components={"tool"})
    return "hidden"


async def slow_sum(a: int, b: int) -> int:
    """A sum that may run as a task."""
    await asyncio.sleep(0.05)
    return a + b


async def endless() -> str:
    """Run until it is cancelled."""
    await asyncio.sleep(3600)
    return "never"


async def order(what: str, context: Any = CONTEXT) -> Any:
    """A task that asks the user before it can end."""
    answers = context.input_responses or {}
    if "amount" not in answers:
        request = {"amount": question(f"How many {what}?", amount="integer")}
        return wire.InputRequiredResult(input_requests=request)
    return f"{answers['amount'].content['amount']} {what} ordered"


async def broken() -> str:
    """A task that fails."""
    raise ValueError("this task always fails")


def greeting() -> str:
    """A text."""
    return "hello ü"


def page(book: str, number: int) -> str:
    """A page of a book."""
    return f"page {number} of {book}"


def poem(about: str) -> str:
    """A request for a poem."""
    return f"Write a poem about {about}."


for function in (add, pid, stock, count, chatter, ask_by_request, ask_by_result, hide_add):
    server.tool(function)
server.add_extension(tasks.TasksExtension())
often = timedelta(milliseconds=50)
for background in (slow_sum, endless, order, broken):
    server.tool(background, task=task_config(mode="optional", poll_interval=often))
server.resource("toy://greeting")(greeting)
server.resource("book://{book}/{number}")(page)
server.prompt(poem)

if __name__ == "__main__":
    server.run("stdio", show_banner=False)
