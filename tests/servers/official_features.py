"""A server made with the official ``mcp`` package that asks its client, reports, logs, and changes its mind.

It speaks both eras: questions go out as requests before 2026-07-28, and as results that want input since.
"""

from __future__ import annotations

import os
from typing import Annotated, Any

import mcp_types as wire
from mcp.server import MCPServer
from mcp.server.context import ServerRequestContext
from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.resolve import Elicit, ListRoots, Resolve, Sample
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, Field

server = MCPServer("official-features", version="1.0", instructions="answer when you are asked")
subscribed: set[str] = set()
notes = {"one": "first"}
levels: list[str] = []


class Guest(BaseModel):
    """What a guest is asked."""

    name: str = Field(description="How to call you")
    age: int = Field(ge=0, le=150)


class Room(BaseModel):
    """What the guest whose name is known is asked."""

    floor: int


class Report(BaseModel):
    """A structured result."""

    title: str
    numbers: list[int]
    nested: dict[str, float]


def is_stateless(context: Context) -> bool:
    """Whether there is no channel back to the client but the answer."""
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


# Questions to the client.


def ask_guest() -> Elicit[Guest]:
    """The first question."""
    return Elicit("Who are you?", Guest)


def ask_room(guest: Annotated[Guest, Resolve(ask_guest)]) -> Elicit[Room]:
    """The second question, which cannot be asked before the first is answered."""
    return Elicit(f"Which floor, {guest.name}?", Room)


def ask_model(topic: str) -> Sample:
    """A question to the client's model."""
    question = wire.SamplingMessage(
        role="user", content=wire.TextContent(type="text", text=f"About {topic}?")
    )
    return Sample([question], max_tokens=50, system_prompt="be brief", temperature=0.5)


def ask_roots() -> ListRoots:
    """The question for the client's places."""
    return ListRoots()


@server.tool()
def introduce(outcome: Annotated[ElicitationResult[Guest], Resolve(ask_guest)]) -> str:
    """Ask the user and say what came of it."""
    if isinstance(outcome, AcceptedElicitation):
        return f"{outcome.data.name} is {outcome.data.age}"
    return outcome.action


@server.tool()
def check_in(guest: Annotated[Guest, Resolve(ask_guest)], room: Annotated[Room, Resolve(ask_room)]) -> str:
    """Ask the user twice, the second question after the first answer."""
    return f"{guest.name} sleeps on floor {room.floor}"


@server.tool()
def opinion(topic: str, answer: Annotated[wire.CreateMessageResult, Resolve(ask_model)]) -> str:
    """Ask the client's model."""
    content = answer.content
    said = content.text if isinstance(content, wire.TextContent) else "nothing"
    return f"{answer.model} on {topic}: {said}"


@server.tool()
def places(roots: Annotated[wire.ListRootsResult, Resolve(ask_roots)]) -> list[str]:
    """The client's roots."""
    return [str(root.uri) for root in roots.roots]


@server.tool()
def everything_at_once(
    topic: str,
    guest: Annotated[Guest, Resolve(ask_guest)],
    answer: Annotated[wire.CreateMessageResult, Resolve(ask_model)],
    roots: Annotated[wire.ListRootsResult, Resolve(ask_roots)],
) -> str:
    """Three kinds of questions in one call."""
    return f"{guest.name}, {answer.model}, {len(roots.roots)} roots on {topic}"


@server.tool()
async def visit(context: Context) -> str | wire.InputRequiredResult:
    """Send the user to a page."""
    url, message = "https://example.com/consent", "Please look at this page"
    if not is_stateless(context):
        outcome = await context.elicit_url(message, url, "visit-1")
        await context.session.send_elicit_complete("visit-1", context.request_id)
        return outcome.action
    answer = (context.input_responses or {}).get("page")
    if isinstance(answer, wire.ElicitResult):
        return answer.action
    page = wire.ElicitRequest(
        params=wire.ElicitRequestURLParams(message=message, url=url, elicitation_id="v")
    )
    return wire.InputRequiredResult(input_requests={"page": page}, request_state="on the way")


