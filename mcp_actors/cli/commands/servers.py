"""mcp-actors servers: the servers that configuration files describe."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from mcp_actors.cli import config_files
from mcp_actors.cli.mistake import Mistake
from mcp_actors.cli.output import one_line, remark, show, write_json
from mcp_actors.client.config import Config, ServerEntry
from mcp_actors.telemetry.redaction import redact, redact_command


def servers(
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="Look into this file alone.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON: a list for each file.")] = False,
) -> None:
    """List the servers that configuration files describe."""
    found = config_files.files() if config is None else [config]
    if not found:
        remark("no configuration was found; looked for")
        for place in config_files.places():
            remark(f"  {place}")
    configs = {str(path): config_files.load(path) for path in found}
    if as_json:
        write_json({path: _entries(config) for path, config in configs.items()})
        return
    for path, one in configs.items():
        _show(path, one)


def _show(path: str, config: Config) -> None:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name in config.names:
        text, style = _described(config, name)
        table.add_row(Text(f"  {one_line(name)}", "bold cyan"), Text(text, style))
    show(Text(path, "bold"))
    show(table)


def _described(config: Config, name: str) -> tuple[str, str]:
    try:
        entry = _entry(config, name)
    except Mistake as mistake:
        # One bad entry is no reason to hide the others.
        return one_line(str(mistake).removeprefix(f"{config.place}: ")), "red"
    return (f"(disabled) {_reached(entry)}", "dim") if entry.disabled else (_reached(entry), "")


def _entries(config: Config) -> list[dict[str, object]]:
    entries: list[dict[str, object]] = []
    for name in config.names:
        try:
            entry = _entry(config, name)
        except Mistake as mistake:
            entries.append({"name": name, "error": str(mistake)})
        else:
            shown = {"kind": entry.kind, "disabled": entry.disabled, "target": _reached(entry)}
            entries.append({"name": name, **shown})
    return entries


def _entry(config: Config, name: str) -> ServerEntry:
    with config_files.speaking():
        return config.entry(name)


def _reached(entry: ServerEntry) -> str:
    """The command or the address, without the secrets in it."""
    if entry.url is not None:
        return one_line(redact(entry.url))
    return one_line(shlex.join(redact_command(entry.command)))
