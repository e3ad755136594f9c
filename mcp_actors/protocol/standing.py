"""What callers asked for that a new wire must be asked for again: listings, subscriptions, the log level."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from msgspec import Struct

from mcp_actors.protocol import codec
from mcp_actors.protocol.types.capabilities import declares

SUBSCRIBE: Final = "resources/subscribe"
UNSUBSCRIBE: Final = "resources/unsubscribe"
SET_LEVEL: Final = "logging/setLevel"

#: The calls whose success lasts beyond them, and the parameter that says what it is about.
LASTING: Final = {SUBSCRIBE: "uri", UNSUBSCRIBE: "uri", SET_LEVEL: "level"}

#: The news that has to be subscribed to since 2026-07-28: its name there, and the capability that offers it.
LIST_NEWS: Final = {
    "notifications/tools/list_changed": ("toolsListChanged", "tools.listChanged"),
    "notifications/prompts/list_changed": ("promptsListChanged", "prompts.listChanged"),
    "notifications/resources/list_changed": ("resourcesListChanged", "resources.listChanged"),
}


class Interests(Struct, frozen=True):
    """The news a client wants to hear of (2026-07-28): kinds of lists, and resources."""

    kinds: frozenset[str] = frozenset()
    uris: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.kinds or self.uris)

    def about(self, uris: frozenset[str]) -> Interests:
        """The same kinds, and those of the resources that are among ``uris``."""
        return Interests(self.kinds, tuple(uri for uri in self.uris if uri in uris))

    @property
    def params(self) -> bytes:
        """The parameters of ``subscriptions/listen``, encoded."""
        wanted: codec.JsonObject = dict.fromkeys(sorted(self.kinds), True)
        if self.uris:
            wanted["resourceSubscriptions"] = list(self.uris)
        return codec.encode({"notifications": wanted})


class Standing:
    """It belongs to the thread of whichever connection a client has, and outlives each of them.

    ``wanted`` gives the notification methods that somebody listens for at this moment.
    """

    def __init__(self, wanted: Callable[[], Iterable[str]] = tuple) -> None:
        self._wanted = wanted
        self.listed: set[str] = set()
        self.uris: dict[str, None] = {}
        self.level: str | None = None

    def fulfilled(self, method: str, subject: str) -> None:
        """A lasting call succeeded."""
        if method == SUBSCRIBE:
            self.uris[subject] = None
        elif method == UNSUBSCRIBE:
            self.uris.pop(subject, None)
        else:
            self.level = subject

    def choose_level(self, level: str) -> None:
        """A level that the server was not told, because requests say it themselves. Any thread."""
        self.level = level

    def interests(self, capabilities: codec.JsonObject, uris: Iterable[str]) -> Interests:
        """What to listen for, of what the server offers."""
        news = [LIST_NEWS[method] for method in self._wanted() if method in LIST_NEWS]
        kinds = frozenset(kind for kind, path in news if declares(capabilities, path))
        return Interests(kinds, tuple(uris) if declares(capabilities, "resources.subscribe") else ())
