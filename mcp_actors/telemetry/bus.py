"""Carries events from the library to handlers; costs one attribute read while nobody listens."""

from __future__ import annotations

import logging
import os
import random
import threading
import weakref
from binascii import crc32
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from mcp_actors.telemetry.events import Event, RequestEvent

__all__ = ["Bus", "bus"]

# Any: a handler may be written for the one event class it is attached to.
Handler: TypeAlias = Callable[[Any], object]
Detach: TypeAlias = Callable[[], None]

CAPACITY: Final = 10_000
JOIN_TIMEOUT: Final = 2.0

logger = logging.getLogger("mcp_actors.telemetry")


@dataclass(eq=False, slots=True)
class _Subscription:
    handler: Handler
    events: tuple[type[Event], ...]
    sample: float
    failures: int = 0


class Bus:
    """Carries events to handlers on one daemon thread, which lives while at least one handler is attached.

    ``active``, ``dropped`` and ``failures`` are plain attributes to read. Emitters write
    ``if bus.active: bus.emit(SomeEvent(...))``: while nobody listens the event is not even made.
    All state is guarded by one lock, held for a few instructions and never while a handler runs.
    """

    _dispatcher: threading.Thread | None
    _waiting: deque[Event]

    def __init__(self, *, capacity: int = CAPACITY, chance: Callable[[], float] = random.random) -> None:
        if capacity < 1:
            raise ValueError(f"capacity must be at least 1, not {capacity}")
        self.active = False
        self.dropped = 0
        self.failures = 0
        self._capacity = capacity
        self._chance = chance
        self._subscriptions: tuple[_Subscription, ...] = ()
        self._forget_process()
        _buses.add(self)

    def attach(self, handler: Handler, *events: type[Event], sample: float = 1.0) -> Detach:
        """Call ``handler(event)`` for each event of the given classes (none given: all), on the bus's thread.

        ``sample`` is the share of events to deliver. The events of one request are delivered all or none.
        Returns the function that detaches; what is still queued at the last detach is discarded.
        """
        if not 0.0 <= sample <= 1.0:
            raise ValueError(f"sample must be between 0 and 1, not {sample!r}")
        for kind in events:
            if not (isinstance(kind, type) and issubclass(kind, Event)):
                raise TypeError(f"not an event class: {kind!r}")
        subscription = _Subscription(handler, events or (Event,), sample)
        with self._changed:
            self._subscriptions += (subscription,)
            self.active = True
            self._ensure_dispatcher()
        return lambda: self._detach(subscription)

    def emit(self, event: Event) -> None:
        """Queue an event. Any thread; waits for no handler, never raises; a full queue loses its oldest."""
        with self._changed:
            if not self._subscriptions:
                return
            if len(self._waiting) >= self._capacity:
                self._waiting.popleft()
                self.dropped += 1
            self._waiting.append(event)
            self._emitted += 1
            self._ensure_dispatcher()
            self._changed.notify_all()

    def flush(self, timeout: float) -> bool:
        """Wait until everything emitted so far was handled or dropped; False when the time is over.

        From a handler it returns False at once: the event in hand cannot end before the handler does.
        """
        with self._changed:
            if self._dispatcher is threading.current_thread():
                return False
            if self._waiting:
                self._ensure_dispatcher()
            target = self._emitted
            return self._changed.wait_for(lambda: self._settled(target), timeout)

    def _settled(self, target: int) -> bool:
        taken = self._emitted - len(self._waiting)
        return taken >= target and not 0 < self._in_hand <= target

    def _detach(self, subscription: _Subscription) -> None:
        with self._changed:
            self._subscriptions = tuple(one for one in self._subscriptions if one is not subscription)
            if self._subscriptions:
                return
            self.active = False
            self._waiting.clear()
            self._in_hand = 0
            dispatcher, self._dispatcher = self._dispatcher, None
            self._changed.notify_all()
        if dispatcher is not None and dispatcher is not threading.current_thread():
            dispatcher.join(JOIN_TIMEOUT)

    def _forget_process(self) -> None:
        # Also run in a forked child: the parent's thread is not there, and its lock may be held for ever.
        # Reentrant, because a finalizer may emit while its thread is inside emit.
        self._changed = threading.Condition(threading.RLock())
        self._waiting = deque()
        self._emitted = 0
        self._in_hand = 0
        self._dispatcher = None

    def _ensure_dispatcher(self) -> None:
        if self._dispatcher is not None:
            return
        thread = threading.Thread(target=self._dispatch, name="mcp-telemetry", daemon=True)
        self._dispatcher = thread
        try:
            thread.start()
        except RuntimeError:
            # No more threads, or the interpreter is ending: telemetry must not become the caller's failure.
            self._dispatcher = None

    def _dispatch(self) -> None:
        me = threading.current_thread()
        try:
            while (event := self._take(me)) is not None:
                for subscription in self._subscriptions:
                    self._deliver(subscription, event)
        finally:
            with self._changed:
                if self._dispatcher is me:
                    self._dispatcher, self._in_hand = None, 0
                    self._changed.notify_all()

    def _take(self, me: threading.Thread) -> Event | None:
        """The next event; None when ``me`` is no longer the dispatcher. Dispatcher thread only."""
        with self._changed:
            if self._dispatcher is me:
                self._in_hand = 0
                self._changed.notify_all()
            self._changed.wait_for(lambda: self._waiting or self._dispatcher is not me)
            if self._dispatcher is not me:
                return None
            self._in_hand = self._emitted - len(self._waiting) + 1
            return self._waiting.popleft()

    def _deliver(self, subscription: _Subscription, event: Event) -> None:
        if subscription not in self._subscriptions or not isinstance(event, subscription.events):
            return
        if not self._sampled(subscription.sample, event):
            return
        try:
            subscription.handler(event)
        except BaseException:  # a handler's SystemExit must not end the dispatcher either
            self.failures += 1
            subscription.failures += 1
            if subscription.failures == 1:
                logger.warning(
                    "! telemetry handler %r failed on %s; its further failures are only counted",
                    subscription.handler,
                    event.name,
                    exc_info=True,
                )

    def _sampled(self, sample: float, event: Event) -> bool:
        if sample >= 1.0:
            return True
        if isinstance(event, RequestEvent):
            return _share(event.correlation_id) < sample
        return self._chance() < sample


def _share(correlation_id: str) -> float:
    """A number in [0, 1) that depends on the id alone, so that start and stop of a request agree on it."""
    # Not hashlib: it would load OpenSSL into every program for a number that only has to be even.
    return crc32(correlation_id.encode("utf-8", "backslashreplace")) / 2**32


def _forget_processes() -> None:
    for one in list(_buses):
        one._forget_process()


_buses: weakref.WeakSet[Bus] = weakref.WeakSet()
os.register_at_fork(after_in_child=_forget_processes)

bus: Final = Bus()
"""The bus of this process, which every client and server emits to."""
