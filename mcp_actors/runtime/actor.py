"""Actor: pykka's actor with OTP manners. It crashes whole, and its parent hears of its end exactly once."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Hashable
from typing import Any, ClassVar, cast

import pykka
from pykka._envelope import Envelope
from pykka.messages import _ActorStop

from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.mailbox import Mailbox, MailboxClosed, TimerFired
from mcp_actors.runtime.ref import ActorDead, AskTimeout, Crashed, Exited, Normal, Reason, Ref
from mcp_actors.runtime.scheduling import wake_patiently
from mcp_actors.runtime.slot import SlotTimeout

__all__ = [
    "Actor",
    "ActorDead",
    "AskTimeout",
    "Crashed",
    "Exited",
    "Normal",
    "Reason",
    "Ref",
    "StartFailure",
    "TimerFired",
    "start_actor",
]

logger = logging.getLogger("mcp_actors.runtime")


class StartFailure(Exception):
    """The actor could not be started. `error` says why."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.error = error


class _PykkaInbox:
    """The mailbox as pykka's own refs see it.

    They check that the actor lives and then put: an ask or a stop that comes too late must be answered, not
    raise, or `ActorRegistry.stop_all()` would break off half-way.
    """

    def __init__(self, mailbox: Mailbox) -> None:
        self.mailbox = mailbox
        self.get = mailbox.get
        self.empty = mailbox.empty

    def put(self, envelope: Envelope[Any]) -> None:
        try:
            self.mailbox.put(envelope)
        except MailboxClosed:
            self.mailbox.undelivered(envelope)


