"""The event loop of waitress, which ends with the server that it serves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from waitress.channel import HTTPChannel


# Any: the server that waitress makes has no one type, and neither have those that share its loop.
class Loop:
    """On the thread that serves."""

    def __init__(self, serving: Any, connections: dict[int, Any]) -> None:
        self._serving = serving
        self._connections = connections

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._serving.effective_port)

    def run(self, ended: Callable[[], bool] = lambda: False) -> None:
        """Serve until interrupted, or until it is ``ended`` and nobody waits for an answer."""
        loop, settings = self._serving.asyncore.loop, self._serving.adj
        try:
            while not (ended() and self._is_quiet):
                loop(settings.asyncore_loop_timeout, settings.asyncore_use_poll, self._connections, 1)
        except (SystemExit, KeyboardInterrupt):
            # As waitress does: whoever interrupts wants it to return.
            pass
        finally:
            self.close()

    def close(self) -> None:
        """Let go of the address, of all threads and of all clients."""
        self._serving.task_dispatcher.shutdown()
        self._serving.close()
        for channel in self._channels:
            channel.handle_close()

    @property
    def _channels(self) -> list[HTTPChannel]:
        return [one for one in tuple(self._connections.values()) if isinstance(one, HTTPChannel)]

    @property
    def _is_quiet(self) -> bool:
        return not any(one.requests or one.total_outbufs_len for one in self._channels)
