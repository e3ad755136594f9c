"""A server of plain functions as a WSGI app, bare or mounted: what the tests run under real WSGI servers."""

from __future__ import annotations

import os
import threading
from typing import Annotated, Any

import flask
from msgspec import Meta
from werkzeug.middleware.dispatcher import DispatcherMiddleware

from mcp_actors.server.context import Context
from mcp_actors.server.server import Server

server = Server("site", version="1.0")
seen = {"begun": 0, "cancelled": 0, "finished": 0}
released = threading.Event()

Region = Annotated[str, Meta(extra_json_schema={"x-mcp-header": "Region"})]


@server.tool()
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


@server.tool()
def count(context: Context, to: int) -> str:
    """Count, and tell how far."""
    for number in range(1, to + 1):
        context.report_progress(number, to)
    return "counted"


@server.tool()
def step(context: Context) -> str:
    """Tell one step, and go on only when told to."""
    context.report_progress(1, 2)
    return wait(context)


@server.tool()
def wait(context: Context) -> str:
    """Wait until told to go on, or until nobody waits for it."""
    seen["begun"] += 1
    while not released.is_set():
        if context.cancelled:
            seen["cancelled"] += 1
            return "cancelled"
        released.wait(0.01)
    released.clear()
    seen["finished"] += 1
    return "finished"


@server.tool()
def release() -> str:
    """Let the one that waits go on."""
    released.set()
    return "released"


@server.tool()
def later(context: Context) -> str:
    """Close the connection that the client waits on."""
    context.close_connection()
    return "fetched"


@server.tool()
def tell() -> dict[str, int]:
    """What has happened so far."""
    return {**seen, "pid": os.getpid()}


@server.tool()
def place(region: Region) -> str:
    """An argument that headers repeat."""
    return region


@server.tool()
def where() -> str:
    """Where a framework says the request came to."""
    return flask.request.path if flask.has_request_context() else "no framework"


@server.tool()
def ask(context: Context) -> Any:
    """Ask the user for a name."""
    form = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    answer = context.elicit("Who?", form)
    assert answer.content is not None
    return f"hello {answer.content['name']}"


@server.tool()
def grow() -> str:
    """Offer one more tool."""
    server.add_tool(lambda: "grown", name=f"grown-{len(server.registry.tools.entries)}", description="New.")
    return "grown"


app = server.wsgi(threads=8, look_every=0.05, keep_alive=0.2)

site = flask.Flask("site")


@site.get("/")
def home() -> str:
    """The site beside the server."""
    return "home"


@site.route("/inside", methods=["GET", "POST", "DELETE"])
def inside() -> Any:
    """The server inside a view of the framework."""
    environ = flask.request.environ
    # A view's own address is where the app is mounted.
    return flask.Response.from_app(app, {**environ, "SCRIPT_NAME": "/inside", "PATH_INFO": ""})


mounted = DispatcherMiddleware(site.wsgi_app, {"/tools": app})
