"""Listens: who wants to hear of which changes, by stream (2026-07-28) or for a session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.codec import Json, JsonObject
from mcp_actors.protocol.jsonrpc import Id
from mcp_actors.protocol.serving.news import FILTERS, Kind, News, covers
from mcp_actors.protocol.serving.profile import TASKS
from mcp_actors.protocol.serving.terms import Job, Refused, has

#: How many resources and tasks one stream, or one session, may watch.
MAX_WATCHED: Final = 1_000


class Listen(Struct, frozen=True):
    """What one stream hears of."""

    id: Id
    kinds: frozenset[Kind]
    uris: frozenset[str]
    tasks: frozenset[str]

    def wants(self, news: News) -> bool:
        """Whether these news belong on the stream."""
        if news.kind == "updated":
            return any(covers(uri, news.key) for uri in self.uris)
        if news.kind == "task":
            return not news.core and news.key in self.tasks
        return news.kind in self.kinds

    def granted(self) -> JsonObject:
        """The filter that the client is told."""
        told: JsonObject = {word: True for word, (kind, _) in FILTERS.items() if kind in self.kinds}
        if self.uris:
            told["resourceSubscriptions"] = sorted(self.uris)
        if self.tasks:
            told["taskIds"] = sorted(self.tasks)
        return told


class Listens:
    """The open streams of one client."""

    def __init__(self) -> None:
        self._open: dict[Id, Listen] = {}

    def __len__(self) -> int:
        return len(self._open)

    def __contains__(self, id_: object) -> bool:
        return id_ in self._open

    def __iter__(self) -> Iterator[Listen]:
        return iter(tuple(self._open.values()))

    def open(self, listen: Listen) -> None:
        """Remember a stream."""
        self._open[listen.id] = listen

    def close(self, id_: Id) -> bool:
        """Forget a stream; False if there is none."""
        return self._open.pop(id_, None) is not None


def listen_of(job: Job, said: JsonObject) -> Listen | Refused:
    """What a request to listen is granted: what it asks for, as far as the server announces it at all."""
    wanted = job.params.get("notifications")
    if not isinstance(wanted, dict):
        return Refused(jsonrpc.INVALID_PARAMS, "notifications must be an object")
    kinds = {kind for word, (kind, path) in FILTERS.items() if wanted.get(word) is True and has(said, path)}
    uris = _texts(wanted.get("resourceSubscriptions"))
    tasks = _texts(wanted.get("taskIds"))
    if uris is None or tasks is None:
        return Refused(jsonrpc.INVALID_PARAMS, "resourceSubscriptions and taskIds must be lists of strings")
    if len(uris) + len(tasks) > MAX_WATCHED:
        return Refused(jsonrpc.INVALID_PARAMS, f"more than {MAX_WATCHED} resources and tasks on one stream")
    if not has(said, "resources.subscribe"):
        uris = frozenset()
    if not (job.terms.extension(TASKS) and TASKS in said.get("extensions", {})):
        tasks = frozenset()
    return Listen(job.id, frozenset(kinds), uris, tasks)


def _texts(value: Json) -> frozenset[str] | None:
    if value is None:
        return frozenset()
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return None
    return frozenset(value)