class Actor(pykka.ThreadingActor):
    """One thread, one mailbox, and state that nobody else touches.

    Subclasses override `init`, `handle`, `terminate` and `undelivered`. An exception in `init` or `handle`,
    of whatever kind, ends this actor and only this one; the parent is told and decides. The thread is a
    daemon, so that a program which forgets its actors still ends.
    """

    #: Whether the kernel is asked not to preempt our wakers; for actors that start no thread and no process.
    patient: ClassVar[bool] = False

    def __init__(self, *, parent: Ref | None = None, name: str | None = None) -> None:
        super().__init__()
        self.mailbox = cast(Mailbox, self.actor_inbox)
        self.mailbox.undelivered = self._give_back
        self._actor_ref.actor_inbox = _PykkaInbox(self.mailbox)
        self._thread = threading.Thread(target=self._live, name=name or type(self).__name__, daemon=True)
        self.ref = Ref(self.mailbox, self._thread)
        self.parent = parent
        self._begun = False
        self._reason: Reason = Normal()
        self._opened: Envelope[Any] | None = None

    # -- for subclasses

    def init(self) -> None:
        """Get ready for messages. Runs on the actor's thread, while whoever started the actor waits."""

    def handle(self, message: Any) -> object:
        """Handle one message or `TimerFired`. Runs on the actor's thread; the value answers an ask."""
        raise NotImplementedError(f"{type(self).__name__} does not handle {message!r}")

    def terminate(self, reason: Reason) -> None:
        """Clean up. Runs on the actor's thread at every end, unless `init` failed, with the mailbox closed
        and before the parent hears."""

    def undelivered(self, message: Any) -> None:
        """Answer for a told message that will not be handled. Runs on ANY thread: the actor's own for what
        was in the mailbox at the end, the sender's for what slipped in meanwhile."""

    def set_timer(self, key: Hashable, seconds: float) -> None:
        """Have `TimerFired(key)` arrive after `seconds`, instead of any earlier timer of that key."""
        self.mailbox.set_timer(key, seconds)

    def cancel_timer(self, key: Hashable) -> bool:
        """Forget the timer of `key`: it can no longer fire. False if there is none."""
        return self.mailbox.cancel_timer(key)

    def stop(self) -> None:
        """End after the messages that are in the mailbox now."""
        self.ref.stop()

    # -- pykka's extension points

    @staticmethod
    def _create_actor_inbox() -> Mailbox:
        return Mailbox()

    def _start_actor_loop(self) -> None:
        try:
            self._thread.start()
        except RuntimeError:
            # There is no thread to be had, but pykka has registered the actor already.
            pykka.ActorRegistry.unregister(self.actor_ref)
            raise

    def on_receive(self, message: Any) -> object:
        """What pykka's own refs send means the same as what ours send."""
        return self.handle(message)

    def _actor_loop_setup(self) -> None:
        try:
            self.init()
        except BaseException as error:  # noqa: BLE001 - the parent is told
            self._crash(error)
        else:
            self._begun = True
            self.ref._begun.set(None)

    def _actor_loop_running(self) -> None:
        if not self._begun:
            return
        get, handle = self.mailbox.get, self.handle
        try:
            while True:
                item = get()
                if type(item) is not Envelope:
                    handle(item)
                elif self._is_last(item):
                    return
        # SystemExit included: pykka would answer it by stopping every actor of the process.
        except BaseException as error:  # noqa: BLE001 - the parent is told
            self._crash(error)

    def _actor_loop_teardown(self) -> None:
        pykka.ActorRegistry.unregister(self.actor_ref)
        self.actor_stopped.set()
        # Those who wait outside come first: cleaning up may take its time.
        for item in self.mailbox.close():
            self._give_back(item)
        if self._begun:
            self._clean_up()
        self.ref._reason = self._reason
        if isinstance(self._reason, Crashed):
            # Nobody is listening any more, unless it was init that failed.
            self.ref._begun.set(self._reason.error)
        if self._opened is not None and self._opened.reply_to is not None:
            self._give_back(self._opened)

    # -- inside

    def _live(self) -> None:
        if self.patient:
            wake_patiently()
        try:
            self._actor_loop()
        finally:
            # The very last thing: who hears it may rely on our being gone.
            if self.parent is not None:
                self.parent.tell(Exited(self.ref, self._reason))

    def _is_last(self, envelope: Envelope[Any]) -> bool:
        """Handle an ask, or what pykka's own refs sent. True if it was the stop."""
        self._opened = envelope
        if isinstance(envelope.message, _ActorStop):
            return True
        answer = self._handle_receive(envelope.message)
        self._opened = None
        if envelope.reply_to is not None:
            envelope.reply_to.set(answer)
        return False

    def _clean_up(self) -> None:
        try:
            self.terminate(self._reason)
        except BaseException as error:  # noqa: BLE001 - the parent is told
            self._crash(error)

    def _crash(self, error: BaseException) -> None:
        # The first error is the cause; one in terminate() may be its consequence.
        if isinstance(self._reason, Normal):
            self._reason = Crashed(error)
        # A filter of the host's logging must keep nobody from an answer.
        with contextlib.suppress(Exception):
            logger.error("%s crashed", self.ref.name, exc_info=error)

    def _give_back(self, item: Any) -> None:
        """Answer for an item that will not be handled. Any thread."""
        if type(item) is not Envelope:
            self._return(item)
        elif isinstance(item.message, _ActorStop):
            if item.reply_to is not None:
                item.reply_to.set(None)
        elif item.reply_to is None:
            self._return(item.message)
        else:
            error = ActorDead(f"{self.ref.name} ended before it answered {type(item.message).__name__}")
            item.reply_to.set_exception((ActorDead, error, None))

    def _return(self, message: Any) -> None:
        try:
            self.undelivered(message)
        except (Exception, SystemExit):
            # One bad message keeps neither the others from their answer nor the parent from the news.
            with contextlib.suppress(Exception):
                logger.exception("%s could not return %s", self.ref.name, type(message).__name__)


def start_actor(actor_class: type[Actor], *args: Any, deadline: Deadline, **keywords: Any) -> Ref:
    """Start an actor and wait until its `init` has returned.

    Raises:
        StartFailure: `init` raised; or it did not return before the deadline, and the actor stops as soon as
            it does; or there is no thread to be had. What the constructor raises comes as it is.
    """
    actor = actor_class(*args, **keywords)
    ref = actor.ref
    pykka.ActorRegistry.register(actor.actor_ref)
    try:
        actor._start_actor_loop()
        error = ref._begun.wait(deadline)
    except (RuntimeError, SlotTimeout) as failure:
        ref.stop()
        raise StartFailure(failure) from failure
    except BaseException:
        # KeyboardInterrupt: nobody will ever hold this actor.
        ref.stop()
        raise
    if error is not None:
        ref.join(deadline)
        raise StartFailure(error) from error
    return ref


def _bury_the_parents_actors() -> None:
    """In a forked child: the threads of all actors are gone, so nobody may wait for them.

    A plain assignment closes their mailboxes, and pykka's registry gets a new lock: whoever held the old one
    does not exist here.
    """
    registry = pykka.ActorRegistry
    registry._actor_refs_lock = threading.RLock()
    for ref in registry.get_by_class(Actor):
        cast(_PykkaInbox, ref.actor_inbox).mailbox.closed = True
        registry.unregister(ref)


os.register_at_fork(after_in_child=_bury_the_parents_actors)
