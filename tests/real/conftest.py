"""The commands of the servers; each is installed when the first test asks for it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.client.conftest import _nothing_is_left_behind, make_stdio
from tests.real.installing import npm_packages, python_packages, unavailable

__all__ = ["_nothing_is_left_behind", "make_stdio"]

SCOPE: Final = "@modelcontextprotocol/server-"
NPM: Final = tuple(
    f"{SCOPE}{name}@2026.8.31" for name in ("everything", "filesystem", "memory", "sequential-thinking")
)
PYPI: Final = ("mcp-server-git==2026.10.19", "mcp-server-fetch==2026.10.24")
# It was written for the first generation of the official package, and does not start with the second.
SQLITE: Final = ("mcp-server-sqlite==2025.4.25", "mcp==1.30.0")
FASTMCP: Final = ("fastmcp[tasks]==4.1.2",)
SERVERS: Final = Path(__file__).parents[1] / "servers"


@pytest.fixture(scope="session")
def node_server() -> Callable[[str], list[str]]:
    """Gives the command of one of the protocol's authors' own servers, which Node runs."""
    node = shutil.which("node")
    if node is None:
        unavailable("node is not installed")
    place = npm_packages(*NPM) / "node_modules"
    return lambda name: [node, str(place / f"{SCOPE}{name}" / "dist" / "index.js")]


@pytest.fixture(scope="session")
def everything(node_server: Callable[[str], list[str]]) -> list[str]:
    """The server that shows everything that the protocol can."""
    return [*node_server("everything"), "stdio"]


@pytest.fixture(scope="session")
def time_server() -> list[str]:
    """The server that knows the time; it comes with the packages of the tests."""
    program = Path(sys.executable).with_name("mcp-server-time")
    if not program.exists():
        unavailable("mcp-server-time is not installed")
    return [str(program)]


# An installation that failed fails once, not for each server: pytest remembers what a fixture raised.
@pytest.fixture(scope="session")
def pypi_python() -> str:
    """The interpreter that has the Python servers of the protocol's authors."""
    return str(python_packages(*PYPI))


@pytest.fixture(scope="session")
def sqlite_python() -> str:
    """The interpreter that has the SQLite server."""
    return str(python_packages(*SQLITE))


@pytest.fixture
def git_server(pypi_python: str) -> list[str]:
    """The server that works with git repositories."""
    return [pypi_python, "-m", "mcp_server_git"]


@pytest.fixture
def fetch_server(pypi_python: str) -> list[str]:
    """The server that fetches web pages, also from this machine."""
    return [pypi_python, "-m", "mcp_server_fetch", "--allow-private-ips"]


@pytest.fixture
def sqlite_server(sqlite_python: str, tmp_path: Path) -> list[str]:
    """The server that works with a database, here an empty one."""
    start = "import mcp_server_sqlite; mcp_server_sqlite.main()"
    return [sqlite_python, "-c", start, "--db-path", str(tmp_path / "shop.db")]


@pytest.fixture(scope="session")
def fastmcp_server() -> list[str]:
    """Our server made with FastMCP."""
    return [str(python_packages(*FASTMCP)), str(SERVERS / "fastmcp_features.py")]


@pytest.fixture(scope="session")
def official_server() -> list[str]:
    """Our small server made with the official package."""
    return [sys.executable, str(SERVERS / "official_server.py")]


@pytest.fixture(scope="session")
def official_features() -> list[str]:
    """Our server made with the official package that asks its client."""
    return [sys.executable, str(SERVERS / "official_features.py")]


@pytest.fixture
def without_node(tmp_path: Path) -> dict[str, str]:
    """Variables by which Node is not found; with it, the fetch server would install packages of its own."""
    return {"PATH": str(tmp_path)}
