"""Cancellation: a handler's way to learn that nobody waits for it any more."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.slot import Slot, SlotTimeout


class Cancellation:
    """Set once, by any thread; looked at, waited for or subscribed to by any other.

    Most calls never ask: nothing that can be waited for is made before somebody waits.
    """

    __slots__ = ("_hooks", "reason")

    def __init__(self) -> None:
        self.reason: str | None = None
        self._hooks: list[Callable[[], object]] = []

    def __bool__(self) -> bool:
        return self.reason is not None

    def cancel(self, reason: str) -> None:
        """Tell it. The first reason stays."""
        if self.reason is None:
            self.reason = reason
        self._call_hooks()

    def on_cancel(self, hook: Callable[[], object]) -> None:
        """Call ``hook()`` once: on the thread that cancels, or now if it was cancelled. It must not raise."""
        self._hooks.append(hook)
        if self.reason is not None:
            self._call_hooks()

    def wait(self, seconds: float) -> bool:
        """Wait until it is cancelled, but not longer than that; whether it is."""
        slot: Slot[None] = Slot()

        def wake() -> None:
            slot.set(None)

        self.on_cancel(wake)
        try:
            slot.wait(Deadline.after(seconds))
        except SlotTimeout:
            return False
        finally:
            # Long work waits often: what it waited with must not gather.
            with contextlib.suppress(ValueError):
                self._hooks.remove(wake)
        return True

    def _call_hooks(self) -> None:
        # Canceller and subscriber may both come here; popping decides who calls.
        while self._hooks:
            try:
                hook = self._hooks.pop()
            except IndexError:
                return
            hook()
