"""Log messages that a server sends to its client."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

from mcp_actors.protocol.codec import Json
from mcp_actors.protocol.types.value import MetaValue

LogLevel: TypeAlias = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
# From the least to the most urgent.
LOG_LEVELS: Final[tuple[LogLevel, ...]] = get_args(LogLevel)


class SetLevelParams(MetaValue):
    """The least urgent level that the client wants to hear of."""

    level: LogLevel


class LogMessageParams(MetaValue):
    """One log message. ``data`` is any JSON."""

    level: LogLevel
    data: Json
    logger: str | None = None
