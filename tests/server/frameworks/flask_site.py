"""A Flask application with MCP tools beside its pages: in a dispatcher, in its context, and in a view."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import flask
from werkzeug.middleware.dispatcher import DispatcherMiddleware

from mcp_actors import Context, Server

site = flask.Flask("shop")
site.config["CURRENCY"] = "EUR"
server = Server("shop", version="1.0")


@server.tool()
def price(item: str) -> str:
    """What something costs, in the currency of the application."""
    return f"{len(item)} {flask.current_app.config['CURRENCY']}"


@server.tool()
def who(context: Context) -> dict[str, str]:
    """Who asks, as the request of the framework says, before and after some time has passed."""
    first = flask.request.headers.get("X-User", "nobody")
    context.report_progress(1)
    context.sleep(0.01)
    return {
        "first": first,
        "later": flask.request.headers.get("X-User", "nobody"),
        "path": flask.request.root_path + flask.request.path,
    }


@server.tool()
def plain() -> bool:
    """Whether there is anything of the framework here."""
    return bool(flask.current_app)


app = server.wsgi(threads=8)


def in_context(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """The tools, with the application and the request of the framework around them."""
    with site.request_context(environ):
        return app(environ, start_response)


@site.get("/")
def home() -> str:
    """A page of the application."""
    return f"prices in {flask.current_app.config['CURRENCY']}"


@site.route("/view/mcp", methods=["GET", "POST", "DELETE"])
def view() -> Any:
    """The tools as a view."""
    inside = {**flask.request.environ, "SCRIPT_NAME": "/view", "PATH_INFO": "/mcp"}
    return flask.Response.from_app(app, inside)


mounted = DispatcherMiddleware(site.wsgi_app, {"/bare": app, "/tools": in_context})
