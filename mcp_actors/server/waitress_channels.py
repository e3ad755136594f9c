"""The connections of waitress: bounded in number and size, and none can be held against the others."""

from __future__ import annotations

import resource
import time
from typing import Any, Final

from waitress.channel import HTTPChannel
from waitress.server import BaseWSGIServer

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


# Any: waitress is typed from outside, and not in all that it has.
class FairChannel(HTTPChannel):
    """One connection. On the thread of the event loop."""

    def __init__(self, server: Any, *details: Any, **options: Any) -> None:
        super().__init__(server, *details, **options)
        self._make_room(server)

    def writable(self) -> bool:
        """Whether there is something to write, or the connection is to be closed."""
        if self._is_stuck:
            # At once: a socket that takes nothing is never ready to be closed by those who wait for that.
            self.handle_close()
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
        waits = self.total_outbufs_len > self.adj.outbuf_high_watermark
        return waits and time.time() - self.last_activity > STUCK_SECONDS


def use_fair_channels(connections: dict[int, Any]) -> None:
    """Have all that listen in this map make such connections."""
    for one in connections.values():
        if isinstance(one, BaseWSGIServer):
            one.channel_class = FairChannel
