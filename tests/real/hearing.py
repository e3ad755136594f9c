"""A handler that remembers what it was called with."""

from __future__ import annotations

from typing import Any

from tests.client.waiting import until


class Heard:
    """Takes anything, from any thread; tests wait until there is enough of it."""

    def __init__(self) -> None:
        self.news: list[Any] = []

    def __call__(self, news: Any = None) -> None:
        self.news.append(news)

    def wait(self, count: int = 1) -> list[Any]:
        """What was heard, once there are so many."""
        until(lambda: len(self.news) >= count, otherwise=lambda: f"heard only {self.news}")
        return self.news
