"""Slot: a one-shot answer that a caller waits on. Some bring news meanwhile, or work to do."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from threading import Lock
from typing import Any, Final, Generic, Protocol, TypeVar

from mcp_actors.runtime.deadline import Deadline

__all__ = ["ForkedSlot", "ProgressSlot", "Slot", "SlotTimeout", "Work", "WorkSlot"]

T = TypeVar("T")

_UNSET: Final[Any] = object()
_OFFERS_KEPT = 256


class SlotTimeout(TimeoutError):
    """The deadline passed before the slot was set."""


class ForkedSlot(RuntimeError):
    """The slot was made before `os.fork()`: whoever was to set it lives in the parent process."""


class _Process:
    """Which process this is, without asking the kernel each time."""

    pid = os.getpid()

    @classmethod
    def forked(cls) -> None:
        cls.pid = os.getpid()


os.register_at_fork(after_in_child=_Process.forked)


class Slot(Generic[T]):
    """Holds one value. Any thread may set it; the first wins.

    The lock is no guard but a bell: held while there is nothing to see, released to wake the waiter. An
    interrupted `wait` leaves the slot as it was.
    """

    __slots__ = ("_bell", "_claim", "_hook", "_pid", "_value")

    def __init__(self) -> None:
        self._bell = Lock()
        self._bell.acquire()
        self._claim = [True]
        self._value: T = _UNSET
        self._hook: list[Callable[[T], object]] = []
        self._pid = _Process.pid

    @property
    def is_set(self) -> bool:
        """Whether the value is there."""
        return self._value is not _UNSET

    def set(self, value: T) -> bool:
        """Give the answer. False if somebody was faster; then nothing changes. Never blocks."""
        try:
            # list.pop is atomic: exactly one setter gets the claim.
            self._claim.pop()
        except IndexError:
            return False
        self._value = value
        self._ring()
        if self._hook:
            self._call_hook()
        return True

    def wait(self, deadline: Deadline) -> T:
        """The value, as soon as it is set.

        Raises:
            SlotTimeout: the deadline passed first. The slot may still be waited on again.
            ForkedSlot: this is not the process that made the slot.
        """
        self._refuse_after_fork()
        if self._value is _UNSET:
            self._listen(deadline)
            # Somebody else may be waiting too.
            self._ring()
        return self._value

    def on_set(self, callback: Callable[[T], object]) -> None:
        """Call `callback(value)` once: on the setter's thread, or now if it is set. It must not raise."""
        self._hook.append(callback)
        if self.is_set:
            self._call_hook()

    def _call_hook(self) -> None:
        # Setter and subscriber may both come here; popping decides who calls.
        while self._hook:
            try:
                callback = self._hook.pop()
            except IndexError:
                return
            callback(self._value)

    def _ring(self) -> None:
        try:
            self._bell.release()
        except RuntimeError:
            # Already ringing.
            return

    def _listen(self, deadline: Deadline) -> None:
        """Wait for the bell."""
        if not self._bell.acquire(True, deadline.remaining()) and self._value is _UNSET:
            raise SlotTimeout("no answer before the deadline")

    def _refuse_after_fork(self) -> None:
        if self._pid != _Process.pid:
            raise ForkedSlot(f"made in process {self._pid}, waited on in process {_Process.pid}")


class ProgressSlot(Slot[T]):
    """A slot that also carries items, in order, to the thread that waits for the value.

    One thread offers, one thread waits. At most 256 items are kept; then each new one displaces the oldest.
    """

    __slots__ = ("_handed_out", "_items", "_offered")

    def __init__(self) -> None:
        super().__init__()
        self._items: deque[Any] = deque(maxlen=_OFFERS_KEPT)
        self._offered = 0
        self._handed_out = 0

    @property
    def merged(self) -> int:
        """How many items were displaced by newer ones."""
        return self._offered - self._handed_out - len(self._items)

    def offer(self, item: Any) -> None:
        """Have `item` handed out by the waiter. Never blocks."""
        self._items.append(item)
        self._offered += 1
        self._ring()

    def wait(self, deadline: Deadline, on_item: Callable[[Any], object] | None = None) -> T:
        """As `Slot.wait`; runs `on_item(item)` on this thread for each item offered before the value was set.

        An exception of `on_item` ends the wait; the slot may be waited on again.
        """
        self._refuse_after_fork()
        while self._value is _UNSET:
            if deadline.expired:
                # Without this, steady news would keep the wait alive for ever.
                raise SlotTimeout("no answer before the deadline")
            # Before listening: a wait that was interrupted may have heard the bell and left items.
            self._hand_out(on_item)
            self._listen(deadline)
        # Items may have come between the last look and the value.
        self._hand_out(on_item)
        return self._value

    def _hand_out(self, on_item: Callable[[Any], object] | None) -> None:
        # Not until it is empty: what comes meanwhile rings again, and the deadline is looked at in between.
        for _ in range(len(self._items)):
            item = self._items.popleft()
            self._handed_out += 1
            if on_item is not None:
                on_item(item)
                # The callback may have forked; in the child nobody will ever set this slot.
                self._refuse_after_fork()


class Work(Protocol):
    """Something that a thread can do while it waits."""

    def run(self, deadline: Deadline) -> None:
        """Do it, until it is done, stopped, or too late. The waiter's thread."""

    def stop(self) -> None:
        """Have `run` return soon, also if it has not begun. Any thread; never blocks."""


class WorkSlot(Slot[T]):
    """A slot whose waiter can be given work: as a rule, to find out the value.

    One thread gives work, once; one thread waits. Work is stopped as soon as somebody sets the value; whoever
    does the work knows when it is over, and gives what it found by `settle`.
    """

    __slots__ = ("_begun", "_work")

    def __init__(self) -> None:
        super().__init__()
        self._work: Work | None = None
        self._begun = False

    def give(self, work: Work) -> None:
        """Have the waiter do this. Never blocks."""
        self._work = work
        self._ring()

    def set(self, value: T) -> bool:
        """As `Slot.set`; also stops the work."""
        if not super().set(value):
            return False
        # It may hold this slot: whoever is done with one lets go of the other.
        work, self._work = self._work, None
        if work is not None:
            work.stop()
        return True

    def settle(self, value: T) -> bool:
        """As `Slot.set`, for the work itself."""
        return super().set(value)

    def wait(self, deadline: Deadline) -> T:
        """As `Slot.wait`; does the work that is given meanwhile. An exception of the work ends the wait."""
        self._refuse_after_fork()
        while self._value is _UNSET:
            # Before listening: a wait that was interrupted may have heard the bell and done nothing.
            work = self._work
            if work is None or self._begun:
                self._listen(deadline)
            else:
                self._begun = True
                work.run(deadline)
                # Not if it broke off: whoever ends the wait then stops what may have been left half done.
                self._work = None
        # Somebody else may be waiting too.
        self._ring()
        return self._value
