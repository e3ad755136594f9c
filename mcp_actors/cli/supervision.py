"""The supervision tree of a client, drawn."""

from __future__ import annotations

import threading
from typing import Final

from rich.console import Group
from rich.text import Text
from rich.tree import Tree

from mcp_actors import Client, ClientStats
from mcp_actors.cli.output import one_line
from mcp_actors.telemetry import process_gauges

_STATE_STYLES: Final = {"ready": "green", "backoff": "red", "closing": "dim"}
#: Columns of the labels; each level of the tree is indented by four.
_LABEL: Final = 18
_INDENT: Final = 4


def supervision_tree(client: Client) -> Group:
    """What runs behind a client at this moment. Read without stopping anybody."""
    stats = client.stats()
    threads = {thread.name: thread.native_id for thread in threading.enumerate()}
    tree = Tree(_actor("supervisor", 0, client, stats, threads), guide_style="dim")
    tree.label.append(f"rest_for_one, {_count(stats.restarts, 'restart')}", "dim")  # type: ignore[union-attr]
    transport = tree.add(_actor("transport", 1, client, stats, threads))
    _add_server(transport, client)
    _add_wire(transport, stats)
    pool = tree.add(_actor("pool", 1, client, stats, threads))
    _add_pool(pool, client, stats, threads)
    connection = _actor("connection", 1, client, stats, threads)
    connection.append(stats.state, _STATE_STYLES.get(stats.state, "yellow"))
    _add_requests(tree.add(connection), stats)
    return Group(_title(client, stats), tree)


def _title(client: Client, stats: ClientStats) -> Text:
    info = client.server_info
    up = "" if stats.uptime is None else f", up for {stats.uptime:.1f} s"
    text = f"{info.name} {info.version}, MCP {client.protocol_version}{up}"
    text += f", {_count(stats.reconnects, 'reconnect')}"
    return Text(one_line(text), "bold")


def _actor(name: str, level: int, client: Client, stats: ClientStats, threads: dict[str, int | None]) -> Text:
    text = _label(name, level)
    number = threads.get(f"{client.name} {name}")
    text.append(f"thread {number or 'gone':<8}")
    box = stats.mailboxes.get(name)
    if box is not None:
        text.append(f"mailbox {box.depth} (most {box.greatest_depth})".ljust(21), "cyan")
    return text


def _label(name: str, level: int) -> Text:
    return Text.assemble((name.ljust(_LABEL - _INDENT * level), "bold"), overflow="fold")


def _add_server(branch: Tree, client: Client) -> None:
    report = client.crash_report
    gauges = None if report is None or report.pid is None else process_gauges(report.pid)
    if gauges is None:
        branch.add(_label("server", 2).append("no process"))
        return
    open_files = "" if gauges.fds is None else f", {gauges.fds} descriptors"
    text = f"pid {gauges.pid}, {_bytes(gauges.rss)}, {_count(gauges.threads, 'thread')}{open_files}"
    branch.add(_label("server", 2).append(text))


def _add_wire(branch: Tree, stats: ClientStats) -> None:
    wire = stats.wire
    received = f"in {_bytes(wire.bytes_in)} ({_count(wire.frames_in, 'frame')})"
    sent = f"out {_bytes(wire.bytes_out)} ({_count(wire.frames_out, 'frame')})"
    branch.add(_label("wire", 2).append(f"{received}, {sent}, {_bytes(wire.backlog_bytes)} unsent"))


def _add_pool(branch: Tree, client: Client, stats: ClientStats, threads: dict[str, int | None]) -> None:
    workers = sum(name.startswith(f"{client.name} pool-") for name in threads)
    branch.add(_label("workers", 2).append(str(workers)))
    lane = stats.lane
    text = f"{lane.depth} waiting, {lane.processed} handled, {lane.dropped} dropped, {lane.merged} merged"
    branch.add(_label("lane", 2).append(text))


def _add_requests(branch: Tree, stats: ClientStats) -> None:
    text = f"{stats.pending} pending, {stats.in_flight} in flight (most {stats.greatest_in_flight})"
    branch.add(_label("requests", 2).append(text))
    oddities = {
        "late": stats.late_responses,
        "unknown": stats.unknown_responses,
        "malformed": stats.violations,
    }
    odd = ", ".join(f"{number} {name}" for name, number in oddities.items())
    branch.add(_label("answers", 2).append(odd))


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _bytes(number: int) -> str:
    if number < 10_000:
        return f"{number:,} B"
    return f"{number / 1000:,.0f} kB" if number < 10_000_000 else f"{number / 1_000_000:,.0f} MB"
