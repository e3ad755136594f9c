"""A server made with FastMCP and its tasks extension, for an environment that has these installed.

Without an argument it speaks over stdio, else over HTTP at that port.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import sys
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


def message(text: str) -> Any:
    """What the client's model is told."""
    return wire.SamplingMessage(role="user", content=wire.TextContent(type="text", text=text))


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


async def endless_count(context: Any = CONTEXT) -> int:
    """Report progress until nobody is there any more."""
    for number in range(10_000):
        await context.report_progress(number)
        await asyncio.sleep(0.05)
    return 0


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


async def muse_by_request(topic: str, context: Any = CONTEXT) -> str:
    """Ask the client's model while the call waits, which only revisions before 2026-07-28 can."""
    answer = await context.session.create_message([message(topic)], max_tokens=9)
    return f"{answer.model}: {answer.content.text}"


async def muse_by_result(topic: str, context: Any = CONTEXT) -> Any:
    """Ask the client's model by a result that wants input, which only 2026-07-28 can."""
    answers = context.input_responses or {}
    if "model" in answers:
        return f"{answers['model'].model}: {answers['model'].content.text}"
    params = wire.CreateMessageRequestParams(messages=[message(topic)], max_tokens=9)
    return wire.InputRequiredResult(input_requests={"model": wire.CreateMessageRequest(params=params)})


async def hang_up(context: Any = CONTEXT) -> str:
    """Close the stream of the answer before there is one; the client has to ask for the rest."""
    await context.report_progress(1, 2)
    await context.close_sse_stream()
    await asyncio.sleep(0.05)
    await context.report_progress(2, 2)
    return "after all"


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
for another in (muse_by_request, muse_by_result, hang_up, endless_count):
    server.tool(another)
server.add_extension(tasks.TasksExtension())
often = timedelta(milliseconds=50)
for background in (slow_sum, endless, order, broken):
    server.tool(background, task=task_config(mode="optional", poll_interval=often))
server.resource("toy://greeting")(greeting)
server.resource("book://{book}/{number}")(page)
server.prompt(poem)

if __name__ == "__main__":
    if len(sys.argv) > 1:
        # Events are kept, so that a client can ask for those it missed, and told to do so soon.
        events = importlib.import_module("fastmcp.server.event_store").EventStore()
        app = server.http_app(event_store=events, retry_interval=10)
        importlib.import_module("uvicorn").run(app, port=int(sys.argv[1]), log_level="error")
    else:
        server.run("stdio", show_banner=False)
