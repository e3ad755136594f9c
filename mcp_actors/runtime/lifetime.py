"""Lifetime: what must end with the process ends, and what must not survive a fork is forgotten."""

from __future__ import annotations

import atexit
import logging
import os
import sys
from typing import Protocol

from mcp_actors.runtime.deadline import Deadline

__all__ = ["Root", "guard", "refuse_gevent", "release"]

logger = logging.getLogger("mcp_actors.runtime")

_EXIT_SECONDS = 10.0


class Root(Protocol):
    """The top of a tree: whatever owns threads, pipes or processes."""

    def stop(self, deadline: Deadline) -> object:
        """End the tree; called while the interpreter exits, so it must not start a thread."""
        ...

    def forget(self) -> object:
        """Let go of what belongs to the parent process; called in a forked child, where no thread but this
        one exists, and any lock may be held by one that does not."""
        ...


# A plain dict, for each of its operations is atomic: no lock that a fork could leave held.
_roots: dict[int, Root] = {}


def guard(root: Root) -> None:
    """From now on stop `root` at exit, and have it forget its tree in a forked child. Any thread."""
    _roots[id(root)] = root


def release(root: Root) -> None:
    """Guard `root` no longer; it is no mistake if it never was. Any thread."""
    _roots.pop(id(root), None)


def refuse_gevent() -> None:
    """Raise RuntimeError if gevent has replaced the threads of this process."""
    monkey = sys.modules.get("gevent.monkey")
    if monkey is not None and monkey.is_module_patched("threading"):
        raise RuntimeError(
            "gevent has patched the threading module of this process; this library needs real threads: "
            "call gevent.monkey.patch_all(thread=False), or use a worker that is not gevent's"
        )


def _take_all() -> list[Root]:
    roots = list(_roots.values())
    _roots.clear()
    return roots


def _stop_all() -> None:
    deadline = Deadline.after(_EXIT_SECONDS)
    for root in reversed(_take_all()):
        try:
            root.stop(deadline)
        except Exception:
            logger.exception("%r could not be stopped at exit", root)


def _forget_all() -> None:
    for root in _take_all():
        try:
            root.forget()
        except Exception:
            logger.exception("%r could not be forgotten after a fork", root)


atexit.register(_stop_all)
os.register_at_fork(after_in_child=_forget_all)
