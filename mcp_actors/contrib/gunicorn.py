"""For gunicorn: streams end when a worker does, and are not waited for until its graceful timeout.

Say ``gunicorn -c python:mcp_actors.contrib.gunicorn ...``, or in a ``gunicorn.conf.py`` of your own
``from mcp_actors.contrib.gunicorn import post_worker_init``.
"""

from __future__ import annotations

import threading
import time
from typing import Protocol

__all__ = ["post_worker_init"]

#: How often to look whether the worker is told to end. gunicorn has no hook for that.
_LOOK_EVERY = 0.2
#: So much earlier than gunicorn does, calls are broken off: then their clients still hear of it.
_MARGIN = 2.0


class Configuration(Protocol):
    """What is read of gunicorn's."""

    graceful_timeout: int


class Worker(Protocol):
    """A worker of gunicorn. ``alive`` until a signal, a reload, or the last of its requests ends it."""

    alive: bool
    cfg: Configuration


def post_worker_init(worker: Worker) -> None:
    """gunicorn calls it in each worker, once the app is loaded."""
    # No signal handler: they are gunicorn's, and would run in the midst of what the main thread does.
    threading.Thread(target=_watch, args=(worker,), name="mcp-gunicorn-watch", daemon=True).start()


def _watch(worker: Worker) -> None:
    from mcp_actors.server.http.app import all_apps

    while worker.alive:
        time.sleep(_LOOK_EVERY)
    grace = max(_LOOK_EVERY, worker.cfg.graceful_timeout - _MARGIN)
    for app in all_apps():
        app.stop(grace)
