"""Conditions: for whom a function of the server's runs, and for how long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.codec import Json, JsonObject
from mcp_actors.server.call import Call
from mcp_actors.server.faults import Refusal, missing_capability
from mcp_actors.server.registry.entries import Entry

T = TypeVar("T")

#: Why a call is cancelled whose time is over.
TIMEOUT: Final = "timeout"


def check_client(call: Call, entry: Entry[Any], what: str) -> None:
    """Whether this client may have it: by what it declared, and by its token. Wires without tokens allow
    everything.

    Raises:
        Refusal: it may not. ``what`` names the thing.
    """
    required = entry.required_capability
    if required is not None and not _declared(required, call.job.terms.capabilities):
        raise missing_capability(required, f"{what} needs a client that declares more")
    needed = entry.scopes
    if needed and call.principal is not None and not needed <= call.principal.scopes:
        raise Refusal(jsonrpc.INVALID_REQUEST, f"this needs the scopes {' '.join(sorted(needed))}")


def in_time(call: Call, seconds: float | None, work: Callable[[], T], late: Callable[[], object]) -> T:
    """Do the work. After ``seconds`` its client is answered by ``late()``, on the timekeeper's thread, and
    the work is told; a thread cannot be stopped."""
    if seconds is None:
        return work()
    host, key = call.peer.host, (id(call), "timeout")

    def expire() -> None:
        late()
        call.cancellation.cancel(TIMEOUT)

    host.wake(key, seconds, expire)
    try:
        return work()
    finally:
        host.let_sleep(key)


def too_long(what: str, seconds: float | None) -> str:
    """What is said about it then."""
    return f"{what} took longer than {seconds:g} s"


def _declared(required: JsonObject, declared: Json) -> bool:
    return isinstance(declared, dict) and all(
        key in declared and (not isinstance(value, dict) or _declared(value, declared[key]))
        for key, value in required.items()
    )
