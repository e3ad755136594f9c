"""The supervision tree of one connection: transport, task pool, connection, in this order, rest_for_one."""

from __future__ import annotations

from mcp_actors.client.connection import ConnectionActor
from mcp_actors.client.options import LADDER_SECONDS
from mcp_actors.client.wiring import CONNECTION, POOL, TRANSPORT, Wiring
from mcp_actors.protocol.events import StopAsked
from mcp_actors.runtime import lifetime
from mcp_actors.runtime.actor import start_actor
from mcp_actors.runtime.admission import Admission
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.directory import Directory
from mcp_actors.runtime.ref import Crashed, Ref
from mcp_actors.runtime.slot import SlotTimeout
from mcp_actors.runtime.supervision import ChildSpec
from mcp_actors.runtime.supervisor import Supervisor
from mcp_actors.runtime.tasks import TaskPool
from mcp_actors.transports.actor import TransportActor

_START_SECONDS = 5.0


class ConnectionSupervisor(Supervisor):
    """rest_for_one: whoever fails is restarted with those that were built upon it."""


class Tree:
    """One running tree. A root of the process: stopped at its exit, forgotten in a forked child."""

    def __init__(self, wiring: Wiring) -> None:
        self.wiring = wiring
        self.directory = Directory()
        self.admission = Admission(wiring.options.max_in_flight)
        self.supervisor = start_actor(
            ConnectionSupervisor,
            f"{wiring.name} supervisor",
            self._specs(),
            directory=self.directory,
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

    def stop(self, deadline: Deadline) -> bool:
        """Answer every caller, end the wire, then the actors. True if all of it is gone. Any thread."""
        self.wiring.closing = True
        connection = self.connection
        if connection is not None and connection.tell(StopAsked()):
            self._await_halt(deadline)
        self.supervisor.stop()
        gone = self.supervisor.join(deadline)
        lifetime.release(self)
        return gone

    def forget(self) -> None:
        """In a forked child: nothing of this tree runs here. The wires close their own descriptors."""
        self.wiring.forgotten()

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
