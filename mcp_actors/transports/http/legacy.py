"""LegacyLine: HTTP+SSE, the transport of the first revision: one stream for answers, POSTs for the rest."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

import urllib3

from mcp_actors import errors
from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.http import responses as R
from mcp_actors.protocol.http.event_stream import MESSAGE, EventStream, EventTooLarge, ServerEvent
from mcp_actors.protocol.http.media_types import EVENT_STREAM
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.transports.http.dialogue import REFUSALS, at_home, reply_of
from mcp_actors.transports.http.engine import Errand
from mcp_actors.transports.http.faults import broken, facts, redirect, unauthorized
from mcp_actors.transports.http.grip import Grip
from mcp_actors.transports.http.inbox import InboxClosed

if TYPE_CHECKING:
    from mcp_actors.transports.http.wire import HttpWire

_CHUNK: Final = 64 * 1024
#: How long to wait at least after a login for a sign of the server.
_SIGN_SECONDS: Final = 5.0
_ENDPOINT: Final = "endpoint"

logger: Final = logging.getLogger("mcp_actors.transports")


class LegacyLine:
    """Its stream runs on a thread of the wire's crew; when it ends, so does the wire.

    ``endpoint`` is where to POST to, once the server has said so.
    """

    def __init__(self, wire: HttpWire, url: str, on_held: Callable[[Ending | None], object] | None) -> None:
        self._wire = wire
        self._on_held = on_held
        self._url = url
        self._grip = Grip()
        self._grip.on_held = self._hold
        self._held = False
        self._told = threading.Event()
        self._ending = Ending(EndKind.REFUSED, f"{wire.label} offers no event stream with an endpoint")
        self.endpoint: str | None = None

    def connect(self, deadline: Deadline) -> Ending | None:
        """Open the stream and wait until the server has told where to POST to; if it does not, why not."""
        if not self._wire.crew.run(self._run):
            return Ending(EndKind.REFUSED, "there is no thread for the event stream")
        while not self._told.wait(deadline.remaining()) and self._held:
            # A login takes its time. It ends by itself, or with the client.
            deadline = Deadline.after(_SIGN_SECONDS)
        if self.endpoint is not None:
            return None
        ending = self._ending
        if not self._told.is_set():
            ending = Ending(EndKind.REFUSED, f"{self._wire.label} began no event stream in time")
        self.abandon()
        return ending

    def abandon(self) -> None:
        """The wire ends. Any thread."""
        self._grip.cut()

    def _hold(self, hindrance: Ending | None) -> None:
        self._held = hindrance is not None
        if self._on_held is not None:
            self._on_held(hindrance)

    def _run(self) -> None:
        try:
            self._follow()
        except InboxClosed:
            pass
        except EventTooLarge as error:
            self._ending = Ending(EndKind.OVERSIZED, f"the server sent too much: {error}")
        except (urllib3.exceptions.HTTPError, OSError) as error:
            self._ending = broken(self._wire.label, error, self._grip)
        except errors.McpError as error:
            self._ending = unauthorized(error)
        except Exception as error:  # the user's own function for headers may raise anything
            logger.exception("the event stream of %s could not be asked for", self._wire.label)
            words = f"{type(error).__name__}: {error}"
            self._ending = Ending(EndKind.REFUSED, f"the request could not be made: {words}")
        finally:
            self._told.set()
            # Before that, whoever looked for it tells what became of it.
            if self.endpoint is not None:
                self._wire.finish(self._ending)

    def _follow(self) -> None:
        errand = Errand("GET", self._url, {"Accept": EVENT_STREAM})
        response = self._wire.dialogues.ask(errand, self._grip)
        try:
            if reply_of(response).streams:
                self._read(response)
            else:
                self._ending = self._refusal(response)
        finally:
            response.close()

    def _read(self, response: urllib3.BaseHTTPResponse) -> None:
        stream = EventStream(self._wire.max_frame_bytes)
        while chunk := response.read1(_CHUNK):
            if not all(self._take(event) for event in self._events(stream, chunk)):
                return
        if self.endpoint is not None:
            self._ending = Ending(EndKind.EOF, "the server ended its event stream")

    def _events(self, stream: EventStream, chunk: bytes) -> Iterator[ServerEvent]:
        try:
            yield from stream.feed(chunk)
        except EventTooLarge as error:
            yield from error.events
            raise

    def _take(self, event: ServerEvent) -> bool:
        """One event; False if this is no stream of the older transport, which begins with an endpoint."""
        if self.endpoint is not None:
            if event.event == MESSAGE and event.data:
                self._wire.inbox.deliver(event.data)
            return True
        if event.event != _ENDPOINT:
            return not event.data
        # Whoever could send us elsewhere would get our tokens.
        self.endpoint = at_home(self._url, event.data.decode("utf-8", "replace").strip())
        if self.endpoint is None:
            reason = f"{self._wire.label} named an endpoint at another origin"
            self._ending = Ending(EndKind.IMPOSSIBLE, reason)
            return False
        self._told.set()
        return True

    def _refusal(self, response: urllib3.BaseHTTPResponse) -> Ending:
        if response.status in REFUSALS:
            refused = R.refused(reply_of(response))
            words = refused.words(shown=self._wire.dialogues.says_who)
            return Ending(EndKind.UNAUTHORIZED, words, details=refused.details)
        words = f"it answered HTTP {response.status}{redirect(response)} instead of an event stream"
        advice = "; Client.http finds out which transport it has" if self._wire.older else ""
        reason = f"{self._wire.label} could not be reached: {words}{advice}"
        return Ending(EndKind.REFUSED, reason, details=facts(response))
