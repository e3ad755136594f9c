"""The demo: a server is started, used, killed under a call, and comes back, on one screen."""

from __future__ import annotations

import os
import signal
import time
from contextlib import ExitStack
from queue import SimpleQueue
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from mcp_actors import Client, ClientStats, CrashReport, errors, telemetry
from mcp_actors import Progress as Report
from mcp_actors.cli.demo_server import COMMAND
from mcp_actors.telemetry import ConnectionTransition

WIDTH: Final = 80
#: Longer than any recovery of the demo takes.
PATIENCE: Final = 10.0
COUNT: Final = {"to": 20, "delay": 0.05}
LONG_COUNT: Final = {"to": 100, "delay": 0.05}
KILL_AT: Final = 16
INDENT: Final = (0, 0, 0, 4)
_COLOURS: Final = {"ready": "green", "backoff": "red", "closing": "dim"}


def run(console: Console) -> None:
    """Tell the whole story; about four seconds."""
    console.width = min(console.width, WIDTH)
    transitions: SimpleQueue[ConnectionTransition] = SimpleQueue()
    with ExitStack() as stack:
        stack.callback(telemetry.attach(transitions.put, ConnectionTransition))
        client = Client.stdio(COMMAND, name="demo", backoff_min=1.0)
        stack.callback(client.close)
        _Story(console, client, transitions).tell()


class _Story:
    """The acts of the demo, in order. All of it runs on the caller's thread."""

    def __init__(
        self, console: Console, client: Client, transitions: SimpleQueue[ConnectionTransition]
    ) -> None:
        self._console = console
        self._client = client
        self._transitions = transitions

    def tell(self) -> None:
        self._start()
        self._call()
        lost = self._kill()
        self._recover(lost)
        self._explain(lost)
        self._show_tree()

    def _start(self) -> None:
        self._title("1", "A server is started as a child process")
        began = time.time()
        self._client.start().wait_ready(PATIENCE)
        self._follow_transitions(began)
        info = self._client.server_info
        self._say(f"{info.name} {info.version} speaks MCP {self._client.protocol_version} and offers:")
        tools = Table.grid(padding=(0, 2))
        for tool in self._client.list_tools():
            tools.add_row(Text(tool.name, style="bold cyan"), tool.description or "")
        self._show(Padding(tools, (0, 0, 0, 2)))

    def _call(self) -> None:
        self._title("2", "Calls simply block")
        began = time.perf_counter()
        result = self._client.call_tool("add", {"a": 2, "b": 40})
        took = (time.perf_counter() - began) * 1000
        self._say(f"[cyan]add(2, 40)[/] returned [bold]{result.text}[/] after {took:.1f} ms")
        with self._bar("slow_count(20)", COUNT["to"]) as bar:
            self._client.call_tool("slow_count", COUNT, on_progress=lambda report: _advance(bar, report))

    def _kill(self) -> errors.ConnectionLost:
        self._title("3", "The server is killed in the middle of a call")
        pid = self._client.read_resource("demo://pid").text
        with self._bar("slow_count(100)", LONG_COUNT["to"]) as bar:

            def advance(report: Report) -> None:
                _advance(bar, report)
                if report.progress == KILL_AT:
                    os.kill(int(pid), signal.SIGKILL)

            try:
                self._client.call_tool("slow_count", LONG_COUNT, on_progress=advance)
            except errors.ConnectionLost as error:
                lost = error
        self._say(f"[red]kill -9 {pid}[/], and the caller is told at once, once, and the truth:")
        message = Text.assemble((type(lost).__name__, "bold red"), f": {lost.message}")
        self._show(Padding(message, (0, 0, 0, 2), expand=False))
        self._say(f"  outcome = [bold]{lost.outcome}[/], retryable = {lost.retryable}: nothing is replayed")
        return lost

    def _recover(self, lost: errors.ConnectionLost) -> None:
        self._title("4", "The connection recovers by itself")
        assert lost.crash_report is not None
        self._follow_transitions(lost.crash_report.created_at)
        total = self._client.call_tool("add", {"a": 1, "b": 1}).text
        self._say(f"the same client again: [cyan]add(1, 1)[/] returned [bold]{total}[/]")

    def _explain(self, lost: errors.ConnectionLost) -> None:
        self._title("5", "Every failure carries a crash report")
        assert lost.crash_report is not None
        self._show(Panel(_crash_report(lost.crash_report), border_style="red", padding=(0, 1)))

    def _show_tree(self) -> None:
        self._title("6", "What ran behind the calls")
        self._show(_supervision_tree(self._client.name, self._client.stats()))
        self._console.print()

    def _follow_transitions(self, since: float) -> None:
        """Print each change of state as it happens, until the connection is ready."""
        after = ""
        while after != "ready":
            change = self._transitions.get(timeout=PATIENCE)
            after = change.after
            line = Text(f"{max(0.0, change.time - since):5.2f} s  {change.before} → ", style="dim")
            line.append(after, style=f"not dim {_COLOURS.get(after, 'yellow')}")
            if change.reason and after == "backoff":
                line.append(f"  {change.reason}")
            self._show(line)

    def _title(self, number: str, text: str) -> None:
        self._console.print()
        self._console.print(f"[bold reverse] {number} [/] [bold]{text}[/]", highlight=False)

    def _say(self, text: str) -> None:
        self._show(Text.from_markup(text))

    def _show(self, content: RenderableType) -> None:
        self._console.print(Padding(content, INDENT, expand=False))

    def _bar(self, label: str, total: float) -> Progress:
        columns = (TextColumn(f"    [cyan]{label}"), BarColumn(40), MofNCompleteColumn())
        bar = Progress(*columns, console=self._console)
        bar.add_task(label, total=total)
        return bar


def _advance(bar: Progress, report: Report) -> None:
    bar.update(bar.task_ids[0], completed=report.progress, refresh=True)


def _crash_report(report: CrashReport) -> RenderableType:
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim")
    facts.add_column(overflow="fold")
    exit_line, *rest = (line.strip() for line in report.summary().splitlines())
    facts.add_row("exit", exit_line.removeprefix("exit: "))
    facts.add_row("stderr", "\n".join(line for line in rest if line.startswith("|")))
    sent = Text(report.frames_sent[-1], overflow="ellipsis", no_wrap=True)
    facts.add_row("last sent", sent)
    facts.add_row("reproduce", report.reproduce())
    return Group(Text(report.reason, style="bold"), facts)


def _supervision_tree(name: str, stats: ClientStats) -> Tree:
    notes = {
        "transport": f"{stats.reconnects + 1} wires so far, one at a time",
        "pool": "runs handlers, off the actors",
        "connection": f"state {stats.state}, {stats.pending} requests pending",
    }
    restarts = f"rest_for_one, {stats.restarts} actors restarted"
    tree = Tree(_branch(f"{name} supervisor", restarts, stats, "supervisor"), guide_style="dim")
    for child, note in notes.items():
        tree.add(_branch(child, note, stats, child))
    return tree


def _branch(label: str, note: str, stats: ClientStats, mailbox: str) -> Text:
    box = stats.mailboxes[mailbox]
    width = 19 if mailbox == "supervisor" else 15
    text = Text(f"{label:<{width}}", style="bold")
    text.append(f"mailbox {box.depth} (most {box.greatest_depth})  ", style="not bold cyan")
    return text.append(note, style="not bold dim")
