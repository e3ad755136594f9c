"""OTP on pykka: actors that end in order, supervisors, permits, task pools, slots. Knows nothing of MCP."""

from __future__ import annotations

from mcp_actors.runtime.actor import Actor, StartFailure, start_actor
from mcp_actors.runtime.deadline import Clock, Deadline
from mcp_actors.runtime.directory import Directory, Restart
from mcp_actors.runtime.lane import Lane, LaneBuffer
from mcp_actors.runtime.lifetime import Root, guard, refuse_gevent, release
from mcp_actors.runtime.mailbox import Mailbox, MailboxClosed, TimerFired
from mcp_actors.runtime.permits import Permits
from mcp_actors.runtime.ref import ActorDead, AskTimeout, Crashed, Exited, Normal, Reason, Ref
from mcp_actors.runtime.registry import LocalRegistry, Registry
from mcp_actors.runtime.slot import ForkedSlot, ProgressSlot, Slot, SlotTimeout
from mcp_actors.runtime.supervision import (
    ChildSpec,
    Intensity,
    Plan,
    Strategy,
    one_for_all,
    one_for_one,
    rest_for_one,
)
from mcp_actors.runtime.supervisor import ChildInfo, RestartLimit, Supervisor, WhichChildren
from mcp_actors.runtime.tasks import Cancel, PoolFull, PoolStopped, Run, TaskPool
from mcp_actors.runtime.worker import Done, Failed, Finished, Outcome, Refused

__all__ = [
    "Actor",
    "ActorDead",
    "AskTimeout",
    "Cancel",
    "ChildInfo",
    "ChildSpec",
    "Clock",
    "Crashed",
    "Deadline",
    "Directory",
    "Done",
    "Exited",
    "Failed",
    "Finished",
    "ForkedSlot",
    "Intensity",
    "Lane",
    "LaneBuffer",
    "LocalRegistry",
    "Mailbox",
    "MailboxClosed",
    "Normal",
    "Outcome",
    "Permits",
    "Plan",
    "PoolFull",
    "PoolStopped",
    "ProgressSlot",
    "Reason",
    "Ref",
    "Refused",
    "Registry",
    "Restart",
    "RestartLimit",
    "Root",
    "Run",
    "Slot",
    "SlotTimeout",
    "StartFailure",
    "Strategy",
    "Supervisor",
    "TaskPool",
    "TimerFired",
    "WhichChildren",
    "guard",
    "one_for_all",
    "one_for_one",
    "refuse_gevent",
    "release",
    "rest_for_one",
    "start_actor",
]
