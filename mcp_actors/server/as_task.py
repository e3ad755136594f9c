"""AsTask: what a tool returns to go on after its request is answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class AsTask:
    """``work()`` gives the result of the task. Made by `Context.as_task`."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work
