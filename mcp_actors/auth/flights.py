"""Single flight: however many threads need a new token, one fetches it and all get what came of it."""

from __future__ import annotations

import contextvars
import copy
import os
import threading
from collections.abc import Callable, Hashable
from functools import partial
from typing import Final

from mcp_actors.errors import AuthorizationFailed, McpError, RequestTimeout
from mcp_actors.protocol.endings import BROKEN_OFF, Ending, EndKind
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.slot import ProgressSlot, Slot, SlotTimeout
from mcp_actors.transports.http.authorizer import AuthorizationInterrupted

__all__ = ["Flight", "Flights", "interrupted"]

#: Seconds after which somebody who waits looks up.
_SLICE: Final = 0.2
#: Seconds for which a failure is told that nobody waited for: longer than a client waits between two tries.
_STALE: Final = 60.0


def interrupted() -> AuthorizationFailed:
    """What they get who waited for something that somebody else broke off."""
    return AuthorizationInterrupted(BROKEN_OFF.reason, retryable=True)


class Flight:
    """One errand on its way, on a thread of its own: a person's login may outlive the call that began it."""

    def __init__(self) -> None:
        self.cancelled: Slot[None] = Slot()
        self.landed: Slot[McpError | None] = Slot()
        self.phase = "looking for the authorization server"
        self.login_url: str | None = None
        self._passengers: dict[ProgressSlot[McpError | None], None] = {}
        self._thread: threading.Thread | None = None

    def start(self, job: Callable[[Flight], None], land: Callable[[McpError | None], object]) -> None:
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

    def enter(self, phase: str, login_url: str | None) -> None:
        """What happens from now on, and where a person has to act for it. The flight's thread."""
        self.phase, self.login_url = phase, login_url
        for passenger in list(self._passengers):
            passenger.offer(None)

    def board(self, passenger: ProgressSlot[McpError | None]) -> None:
        """Somebody waits, and hears of each phase and of the landing. Any thread."""
        self._passengers[passenger] = None
        self.landed.on_set(passenger.set)

    def leave(self, passenger: ProgressSlot[McpError | None]) -> None:
        """Somebody waits no more. Any thread."""
        self._passengers.pop(passenger, None)

    def hindrance(self, purpose: str) -> Ending:
        """Why those who wait cannot go on yet."""
        url = self.login_url
        if url is None:
            reason = f"{purpose} is not done yet: {self.phase}"
            return Ending(EndKind.UNAUTHORIZED, reason, passing=True)
        reason = f"{purpose} waits for a person: {self.phase}; finish it, then call again"
        details = {"waits_for": "person", "login_url": url}
        return Ending(EndKind.UNAUTHORIZED, reason, passing=True, person=True, details=details)

    def cancel(self) -> None:
        """End the errand soon; whoever waits for it is told that it was interrupted. Any thread."""
        self.cancelled.set(None)

    def join(self, seconds: float) -> None:
        """Wait for the thread's end, but not longer than ``seconds``."""
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(seconds)

    def _fly(self, job: Callable[[Flight], None], land: Callable[[McpError | None], object]) -> None:
        failure: McpError | None = None
        try:
            job(self)
        except McpError as error:
            failure = interrupted() if self.cancelled.is_set else error
        except BaseException as error:  # noqa: BLE001 - told to all who wait
            failure = AuthorizationFailed(f"the authorization failed: {type(error).__name__} in {self.phase}")
            failure.__cause__ = error
        land(failure)
        self.landed.set(failure)


