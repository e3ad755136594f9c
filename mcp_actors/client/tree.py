"""The supervision tree of one connection: transport, task pool, connection, in this order, rest_for_one."""

from __future__ import annotations

from mcp_actors.client.connection import ConnectionActor
from mcp_actors.client.options import LADDER_SECONDS
from mcp_actors.client.wiring import CONNECTION, POOL, TRANSPORT, Wiring
from mcp_actors.protocol.events import StopAsked
from mcp_actors.protocol.states import State
from mcp_actors.runtime import lifetime
from mcp_actors.runtime.actor import start_actor
from mcp_actors.runtime.admission import Admission
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.directory import Directory, Restart
from mcp_actors.runtime.ref import ActorDead, AskTimeout, Crashed, Reason, Ref
from mcp_actors.runtime.slot import SlotTimeout
from mcp_actors.runtime.supervision import ChildSpec
from mcp_actors.runtime.supervisor import Supervisor, WhichChildren
from mcp_actors.runtime.tasks import TaskPool
from mcp_actors.telemetry.events import ChildRestarted
from mcp_actors.transports.actor import TransportActor

_START_SECONDS = 5.0


class ConnectionSupervisor(Supervisor):
    """rest_for_one: whoever fails is restarted with those that were built upon it."""

    def __init__(self, wiring: Wiring, specs: tuple[ChildSpec, ...], directory: Directory) -> None:
        super().__init__(f"{wiring.name} supervisor", specs, directory=directory)
        self._settlements = wiring.settlements

    def terminate(self, reason: Reason) -> None:
        super().terminate(reason)
        # Whoever stops this tree may have gone before it ended, and nobody stops one that broke down: nobody
        # else will finish the futures that the pool could not.
        self._settlements.finish_all()


class Chronicle(Directory):
    """A directory that tells the telemetry about each failure it records."""

    def __init__(self, wiring: Wiring) -> None:
        super().__init__()
        self._wiring = wiring

    def record(self, restart: Restart) -> None:
        super().record(restart)
        if self._wiring.bus.active:
            self._wiring.bus.emit(ChildRestarted(self._wiring.name, restart.child, restart.error))


class Tree:
    """One running tree. A root of the process: stopped at its exit, forgotten in a forked child."""

    def __init__(self, wiring: Wiring) -> None:
        self.wiring = wiring
        self.directory = Chronicle(wiring)
        self.admission = Admission(wiring.options.max_in_flight)
        self.supervisor = start_actor(
            ConnectionSupervisor,
            wiring,
            self._specs(),
            self.directory,
            deadline=Deadline.after(3 * _START_SECONDS),
        )
        lifetime.guard(self)

    @property
    def connection(self) -> Ref | None:
        """The Connection actor of the moment."""
        return self.directory.get(CONNECTION)

    @property
    def pool(self) -> Ref | None:
        """The task pool of the moment."""
        return self.directory.get(POOL)

    @property
    def failure(self) -> BaseException | None:
        """What ended the tree by itself: too many bugs in too short a time."""
        reason = self.supervisor.reason
        return reason.error if isinstance(reason, Crashed) else None

    @property
    def state(self) -> State:
        """Where the connection is. A tree that ended by itself counts as parked: `start` begins anew."""
        return self.wiring.board.state if self.failure is None else State.BACKOFF

    def await_restart(self, deadline: Deadline) -> bool:
        """Wait until the supervisor has replaced whoever has ended; False if it will not, or not in time."""
        connection = self.connection
        if connection is not None and not connection.is_alive:
            # Its last word goes to the supervisor, before its thread ends; what we ask comes after that.
            connection.join(deadline)
        try:
            self.supervisor.ask(WhichChildren(), deadline)
        except ActorDead:
            # Why it gave up is known when it has ended.
            if not self.wiring.closing:
                self.supervisor.join(deadline)
            return False
        except AskTimeout:
            return False
        return not deadline.expired

    def stop(self, deadline: Deadline) -> bool:
        """Answer every caller, end the wire, then the actors. True if all of it is gone. Any thread."""
        self.wiring.closing = True
        connection = self.connection
        if connection is not None and connection.tell(StopAsked()):
            self._await_halt(deadline)
        self.supervisor.stop()
        gone = self.supervisor.join(deadline)
        # What the pool could not finish any more is finished here, on a thread of the user's.
        self.wiring.settlements.finish_all()
        lifetime.release(self)
        return gone

    def forget(self) -> None:
        """In a forked child: nothing of this tree runs here. Clients and wires let go of what is theirs."""
        # A call of the forking thread is still inside, and will want to go out.
        self.admission.forget()

    def _await_halt(self, deadline: Deadline) -> None:
        try:
            self.wiring.halted.wait(deadline)
        except SlotTimeout:
            return

    def _specs(self) -> tuple[ChildSpec, ...]:
        return (
            ChildSpec(TRANSPORT, self._start_transport, stop_timeout=sum(LADDER_SECONDS) + 2.0),
            ChildSpec(POOL, self._start_pool, stop_timeout=3.0),
            ChildSpec(CONNECTION, self._start_connection, stop_timeout=3.0),
        )

    def _start_transport(self, parent: Ref, _directory: Directory) -> Ref:
        return start_actor(
            TransportActor,
            self.wiring.transport,
            self.wiring.links,
            deadline=Deadline.after(_START_SECONDS),
            parent=parent,
            name=f"{self.wiring.name} transport",
        )

    def _start_pool(self, parent: Ref, _directory: Directory) -> Ref:
        return start_actor(
            TaskPool,
            deadline=Deadline.after(_START_SECONDS),
            parent=parent,
            name=f"{self.wiring.name} pool",
        )

    def _start_connection(self, parent: Ref, directory: Directory) -> Ref:
        transport, pool = directory.get(TRANSPORT), directory.get(POOL)
        assert transport is not None
        assert pool is not None
        return start_actor(
            ConnectionActor,
            self.wiring,
            transport=transport,
            pool=pool,
            deadline=Deadline.after(_START_SECONDS),
            parent=parent,
            name=f"{self.wiring.name} connection",
        )
