"""SharedSessions: sessions that go on in whatever process their client comes to."""

from __future__ import annotations

import logging
import re
from typing import Final

import msgspec
from msgspec import Struct

from mcp_actors.protocol.serving.keepsake import Keepsake
from mcp_actors.server.http.reply import unavailable
from mcp_actors.server.http.session_store import SessionStore

#: As they are made. Nobody's wild guesses reach the store.
_ID: Final = re.compile(r"[0-9a-f]{64}")
_RETRY_AFTER: Final = 1

logger: Final = logging.getLogger("mcp_actors.server.http")


class StoredSession(Struct, frozen=True):
    """What is known of a session outside of the process that serves it."""

    owner: str | None
    keepsake: Keepsake


_decoder: Final = msgspec.json.Decoder(StoredSession)


class SharedSessions:
    """The border to a store, which may be the user's own and fail. Any thread."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store

    def load(self, id: str) -> StoredSession | None:
        """What is known of a session; None if nothing is.

        Raises:
            Rejected: the store cannot say; its clients shall come again, and not believe that it is over.
        """
        if _ID.fullmatch(id) is None:
            return None
        try:
            record = self._store.load(id)
            return None if record is None else _decoder.decode(record)
        except Exception:
            logger.exception("a session store failed; whether there is a session cannot be said")
            raise unavailable("sessions cannot be looked up at the moment", _RETRY_AFTER) from None

    def save(self, id: str, session: StoredSession) -> bool:
        """Let other processes know of a session as it is now. False: they do not."""
        try:
            self._store.save(id, msgspec.json.encode(session))
        except Exception:
            logger.exception("a session store failed; other processes do not know what became of a session")
            return False
        return True

    def forget(self, id: str) -> None:
        """The client ended the session."""
        try:
            self._store.forget(id)
        except Exception:
            logger.exception("a session store failed; a session that is over may go on elsewhere")
