"""Listener: the stream over which a server of the handshake era says what nobody asked."""

from __future__ import annotations

import logging
import random
import time
from typing import TYPE_CHECKING, Final

import urllib3

from mcp_actors import errors
from mcp_actors.protocol.http.event_stream import EventTooLarge
from mcp_actors.protocol.http.reconnection import Pace, Reconnection
from mcp_actors.transports.http.dialogue import TooLarge
from mcp_actors.transports.http.grip import Grip
from mcp_actors.transports.http.inbox import InboxClosed
from mcp_actors.transports.http.reading import Reading

if TYPE_CHECKING:
    from mcp_actors.transports.http.wire import HttpWire

logger: Final = logging.getLogger("mcp_actors.transports")


class Listener:
    """Runs on a thread of the wire's crew until the wire ends or the server offers no such stream."""

    def __init__(self, wire: HttpWire) -> None:
        self._wire = wire
        self._grip = Grip()
        self._story = Reconnection(Pace(attempts=None))
        # Whether there was a stream, or there would have been one had the network let us ask.
        self._expected = False

    def run(self) -> None:
        """Listen, and again whenever the stream breaks off."""
        try:
            self._keep_listening()
        except InboxClosed:
            return
        except errors.McpError as error:
            # Nobody should be asked to log in, again and again, for a stream that nobody asked for.
            logger.warning("the stream of %s is given up: %s", self._wire.label, error.message)

    def abandon(self) -> None:
        """The wire ends. Any thread."""
        self._grip.cut()

    def _keep_listening(self) -> None:
        while True:
            began = time.monotonic()
            lasted: float | None = None
            try:
                if not self._listen():
                    return
                lasted = time.monotonic() - began
            except (InboxClosed, errors.McpError):
                raise
            except Exception as error:  # noqa: BLE001 - the user's own function for headers may raise anything
                self._note(error)
            delay = self._story.delay(lasted, random.random)
            if delay is None or self._grip.rest(delay):
                return

    def _note(self, error: Exception) -> None:
        match error:
            case TooLarge() | EventTooLarge():
                logger.warning("%s sent too much unasked, which is lost: %s", self._wire.label, error)
                # From the same place the same would come again.
                self._story.last_event_id = ""
            case urllib3.exceptions.HTTPError() | OSError():
                logger.debug("the stream of %s broke: %s", self._wire.label, type(error).__name__)
                # A server that was started anew says "unknown session" to the next, not "no stream".
                self._expected = True
            case _:
                logger.warning("the stream of %s could not be asked for", self._wire.label, exc_info=error)

    def _listen(self) -> bool:
        story, again = self._story, self._expected
        try:
            response = self._wire.listen(story.last_event_id, self._grip, again=again)
        finally:
            self._wire.listening.set()
        if response is None and story.resumable:
            # The server may have forgotten that event, and still offer a stream.
            story.last_event_id = ""
            response = self._wire.listen("", self._grip, again=again)
        if again and not story.resumable:
            # Told now, not when it broke: whoever looks again must not do so before there is a new stream.
            self._wire.missed("the stream of news broke and could not be resumed")
        if response is None:
            return False
        self._expected = True
        reading = Reading(self._wire.inbox, self._wire.max_frame_bytes, self._story, set())
        reading.follow(response, self._grip)
        return True
