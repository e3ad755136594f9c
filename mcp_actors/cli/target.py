"""Which server a command is about: the options that all commands share, and what stands behind ``--``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final

import typer

from mcp_actors.cli.mistake import Mistake

_PANEL: Final = "Server"
SEPARATOR: Final = "--"


@dataclass(frozen=True, slots=True)
class Target:
    """The server and the manner of speaking to it, as the command line names them."""

    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The file that describes the server.", rich_help_panel=_PANEL),
    ] = None
    server: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Its name in that file.", rich_help_panel=_PANEL),
    ] = None
    url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Its address, if it runs already.", rich_help_panel=_PANEL),
    ] = None
    header: Annotated[
        list[str],
        typer.Option(
            "--header",
            "-H",
            metavar="'NAME: VALUE'",
            help="A header for each request to that address, such as a token. May be repeated.",
            rich_help_panel=_PANEL,
        ),
    ] = field(default_factory=list)
    env: Annotated[
        list[str],
        typer.Option(
            metavar="KEY=VALUE",
            help="A variable for its environment; KEY alone passes ours on. May be repeated.",
            rich_help_panel=_PANEL,
        ),
    ] = field(default_factory=list)
    cwd: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The directory to start it in.", rich_help_panel=_PANEL),
    ] = None
    timeout: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="The longest wait for the start, and for each answer.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    protocol: Annotated[
        str | None,
        typer.Option(metavar="VERSION", help="Speak this revision of MCP only.", rich_help_panel=_PANEL),
    ] = None
    verbose: Annotated[
        int,
        typer.Option(
            "--verbose",
            "-v",
            count=True,
            show_default=False,
            help="Show what the server writes to stderr and what happens to it; -vv also each message.",
            rich_help_panel=_PANEL,
        ),
    ] = 0
    command: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        given = [
            name
            for name, there in (
                ("--config or --server", self.config or self.server),
                ("--url", self.url),
                (f"a command after {SEPARATOR}", self.command),
            )
            if there
        ]
        if len(given) > 1:
            raise Mistake(f"say in one way which server you want, not by {' and '.join(given)}")
        if self.url is not None:
            self.forbid_surroundings(self.url)
        elif self.header:
            raise Mistake("--header goes with --url; a server in a file has its headers there")
        if self.timeout is not None and not 0 < self.timeout < float("inf"):
            raise Mistake(f"--timeout must be a positive number of seconds, not {self.timeout:g}")
        if self.cwd is not None and not self.cwd.is_dir():
            raise Mistake(f"--cwd: {self.cwd} is no directory")

    def forbid_surroundings(self, server: str) -> None:
        """Raises `Mistake` if there are options that only a server can have which is started here."""
        for option, given in (("--env", self.env), ("--cwd", self.cwd)):
            if given:
                raise Mistake(f"{option} is for servers that are started here; {server} runs already")

    def environment(self) -> dict[str, str]:
        """What ``--env`` adds to the environment of the server. Raises `Mistake`."""
        return dict(_variable(one) for one in self.env)

    def headers(self) -> dict[str, str]:
        """What ``--header`` adds to each request. Raises `Mistake`."""
        return dict(_header(one) for one in self.header)


def split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Our own words, and those behind the first ``--``: the command of a server."""
    here = list(words)
    if SEPARATOR not in here:
        return here, []
    place = here.index(SEPARATOR)
    return here[:place], here[place + 1 :]


def _header(given: str) -> tuple[str, str]:
    name, colon, value = given.partition(":")
    if not colon:
        # Not shown: it may be a token.
        raise Mistake("--header must be 'NAME: VALUE', such as 'Authorization: Bearer TOKEN'")
    return name.strip(), value.strip()


def _variable(given: str) -> tuple[str, str]:
    name, equals, value = given.partition("=")
    if not name:
        raise Mistake(f"--env must be KEY=VALUE or KEY, not {given!r}")
    if equals:
        return name, value
    if name not in os.environ:
        raise Mistake(f"--env {name}: there is no such variable here; write {name}=VALUE")
    return name, os.environ[name]
