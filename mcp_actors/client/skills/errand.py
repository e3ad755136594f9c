"""Errand: the requests of one task, all within one deadline."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, TypeVar

from mcp_actors import errors
from mcp_actors.protocol import types
from mcp_actors.protocol.codec import DecodeFailed, Json, JsonObject
from mcp_actors.protocol.types.results import ListResult, Result
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.skills.skill import EXTENSION

if TYPE_CHECKING:
    from mcp_actors.client.client import Client

R = TypeVar("R", bound=Result)
P = TypeVar("P", bound=ListResult)

_MOST_PAGES: Final = 1_000
# MCP 2026-07-28 has a place for extensions; earlier revisions only one for experiments.
_PLACES: Final = ("extensions", "experimental")


class Errand:
    """Belongs to the thread that made it."""

    def __init__(self, client: Client, seconds: float, *, wait: bool) -> None:
        self._client = client
        self._deadline = Deadline.after(seconds)
        self._wait = wait

    def require(self, what: str, setting: str | None = None) -> None:
        """Raise `CapabilityMissing` unless the server declares the extension, and ``setting`` of it."""
        settings = declared(self._capabilities(what))
        if settings is not None and (setting is None or settings.get(setting) is True):
            return
        path = f"extensions.{EXTENSION}" + ("" if setting is None else f".{setting}")
        raise errors.CapabilityMissing(
            f"{what} was not sent: {self._client.name} does not offer {path}", details={"capability": path}
        )

    def ask(self, method: str, params: JsonObject, kind: type[R]) -> R:
        """Send a request, and read its answer as a ``kind``."""
        answer = self._client.request(method, params, timeout=self._left(method), wait=self._wait)
        return _typed(kind, answer, method)

    def read(self, uri: str) -> types.ReadResourceResult:
        """Read a resource as it is now: an older copy would fail the checks of a newer entry."""
        left = self._left(f"resources/read {uri!r}")
        return self._client.read_resource(uri, timeout=left, wait=self._wait, fresh=True)

    def pages(self, method: str, params: JsonObject, kind: type[P]) -> Iterator[P]:
        """All pages of a listing. A cursor that comes twice, or a thousand pages, is the server's mistake."""
        seen: set[str] = set()
        page = self.ask(method, params, kind)
        while (cursor := page.next_cursor) is not None:
            yield page
            pages = len(seen) + 1
            if cursor in seen or pages >= _MOST_PAGES:
                fault = f"cursor {cursor[:80]!r} came again" if cursor in seen else "there is a cursor"
                raise errors.InvalidResponse(
                    f"{method} does not end: {fault} after {pages} pages", details={"pages": pages}
                )
            seen.add(cursor)
            page = self.ask(method, {**params, "cursor": cursor}, kind)
        yield page

    def _capabilities(self, what: str) -> JsonObject:
        client = self._client
        try:
            return client.server_capabilities.raw
        except errors.Unavailable:
            # Never ready so far; as with any call, the first one waits for the connection.
            client.wait_ready(self._left(what))
            return client.server_capabilities.raw

    def _left(self, what: str) -> float:
        left = self._deadline.remaining()
        if left <= 0.0:
            raise errors.RequestTimeout(f"{what} was not sent: no time was left for it")
        return left


def declared(capabilities: JsonObject) -> JsonObject | None:
    """The settings of the extension as the server declares it; None if it does not."""
    for place in _PLACES:
        extensions: Json = capabilities.get(place)
        found = extensions.get(EXTENSION) if isinstance(extensions, dict) else None
        if found is not None and found is not False:
            return found if isinstance(found, dict) else {}
    return None


def _typed(kind: type[R], answer: Json, method: str) -> R:
    try:
        value = kind.from_wire(answer)
    except DecodeFailed as error:
        raise errors.InvalidResponse(f"{method} got an answer that does not fit: {error}") from error
    if not value.complete:
        raise errors.InvalidResponse(
            f"{method} got a result of type {value.result_type!r}, which this client did not offer to handle",
            details={"result_type": value.result_type},
        )
    return value
