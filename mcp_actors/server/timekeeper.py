"""Timekeeper: the actor that wakes sessions and spreads news, so that none of them needs a thread."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable
from typing import Any, Final

from msgspec import Struct

from mcp_actors.protocol.serving.news import News
from mcp_actors.runtime.actor import Actor
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.mailbox import TimerFired
from mcp_actors.server.agenda import Agenda, Announced, Dropped, Due, Look

#: A list is said to have changed at most once in this time.
QUIET_SECONDS: Final = 0.1

logger: Final = logging.getLogger("mcp_actors.server")


class _Quiet(Struct, frozen=True):
    """The key of the time in which a kind of news is not repeated."""

    kind: str
    key: str


class Timekeeper(Actor):
    """Works off an agenda, which outlives it: one that is started again goes on where the last one stopped.

    What it calls must not block: it only brings events to sessions.
    """

    def __init__(self, agenda: Agenda, spread: Callable[[News], None], **actor: Any) -> None:
        super().__init__(**actor)
        self._agenda = agenda
        self._spread = spread

    def init(self) -> None:
        self._agenda.serve(self.ref)
        for due in tuple(self._agenda.due.values()):
            self.set_timer(due.key, due.moment.remaining())
        # Not here: what fails in `init` is no reason to try again.
        self.ref.tell(Look())

    def handle(self, message: object) -> None:
        match message:
            case Look():
                self._look()
            case TimerFired(key):
                # First this: what brings us down must not do so again.
                self._end(key, self._agenda.due.pop(key, None))
            case _:
                super().handle(message)

    def _look(self) -> None:
        for entry in self._agenda.read():
            match entry:
                case Due():
                    self._set(entry)
                case Dropped(key):
                    self._agenda.due.pop(key, None)
                    self.cancel_timer(key)
                case Announced(news):
                    self._announce(news)

    def _set(self, due: Due) -> None:
        self._agenda.due[due.key] = due
        self.set_timer(due.key, due.moment.remaining())

    def _end(self, key: Hashable, due: Due | None) -> None:
        if isinstance(key, _Quiet):
            self._break_silence(key)
        elif due is not None:
            self._call(due.action)

    def _announce(self, news: News) -> None:
        # What is told about a task differs each time; about everything else the latest says it all.
        quiet = _Quiet(news.kind, news.key)
        if news.kind == "task":
            self._tell(news)
        elif quiet in self._agenda.due:
            self._agenda.late[quiet] = news
        else:
            self._begin_silence(quiet, news)

    def _begin_silence(self, quiet: _Quiet, news: News) -> None:
        self._set(Due(quiet, Deadline.after(QUIET_SECONDS), _nothing))
        self._tell(news)

    def _break_silence(self, quiet: _Quiet) -> None:
        """The last change is never lost: it is told when the quiet time is over."""
        news = self._agenda.late.pop(quiet, None)
        if news is not None:
            self._begin_silence(quiet, news)

    def _tell(self, news: News) -> None:
        self._call(lambda: self._spread(news))

    def _call(self, action: Callable[[], object]) -> None:
        try:
            action()
        except Exception:
            logger.exception("%s: what was due failed", self.ref.name)


def _nothing() -> None:
    """Only time has to pass."""
