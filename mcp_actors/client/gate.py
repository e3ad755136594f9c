"""The gate: what a server must speak and offer before a request may go out to it."""

from __future__ import annotations

from typing import Final

from mcp_actors import errors
from mcp_actors.client.outgoing import Outgoing
from mcp_actors.protocol.agreement import Agreement
from mcp_actors.protocol.codec import Json, JsonObject
from mcp_actors.protocol.revisions import ALL, Revision, capability_for
from mcp_actors.protocol.standing import SUBSCRIBE, UNSUBSCRIBE
from mcp_actors.protocol.types.capabilities import declares

#: The extension that took the place of the core's tasks in 2026-07-28.
TASKS_EXTENSION: Final = "io.modelcontextprotocol/tasks"

#: The capability for calls of tools as the core's tasks.
CORE_TASKS: Final = "tasks.requests.tools.call"

#: What callers may go on saying since 2026-07-28, and what it needs: the connection says it in the new way.
_TRANSLATED: Final = {SUBSCRIBE: "resources.subscribe", UNSUBSCRIBE: "resources.subscribe"}
_EXTENSION_METHODS: Final = frozenset({"tasks/get", "tasks/cancel", "tasks/update"})
_OLDEST_FIRST: Final = tuple(reversed(ALL))
#: Every request that some revision knows. Others are the caller's own business.
_VOCABULARY: Final = frozenset[str]().union(*(revision.requests for revision in ALL)) | _EXTENSION_METHODS


def check_passage(request: Outgoing, agreement: Agreement, server: str) -> None:
    """Raise `CapabilityMissing` if the server has never heard of the method, or did not offer it."""
    path = capability_for(request.method, agreement.revision)
    if path is None and agreement.revision.stateless:
        path = _TRANSLATED.get(request.method)
    if path is None:
        _check_vocabulary(request, agreement, server)
    else:
        check_offer(request, path, agreement, server)


def check_offer(request: Outgoing, path: str, agreement: Agreement, server: str) -> None:
    """Raise `CapabilityMissing` if the server did not offer what a request needs."""
    offered: Json = agreement.capabilities
    for key in path.split("."):
        offered = offered.get(key) if isinstance(offered, dict) else None
    if offered is None or offered is False:
        raise errors.CapabilityMissing(
            f"{request.what} was not sent: {server} does not offer {path}", details={"capability": path}
        )


def extends(capabilities: JsonObject, extension: str) -> bool:
    """Whether an extension is among the capabilities. Its id holds dots, so it is no dotted path."""
    extensions = capabilities.get("extensions")
    return isinstance(extensions, dict) and isinstance(extensions.get(extension), dict)


def offers_core_tasks(agreement: Agreement) -> bool:
    """Whether a tool can be called as a task of 2025-11-25."""
    return "tasks/get" in agreement.revision.requests and declares(agreement.capabilities, CORE_TASKS)


def _check_vocabulary(request: Outgoing, agreement: Agreement, server: str) -> None:
    method, revision = request.method, agreement.revision
    if method in revision.requests or method not in _VOCABULARY:
        return
    if revision.stateless and method in _EXTENSION_METHODS:
        if extends(agreement.capabilities, TASKS_EXTENSION):
            return
        raise errors.CapabilityMissing(
            f"{request.what} was not sent: {server} does not offer the extension {TASKS_EXTENSION}",
            details={"extension": TASKS_EXTENSION},
        )
    raise errors.CapabilityMissing(
        f"{request.what} was not sent: {method} does not exist in revision {revision}, "
        f"which {server} speaks; {_history(method, revision)}",
        details={"method": method, "revision": revision.version},
    )


def _history(method: str, revision: Revision) -> str:
    known = [one.version for one in _OLDEST_FIRST if method in one.requests]
    if not known:
        return f"it belongs to the extension {TASKS_EXTENSION}"
    if revision.version < known[0]:
        return f"it was added in {known[0]}"
    removed = next(one.version for one in _OLDEST_FIRST if one.version > known[-1])
    return f"it was removed in {removed}"
