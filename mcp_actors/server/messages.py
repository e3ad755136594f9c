"""Messages that a prompt is made of."""

from __future__ import annotations

from typing import Any

from mcp_actors.protocol import types


class Message:
    """One message, or several of the same role if the content is a list: text, content blocks, images …"""

    __slots__ = ("content", "role")

    def __init__(self, role: types.Role, content: Any) -> None:
        """Raises ``ValueError`` for a role that is neither ``user`` nor ``assistant``."""
        if role not in ("user", "assistant"):
            raise ValueError(f"a message is by the user or the assistant, not by {role!r}")
        self.role: types.Role = role
        self.content = content


class UserMessage(Message):
    """What the user says."""

    __slots__ = ()

    def __init__(self, content: Any) -> None:
        super().__init__("user", content)


class AssistantMessage(Message):
    """What the assistant says."""

    __slots__ = ()

    def __init__(self, content: Any) -> None:
        super().__init__("assistant", content)
