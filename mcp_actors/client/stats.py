"""The numbers of a client at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mcp_actors.client.tree import Tree
from mcp_actors.client.wiring import CONNECTION, POOL, TRANSPORT
from mcp_actors.transports.contract import WireStats


@dataclass(frozen=True, slots=True)
class MailboxStats:
    """How full an actor's mailbox is, and was at most."""

    depth: int
    greatest_depth: int


@dataclass(frozen=True, slots=True)
class LaneStats:
    """The notifications that wait for handlers, and what became of the others."""

    depth: int = 0
    greatest_depth: int = 0
    bytes: int = 0
    greatest_bytes: int = 0
    processed: int = 0
    failed: int = 0
    dropped: int = 0
    merged: int = 0
    unheard: int = 0


@dataclass(frozen=True, slots=True)
class ClientStats:
    """Counts since the client was started; depths and bytes are those of now."""

    state: str
    parked: bool = False
    reconnects: int = 0
    restarts: int = 0
    in_flight: int = 0
    greatest_in_flight: int = 0
    pending: int = 0
    tombstones: int = 0
    unknown_responses: int = 0
    late_responses: int = 0
    violations: int = 0
    uptime: float | None = None
    wire: WireStats = field(default_factory=WireStats)
    lane: LaneStats = field(default_factory=LaneStats)
    mailboxes: Mapping[str, MailboxStats] = field(default_factory=dict)


def stats_of(tree: Tree) -> ClientStats:
    """Read without stopping anybody: the numbers may be some microseconds apart. Any thread."""
    board = tree.wiring.board
    machine = board.machine
    link = board.link
    return ClientStats(
        state=tree.state.value,
        parked=board.parked or tree.failure is not None,
        reconnects=max(0, board.times_ready - 1),
        restarts=len(tree.directory.history),
        in_flight=tree.admission.inside,
        greatest_in_flight=tree.admission.greatest,
        pending=len(machine.conversation.pending) if machine else 0,
        tombstones=len(machine.conversation.tombstones) if machine else 0,
        unknown_responses=board.unknown_responses,
        late_responses=board.late_responses,
        violations=board.violations,
        uptime=board.uptime,
        wire=link.stats() if link else WireStats(),
        lane=_lane(tree),
        mailboxes=_mailboxes(tree),
    )


def _lane(tree: Tree) -> LaneStats:
    board = tree.wiring.board
    lane, backlog = board.lane, board.backlog
    if lane is None or backlog is None:
        return LaneStats(unheard=board.unheard)
    return LaneStats(
        depth=lane.depth,
        greatest_depth=lane.greatest_depth,
        bytes=backlog.bytes,
        greatest_bytes=backlog.greatest_bytes,
        processed=lane.processed,
        failed=lane.failed,
        dropped=backlog.dropped,
        merged=backlog.merged,
        unheard=board.unheard,
    )


def _mailboxes(tree: Tree) -> dict[str, MailboxStats]:
    refs = {"supervisor": tree.supervisor} | {
        name: ref for name in (TRANSPORT, POOL, CONNECTION) if (ref := tree.directory.get(name)) is not None
    }
    return {name: MailboxStats(ref.mailbox_depth, ref.greatest_mailbox_depth) for name, ref in refs.items()}
