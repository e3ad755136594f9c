"""The threads of waitress, which can be ended though streams are open."""

from __future__ import annotations

from collections.abc import Callable

from waitress.task import ThreadedTaskDispatcher


class StreamingThreads(ThreadedTaskDispatcher):
    """``stop`` has all streams end: the threads that write them would be waited for in vain."""

    def __init__(self, count: int, stop: Callable[[], None]) -> None:
        super().__init__()
        self._stop = stop
        self.set_thread_count(count)

    def shutdown(self, cancel_pending: bool = True, timeout: int = 5) -> bool:
        """End the threads. On the thread that serves, after it was interrupted."""
        self._stop()
        return bool(super().shutdown(cancel_pending, timeout))
