"""Host: a server at work in this process. The top of its tree, and what all of its sessions share."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from itertools import takewhile
from typing import Any, Final, Protocol, cast

from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.serving.events import Published
from mcp_actors.protocol.serving.news import News
from mcp_actors.protocol.serving.policy import SessionPolicy
from mcp_actors.protocol.serving.profile import Profile
from mcp_actors.protocol.serving.terms import Job as Task
from mcp_actors.runtime import lifetime
from mcp_actors.runtime.actor import start_actor
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.directory import Directory
from mcp_actors.runtime.hands import Hands, HandsKeeper, Job
from mcp_actors.runtime.ref import Ref
from mcp_actors.runtime.shares import Shares
from mcp_actors.runtime.supervision import ChildSpec
from mcp_actors.runtime.supervisor import Supervisor
from mcp_actors.server.agenda import Agenda, Announced, Dropped, Due
from mcp_actors.server.call import Call
from mcp_actors.server.engagements import Engagements
from mcp_actors.server.peer import Peer
from mcp_actors.server.timekeeper import Timekeeper

HANDS: Final = "hands"
TIMEKEEPER: Final = "timekeeper"
_START_SECONDS: Final = 5.0
_STOP_SECONDS: Final = 3.0

logger: Final = logging.getLogger("mcp_actors.server")


class Lasting(Protocol):
    """What a server must not leave behind: a wire, an app with its sessions."""

    def stop(self, deadline: Deadline) -> None:
        """Begin to end in good order. Does not block."""

    def join(self, deadline: Deadline) -> bool:
        """Wait for the end; False at the deadline."""

    def lose(self) -> None:
        """The tree has ended by itself: end what is under way, now. Does not block."""


class Host:
    """Started at first use, stopped once. A root of the process: stopped at its exit, forgotten in a fork.

    Any thread may call anything. `answer` is what a worker does with a call; `is_brief` tells which calls
    need no worker.
    """

    def __init__(
        self,
        name: str,
        *,
        profile: Callable[[], Profile],
        policy: SessionPolicy,
        answer: Callable[[Call], Any],
        is_brief: Callable[[Task], bool],
        heard: Callable[[Peer, str, JsonObject], None],
        farewell: Callable[[], None],
        lost: Callable[[Host], object],
        threads: int,
        client_threads: int | None = None,
    ) -> None:
        self.name = name
        self.profile = profile
        self.policy = policy
        self.answer = answer
        self.is_brief = is_brief
        self.heard = heard
        self.engagements = Engagements()
        self.violations = 0
        self.crashes = 0
        self.closing = False
        self.stopping = False
        self._farewell = farewell
        self._lost = lost
        self._begun = False
        self._threads = threads
        self._hands: Hands | None = None
        self._undone: list[Job] = []
        self._shares = Shares(self._submit, client_threads or max(1, threads * 3 // 4))
        self._agenda = Agenda()
        # Plain dicts used as sets: each change is one operation, and whoever spreads news takes a copy.
        self._audience: dict[Peer, None] = {}
        self._lines: dict[Lasting, None] = {}
        self._directory = Directory()
        self._supervisor = self._plant()
        self._begun = True
        lifetime.guard(self)

    # Work.

    def employ(self, jobs: Sequence[Callable[[], object]], client: str | None = None) -> int:
        """Have the workers do these; how many they took, from the first on.

        ``client``: for whom. Those of one never have all workers, and wait for each other.
        """
        if client is not None:
            return sum(1 for _ in takewhile(partial(self._shares.submit, client), jobs))
        hands = self._hands
        return 0 if hands is None or self.stopping else hands.submit_all(jobs)

    def employ_for_long(self, job: Callable[[], object], client: str | None) -> bool:
        """Have a worker do what takes long. Some workers never do: somebody must look after what does."""
        return self._shares.submit(client, job, long=True)

    @property
    def hands(self) -> Hands | None:
        """The workers of the moment."""
        return self._hands

    # Time and news.

    def wake(self, key: Hashable, seconds: float, action: Callable[[], object]) -> None:
        """Call ``action()`` after a time, on the timekeeper's thread: it must not block."""
        self._agenda.write(Due(key, Deadline.after(seconds), action))

    def let_sleep(self, key: Hashable) -> None:
        """Forget what was to be called under this key."""
        self._agenda.write(Dropped(key))

    def announce(self, news: News) -> None:
        """Tell everybody who listens."""
        self._agenda.write(Announced(news))

    def attend(self, peer: Peer, wanted: bool) -> None:
        """A session wants to hear of changes, or does not any more."""
        if wanted:
            self._audience[peer] = None
        else:
            self._audience.pop(peer, None)

    # Wires that last.

    def keep(self, line: Lasting) -> None:
        """A wire, or an app, that has to be closed with the server."""
        self._lines[line] = None

    def keeps(self, line: Lasting) -> bool:
        """Whether it is known already."""
        return line in self._lines

    def release(self, line: Lasting) -> None:
        """It is closed."""
        self._lines.pop(line, None)

    @property
    def lines(self) -> tuple[Lasting, ...]:
        """What is open."""
        return tuple(self._lines)

    # The end.

    def stop(self, deadline: Deadline) -> bool:
        """End sessions in good order, then the workers. True if nothing is left.

        Any thread, also one that runs a handler: there the end only begins, for it waits for the handler.
        """
        self.closing = True
        for line in self.lines:
            try:
                line.stop(deadline)
            except Exception:
                # A store of tasks that fails: the others have to end all the same.
                logger.exception("%s: what was to end first failed", self.name)
        if self.engagements.here:
            self._finish_elsewhere(deadline)
            return False
        return self._finish(deadline)

    def _finish_elsewhere(self, deadline: Deadline) -> None:
        name = f"{self.name} closing"
        try:
            threading.Thread(target=self._finish, args=(deadline,), name=name, daemon=True).start()
        except RuntimeError as error:
            # No thread is to be had, or the interpreter exits: then the tree is ended with the process.
            logger.warning("%s cannot be closed before the process ends: %s", self.name, error)

    def _finish(self, deadline: Deadline) -> bool:
        for line in self.lines:
            line.join(deadline)
        self.stopping = True
        self._supervisor.stop()
        gone = self._supervisor.join(deadline)
        self._agenda.close()
        lifetime.release(self)
        self._farewell()
        return gone

    def tell(self, _news: object) -> bool:
        """The tree has ended. On its last thread, which nobody waits for any more."""
        if self._begun and not self.stopping:
            self._collapse()
        return True

    def _collapse(self) -> None:
        """Bugs have ended the tree: nothing works here any more, but the server can begin anew."""
        logger.error("%s: too many failures; what is under way ends, the next request starts anew", self.name)
        self.closing = self.stopping = True
        self._agenda.close()
        lifetime.release(self)
        self._lost(self)
        for line in self.lines:
            try:
                line.lose()
            except Exception:
                logger.exception("%s: what was to end first failed", self.name)
        self._farewell()

    def forget(self) -> None:
        """In a forked child: nothing of this runs here."""
        self.stopping = True
        self._agenda.close()
        if self._hands is not None:
            self._hands.forget()
        for peer in tuple(self._audience):
            peer.forget()

    def _spread(self, news: News) -> None:
        for peer in tuple(self._audience):
            if news.kind != "task" or news.owner == peer.owner:
                peer.bring(Published(news))

    def _submit(self, job: Job) -> bool:
        hands = self._hands
        return hands is not None and not self.stopping and hands.submit(job)

    def _plant(self) -> Ref:
        return start_actor(
            Supervisor,
            f"{self.name} server",
            self._specs(),
            directory=self._directory,
            deadline=Deadline.after(2 * _START_SECONDS),
            # It tells its parent of its end, and whoever can be told something will do.
            parent=cast(Ref, self),
        )

    def _specs(self) -> tuple[ChildSpec, ...]:
        return (
            ChildSpec(HANDS, self._start_hands, stop_timeout=_STOP_SECONDS),
            ChildSpec(TIMEKEEPER, self._start_timekeeper, stop_timeout=_STOP_SECONDS),
        )

    def _start_hands(self, parent: Ref, _directory: Directory) -> Ref:
        return start_actor(
            HandsKeeper,
            lambda: Hands(self._threads, name=f"{self.name} worker"),
            self._publish_hands,
            never_begun=self._undone.extend,
            deadline=Deadline.after(_START_SECONDS),
            parent=parent,
            name=f"{self.name} hands",
        )

    def _start_timekeeper(self, parent: Ref, _directory: Directory) -> Ref:
        return start_actor(
            Timekeeper,
            self._agenda,
            self._spread,
            deadline=Deadline.after(_START_SECONDS),
            parent=parent,
            name=f"{self.name} timekeeper",
        )

    def _publish_hands(self, hands: Hands | None) -> None:
        self._hands = hands
        if hands is not None and self._undone:
            # What others left behind when they were replaced.
            hands.submit_all(self._undone[:])
            self._undone.clear()
