"""Channel: frames on their way in one direction, bounded in bytes, with an end."""

from __future__ import annotations

import threading
from collections import deque

from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.lock import Lock
from mcp_actors.transports.contract import READ_BYTES, SendVerdict, WireEnded


class Channel:
    """Frames on their way in one direction. Any thread; one lock guards everything."""

    def __init__(self, max_frame_bytes: int, high_water: int) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._high_water = high_water
        self._lock = Lock()
        self._changed = threading.Condition(self._lock)
        self._frames: deque[bytes] = deque()
        self._ending: Ending | None = None
        self.waiting_bytes = 0
        self.greatest_waiting_bytes = 0
        self.frames_taken = 0
        self.bytes_taken = 0
        self.frames_put = 0
        self.bytes_put = 0

    def put(self, frame: bytes) -> SendVerdict:
        """Take a frame, unless too much is waiting or it is too late."""
        with self._lock:
            if self._ending is not None:
                return SendVerdict.CLOSED
            if self._is_busy(len(frame)):
                return SendVerdict.BUSY
            self._put(frame)
            self._changed.notify_all()
            return SendVerdict.SENT

    def await_room(self, size: int, deadline: Deadline) -> bool:
        """Wait until ``put`` is not BUSY for a frame of this size; False at the deadline."""
        with self._lock:
            return self._changed.wait_for(lambda: not self._is_busy(size), deadline.remaining())

    def wait(self, deadline: Deadline | None) -> bool:
        """Wait for a frame; False at the deadline. Raises WireEnded when none is left and none will come."""
        with self._lock:
            timeout = None if deadline is None else deadline.remaining()
            found = self._changed.wait_for(lambda: self._frames or self._ending is not None, timeout)
            if not self._frames and self._ending is not None:
                raise WireEnded(self._ending)
            return bool(found)

    def take(self, limit: int | None) -> list[bytes]:
        """At most ``limit`` frames and 64 KiB, or one larger frame. Raises WireEnded."""
        with self._lock:
            if not self._frames and self._ending is not None:
                raise WireEnded(self._ending)
            taken: list[bytes] = []
            size = 0
            while self._frames and (limit is None or len(taken) < limit):
                size += len(self._frames[0])
                if taken and size > READ_BYTES:
                    break
                taken.append(self._frames.popleft())
            self._count_taken(taken)
            return taken

    def end(self, ending: Ending, *, drop: bool) -> Ending:
        """Take no more frames; the first ending counts. ``drop`` throws away those that wait."""
        with self._lock:
            if self._ending is None:
                self._ending = ending
            if drop:
                self._frames.clear()
                self.waiting_bytes = 0
            self._changed.notify_all()
            return self._ending

    def _put(self, frame: bytes) -> None:
        if len(frame) > self._max_frame_bytes:
            reason = f"a frame of {len(frame)} bytes, above the limit of {self._max_frame_bytes} bytes"
            self._ending = Ending(EndKind.OVERSIZED, f"the server sent {reason}")
            return
        self._frames.append(frame)
        self.frames_put += 1
        self.bytes_put += len(frame)
        self.waiting_bytes += len(frame)
        self.greatest_waiting_bytes = max(self.greatest_waiting_bytes, self.waiting_bytes)

    def _count_taken(self, frames: list[bytes]) -> None:
        size = sum(map(len, frames))
        self.waiting_bytes -= size
        self.bytes_taken += size
        self.frames_taken += len(frames)
        self._changed.notify_all()

    def _is_busy(self, size: int) -> bool:
        # A frame above the mark passes when it is alone.
        full = bool(self._frames) and self.waiting_bytes + size > self._high_water
        return full and self._ending is None
