"""Reading: the events of one response, turned into frames for the connection."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import Final

import urllib3

from mcp_actors.protocol.http.event_stream import MESSAGE, EventStream, EventTooLarge, ServerEvent
from mcp_actors.protocol.http.reconnection import Reconnection
from mcp_actors.protocol.jsonrpc import Answer, Batch, Failure, Id, Malformed, Message, scan
from mcp_actors.transports.http.grip import Grip
from mcp_actors.transports.http.inbox import Inbox

_CHUNK: Final = 64 * 1024
#: How long a stream may go on after the answer. What it says until then still counts, and its end lets the
#: connection be used again.
_AFTERWORDS: Final = 1.0

logger: Final = logging.getLogger("mcp_actors.transports")


class Reading:
    """Of one stream, over all its connections. Belongs to the thread that reads it.

    ``awaited`` are the requests whose answers are expected there; answers to others are none of this stream's
    business. ``notice`` sees an answer before anybody else does.
    """

    def __init__(
        self,
        inbox: Inbox,
        max_event_bytes: int,
        story: Reconnection,
        awaited: set[Id],
        notice: Callable[[bytes], object] = lambda _frame: None,
    ) -> None:
        self._inbox = inbox
        self._max_event_bytes = max_event_bytes
        self._story = story
        self._expected = frozenset(awaited)
        self._awaited = awaited
        self._notice = notice

    @property
    def answered(self) -> bool:
        """Everything that was expected has come."""
        return bool(self._expected) and not self._awaited

    def follow(self, response: urllib3.BaseHTTPResponse, grip: Grip) -> None:
        """Hand on every message until the stream ends, or the inbox does. Raises urllib3's errors.

        A stream that was read to its end gives its connection back; every other is closed.
        """
        stream = EventStream(self._max_event_bytes)
        end: float | None = None
        try:
            while chunk := response.read1(_CHUNK):
                for event in self._events(stream, chunk):
                    self._take(event)
                if not self.answered:
                    continue
                if end is None:
                    end = time.monotonic() + _AFTERWORDS
                    grip.hurry(_AFTERWORDS)
                elif time.monotonic() > end:
                    break
            else:
                response.release_conn()
        finally:
            response.close()

    def _events(self, stream: EventStream, chunk: bytes) -> list[ServerEvent]:
        try:
            return stream.feed(chunk)
        except EventTooLarge as error:
            for event in error.events:
                self._take(event)
            raise

    def _take(self, event: ServerEvent) -> None:
        """One event. Those without data only tell from where to go on."""
        self._story.heard(event)
        if event.event != MESSAGE or not event.data:
            return
        answered = set(_answered(scan(event.data)))
        if answered - self._expected:
            logger.debug("an answer to %r came in a stream that it does not belong to", answered)
            return
        if answered:
            self._awaited -= answered
            self._notice(event.data)
        self._inbox.deliver(event.data)


def _answered(message: Message) -> Iterator[Id]:
    """The requests that a message answers, well or badly."""
    if isinstance(message, Batch):
        for single in message.messages:
            yield from _answered(single)
    elif isinstance(message, Answer | Failure | Malformed) and message.id is not None:
        yield message.id
