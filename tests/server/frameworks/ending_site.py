"""A server whose streams are open when the program that serves it is told to end."""

from __future__ import annotations

from mcp_actors import Context, Server

server = Server("ending", version="1.0")


@server.tool()
def work(context: Context) -> str:
    """Say that it began, and take a while."""
    context.report_progress(1, 2)
    context.sleep(1.0)
    return "worked"


@server.tool()
def hang(context: Context) -> str:
    """Never end by itself."""
    context.report_progress(1, 2)
    context.sleep(3600.0)
    return "never"


app = server.wsgi(threads=8, keep_alive=0.5)
