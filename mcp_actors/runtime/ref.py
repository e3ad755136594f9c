"""Ref: how everybody else holds an actor, and the values that tell how an actor ended."""

from __future__ import annotations

import os
import threading
from typing import Any, TypeAlias

import pykka
from msgspec import Struct
from pykka._envelope import Envelope
from pykka.messages import _ActorStop

from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.mailbox import Mailbox, MailboxClosed
from mcp_actors.runtime.slot import Slot

__all__ = ["ActorDead", "AskTimeout", "Crashed", "Exited", "Normal", "Reason", "Ref", "waits_for_an_end"]


class ActorDead(pykka.ActorDeadError):
    """The actor ended before it handled the message."""


class AskTimeout(TimeoutError):
    """The actor did not answer before the deadline."""


class Normal(Struct, frozen=True):
    """The actor was asked to stop, and did."""


class Crashed(Struct, frozen=True):
    """The actor ended because of `error`."""

    error: BaseException


Reason: TypeAlias = Normal | Crashed


class Exited(Struct, frozen=True):
    """News for the parent: this child has ended, and nothing of it runs any more."""

    ref: Ref
    reason: Reason


# Numbers of the threads inside Ref.join. No lock: adding and discarding one's own number are atomic.
_joining: set[int] = set()
os.register_at_fork(after_in_child=_joining.clear)


def waits_for_an_end(thread: threading.Thread) -> bool:
    """Whether `thread` is waiting for some actor to end.

    An actor that is ending must not wait for such a thread: the two would wait for each other.
    """
    return thread.ident in _joining


class Ref:
    """An actor seen from outside. Any thread may use it."""

    __slots__ = ("__weakref__", "_begun", "_mailbox", "_reason", "_thread")

    def __init__(self, mailbox: Mailbox, thread: threading.Thread) -> None:
        self._mailbox = mailbox
        self._thread = thread
        # Both are written by the actor: the first after its init, the second at its end.
        self._begun: Slot[BaseException | None] = Slot()
        self._reason: Reason | None = None

    def tell(self, message: object) -> bool:
        """Put `message` into the mailbox. False, and nothing else, if the actor is dead."""
        try:
            self._mailbox.put(message)
        except MailboxClosed:
            return False
        return True

    def ask(self, message: object, deadline: Deadline) -> Any:
        """What the actor's `handle(message)` returns. An actor asks nobody but its children.

        Raises:
            ActorDead: the actor was dead, or ended or crashed before it answered.
            AskTimeout: no answer before the deadline; the message may still be handled.
        """
        future: pykka.ThreadingFuture[Any] = pykka.ThreadingFuture()
        if not self.tell(Envelope(message, reply_to=future)):
            raise ActorDead(f"{self.name} is dead")
        try:
            return future.get(timeout=deadline.remaining())
        except pykka.Timeout:
            raise AskTimeout(f"{self.name} did not answer {type(message).__name__} in time") from None

    def stop(self) -> None:
        """Have the actor end after the messages that are in its mailbox now. Idempotent, does not wait."""
        self.tell(Envelope(_ActorStop()))

    def join(self, deadline: Deadline) -> bool:
        """Wait until the actor's thread has ended. False if it has not, and at once on that very thread."""
        if self._thread is threading.current_thread():
            return False
        me = threading.get_ident()
        _joining.add(me)
        try:
            self._thread.join(deadline.remaining())
        finally:
            _joining.discard(me)
        return not self._thread.is_alive()

    @property
    def is_alive(self) -> bool:
        """Whether a message told now may be handled."""
        return self._thread.is_alive() and not self._mailbox.closed

    @property
    def reason(self) -> Reason | None:
        """Why the actor ended; None while it has not."""
        return self._reason

    @property
    def name(self) -> str:
        """The name of the actor and of its thread."""
        return self._thread.name

    @property
    def mailbox_depth(self) -> int:
        """How many messages are waiting."""
        return self._mailbox.depth

    @property
    def greatest_mailbox_depth(self) -> int:
        """The most messages that ever waited."""
        return self._mailbox.greatest_depth

    def __repr__(self) -> str:
        return f"<Ref {self.name} ({'alive' if self.is_alive else 'dead'})>"
