"""News: what changed on the server, for those who want to hear of it."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from msgspec import Struct

from mcp_actors.protocol.codec import JsonObject

Kind: TypeAlias = Literal["tools", "prompts", "resources", "updated", "task"]

METHODS: Final[dict[Kind, str]] = {
    "tools": "notifications/tools/list_changed",
    "prompts": "notifications/prompts/list_changed",
    "resources": "notifications/resources/list_changed",
    "updated": "notifications/resources/updated",
    "task": "notifications/tasks",
}
#: What the tasks of 2025-11-25 have instead.
CORE_TASK_STATUS: Final = "notifications/tasks/status"
#: The words of a subscription's filter, and the capability without which none is granted.
FILTERS: Final[dict[str, tuple[Kind, str]]] = {
    "toolsListChanged": ("tools", "tools.listChanged"),
    "promptsListChanged": ("prompts", "prompts.listChanged"),
    "resourcesListChanged": ("resources", "resources.listChanged"),
}


class News(Struct, frozen=True):
    """A change. ``key`` is the uri of an updated resource or the id of a task, else empty.

    ``params`` is what there is to say about a task, and ``core`` whether it is one of 2025-11-25, which only
    sessions hear of, or of the extension, which only streams do. ``owner`` is whose task it is, where clients
    are told apart: to others it does not exist, also if they know its id.
    """

    kind: Kind
    key: str = ""
    params: JsonObject = {}
    core: bool = False
    owner: str | None = None


def covers(subscribed: str, uri: str) -> bool:
    """Whether news about ``uri`` concern a subscription: the resource itself, or one inside it."""
    return uri == subscribed or (uri.startswith(subscribed) and uri[len(subscribed.rstrip("/"))] in "/#?")
