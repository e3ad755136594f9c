"""Timekeeper: the actor that wakes sessions and spreads news, so that none of them needs a thread."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable
from typing import Any, Final

from msgspec import Struct

from mcp_actors.protocol.serving.news import News
from mcp_actors.runtime.actor import Actor
from mcp_actors.runtime.mailbox import TimerFired

#: A list is said to have changed at most once in this time.
QUIET_SECONDS: Final = 0.1

logger: Final = logging.getLogger("mcp_actors.server")


class Wake(Struct, frozen=True):
    """Call ``action()`` after ``seconds``, instead of what was to be called under this key before."""

    key: Hashable
    seconds: float
    action: Callable[[], object]


class LetSleep(Struct, frozen=True):
    """Forget what was to be called under this key."""

    key: Hashable


class Announce(Struct, frozen=True):
    """Something changed. Who wants to know hears of it soon, and of many changes at once only once."""

    news: News


class _Quiet(Struct, frozen=True):
    """The key of the time in which a kind of news is not repeated."""

    kind: str
    key: str


class Timekeeper(Actor):
    """Timers live in its mailbox. What it calls must not block: it only brings events to sessions."""

    def __init__(self, spread: Callable[[News], None], **actor: Any) -> None:
        super().__init__(**actor)
        self._spread = spread
        self._actions: dict[Hashable, Callable[[], object]] = {}
        self._late: dict[Hashable, News] = {}

    def handle(self, message: Wake | LetSleep | Announce | TimerFired) -> None:
        match message:
            case Wake(key, seconds, action):
                self._actions[key] = action
                self.set_timer(key, seconds)
            case LetSleep(key):
                self._actions.pop(key, None)
                self.cancel_timer(key)
            case Announce(news):
                self._announce(news)
            case TimerFired(_Quiet() as quiet):
                self._break_silence(quiet)
            case TimerFired(key):
                self._call(self._actions.pop(key, None))

    def _announce(self, news: News) -> None:
        # What is told about a task differs each time; about everything else the latest says it all.
        quiet = _Quiet(news.kind, news.key)
        if news.kind == "task":
            self._tell(news)
        elif quiet in self._actions:
            self._late[quiet] = news
        else:
            self._begin_silence(quiet, news)

    def _begin_silence(self, quiet: _Quiet, news: News) -> None:
        self._actions[quiet] = _nothing
        self.set_timer(quiet, QUIET_SECONDS)
        self._tell(news)

    def _break_silence(self, quiet: _Quiet) -> None:
        """The last change is never lost: it is told when the quiet time is over."""
        del self._actions[quiet]
        news = self._late.pop(quiet, None)
        if news is not None:
            self._begin_silence(quiet, news)

    def _tell(self, news: News) -> None:
        self._call(lambda: self._spread(news))

    def _call(self, action: Callable[[], object] | None) -> None:
        if action is None:
            return
        try:
            action()
        except Exception:
            logger.exception("%s: what was due failed", self.ref.name)


def _nothing() -> None:
    """Only time has to pass."""