# News to the client.


@server.tool()
async def count(to: int, context: Context) -> int:
    """Report progress from one to ``to``."""
    for number in range(1, to + 1):
        await context.report_progress(number, to, f"step {number}")
    return to


@server.tool()
async def chatter(context: Context) -> list[str]:
    """Log once at each of three levels; gives the levels that the client chose."""
    for level in ("debug", "warning", "error"):
        await context.log(level, {"said": level}, logger_name="chatter")
    return levels


@server.tool()
async def write_note(name: str, text: str, context: Context) -> str:
    """Change a resource and tell whoever subscribed to it."""
    notes[name] = text
    uri = f"note://{name}"
    if is_stateless(context):
        await context.notify_resource_updated(uri)
    elif uri in subscribed:
        await context.session.send_resource_updated(uri)
    return uri


@server.tool()
async def learn(name: str, context: Context) -> str:
    """Add a tool and say so."""

    def learned() -> str:
        return f"{name} was learned"

    server.add_tool(learned, name=name)
    if is_stateless(context):
        await context.notify_tools_changed()
    else:
        await context.session.send_tool_list_changed()
    return name


# What can be had without a question.


@server.tool()
def report(title: str) -> Report:
    """A structured result with a schema."""
    return Report(title=title, numbers=[1, 2, 3], nested={"half": 0.5})


@server.tool()
def pid() -> int:
    """The number of this process."""
    return os.getpid()


@server.resource("note://{name}")
def note(name: str) -> str:
    """A note by its name."""
    return notes[name]


@server.resource("bytes://few", mime_type="application/octet-stream")
def few_bytes() -> bytes:
    """Bytes that are not text."""
    return b"\x00\xff\x00"


@server.prompt()
def letter(to: str, tone: str = "kind") -> str:
    """A request for a letter."""
    return f"Write a {tone} letter to {to}."


async def complete(
    ref: wire.PromptReference | wire.ResourceTemplateReference,
    argument: wire.CompletionArgument,
    context: wire.CompletionContext | None,
) -> wire.Completion | None:
    """Names for a note, tones for a letter."""
    if isinstance(ref, wire.ResourceTemplateReference):
        found = [name for name in notes if name.startswith(argument.value)]
    else:
        chosen = ((context and context.arguments) or {}).get("to", "")
        tones = ("kind", "cross") if chosen != "boss" else ("humble",)
        found = [tone for tone in tones if tone.startswith(argument.value)]
    return wire.Completion(values=found, total=len(found), has_more=False)


async def on_subscribe(_: ServerRequestContext, params: wire.SubscribeRequestParams) -> wire.EmptyResult:
    """Remember who wants to hear of a resource (before 2026-07-28)."""
    subscribed.add(str(params.uri))
    return wire.EmptyResult()


async def on_unsubscribe(_: ServerRequestContext, params: wire.UnsubscribeRequestParams) -> wire.EmptyResult:
    """Forget it again."""
    subscribed.discard(str(params.uri))
    return wire.EmptyResult()


async def on_level(_: ServerRequestContext, params: wire.SetLevelRequestParams) -> wire.EmptyResult:
    """Remember what the client wants to hear (before 2026-07-28)."""
    levels.append(params.level)
    return wire.EmptyResult()


# The class above it has no words for methods that 2026-07-28 took away; its inner server has.
inner = server._lowlevel_server
inner.add_request_handler("resources/subscribe", wire.SubscribeRequestParams, on_subscribe)
inner.add_request_handler("resources/unsubscribe", wire.UnsubscribeRequestParams, on_unsubscribe)
inner.add_request_handler("logging/setLevel", wire.SetLevelRequestParams, on_level)
# The package gives no types to this decorator.
completion: Any = server.completion
completion()(complete)

if __name__ == "__main__":
    server.run("stdio")
