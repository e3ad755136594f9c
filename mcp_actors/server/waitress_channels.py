"""The connections of waitress: bounded in number and size, and none can be held against the others."""

from __future__ import annotations

import resource
import time
from typing import Any, Final

from waitress.channel import HTTPChannel
from waitress.server import BaseWSGIServer
from waitress.task import WSGITask

#: Where the operating system allows as many. Each costs a descriptor and a few kilobytes.
MOST_CONNECTIONS: Final = 4096
#: Descriptors that are left for everything else in the process.
_SPARE: Final = 128
#: Room that is made before a new connection would have to wait for it.
_ROOM: Final = 16
#: So long a client may take nothing while a thread waits to write for it.
STUCK_SECONDS: Final = 30.0
_MIB: Final = 1024 * 1024
#: Of a request's line and headers. Reading them piece by piece costs more than their size.
_MOST_HEADER_BYTES: Final = 64 * 1024
#: A little more than the app takes, which knows better words for what is too large.
_BEYOND_BODY: Final = 64 * 1024


def limits(max_body_bytes: int) -> dict[str, Any]:
    """What waitress is told beside where to listen."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if descriptors == resource.RLIM_INFINITY:
        descriptors = MOST_CONNECTIONS + _SPARE
    return {
        # `select` knows no descriptor above 1023.
        "asyncore_use_poll": True,
        "connection_limit": max(2 * _ROOM, min(MOST_CONNECTIONS, descriptors - _SPARE)),
        "max_request_header_size": _MOST_HEADER_BYTES,
        "max_request_body_size": max_body_bytes + _BEYOND_BODY,
        "outbuf_high_watermark": _MIB,
        # Looking ahead is how it notices that a client has gone.
        "channel_request_lookahead": 1,
        "ident": None,
    }


class WholeAnswer(WSGITask):
    """One request, whose answer's head is written together with the first piece of its body."""

    channel: FairChannel

    def write(self, data: bytes) -> None:
        """A piece of the body. On the thread that runs the app."""
        if self.wrote_header or not data:
            super().write(data)
            return
        pieces = self.channel.gather()
        try:
            super().write(data)
        finally:
            self.channel.write_gathered(pieces)


# Any: waitress is typed from outside, and not in all that it has.
class FairChannel(HTTPChannel):
    """One connection. What is not marked otherwise runs on the thread of the event loop."""

    task_class = WholeAnswer

    def __init__(self, server: Any, *details: Any, **options: Any) -> None:
        self._gathered: list[bytes] | None = None
        self._writing = False
        super().__init__(server, *details, **options)
        self._make_room(server)

    def gather(self) -> list[bytes]:
        """Keep what is written until `write_gathered`. On the thread that runs the app."""
        self._gathered = []
        return self._gathered

    def write_gathered(self, pieces: list[bytes]) -> None:
        """Write what was kept, as one. On the thread that runs the app."""
        self._gathered = None
        self.write_soon(b"".join(pieces))

    def write_soon(self, data: Any) -> int:
        """Write what the socket takes, and leave the rest to the event loop. On the thread that runs the app.

        Meanwhile the event loop must not find the socket ready for more: it would ask again and again, and
        keep the interpreter from the very thread that it waits for.
        """
        if self._gathered is not None:
            self._gathered.append(data)
            return len(data)
        self._writing = True
        try:
            return int(super().write_soon(data))
        finally:
            self._writing = False
            if self.total_outbufs_len:
                self.server.pull_trigger()

    def writable(self) -> bool:
        """Whether there is something to write, or the connection is to be closed."""
        if not self.total_outbufs_len:
            # The usual case. The event loop asks every connection whenever something happens on one.
            return bool(self.will_close or self.close_when_flushed)
        if self._is_stuck:
            # At once: a socket that takes nothing is never ready to be closed by those who wait for that.
            self.handle_close()
        if self._writing and not self.will_close and not self._is_full:
            return False
        return bool(super().writable())

    def _make_room(self, server: Any) -> None:
        """Close the connection that has said nothing for the longest time, if there are too many."""
        channels = tuple(server.active_channels.values())
        if len(channels) <= self.adj.connection_limit - _ROOM:
            return
        idle = [one for one in channels if not (one is self or one.requests or one.will_close)]
        if idle:
            min(idle, key=lambda one: one.last_activity).will_close = True

    @property
    def _is_stuck(self) -> bool:
        """Whether a thread waits for a client that does not read."""
        return self._is_full and time.time() - self.last_activity > STUCK_SECONDS

    @property
    def _is_full(self) -> bool:
        """Whether whoever writes has to wait until the event loop has made room."""
        return bool(self.total_outbufs_len > self.adj.outbuf_high_watermark)


def use_fair_channels(connections: dict[int, Any]) -> None:
    """Have all that listen in this map make such connections."""
    for one in connections.values():
        if isinstance(one, BaseWSGIServer):
            one.channel_class = FairChannel
