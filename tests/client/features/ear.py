"""Ear: a callback of any kind that remembers what it was told, and can be waited for."""

from __future__ import annotations

import threading
from typing import Any

from tests.client.waiting import BOUND


class Ear:
    """What it hears is kept as it came: one argument as itself, none or several as a tuple."""

    def __init__(self) -> None:
        self.heard: list[Any] = []
        self._news = threading.Condition()

    def __call__(self, *values: Any) -> None:
        with self._news:
            self.heard.append(values[0] if len(values) == 1 else values)
            self._news.notify_all()

    def wait_for(self, count: int) -> list[Any]:
        """Everything heard, as soon as there is so much of it."""
        with self._news:
            assert self._news.wait_for(lambda: len(self.heard) >= count, BOUND), f"{len(self.heard)} came"
            return list(self.heard)
