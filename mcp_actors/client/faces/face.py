"""What all parts of a client's face share: the way to the connection, and how each request is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import structs

from mcp_actors import errors
from mcp_actors.client.calls import Calls, Manner
from mcp_actors.client.enclosures import Enclosures
from mcp_actors.client.listings import Listings
from mcp_actors.client.notifications import Handlers, ProgressHandler
from mcp_actors.client.options import ClientOptions, check_seconds
from mcp_actors.client.outgoing import Outgoing
from mcp_actors.client.pages import P, Pages
from mcp_actors.client.partition import Partition, Principal
from mcp_actors.client.rounds import Rounds
from mcp_actors.client.tree import Tree
from mcp_actors.client.trees import Trees
from mcp_actors.protocol.agreement import Agreement
from mcp_actors.protocol.standing import Standing
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.transports.contract import Transport

State = Literal["starting", "initializing", "ready", "backoff", "closing"]


class Face:
    """The members are made by `Client`; each part of the face adds the requests of one feature."""

    _options: ClientOptions
    _transport: Transport
    _standing: Standing
    _trees: Trees
    _calls: Calls
    _rounds: Rounds
    _handlers: Handlers
    _listings: Listings
    _enclosures: Enclosures
    _principal: Principal

    @property
    def state(self) -> State:
        """Where the connection is."""
        if self._trees.spent:
            return "closing"
        tree = self._trees.value
        return "starting" if tree is None else tree.state.value

    def _tree(self) -> Tree | None:
        return self._trees.value

    def _known_agreement(self) -> Agreement | None:
        tree = self._trees.value
        return None if tree is None else tree.wiring.board.agreement

    def _agreement(self, what: str) -> Agreement:
        agreement = self._known_agreement()
        if agreement is None:
            raise errors.Unavailable(
                f"{what} is not known yet: the client was never ready (state: {self.state})",
                state=self.state,
            )
        return agreement

    def _agreed(self, what: str, manner: Manner) -> tuple[Agreement, Manner]:
        """What was agreed with the server, waited for if it was never ready; and what is left of the time."""
        deadline = Deadline.after(manner.seconds)
        if self._known_agreement() is None:
            self._calls.await_ready(what, manner.seconds, deadline)
        return self._agreement(what), structs.replace(manner, deadline=deadline)

    def _manner(
        self,
        timeout: float | None,
        on_progress: ProgressHandler | None = None,
        *,
        wait: bool = False,
        replay: bool = False,
    ) -> Manner:
        if on_progress is not None and not callable(on_progress):
            raise TypeError(f"on_progress must be callable, not {type(on_progress).__name__}")
        seconds = self._options.request_timeout if timeout is None else check_seconds("timeout", timeout)
        return Manner(seconds, on_progress, wait, replay)

    def _enclose(self, request: Outgoing, meta: Mapping[str, Any] | None) -> Outgoing:
        return self._enclosures.enclose(request, meta)

    def _cache(self, method: str) -> Partition | None:
        """Where answers are kept: with the connection, so that neither a closed client nor a forked one has
        any. None if nothing is to be kept; before 2026-07-28 no server allows it."""
        cache = self._calls.tree(f"{method} was not sent").wiring.cache
        agreement = self._known_agreement()
        stateless = agreement is None or agreement.revision.stateless
        return Partition(cache, self._principal) if stateless and self._options.use_cache else None

    def _pages(
        self, method: str, kind: type[P], manner: Manner, *, cursor: str | None = None, fresh: bool = False
    ) -> Pages[P]:
        cache = self._cache(method)
        meta = self._enclosures.standing() or None
        return Pages(self._calls, method, kind, manner, cache=cache, cursor=cursor, fresh=fresh, meta=meta)
