"""A server of ours that offers every feature, for clients of others: over stdio, or over HTTP at a port."""

from __future__ import annotations

import os
import sys
import threading
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from mcp_actors import Context, Elicit, Image, NotFound, Roots, Sample, Server, ToolError
from mcp_actors.protocol import types

server = Server("own-features", version="1.0", instructions="answer when you are asked", page_size=5)
notes = {"one": "first"}
cancelled = threading.Event()


@dataclass
class Guest:
    """What a guest is asked."""

    name: str
    age: Annotated[int, Meta(ge=0, le=150)]


@dataclass
class Room:
    """What the guest whose name is known is asked."""

    floor: int


@dataclass
class Report:
    """A structured result."""

    title: str
    numbers: list[int]
    nested: dict[str, float]


# What can be had without a question.


@server.tool(annotations=types.ToolAnnotations(read_only_hint=True))
def add(a: int, b: Annotated[int, Meta(description="what is added")] = 2) -> int:
    """The sum of two numbers."""
    return a + b


@server.tool()
def report(title: str) -> Report:
    """A structured result with a schema."""
    return Report(title, [1, 2, 3], {"half": 0.5})


@server.tool()
def picture() -> list[str | Image]:
    """A text and an image."""
    return ["a dot", Image(b"\x89PNG\r\n\x1a\n", mime_type="image/png")]


@server.tool()
def pid() -> int:
    """The number of this process."""
    return os.getpid()


@server.tool()
def refuse() -> str:
    """Fails, and says why."""
    raise ToolError("not on a Monday")


@server.tool()
def crash() -> str:
    """Fails by a mistake of its own, of which nobody must learn."""
    raise RuntimeError("the password is swordfish")


# News to the client.


@server.tool()
def count(to: int, context: Context) -> int:
    """Report progress from one to ``to``."""
    for number in range(1, to + 1):
        context.report_progress(number, to, f"step {number}")
    return to


@server.tool()
def wait(context: Context) -> str:
    """Say that it has begun, and wait until it is cancelled."""
    context.report_progress(1)
    try:
        context.sleep(3600)
    finally:
        cancelled.set()
    return "never"


@server.tool()
def was_cancelled() -> bool:
    """Whether somebody who waited has been told to stop."""
    return cancelled.wait(5)


@server.tool()
def chatter(context: Context) -> str:
    """Log once at each of three levels."""
    for level in ("debug", "warning", "error"):
        context.log(level, {"said": level}, logger="chatter")
    return "said"


@server.tool()
def write_note(name: str, text: str) -> str:
    """Change a resource and tell whoever subscribed to it."""
    notes[name] = text
    server.resource_updated(f"note://{name}")
    return f"note://{name}"


@server.tool()
def learn(name: str) -> str:
    """Offer one more tool."""
    server.add_tool(lambda: f"{name} was learned", name=name, description="Was learned.", replace=True)
    return name


@server.tool()
def hang_up(context: Context) -> str:
    """Close the connection of the answer before there is one; the client has to ask for the rest."""
    context.report_progress(1, 2)
    context.close_connection()
    context.report_progress(2, 2)
    return "after all"


# Questions to the client.


@server.tool()
def introduce(context: Context) -> str:
    """Ask the user and say what came of it."""
    guest = context.elicit("Who are you?", Guest)
    return f"{guest.data.name} is {guest.data.age}" if guest.accepted else guest.action


@server.tool()
def check_in(context: Context) -> str:
    """Ask the user twice, the second question after the first answer."""
    guest = context.elicit("Who are you?", Guest)
    room = context.elicit(f"Which floor, {guest.data.name}?", Room)
    return f"{guest.data.name} sleeps on floor {room.data.floor}"


@server.tool()
def opinion(topic: str, context: Context) -> str:
    """Ask the client's model."""
    said = context.sample(f"About {topic}?", max_tokens=50, system_prompt="be brief", temperature=0.5)
    return f"{said.model} on {topic}: {said.text}"


@server.tool()
def places(context: Context) -> list[str]:
    """The client's roots."""
    return [root.uri for root in context.roots()]


@server.tool()
def everything_at_once(topic: str, context: Context) -> str:
    """Three kinds of questions in one call."""
    given = context.ask(
        {"guest": Elicit("Who are you?", Guest), "model": Sample(f"About {topic}?", 50), "places": Roots()}
    )
    return f"{given['guest'].data.name}, {given['model'].model}, {len(given['places'])} roots on {topic}"


# Resources, prompts and completions.


@server.resource("toy://greeting", mime_type="text/plain")
def greeting() -> str:
    """A text."""
    return "hello ü"


@server.resource("bytes://few", mime_type="application/octet-stream")
def few() -> bytes:
    """Some bytes that are no text."""
    return b"\x00\xff\x00"


@server.resource("note://{name}", mime_type="text/plain")
def note(name: str) -> str:
    """A note by its name."""
    if name not in notes:
        raise NotFound(f"note://{name}")
    return notes[name]


@server.prompt()
def letter(to: str, tone: str = "kind") -> str:
    """A request for a letter."""
    return f"Write a {tone} letter to {to}."


@server.completion(prompt="letter", argument="tone")
def tones(value: str) -> list[str]:
    """How letters can sound."""
    return [tone for tone in ("kind", "keen", "stern") if tone.startswith(value)]


@server.completion(template="note://{name}", argument="name")
def names(value: str) -> list[str]:
    """The notes that there are."""
    return [name for name in notes if name.startswith(value)]


if __name__ == "__main__":
    if len(sys.argv) > 1:
        # Quick, so that tests need not wait.
        server.run_http(port=int(sys.argv[1]), look_every=0.1, retry_ms=50)
    else:
        server.run()
