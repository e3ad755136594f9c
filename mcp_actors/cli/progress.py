"""The bar that shows how far a call has come: on stderr, and only where somebody can see it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Self

from rich import progress as bars
from rich.console import Console
from rich.text import Text

from mcp_actors import Progress
from mcp_actors.cli.output import one_line, remarks

_MESSAGE_COLUMNS: Final = 40


class ProgressBar:
    """Appears with the first report and leaves no trace. Reports come on the thread of the caller."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._bar: bars.Progress | None = None
        self._console = remarks()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def report(self, report: Progress) -> None:
        """Show how far it is."""
        if not self._console.is_terminal:
            return
        first = self._bar is None
        bar = self._bar = self._bar or _bar(self._console)
        bar.update(
            bar.task_ids[0],
            completed=report.progress,
            total=report.total,
            label=_shortened(report.message or self._label),
            amount=f"{report.progress:g}" + ("" if report.total is None else f"/{report.total:g}"),
            refresh=not first,
        )
        if first:
            bar.start()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Keep off the screen while somebody else uses it. Any thread."""
        bar = self._bar
        if bar is not None:
            bar.stop()
        try:
            yield
        finally:
            if bar is not None:
                bar.start()


def _bar(console: Console) -> bars.Progress:
    bar = bars.Progress(
        bars.TextColumn("{task.fields[label]}", markup=False, style="cyan"),
        bars.BarColumn(None),
        bars.TextColumn("{task.fields[amount]}", markup=False),
        bars.TimeElapsedColumn(),
        console=console,
        transient=True,
    )
    bar.add_task("", total=None, label="", amount="")
    return bar


def _shortened(text: str) -> str:
    label = Text(one_line(text))
    label.truncate(_MESSAGE_COLUMNS, overflow="ellipsis")
    return label.plain
