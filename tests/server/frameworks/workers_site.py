"""A server for several processes: nothing is kept between two requests but what the client brings back."""

from __future__ import annotations

import os
from dataclasses import dataclass

from mcp_actors import Context, Server

# A deployment takes it from its configuration.
server = Server("workers", version="1.0", request_state_keys=(b"all processes of the server know this",))


@dataclass
class Answer:
    """A form with one field."""

    number: int


@server.tool()
def pid() -> int:
    """Which process answers."""
    return os.getpid()


@server.tool()
def count(to: int, context: Context) -> str:
    """Count, and tell how far."""
    for number in range(1, to + 1):
        context.report_progress(number, to)
    return "counted"


@server.tool()
def ask_thrice(context: Context) -> int:
    """Ask three times, one after the other; each question says which process asks."""
    return sum(context.elicit(f"{os.getpid()}", Answer).data.number for _ in range(3))


app = server.wsgi(threads=8, stateless=True)
