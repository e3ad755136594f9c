"""Roots: the places a client lets a server work in."""

from __future__ import annotations

from mcp_actors.protocol.types.value import MetaValue


class Root(MetaValue):
    """One place, by its ``file://`` URI."""

    uri: str
    name: str | None = None


class ListRootsResult(MetaValue):
    """The client's places."""

    nested = ("roots",)

    roots: list[Root]
