"""Bytes to frames and back: newline-delimited and Content-Length framing, both with a size limit."""

from __future__ import annotations

from collections import deque
from typing import Final, Literal, Protocol, TypeAlias

FramingName: TypeAlias = Literal["line", "content-length"]

_BOM: Final = b"\xef\xbb\xbf"
_SPACE: Final = 0x20
_MAX_HEADER_BYTES: Final = 8 * 1024
_MAX_LENGTH_DIGITS: Final = 18


class FramingError(Exception):
    """The stream broke the framing; where the next frame begins is not known."""


class FrameOverflow(FramingError):
    """A frame above the limit; ``seen`` is how much of it was announced or had arrived."""

    def __init__(self, limit: int, seen: int) -> None:
        super().__init__(f"a frame of at least {seen} bytes, above the limit of {limit} bytes")
        self.limit = limit
        self.seen = seen


class Framer(Protocol):
    """Turns one stream into frames. Belongs to the reading thread; only ``wrap`` is for any thread.

    After ``feed`` has raised, the frames that were complete before the fault can still be taken.
    """

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the stream. Raises FramingError, and again on each later call."""

    def frames(self, limit: int | None) -> list[bytes]:
        """Hand out complete frames, oldest first, at most ``limit`` of them."""

    def rest(self) -> bytes:
        """At the end of the stream: the last frame if it needs no end mark, else nothing."""

    def wrap(self, frame: bytes) -> bytes:
        """The bytes that carry one frame to the peer."""

    @property
    def ready(self) -> bool:
        """Whether a complete frame is waiting."""

    @property
    def buffered(self) -> int:
        """Bytes held: complete frames not handed out, and the part of the next one."""


class _Shelf:
    """Complete frames waiting to be taken, and their size."""

    __slots__ = ("_frames", "size")

    def __init__(self) -> None:
        self._frames: deque[bytes] = deque()
        self.size = 0

    def __bool__(self) -> bool:
        return bool(self._frames)

    def put(self, frames: list[bytes]) -> None:
        self._frames.extend(frames)
        self.size += sum(map(len, frames))

    def take(self, limit: int | None) -> list[bytes]:
        if limit is None or limit >= len(self._frames):
            taken = list(self._frames)
            self._frames.clear()
            self.size = 0
            return taken
        taken = [self._frames.popleft() for _ in range(limit)]
        self.size -= sum(map(len, taken))
        return taken


class LineFramer:
    """One frame per line, ended by ``\\n`` alone. A CR before it, blank lines and a first BOM are dropped."""

    def __init__(self, max_frame_bytes: int) -> None:
        self._limit = max_frame_bytes
        self._shelf = _Shelf()
        self._parts: list[bytes] = []
        self._size = 0
        self._opening: bytes | None = b""
        self._fault: FramingError | None = None

    def feed(self, chunk: bytes) -> None:
        if self._fault is not None:
            raise self._fault
        if self._opening is not None:
            chunk = self._without_bom(self._opening + chunk)
        # Only the new chunk is searched: a frame of n bytes in many chunks costs n, not n squared.
        lines = chunk.split(b"\n")
        if len(lines) > 1:
            self._finish_line(lines, returns=bool(self._parts) or b"\r" in chunk)
        tail = lines[-1]
        if tail:
            self._parts.append(tail)
            self._size += len(tail)
            # A CR at the end may belong to the line's end and does not count yet.
            self._check(self._size - tail.endswith(b"\r"))

    def frames(self, limit: int | None) -> list[bytes]:
        return self._shelf.take(limit)

    def rest(self) -> bytes:
        # The shortest streams may end while they could still become a BOM.
        line = (self._opening or b"") + b"".join(self._parts)
        self._opening = None
        self._drop_parts()
        return b"" if line.isspace() else line.removesuffix(b"\r")

    def wrap(self, frame: bytes) -> bytes:
        if b"\n" in frame:
            raise ValueError("a frame must not contain a newline")
        return frame + b"\n"

    @property
    def ready(self) -> bool:
        return bool(self._shelf)

    @property
    def buffered(self) -> int:
        return self._shelf.size + self._size + len(self._opening or b"")

    def _without_bom(self, start: bytes) -> bytes:
        if len(start) < len(_BOM) and _BOM.startswith(start):
            self._opening = start
            return b""
        self._opening = None
        return start.removeprefix(_BOM)

    def _finish_line(self, lines: list[bytes], *, returns: bool) -> None:
        """Shelve all lines but the last, which has no end yet; the first one ends what came before.

        Without ``returns`` no line ends with a CR.
        """
        if self._parts:
            self._parts.append(lines[0])
            lines[0] = b"".join(self._parts)
            self._drop_parts()
        whole = [line.removesuffix(b"\r") for line in lines[:-1]] if returns else lines[:-1]
        largest = max(map(len, whole))
        if largest > self._limit:
            whole = whole[: next(place for place, line in enumerate(whole) if len(line) > self._limit)]
        # Nearly every line begins with a brace, which spares it the closer look.
        self._shelf.put([line for line in whole if line and (line[0] > _SPACE or not line.isspace())])
        self._check(largest)

    def _check(self, size: int) -> None:
        if size > self._limit:
            self._drop_parts()
            self._fault = FrameOverflow(self._limit, size)
            raise self._fault

    def _drop_parts(self) -> None:
        self._parts.clear()
        self._size = 0


class ContentLengthFramer:
    """Frames behind a header block with ``Content-Length``, as language servers speak."""

    def __init__(self, max_frame_bytes: int) -> None:
        self._limit = max_frame_bytes
        self._shelf = _Shelf()
        self._header = b""  # the header line that has no end yet
        self._header_size = 0
        self._length: int | None = None
        self._has_header = False
        self._wanted = 0  # bytes of the body still missing; 0 while a header is read
        self._parts: list[bytes] = []
        self._fault: FramingError | None = None

    def feed(self, chunk: bytes) -> None:
        if self._fault is not None:
            raise self._fault
        position = 0
        try:
            while position < len(chunk):
                position = (
                    self._read_body(chunk, position) if self._wanted else self._read_header(chunk, position)
                )
        except FramingError as fault:
            self._fault = fault
            self._parts.clear()
            self._header = b""
            raise

    def frames(self, limit: int | None) -> list[bytes]:
        return self._shelf.take(limit)

    def rest(self) -> bytes:
        # A body shorter than announced is no frame.
        self._parts.clear()
        self._header = b""
        return b""

    def wrap(self, frame: bytes) -> bytes:
        return b"Content-Length: %d\r\n\r\n%b" % (len(frame), frame)

    @property
    def ready(self) -> bool:
        return bool(self._shelf)

    @property
    def buffered(self) -> int:
        return self._shelf.size + sum(map(len, self._parts)) + len(self._header)

    def _read_body(self, chunk: bytes, position: int) -> int:
        part = chunk[position : position + self._wanted]
        self._parts.append(part)
        self._wanted -= len(part)
        if not self._wanted:
            self._shelf.put([b"".join(self._parts)])
            self._parts.clear()
        return position + len(part)

    def _read_header(self, chunk: bytes, position: int) -> int:
        """Take one header line, or the part of it that is there."""
        end = chunk.find(b"\n", position, position + _MAX_HEADER_BYTES)
        stop = end + 1 if end >= 0 else min(len(chunk), position + _MAX_HEADER_BYTES)
        self._header_size += stop - position
        if self._header_size > _MAX_HEADER_BYTES:
            raise FramingError(f"the header block is larger than {_MAX_HEADER_BYTES} bytes")
        self._header += chunk[position:stop]
        if end >= 0:
            line, self._header = self._header.rstrip(b"\r\n"), b""
            self._end_header_line(line)
        return stop

    def _end_header_line(self, line: bytes) -> None:
        if line:
            self._has_header = True
            self._take_field(line)
        elif self._has_header:
            self._begin_body()
        # Else a blank line between two frames: some peers end each body with one.

    def _take_field(self, line: bytes) -> None:
        name, colon, value = line.partition(b":")
        if not colon:
            raise FramingError(f"not a header line: {line[:80]!r}")
        if name.strip().lower() != b"content-length":
            return
        digits = value.strip()
        if not digits.isdigit() or len(digits) > _MAX_LENGTH_DIGITS:
            raise FramingError(f"not a content length: {digits[:80]!r}")
        if self._length not in (None, int(digits)):
            raise FramingError("two different content lengths in one header block")
        self._length = int(digits)

    def _begin_body(self) -> None:
        if self._length is None:
            raise FramingError("a header block without Content-Length")
        if self._length > self._limit:
            raise FrameOverflow(self._limit, self._length)
        self._wanted = self._length
        self._length, self._has_header, self._header_size = None, False, 0


def make_framer(framing: FramingName, max_frame_bytes: int) -> Framer:
    """The framer of this name, at the start of a stream."""
    return LineFramer(max_frame_bytes) if framing == "line" else ContentLengthFramer(max_frame_bytes)
