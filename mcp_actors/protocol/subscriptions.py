"""Subscribing to news over a stream (2026-07-28), for callers who say ``resources/subscribe``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Raw, Struct

from mcp_actors.protocol.actions import Action, CancelTimer, Missed, SetTimer
from mcp_actors.protocol.agreement import Agreement
from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.envelope import Envelopes
from mcp_actors.protocol.events import ListenDue
from mcp_actors.protocol.insistence import Insistence
from mcp_actors.protocol.listening import LISTEN, Listening
from mcp_actors.protocol.outcomes import CallOutcome, Completed, NotGranted
from mcp_actors.protocol.pending import Flight
from mcp_actors.protocol.policy import Policy
from mcp_actors.protocol.revisions import Era
from mcp_actors.protocol.standing import SUBSCRIBE, UNSUBSCRIBE, Standing
from mcp_actors.protocol.types.capabilities import declares
from mcp_actors.protocol.types.subscriptions import SUBSCRIPTION_ID

#: The outcome of a call that the machine answers itself.
DONE: Final = Completed(Raw(b"{}"))
_TRANSLATED: Final = frozenset({SUBSCRIBE, UNSUBSCRIBE})


class Acknowledgement(Struct, frozen=True):
    """The server took a stream up; ``older`` ones need not go on. ``granted``: resources, None for all."""

    id: int
    older: list[int]
    granted: frozenset[str] | None


class Subscriptions:
    """Keeps one stream open about everything that is wanted. In earlier revisions it has nothing to do."""

    def __init__(
        self,
        policy: Policy,
        ids: Iterator[int],
        random: Callable[[], float],
        standing: Standing,
        insistence: Insistence,
        out: list[Action],
    ) -> None:
        self._policy = policy
        self._ids = ids
        self._random = random
        self._insistence = insistence
        self._out = out
        self._ends = 0
        # A stream ended, and none has taken its place yet.
        self._deaf = False
        self._envelopes: Envelopes | None = None
        self._capabilities: JsonObject = {}
        self._listening = Listening(standing)

    def agree(self, agreement: Agreement, envelopes: Envelopes) -> None:
        """A new wire, and what its server offers."""
        self._envelopes = envelopes if agreement.revision.era is Era.STATELESS else None
        self._capabilities = agreement.capabilities
        self._ends = 0
        self._deaf = False
        self._listening.begin()

    def forget(self) -> None:
        """The wire is gone."""
        self._envelopes = None
        self._listening.begin()
        self._out.append(CancelTimer(ListenDue()))

    def translates(self, method: str) -> bool:
        """Whether this call is made by opening a stream."""
        modern = self._envelopes is not None and method in _TRANSLATED
        return modern and declares(self._capabilities, "resources.subscribe")

    def change(self, id_: int, method: str, uri: str, meta: bytes) -> bytes | None:
        """A caller wants to hear of a resource, or no longer: the frame to send, None if none is needed."""
        assert self._envelopes is not None
        self._listening.change(id_, method, uri)
        wanted = self._listening.wanted(self._capabilities)
        if not wanted or (self._listening.settled and wanted == self._listening.newest):
            return None
        self._listening.propose(id_, wanted)
        return self._envelopes.request(id_, LISTEN, wanted.params, meta)

    def settle(self, id_: int, *, fulfilled: bool) -> None:
        """A caller's change came to pass, or to nothing."""
        self._listening.settle(id_)
        # Its stream may have been the one that others relied on.
        if not fulfilled and self._listening.wanted(self._capabilities) != self._listening.newest:
            self._listen_later()

    def close(self) -> list[int]:
        """If nothing is wanted any more: the streams to take back."""
        if self._envelopes is None or self._listening.wanted(self._capabilities):
            return []
        return self._listening.close()

    def renew(self) -> int | None:
        """Ask for a stream about what is wanted now; its id, or None if none was needed."""
        if self._envelopes is None:
            return None
        wanted = self._listening.wanted(self._capabilities)
        if not wanted or wanted == self._listening.newest:
            return None
        id_ = next(self._ids)
        self._listening.propose(id_, wanted)
        self._insistence.send(self._envelopes.request(id_, LISTEN, wanted.params))
        return id_

    @property
    def streams(self) -> list[int]:
        """Every stream that the server may be serving."""
        return self._listening.streams

    def proposes(self, id_: object) -> bool:
        """Whether this stream still waits to be acknowledged."""
        return self._listening.proposes(id_)

    def acknowledged(self, params: JsonObject) -> Acknowledgement | None:
        """The server says that it took a stream up; None if that is not one we wait for."""
        meta = params.get("_meta")
        id_ = meta.get(SUBSCRIPTION_ID) if isinstance(meta, dict) else None
        if not self._listening.proposes(id_):
            return None
        if self._deaf:
            self._deaf = False
            # Again: whoever looked when the stream ended may have looked too early.
            self._out.append(Missed("the subscription began anew"))
        granted = _granted(params.get("notifications"))
        return Acknowledgement(id_, self._listening.acknowledge(id_, granted), granted)

    def ended(self, id_: object) -> bool:
        """The server is done with this request; True if it was a stream that no caller waits for."""
        if self._listening.proposes(id_):
            self._listening.refuse(id_)
            return True
        if not self._listening.end(id_):
            return False
        self._deaf = True
        self._out.append(Missed("the server ended the subscription"))
        self._listen_later()
        self._ends += 1
        return True

    def interrupted(self, id_: object) -> None:
        """The server may not even know of it: if it was a stream, it is asked for again later."""
        if self._listening.proposes(id_):
            self._listening.settle(id_)
            self._listen_later()
            self._ends += 1
        else:
            self.ended(id_)

    def take_back(self, stream: int) -> None:
        """Tell the server that a stream is not wanted any more."""
        assert self._envelopes is not None
        # Insisted on: otherwise the server would go on with it for as long as the wire lasts.
        self._insistence.send(self._envelopes.cancellation(stream, "no longer wanted"))

    def take_lost(self) -> tuple[str, ...]:
        """The resources that the server does not grant any more, each once."""
        # Asked for after every delivery, and mostly there is nothing.
        if not self._listening.lost:
            return ()
        lost, self._listening.lost = tuple(self._listening.lost), []
        return lost

    def _listen_later(self) -> None:
        self._out.append(SetTimer(ListenDue(), self._policy.backoff.delay(self._ends, self._random)))


def verdict(flight: Flight, granted: frozenset[str] | None) -> CallOutcome:
    """What became of a call that was made by opening a stream, when the server granted these resources."""
    assert flight.subject is not None
    if granted is None or flight.method != SUBSCRIBE or flight.subject in granted:
        return DONE
    return NotGranted(flight.subject)


def _granted(notifications: object) -> frozenset[str] | None:
    """The resources that an acknowledgement names; None if it says nothing at all."""
    if not isinstance(notifications, dict):
        return None
    uris = notifications.get("resourceSubscriptions")
    return frozenset(uri for uri in uris if isinstance(uri, str)) if isinstance(uris, list) else frozenset()
