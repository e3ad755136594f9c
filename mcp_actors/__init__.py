"""MCP for synchronous Python: a client whose calls simply block, and a server that is plain functions."""

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
    from mcp_actors.server.authorization import Authorization, JwtVerifier, Principal, StaticTokens
    from mcp_actors.server.context import Context
    from mcp_actors.server.faults import (
        InvalidAnswer,
        NoAnswer,
        NotFound,
        Refusal,
        RequestCancelled,
        ToolError,
    )
    from mcp_actors.server.media import Audio, File, Image
    from mcp_actors.server.messages import AssistantMessage, UserMessage
    from mcp_actors.server.questions import Elicit, Roots, Sample
    from mcp_actors.server.registry.directory import DirectoryResource
    from mcp_actors.server.registry.sources import FileResource, TextResource
    from mcp_actors.server.server import Server
    from mcp_actors.server.skills import SkillError

__all__ = [
    "SkillError",
    "TextResource",
    "FileResource",
    "DirectoryResource",
    "AssistantMessage",
    "Audio",
    "Authorization",
    "Client",
    "ClientStats",
    "Context",
    "CrashReport",
    "Elicit",
    "File",
    "Gap",
    "Image",
    "InvalidAnswer",
    "JwtVerifier",
    "NoAnswer",
    "NotFound",
    "Notification",
    "Principal",
    "Progress",
    "Refusal",
    "RequestCancelled",
    "Roots",
    "Sample",
    "Server",
    "StaticTokens",
    "TaskHandle",
    "ToolError",
    "UserMessage",
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
    "AssistantMessage": ("mcp_actors.server.messages", "AssistantMessage"),
    "Audio": ("mcp_actors.server.media", "Audio"),
    "Authorization": ("mcp_actors.server.authorization", "Authorization"),
    "Context": ("mcp_actors.server.context", "Context"),
    "Elicit": ("mcp_actors.server.questions", "Elicit"),
    "File": ("mcp_actors.server.media", "File"),
    "Image": ("mcp_actors.server.media", "Image"),
    "InvalidAnswer": ("mcp_actors.server.faults", "InvalidAnswer"),
    "JwtVerifier": ("mcp_actors.server.authorization", "JwtVerifier"),
    "NoAnswer": ("mcp_actors.server.faults", "NoAnswer"),
    "NotFound": ("mcp_actors.server.faults", "NotFound"),
    "Principal": ("mcp_actors.server.authorization", "Principal"),
    "Refusal": ("mcp_actors.server.faults", "Refusal"),
    "RequestCancelled": ("mcp_actors.server.faults", "RequestCancelled"),
    "Roots": ("mcp_actors.server.questions", "Roots"),
    "Sample": ("mcp_actors.server.questions", "Sample"),
    "DirectoryResource": ("mcp_actors.server.registry.directory", "DirectoryResource"),
    "FileResource": ("mcp_actors.server.registry.sources", "FileResource"),
    "TextResource": ("mcp_actors.server.registry.sources", "TextResource"),
    "SkillError": ("mcp_actors.server.skills", "SkillError"),
    "Server": ("mcp_actors.server.server", "Server"),
    "StaticTokens": ("mcp_actors.server.authorization", "StaticTokens"),
    "ToolError": ("mcp_actors.server.faults", "ToolError"),
    "UserMessage": ("mcp_actors.server.messages", "UserMessage"),
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
