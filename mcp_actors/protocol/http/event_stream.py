"""Event streams (text/event-stream) read piece by piece, each event bounded while it arrives.

The rules are WHATWG's, with one difference: an event without data is reported, too. MCP 2025-11-25 gives
such events a meaning: an id to resume from, or the time to wait before it.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

MESSAGE: Final = "message"
#: The longest id or name of an event; an id has to fit into a request header again.
MAX_NAME_BYTES: Final = 4096
#: What a longer number of milliseconds is taken for.
MAX_RETRY: Final = 10**15 - 1

_BOM: Final = b"\xef\xbb\xbf"
_DATA: Final = b"data: "
_LINE_ENDS: Final = (b"\n", b"\r")
_MAX_RETRY_DIGITS: Final = 15


class ServerEvent(Struct, frozen=True, gc=False):
    """One event. ``id`` and ``retry`` (milliseconds) are None unless this very event named them.

    ``data`` is empty if there was none: then the event only says from where, or when, to resume.
    """

    event: str = MESSAGE
    data: bytes = b""
    id: str | None = None
    retry: int | None = None


class EventTooLarge(Exception):
    """Something in the stream is above its limit; where the next event begins is not known.

    ``events`` are those that were complete before, in the same chunk.
    """

    def __init__(self, what: str, seen: int, limit: int) -> None:
        super().__init__(f"{what} of at least {seen} bytes is above the limit of {limit} bytes")
        self.what = what
        self.seen = seen
        self.limit = limit
        self.events: list[ServerEvent] = []


class EventStream:
    """Turns the bytes of one response into events. Belongs to the thread that reads them.

    ``max_event_bytes`` bounds the data of an event, and with a little more every single line.
    """

    def __init__(self, max_event_bytes: int) -> None:
        self._limit = max_event_bytes
        self._line_limit = max_event_bytes + len(_DATA)
        self._opening: bytes | None = b""  # what came while it could still become a BOM
        self._after_return = False
        # Bytearrays, not lists of pieces: many tiny pieces would take a multiple of their size.
        self._line = bytearray()  # the line that has no end yet
        self._more = bytearray()  # the data from its second line on
        self._fault: tuple[str, int, int] | None = None
        self._last_event_id = ""
        # The event that is not complete yet.
        self._event = MESSAGE
        self._data: bytes | None = None
        self._id: str | None = None
        self._retry: int | None = None
        self._begun = False

    @property
    def last_event_id(self) -> str:
        """The id of the last complete event that had one, empty if none had: where to resume."""
        return self._last_event_id

    @property
    def buffered(self) -> int:
        """Bytes held of what is not complete yet."""
        return len(self._line) + len(self._data or b"") + len(self._more) + len(self._opening or b"")

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """Take the next bytes of the stream; give the events that they complete.

        Raises:
            EventTooLarge: and again on each later call.
        """
        if self._fault is not None:
            raise EventTooLarge(*self._fault)
        events: list[ServerEvent] = []
        try:
            for line in self._lines(chunk if self._opening is None else self._without_bom(chunk)):
                if line.startswith(_DATA):
                    self._add_data(line[len(_DATA) :])
                elif line:
                    self._take_field(line)
                elif self._begun:
                    events.append(self._finish())
            _check("a line", len(self._line), self._line_limit)
        except EventTooLarge as fault:
            self._give_up(fault)
            fault.events = events
            raise
        return events

    def _without_bom(self, chunk: bytes) -> bytes:
        start = (self._opening or b"") + chunk
        if len(start) < len(_BOM) and _BOM.startswith(start):
            self._opening = start
            return b""
        self._opening = None
        return start.removeprefix(_BOM)

    def _lines(self, chunk: bytes) -> list[bytes]:
        """The lines that the chunk completes; what has no end yet is kept."""
        if self._after_return and chunk:
            # The chunk before ended with a CR, which ended the line: a LF is the rest of the same end.
            chunk = chunk.removeprefix(b"\n")
            self._after_return = False
        if b"\r" in chunk:
            self._after_return = chunk.endswith(b"\r")
            # For bytes this knows the same three ends of a line as event streams do, and no others.
            lines = chunk.splitlines()
            tail = b"" if chunk.endswith(_LINE_ENDS) else lines.pop()
        else:
            lines = chunk.split(b"\n")
            tail = lines.pop()
        if lines and self._line:
            self._line += lines[0]
            lines[0] = bytes(self._line)
            self._line.clear()
        self._line += tail
        return lines

    def _take_field(self, line: bytes) -> None:
        _check("a line", len(line), self._line_limit)
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"data":
                self._add_data(value)
            case b"event":
                self._event = _text("the name of an event", value) or MESSAGE
                self._begun = True
            case b"id" if b"\0" not in value:
                self._id = _text("the id of an event", value)
                self._begun = True
            case b"retry" if value.isdigit():
                self._retry = int(value) if len(value) <= _MAX_RETRY_DIGITS else MAX_RETRY
                self._begun = True
            # Anything else is a comment (its name is empty) or a field that does not exist.

    def _add_data(self, value: bytes) -> None:
        self._begun = True
        if self._data is None:
            _check("an event", len(value), self._limit)
            self._data = value
            return
        size = len(self._data) + len(self._more) + 1 + len(value)
        _check("an event", size, self._limit)
        self._more += b"\n"
        self._more += value

    def _finish(self) -> ServerEvent:
        data = self._data or b""
        if self._more:
            data += self._more
            self._more.clear()
        if self._id is not None:
            # Not before the event is complete: to resume after half an event would lose it.
            self._last_event_id = self._id
        finished = ServerEvent(self._event, data, self._id, self._retry)
        self._forget()
        return finished

    def _forget(self) -> None:
        self._event = MESSAGE
        self._data = self._id = self._retry = None
        self._begun = False

    def _give_up(self, fault: EventTooLarge) -> None:
        self._fault = (fault.what, fault.seen, fault.limit)
        self._line.clear()
        self._more.clear()
        self._forget()


def _check(what: str, size: int, limit: int) -> None:
    if size > limit:
        raise EventTooLarge(what, size, limit)


def _text(what: str, value: bytes) -> str:
    _check(what, len(value), MAX_NAME_BYTES)
    return value.decode("utf-8", "replace")