class Flights:
    """The errands under way, by what they are for. Any thread."""

    def __init__(self) -> None:
        self._flying: dict[Hashable, Flight] = {}
        self._unheard: dict[Hashable, tuple[McpError, Deadline]] = {}

    def join(
        self,
        key: Hashable,
        job: Callable[[Flight], None],
        deadline: Deadline,
        purpose: str,
        held: Callable[[Ending | None], object] | None = None,
    ) -> None:
        """Wait until the errand for ``key`` is done; begin it if nobody has. ``held`` is told meanwhile, on
        this thread, what is waited for, and None at the end.

        An interrupt of one who waits ends the errand for all: it came from the person at the keyboard.

        Raises:
            McpError: what the errand failed with, fresh for each who waits.
            AuthorizationFailed: the deadline passed while a person had yet to act; the errand goes on.
            RequestTimeout: the deadline passed otherwise; the errand goes on.
        """
        # The process is part of the key: in a forked child nobody flies what the parent began.
        place = (os.getpid(), key)
        self._tell_unheard(place)
        mine = flight = Flight()
        begun = False
        try:
            flight = self._next(place, mine, deadline, purpose)
            if flight is mine:
                flight.start(job, partial(self._land, place))
            begun = True
            failure = _outcome(flight, deadline, lambda: held and held(flight.hindrance(purpose)))
        except SlotTimeout:
            raise _too_late(flight, purpose) from None
        except BaseException:
            flight.cancel()
            if not begun and self._flying.get(place) is mine:
                # Its thread may not exist: nobody else would answer those who wait already.
                self._flying.pop(place, None)
                mine.landed.set(interrupted())
            raise
        finally:
            if held is not None:
                held(None)
        if failure is not None:
            self._unheard.pop(place, None)
            raise _fresh(failure)

    def _land(self, place: Hashable, failure: McpError | None) -> None:
        """A flight is over. Its own thread."""
        if failure is not None and not failure.retryable:
            # Until somebody hears it: who gave up just before would begin anew what a person has let pass.
            self._unheard[place] = (failure, Deadline.after(_STALE))
        self._flying.pop(place, None)

    def _tell_unheard(self, place: Hashable) -> None:
        """Raise what the last flight failed with, if it was just now and nobody was there to hear it."""
        failure, stale = self._unheard.pop(place, (None, None))
        if failure is not None and stale is not None and not stale.expired:
            raise _fresh(failure)

    def _next(self, place: Hashable, mine: Flight, deadline: Deadline, purpose: str) -> Flight:
        """The errand under way, or ``mine``. One that is ending already is of no use to newcomers."""
        while True:
            flight = self._flying.setdefault(place, mine)
            if flight is mine or not flight.cancelled.is_set:
                return flight
            try:
                _outcome(flight, deadline, lambda: None)
            except SlotTimeout:
                raise _too_late(flight, purpose) from None

    def hindrance(self, key: Hashable, purpose: str) -> Ending | None:
        """What a person has to do for the errand for ``key``; None if there is none, or nothing to do."""
        flight = self._flying.get((os.getpid(), key))
        return None if flight is None or flight.login_url is None else flight.hindrance(purpose)

    def cancel(self, key: Hashable) -> Flight | None:
        """End the errand for ``key``, if there is one, and say which it was."""
        flight = self._flying.get((os.getpid(), key))
        if flight is not None:
            flight.cancel()
        return flight


def _outcome(flight: Flight, deadline: Deadline, tell: Callable[[], object]) -> McpError | None:
    """What the flight came to; ``tell`` is called in each of its phases. Raises ``SlotTimeout`` at the
    deadline."""
    passenger: ProgressSlot[McpError | None] = ProgressSlot()
    flight.board(passenger)
    tell()
    try:
        while True:
            try:
                # In slices: a request that is cut moves its deadline to now, and not every platform lets an
                # interrupt through to a thread that waits.
                end = Deadline.after(min(_SLICE, deadline.remaining()))
                return passenger.wait(end, lambda _: tell())
            except SlotTimeout:
                if deadline.expired:
                    raise
    finally:
        flight.leave(passenger)


def _too_late(flight: Flight, purpose: str) -> McpError:
    hindrance = flight.hindrance(purpose)
    if hindrance.person:
        return AuthorizationFailed(hindrance.reason, retryable=True, details=hindrance.details)
    return RequestTimeout(f"{purpose} was not done before the deadline: still {flight.phase}")


def _fresh(failure: McpError) -> McpError:
    """A copy for one thread: a traceback shared by several would grow without end."""
    made = copy.copy(failure)
    made.__cause__ = failure.__cause__
    made.__suppress_context__ = True
    return made
