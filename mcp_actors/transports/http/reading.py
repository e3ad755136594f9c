"""Reading: the events of one response, turned into frames for the connection."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

import urllib3

from mcp_actors.protocol.http.event_stream import MESSAGE, EventStream, EventTooLarge, ServerEvent
from mcp_actors.protocol.http.reconnection import Reconnection
from mcp_actors.protocol.jsonrpc import Answer, Batch, Failure, Id, Malformed, Message, scan
from mcp_actors.transports.http.grip import Grip
from mcp_actors.transports.http.inbox import Inbox
from mcp_actors.transports.http.pools import finish

_CHUNK: Final = 64 * 1024
#: How long a stream may go on after the answer. What it says until then still counts, and its end lets the
#: connection be used again.
_AFTERWORDS: Final = 1.0

logger: Final = logging.getLogger("mcp_actors.transports")


class Reading:
    """Of one stream, over all its connections. Belongs to the thread that reads it.

    ``awaited`` are the requests whose answers are expected there; answers to others are none of this stream's
    business. ``notice`` sees an answer before anybody else does; ``heard`` is called after each message.
    """

    def __init__(
        self,
        inbox: Inbox,
        max_event_bytes: int,
        story: Reconnection,
        awaited: set[Id],
        notice: Callable[[bytes], object] = lambda _frame: None,
        heard: Callable[[], object] = lambda: None,
    ) -> None:
        self._inbox = inbox
        self._max_event_bytes = max_event_bytes
        self.story = story
        self._expected = frozenset(awaited)
        self._awaited = awaited
        self._notice = notice
        self._heard = heard
        # Of the present response: what of it was read, but not heard yet.
        self._response: urllib3.BaseHTTPResponse | None = None
        self._stream = EventStream(max_event_bytes)
        self._unheard: deque[ServerEvent] = deque()
        self._excess: EventTooLarge | None = None
        self._ended = False
        self._began = 0.0

    @property
    def answered(self) -> bool:
        """Everything that was expected has come."""
        return bool(self._expected) and not self._awaited

    @property
    def lasted(self) -> float:
        """For how long the present response has been read."""
        return time.monotonic() - self._began

    def first(self, response: urllib3.BaseHTTPResponse) -> bytes | None:
        """The answer, if it is the first message: then it is not handed on. The rest is for `follow`.

        Raises urllib3's errors.
        """
        self._turn_to(response)
        while self._read(response):
            while self._unheard and not _says_something(self._unheard[0]):
                self._take(self._unheard.popleft())
            if self._unheard:
                return self._take_answer(self._unheard[0].data)
            self._refuse_excess()
        return None

    def follow(self, response: urllib3.BaseHTTPResponse, grip: Grip) -> None:
        """Hand on every message until the stream ends, or the inbox does. Raises urllib3's errors.

        A stream that was read to its end gives its connection back; every other is closed.
        """
        self._turn_to(response)
        end: float | None = None
        try:
            while True:
                while self._unheard:
                    self._take(self._unheard.popleft())
                self._refuse_excess()
                if self.answered and end is None:
                    end = time.monotonic() + _AFTERWORDS
                    grip.hurry(_AFTERWORDS)
                if (end is not None and time.monotonic() > end) or not self._read(response):
                    return
        finally:
            response.close()

    def finish(self, response: urllib3.BaseHTTPResponse) -> bool:
        """After the answer: be done with the stream, if nothing is left to hear and its end is there."""
        return not self._unheard and self._excess is None and finish(response)

    def _turn_to(self, response: urllib3.BaseHTTPResponse) -> None:
        if response is not self._response:
            self._response = response
            self._stream = EventStream(self._max_event_bytes)
            self._ended = False
            self._began = time.monotonic()

    def _read(self, response: urllib3.BaseHTTPResponse) -> bool:
        """Some more of the present response; False at its end."""
        if self._ended:
            return False
        # Whether it ends here or breaks, nothing more comes of it.
        self._ended = True
        chunk = response.read1(_CHUNK)
        if not chunk:
            response.release_conn()
            return False
        self._ended = False
        try:
            self._unheard.extend(self._stream.feed(chunk))
        except EventTooLarge as error:
            self._unheard.extend(error.events)
            self._excess = error
        return True

    def _refuse_excess(self) -> None:
        excess, self._excess = self._excess, None
        if excess is not None:
            raise excess

    def _take_answer(self, data: bytes) -> bytes | None:
        message = scan(data)
        if isinstance(message, Batch) or set(_answered(message)) != self._expected:
            return None
        self.story.heard(self._unheard.popleft())
        self._awaited.clear()
        return data

    def _take(self, event: ServerEvent) -> None:
        """One event. Those without data only tell from where to go on."""
        self.story.heard(event)
        if not _says_something(event):
            return
        answered = set(_answered(scan(event.data)))
        if answered - self._expected:
            logger.debug("an answer to %r came in a stream that it does not belong to", answered)
            return
        if answered:
            self._awaited -= answered
            self._notice(event.data)
        self._inbox.deliver(event.data)
        self._heard()


def _says_something(event: ServerEvent) -> bool:
    return event.event == MESSAGE and bool(event.data)


def _answered(message: Message) -> Iterator[Id]:
    """The requests that a message answers, well or badly."""
    if isinstance(message, Batch):
        for single in message.messages:
            yield from _answered(single)
    elif isinstance(message, Answer | Failure | Malformed) and message.id is not None:
        yield message.id
