"""Trees: the tree that a client starts at first use, anew in each process."""

from __future__ import annotations

import os
from collections.abc import Callable
from weakref import WeakSet

from mcp_actors.client.options import LADDER_SECONDS
from mcp_actors.client.tree import Tree
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.lazy import Lazy


class Trees(Lazy[Tree]):
    """Found by every fork, also if another thread is making the tree at that moment."""

    def __init__(self, plant: Callable[[], Tree]) -> None:
        super().__init__(plant, lambda tree: tree.stop(Deadline.after(sum(LADDER_SECONDS) + 2.0)))
        _all.add(self)


_all: WeakSet[Trees] = WeakSet()


def _forget_all() -> None:
    """In a forked child: no thread of the parent's trees exists here."""
    for trees in list(_all):
        trees.forget()


os.register_at_fork(after_in_child=_forget_all)
