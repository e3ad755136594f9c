"""NewsHost: a scripted server that keeps its subscribers' books, in either era."""

from __future__ import annotations

import threading
from typing import Any, Final

from mcp_actors.transports.memory import MemoryEnd
from tests.client.toy_host import SILENCE, STATELESS, Refusal, ToyHost

_SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"
OFFER: Final[dict[str, Any]] = {
    "tools": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "prompts": {"listChanged": True},
    "logging": {},
}


class NewsHost(ToyHost):
    """``refused`` are resources that nobody may subscribe to. The books are those of the newest wire."""

    def __init__(self, version: str = STATELESS, **settings: Any) -> None:
        super().__init__(version, **({"capabilities": OFFER} | settings))
        self.refused: set[str] = set()
        self.subscribed: set[str] = set()
        self.streams: dict[int, dict[str, Any]] = {}
        self._here = threading.local()
        if version == STATELESS:
            self.answers["subscriptions/listen"] = self._listen
        else:
            self.answers["resources/subscribe"] = self._subscribe
            self.answers["resources/unsubscribe"] = self._unsubscribe
            self.answers["logging/setLevel"] = lambda _: {}

    # What tests do.

    def touch(self, uri: str) -> None:
        """A resource has changed: whoever subscribed to it, or to what it is a part of, is told."""
        for stream, wanted in list(self.streams.items()):
            if any(uri.startswith(one) for one in wanted.get("resourceSubscriptions", ())):
                self._tell(stream, "notifications/resources/updated", uri=uri)
        if any(uri.startswith(one) for one in self.subscribed):
            self.notify("notifications/resources/updated", uri=uri)

    def change(self, what: str) -> None:
        """A list has changed: ``tools``, ``prompts`` or ``resources``."""
        method = f"notifications/{what}/list_changed"
        if self.version != STATELESS:
            self.notify(method)
        for stream, wanted in list(self.streams.items()):
            if wanted.get(f"{what}ListChanged"):
                self._tell(stream, method)

    def end_stream(self) -> None:
        """End the newest stream in good order."""
        stream = max(self.streams)
        del self.streams[stream]
        result = {"resultType": "complete", "_meta": {_SUBSCRIPTION: stream}}
        self.say({"jsonrpc": "2.0", "id": stream, "result": result})

    @property
    def wanted_uris(self) -> set[str]:
        """What the client has subscribed to, in whichever way."""
        streams = list(self.streams.values())
        return set(self.subscribed).union(*(one.get("resourceSubscriptions", ()) for one in streams))

    # The server itself.

    def accept(self, end: MemoryEnd) -> None:
        self.subscribed, self.streams = set(), {}
        super().accept(end)

    def _serve(self, end: MemoryEnd) -> None:
        self._here.end = end
        super()._serve(end)

    def note(self, message: Any) -> list[dict[str, Any]]:
        if self._current and isinstance(message, dict) and message.get("method") == "notifications/cancelled":
            self.streams.pop(message["params"].get("requestId"), None)
        return super().note(message)

    @property
    def _current(self) -> bool:
        return bool(self.ends[-1] is self._here.end)

    def _subscribe(self, request: dict[str, Any]) -> Any:
        uri = request["params"]["uri"]
        if uri in self.refused:
            raise Refusal(-32602, "not for you")
        if self._current:
            self.subscribed.add(uri)
        return {}

    def _unsubscribe(self, request: dict[str, Any]) -> Any:
        if self._current:
            self.subscribed.discard(request["params"]["uri"])
        return {}

    def _listen(self, request: dict[str, Any]) -> Any:
        wanted = dict(request["params"]["notifications"])
        if "resourceSubscriptions" in wanted:
            uris = [uri for uri in wanted["resourceSubscriptions"] if uri not in self.refused]
            wanted["resourceSubscriptions"] = uris
        if self._current:
            self.streams[request["id"]] = wanted
            self._tell(request["id"], "notifications/subscriptions/acknowledged", notifications=wanted)
        return SILENCE

    def _tell(self, stream: int, method: str, **params: Any) -> None:
        self.notify(method, **params, _meta={_SUBSCRIPTION: stream})
