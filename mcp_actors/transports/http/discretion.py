"""What a server says of a failure, without the secrets of ours that it repeats. Pure.

It goes into errors and logs, which people keep and pass on. What a server answers in earnest is not touched.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any, Final

from msgspec import structs

from mcp_actors.protocol.endings import Ending
from mcp_actors.protocol.http.responses import Reply
from mcp_actors.telemetry.redaction import hide

__all__ = ["discreet_ending", "discreet_reply"]

#: Longer bodies are not searched, which would take its time: they are no words about a failure.
_MOST_SEARCHED: Final = 64 * 1024


def discreet_ending(ending: Ending, secrets: Collection[str]) -> Ending:
    """The same ending in words that may be shown."""
    if not secrets:
        return ending
    details = {name: _discreet(value, secrets) for name, value in ending.details.items()}
    return replace(ending, reason=hide(ending.reason, secrets), details=details)


def discreet_reply(reply: Reply, secrets: Collection[str]) -> Reply:
    """The same refusal in words that may be shown."""
    if not secrets or len(reply.body) > _MOST_SEARCHED:
        return reply
    body = hide(reply.body.decode("utf-8", "surrogateescape"), secrets)
    return structs.replace(reply, body=body.encode("utf-8", "surrogateescape"))


def _discreet(value: Any, secrets: Collection[str]) -> Any:
    if isinstance(value, list):
        return [_discreet(item, secrets) for item in value]
    return hide(value, secrets) if isinstance(value, str) else value
