"""Hearing: what clients tell, brought to the functions that want to know, in order."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.serving.unheard import Told, Unheard
from mcp_actors.runtime.fork_border import ForkBorder
from mcp_actors.runtime.lane import Lane
from mcp_actors.runtime.tasks import Run

if TYPE_CHECKING:
    from mcp_actors.server.host import Host
    from mcp_actors.server.peer import Peer

Listener: TypeAlias = Callable[[JsonObject], object]

#: When no worker takes what a client told: how soon to try again.
_TRY_AGAIN: Final = 0.1

logger: Final = logging.getLogger("mcp_actors.server")


class Hearing:
    """One lane for each client that has told something: its news are heard in order, one at a time, and wait
    within bounds of their own. Any thread; listeners run on workers.
    """

    def __init__(self, listeners: Mapping[str, Sequence[Listener]]) -> None:
        self._listeners = listeners
        # Each change is one operation. A lane that is forgotten too early is made again: that costs order.
        self._lanes: dict[Hashable, _ClientLane] = {}
        self.dropped = 0

    def hear(self, peer: Peer, method: str, params: JsonObject) -> None:
        """A client told something. Whoever has its turn."""
        if method not in self._listeners:
            return
        key: Hashable = peer.client or peer
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes.setdefault(key, _ClientLane(self, peer.host, key, peer.client))
        lane.offer(Told(method, params))

    def tell(self, told: Told) -> None:
        """Call those who want to know. On a worker; a mistake in one harms no other."""
        for listener in tuple(self._listeners.get(told.method, ())):
            try:
                with ForkBorder():
                    listener(told.params)
            except BaseException:
                # SystemExit of a listener's own, too.
                logger.exception("a listener to %s failed", told.method)

    def forget(self, key: Hashable) -> None:
        """Nothing of that client waits any more."""
        self._lanes.pop(key, None)

    def note_drops(self, count: int) -> None:
        """So many were dropped, as their listeners are too slow. The first time it is said aloud."""
        if not self.dropped:
            logger.warning("a client tells more than is listened to; what tells of no state is dropped")
        self.dropped += count


class _ClientLane(Unheard):
    """What one client told: the buffer of its lane, and what stands in for the pool that runs it. ``client``
    is the one whose share of the workers it takes.
    """

    def __init__(self, hearing: Hearing, host: Host, key: Hashable, client: str | None) -> None:
        super().__init__()
        self._hearing = hearing
        self._host = host
        self._key = key
        self._client = client
        self._lane = Lane(self, self, self._work, _nothing, "a client's news")

    def offer(self, *told: Told) -> None:
        """Have it heard."""
        self._lane.offer(told)

    def push(self, items: Sequence[Told]) -> bool:
        before = self.dropped
        full = super().push(items)
        if self.dropped > before:
            self._hearing.note_drops(self.dropped - before)
        return full

    def tell(self, message: Run) -> bool:
        """Have a worker do it, or try again later."""
        if self._host.employ([message.job], self._client):
            return True
        self._host.wake((id(self), "news"), _TRY_AGAIN, self.offer)
        return False

    def _work(self, told: Told) -> None:
        self._host.engagements.run(lambda: self._hearing.tell(told))
        if not self._lane.depth:
            self._hearing.forget(self._key)


def _nothing() -> None:
    """There is always room."""
