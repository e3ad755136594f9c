"""MCP for synchronous Python: a client whose calls simply block, run by a supervised actor tree."""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

from mcp_actors import errors
from mcp_actors.client.client import Client, registry
from mcp_actors.client.notifications import Gap, Notification, Progress
from mcp_actors.protocol import types
from mcp_actors.telemetry.crash_report import CrashReport

if TYPE_CHECKING:
    from mcp_actors.client import export
    from mcp_actors.client.answering.console import ask_on_terminal
    from mcp_actors.client.config import load_config
    from mcp_actors.client.saving import save
    from mcp_actors.client.stats import ClientStats
    from mcp_actors.client.tasks.handle import TaskHandle

__all__ = [
    "Client",
    "ClientStats",
    "CrashReport",
    "Gap",
    "Notification",
    "Progress",
    "TaskHandle",
    "ask_on_terminal",
    "errors",
    "export",
    "load_config",
    "registry",
    "save",
    "types",
]

#: What is imported when somebody asks for it: where it lives, and its name there.
_LATER = {
    "ClientStats": ("mcp_actors.client.stats", "ClientStats"),
    "TaskHandle": ("mcp_actors.client.tasks.handle", "TaskHandle"),
    "ask_on_terminal": ("mcp_actors.client.answering.console", "ask_on_terminal"),
    "export": ("mcp_actors.client.export", None),
    "load_config": ("mcp_actors.client.config", "load_config"),
    "save": ("mcp_actors.client.saving", "save"),
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home, member = _LATER[name]
    module = import_module(home)
    found = module if member is None else getattr(module, member)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})


logging.getLogger("mcp_actors").addHandler(logging.NullHandler())
