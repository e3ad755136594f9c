"""Single flight: however many threads need a new token, one fetches it and all get what came of it."""

from __future__ import annotations

import contextvars
import copy
import os
import threading
from collections.abc import Callable, Hashable
from typing import Final

from mcp_actors.errors import AuthorizationFailed, McpError, RequestTimeout
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.slot import Slot, SlotTimeout

__all__ = ["Flight", "Flights", "interrupted"]

#: Seconds after which somebody who waits looks up.
_SLICE: Final = 0.2


def interrupted() -> AuthorizationFailed:
    """What they get who waited for something that somebody else broke off."""
    return AuthorizationFailed("the authorization was interrupted; call again to start anew", retryable=True)


class Flight:
    """One errand on its way, on a thread of its own: a person's login may outlive the call that began it."""

    def __init__(self) -> None:
        self.cancelled: Slot[None] = Slot()
        self.landed: Slot[McpError | None] = Slot()
        self.phase = "looking for the authorization server"
        self.waits_for_person = False
        self._thread: threading.Thread | None = None

    def start(self, job: Callable[[Flight], None], land: Callable[[], object]) -> None:
        """Run the job on its thread; ``land`` is called there before the waiting hear of the end."""
        context = contextvars.copy_context()
        thread = threading.Thread(
            target=lambda: context.run(self._fly, job, land), name="mcp-actors-authorization", daemon=True
        )
        try:
            thread.start()
        except RuntimeError as error:
            raise AuthorizationFailed(f"no thread for the authorization: {error}", retryable=True) from error
        self._thread = thread

    def cancel(self) -> None:
        """End the errand soon; whoever waits for it is told that it was interrupted. Any thread."""
        self.cancelled.set(None)

    def join(self, seconds: float) -> None:
        """Wait for the thread's end, but not longer than ``seconds``."""
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(seconds)

    def _fly(self, job: Callable[[Flight], None], land: Callable[[], object]) -> None:
        failure: McpError | None = None
        try:
            job(self)
        except McpError as error:
            failure = interrupted() if self.cancelled.is_set else error
        except BaseException as error:  # noqa: BLE001 - told to all who wait
            failure = AuthorizationFailed(f"the authorization failed: {type(error).__name__} in {self.phase}")
            failure.__cause__ = error
        land()
        self.landed.set(failure)


class Flights:
    """The errands under way, by what they are for. Any thread."""

    def __init__(self) -> None:
        self._flying: dict[Hashable, Flight] = {}

    def join(self, key: Hashable, job: Callable[[Flight], None], deadline: Deadline, purpose: str) -> None:
        """Wait until the errand for ``key`` is done; begin it if nobody has.

        An interrupt of one who waits ends the errand for all: it came from the person at the keyboard.

        Raises:
            McpError: what the errand failed with, fresh for each who waits.
            AuthorizationFailed: the deadline passed while a person had yet to act; the errand goes on.
            RequestTimeout: the deadline passed otherwise; the errand goes on.
        """
        # The process is part of the key: in a forked child nobody flies what the parent began.
        place = (os.getpid(), key)
        mine = Flight()
        flight = self._flying.setdefault(place, mine)
        begun = False
        try:
            if flight is mine:
                flight.start(job, lambda: self._flying.pop(place, None))
            begun = True
            failure = _outcome(flight, deadline)
        except SlotTimeout:
            raise _too_late(flight, purpose) from None
        except BaseException:
            flight.cancel()
            if not begun:
                # Its thread may not exist: nobody else would answer those who wait already.
                self._flying.pop(place, None)
                flight.landed.set(interrupted())
            raise
        if failure is not None:
            raise _fresh(failure)

    def cancel(self, key: Hashable) -> Flight | None:
        """End the errand for ``key``, if there is one, and say which it was."""
        flight = self._flying.get((os.getpid(), key))
        if flight is not None:
            flight.cancel()
        return flight


def _outcome(flight: Flight, deadline: Deadline) -> McpError | None:
    """What the flight came to. Raises ``SlotTimeout`` at the deadline."""
    while True:
        try:
            # In slices: a request that is cut moves its deadline to now, and not every platform lets an
            # interrupt through to a thread that waits.
            return flight.landed.wait(Deadline.after(min(_SLICE, deadline.remaining())))
        except SlotTimeout:
            if deadline.expired:
                raise


def _too_late(flight: Flight, purpose: str) -> McpError:
    if flight.waits_for_person:
        return AuthorizationFailed(
            f"{purpose} waits for a person: {flight.phase}; finish it, then call again", retryable=True
        )
    return RequestTimeout(f"{purpose} was not done before the deadline: still {flight.phase}")


def _fresh(failure: McpError) -> McpError:
    """A copy for one thread: a traceback shared by several would grow without end."""
    made = copy.copy(failure)
    made.__cause__ = failure.__cause__
    made.__suppress_context__ = True
    return made
