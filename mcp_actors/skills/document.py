"""A ``SKILL.md`` taken apart: its text, the head as a tree, and the body."""

from __future__ import annotations

from msgspec import Struct

from mcp_actors.skills.front_matter import split
from mcp_actors.skills.limits import MOST_HEAD_BYTES
from mcp_actors.skills.yaml_tree import Tree, YamlRefused, parse


class HeadRefused(ValueError):
    """The head of a file is missing, too long or not understood. The message says which, of "it"."""


class Document(Struct, frozen=True):
    """What the file says, not yet compared with anything."""

    text: str
    body: str
    head: Tree


def read(data: bytes, most_head_bytes: int = MOST_HEAD_BYTES) -> Document:
    """The parts of a file.

    Raises:
        HeadRefused: it is no UTF-8, or does not begin with YAML that all readers understand alike.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise HeadRefused(f"it is not UTF-8 ({error.reason} at byte {error.start})") from None
    parts = split(text)
    if parts is None:
        raise HeadRefused("it has none")
    head, body = parts
    if len(head.encode()) > most_head_bytes:
        raise HeadRefused(f"it has more than {most_head_bytes} bytes")
    try:
        return Document(text, body, parse(head))
    except YamlRefused as error:
        raise HeadRefused(f"it has {error}") from None
