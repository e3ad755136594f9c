"""The directories that follow from the URIs of files: what is directly in one, and where there is none."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from urllib.parse import unquote

from mcp_actors.protocol import types
from mcp_actors.protocol.codec import JsonObject
from mcp_actors.server.registry.entries import ResourceEntry
from mcp_actors.server.registry.media_types import DIRECTORY
from mcp_actors.server.skills.published import Published


def children(uri: str, files: Iterable[ResourceEntry]) -> list[Published]:
    """What is directly in a directory, in the order of the URIs. Nothing: there is no such directory, since
    each is there for the sake of a file."""
    # SEP-2640, directory resources: without a slash at the end. The scheme alone is no directory.
    if "://" not in uri or uri.endswith("/"):
        return []
    above = f"{uri}/"
    lines: dict[str, JsonObject] = {}
    for file in files:
        if not file.key.startswith(above):
            continue
        name, deeper, _ = file.key[len(above) :].partition("/")
        lines[above + name] = _directory(above, name) if deeper else file.wire
    return [
        Published(uri=key, function=partial(dict, line), number=number)
        for number, (key, line) in enumerate(sorted(lines.items()), 1)
    ]


def _directory(above: str, name: str) -> JsonObject:
    return types.Resource(uri=above + name, name=unquote(name), mime_type=DIRECTORY).to_wire()
