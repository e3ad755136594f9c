"""The word with which a client gives up its session."""

from __future__ import annotations

import contextlib
import threading
from typing import Final

import urllib3

from mcp_actors import errors
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.transports.http.crew import Crew
from mcp_actors.transports.http.dialogue import Dialogues
from mcp_actors.transports.http.engine import Errand
from mcp_actors.transports.http.grip import Grip

_SECONDS: Final = 2.0


def say_farewell(crew: Crew, dialogues: Dialogues, errand: Errand, deadline: Deadline) -> None:
    """MCP, sessions: a client that needs its session no longer should say so. A server need not hear it."""
    seconds = min(_SECONDS, deadline.remaining())
    grip, said = Grip(), threading.Event()

    def leave() -> None:
        with contextlib.suppress(urllib3.exceptions.HTTPError, OSError, errors.McpError):
            dialogues.mention(errand, grip, max(seconds, 0.05))
        said.set()

    # At the end of the program no thread can be had any more.
    if crew.run(leave):
        said.wait(seconds)
    else:
        leave()
    grip.cut()
