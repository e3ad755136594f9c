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
from typing import Final, Literal, TypeAlias

from benchmarks.case import Job
from benchmarks.contestants.contract import Contestant
from benchmarks.handlers import Handler
from benchmarks.placement import place_client, server_arguments

Era: TypeAlias = Literal["modern", "legacy"]

_HERE: Final = Path(__file__).parent
_SERVER: Final = _HERE.parent / "servers" / "echo_server.py"
_PROGRAMS: Final = _HERE.parent / "programs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A contestant, with its openers as ``module:function``; one that has none does not speak that way.

    ``imports`` is what it loads, ``program`` the one that makes a call over stdio and ends.
    """

    name: str
    stdio: str | None = None
    http: str | None = None
    imports: str = ""
    program: str = ""
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


_RAW: Final = "import orjson, subprocess"
_MCP: Final = "from mcp import Client"

ROSTER: Final[dict[str, Entry]] = {
    entry.name: entry
    for entry in (
        Entry(
            name="raw",
            stdio="raw:open_raw",
            http="raw_socket:open_raw_socket",
            imports=_RAW,
            program="start_raw.py",
        ),
        Entry(name="raw-threads", stdio="raw_threads:open_raw_threads", imports=_RAW, program="start_raw.py"),
        Entry(name="http.client", http="http_client:open_http_client"),
        Entry(name="urllib3", http="urllib3_pool:open_urllib3", package="urllib3"),
        Entry(
            name="mcp_actors",
            stdio="actors:open_actors",
            http="actors:open_actors_http",
            imports="from mcp_actors import Client",
            program="start_mcp_actors.py",
            package="mcp_actors",
        ),
        Entry(
            name="official-async",
            stdio="official:open_official_async",
            http="official:open_official_async_http",
            imports=_MCP,
            program="start_official.py",
            package="mcp",
        ),
        Entry(
            name="official-portal",
            stdio="official:open_official_portal",
            http="official:open_official_portal_http",
            imports=_MCP,
            program="start_official_portal.py",
            package="mcp",
        ),
        Entry(
            name="fastmcp-portal",
            stdio="fastmcp_portal:open_fastmcp_portal",
            http="fastmcp_portal:open_fastmcp_portal_http",
            imports="from fastmcp import Client",
            program="start_fastmcp_portal.py",
            package="fastmcp",
        ),
        # Servers, for the questions about servers.
        Entry(name="official-server", package="mcp"),
        Entry(name="fastmcp-server", package="fastmcp"),
        Entry(name="bare-waitress", package="waitress"),
        Entry(name="bare-cheroot", package="cheroot"),
        Entry(name="bare-gunicorn", package="gunicorn"),
        Entry(name="mcp_actors-cheroot", package="cheroot"),
        Entry(name="mcp_actors-gunicorn", package="gunicorn"),
    )
}

OURS: Final = "mcp_actors"
LIMITS: Final = ("raw", "raw-threads")
HTTP_LIMITS: Final = ("raw", "http.client", "urllib3")
PEERS: Final = ("official-async", "official-portal", "fastmcp-portal")


def server_command(job: Job, era: Era = "modern") -> list[str]:
    """The command of the stdio server that every contestant of this job talks to."""
    return [sys.executable, str(_SERVER), era, *server_arguments(job.pin)]


def open_contestant(
    job: Job, *, era: Era = "modern", handler: Handler | None = None
) -> AbstractContextManager[Contestant]:
    """Place this process, import the contestant's library, and connect over stdio on entering."""
    server = server_command(job, era)
    place_client(job.pin)
    return opener_at(ROSTER[job.contestant].stdio)(server, handler)


def opener_at(place: str | None) -> Callable[..., AbstractContextManager[Contestant]]:
    """The opener that an entry names. What else is in its module is imported with it."""
    assert place is not None, "its case should not have asked this contestant"
    module, _, function = place.partition(":")
    opener: Callable[..., AbstractContextManager[Contestant]] = getattr(
        importlib.import_module(f"benchmarks.contestants.{module}"), function
    )
    return opener
