"""Desk: what the app keeps in one process: its sessions, its streams, and the way to its peers."""

from __future__ import annotations

import time
from collections.abc import Callable

from mcp_actors.server.authorization.principal import Principal
from mcp_actors.server.http.budgets import StreamBudget
from mcp_actors.server.http.contract import Peer, Peers, ToolRules
from mcp_actors.server.http.event_store import EventStore, MemoryEventStore
from mcp_actors.server.http.inbox import Inbox, Watch
from mcp_actors.server.http.legacy_session import LegacySession, LegacyStream
from mcp_actors.server.http.sessions import Session, SessionTable, owner_of
from mcp_actors.server.http.settings import HttpSettings
from mcp_actors.server.http.streams import Streams
from mcp_actors.server.http.wsgi_request import WsgiRequest
from mcp_actors.server.loan import Loan, loan_of_this_thread
from mcp_actors.server.outlet import Outlet


class Desk:
    """Any thread. Made anew after a fork: sessions, threads and locks of the parent are not ours."""

    def __init__(
        self,
        settings: HttpSettings,
        peers: Peers,
        tools: ToolRules,
        store: EventStore | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings
        self.peers = peers
        self.tools = tools
        self.clock = clock
        self.budget = StreamBudget(settings.streams)
        self.sessions: SessionTable[Session] = SessionTable(
            settings.max_sessions, settings.session_idle, clock
        )
        self.legacy: SessionTable[LegacySession] = SessionTable(
            settings.max_sessions, settings.session_idle, clock
        )
        self.store = store or MemoryEventStore(settings.max_events, settings.max_event_bytes)
        # Peers that are there for one POST. A plain dictionary used as a set: each change is one operation.
        self._guests: dict[int, Peer] = {}
        self.stopping = False

    def inbox(self) -> Inbox:
        """For one connection."""
        return Inbox(self.settings.max_queued, self.settings.max_queued_bytes)

    def watch(self, inbox: Inbox, request: WsgiRequest) -> Watch:
        """For the thread that serves the request."""
        return Watch(inbox, request.presence, self.settings.look_every, self.clock)

    def loan(self) -> Loan | None:
        """Of the thread that serves a request, which has nothing to do until that is answered."""
        return loan_of_this_thread() if self.settings.lend_threads else None

    def new_session(self, principal: Principal | None) -> Session:
        """A client that wants to shake hands. Raises ``Rejected``."""

        def make(id: str) -> Session:
            streams = Streams(id, self.store, self.inbox, self.settings.retry_ms, lambda: self._forget(id))
            peer = self.peers(streams, name="http", principal=principal)
            return Session(id, owner_of(principal), streams, peer)

        session = self.sessions.create(make)
        if self.stopping:
            # Whoever stopped us may have gone through the sessions before this one was there.
            session.stop()
        return session

    def new_legacy_session(self, principal: Principal | None) -> LegacySession:
        """A client of HTTP+SSE. Raises ``Rejected``."""

        def make(id: str) -> LegacySession:
            stream = LegacyStream(self.inbox())
            peer = self.peers(stream, name="sse", principal=principal)
            return LegacySession(id, owner_of(principal), stream, peer)

        session = self.legacy.create(make)
        if self.stopping:
            session.stop()
        return session

    def new_guest(self, outlet: Outlet, principal: Principal | None, assume: str | None) -> Peer:
        """A client that is there for one POST."""
        guest = self.peers(outlet, name="http", principal=principal, assume=assume)
        self._guests[id(guest)] = guest
        if self.stopping:
            guest.stop()
        return guest

    def forget_guest(self, guest: Peer) -> None:
        """Its POST is over."""
        self._guests.pop(id(guest), None)

    @property
    def busy(self) -> bool:
        """Whether anything is left to end before the server can be taken away."""
        return bool(self._guests) or len(self.sessions) > 0 or len(self.legacy) > 0

    def sweep(self, now: float) -> None:
        """End the sessions that nobody uses."""
        self.sessions.sweep(now)

    def stop(self) -> None:
        """Take no more, and have everything end in good order."""
        self.stopping = True
        self.sessions.stop()
        self.legacy.stop()
        for guest in tuple(self._guests.values()):
            guest.stop()

    def _forget(self, session: str) -> None:
        self.sessions.remove(session)
        self.store.forget(session)
