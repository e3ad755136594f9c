"""Who takes part, and what must be installed for it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal

from benchmarks.case import Job
from benchmarks.contestants.contract import Contestant
from benchmarks.handlers import Handler
from benchmarks.placement import place_client, server_arguments

_HERE: Final = Path(__file__).parent
_SERVER: Final = _HERE.parent / "servers" / "echo_server.py"
_PROGRAMS: Final = _HERE.parent / "programs"


@dataclass(frozen=True, slots=True)
class Entry:
    """A contestant: where its opener is, what it imports, and its program that makes one call and ends."""

    name: str
    module: str
    opener: str
    imports: str
    program: str
    package: str | None = None

    @property
    def missing(self) -> str | None:
        """Why it cannot take part, or None."""
        if self.package is None or find_spec(self.package) is not None:
            return None
        return f"{self.package} is not installed"

    @property
    def version(self) -> str:
        """The version of its library."""
        try:
            return metadata.version(self.package.replace("_", "-")) if self.package else "-"
        except metadata.PackageNotFoundError:
            return "not installed as a distribution"

    @property
    def program_path(self) -> Path:
        """The program that is started for the first result."""
        return _PROGRAMS / self.program


_MCP: Final = "from mcp import Client"

ROSTER: Final[dict[str, Entry]] = {
    entry.name: entry
    for entry in (
        Entry("raw", "raw", "open_raw", "import orjson, subprocess", "start_raw.py"),
        Entry("raw-threads", "raw_threads", "open_raw_threads", "import orjson, subprocess", "start_raw.py"),
        Entry(
            "mcp_actors",
            "actors",
            "open_actors",
            "from mcp_actors import Client",
            "start_mcp_actors.py",
            "mcp_actors",
        ),
        Entry("official-async", "official", "open_official_async", _MCP, "start_official.py", "mcp"),
        Entry("official-portal", "official", "open_official_portal", _MCP, "start_official_portal.py", "mcp"),
        Entry(
            "fastmcp-portal",
            "fastmcp_portal",
            "open_fastmcp_portal",
            "from fastmcp import Client",
            "start_fastmcp_portal.py",
            "fastmcp",
        ),
    )
}

OURS: Final = "mcp_actors"
LIMITS: Final = ("raw", "raw-threads")
PEERS: Final = ("official-async", "official-portal", "fastmcp-portal")


def server_command(job: Job, era: Literal["modern", "legacy"] = "modern") -> list[str]:
    """The command of the server that every contestant of this job talks to."""
    return [sys.executable, str(_SERVER), era, *server_arguments(job.pin)]


def open_contestant(
    job: Job, *, era: Literal["modern", "legacy"] = "modern", handler: Handler | None = None
) -> AbstractContextManager[Contestant]:
    """Place this process, import the contestant's library, and connect on entering."""
    entry = ROSTER[job.contestant]
    server = server_command(job, era)
    place_client(job.pin)
    module = importlib.import_module(f"benchmarks.contestants.{entry.module}")
    opener: Callable[..., AbstractContextManager[Contestant]] = getattr(module, entry.opener)
    return opener(server, handler)
