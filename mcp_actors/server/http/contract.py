"""What the WSGI app needs of the rest of the server: one peer for each client, and the rules of its tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.http.param_headers import ParamHeaders
from mcp_actors.protocol.jsonrpc import Id, Message
from mcp_actors.protocol.serving.keepsake import Keepsake
from mcp_actors.server.authorization.denied import Denied
from mcp_actors.server.authorization.principal import Principal
from mcp_actors.server.loan import Loan
from mcp_actors.server.outlet import Outlet


class Peer(Protocol):
    """One client, as the server knows it. Any thread; nothing here blocks or raises."""

    def receive(
        self,
        message: Message,
        principal: Principal | None = None,
        *,
        modern: bool = False,
        loan: Loan | None = None,
    ) -> None:
        """Take a message. ``modern``: its headers already said that it is of 2026-07-28 or later.

        ``loan``: this thread will wait for the answer, and does before that what is laid into the loan.
        """

    def cancel(self, id: Id, reason: str, /) -> None:
        """Nobody wants that answer any more."""

    def gone(self, reason: str) -> None:
        """The client is gone; what runs for it is told to stop."""

    def stop(self, grace: float = 5.0) -> None:
        """Let what runs come to its end, within that many seconds, and end then."""

    @property
    def busy(self) -> bool:
        """Whether something runs for it."""

    @property
    def settled(self) -> bool:
        """Whether nothing would have to be ended if it were gone."""

    def resume(self, keepsake: Keepsake) -> None:
        """Go on where another process was; nothing happens if its revision is not spoken here."""

    @property
    def keepsake(self) -> Keepsake | None:
        """What another process would have to know to go on; None before a handshake."""

    @property
    def version(self) -> str | None:
        """The revision of the handshake era that was agreed on."""


class Peers(Protocol):
    """Makes peers. ``assume``: the client speaks this revision, and needs no handshake for it. ``client``:
    peers of the same share what one client may take of the server."""

    def __call__(
        self,
        outlet: Outlet,
        *,
        name: str,
        principal: Principal | None = None,
        assume: str | None = None,
        client: str | None = None,
    ) -> Peer: ...


class Gatekeeper(Protocol):
    """Who is let in. ``server.authorization.Authorization`` is one."""

    def admit(self, headers: Mapping[str, str], *, method: str, url: str) -> Principal:
        """On whose behalf a request comes. Raises ``Denied``."""

    def forbid(self, principal: Principal, needed: frozenset[str]) -> Denied:
        """The answer to somebody who may come in, but not do this."""

    @property
    def metadata_document(self) -> JsonObject:
        """What the protected resource says about itself."""

    @property
    def metadata_paths(self) -> Sequence[str]:
        """Where it says so."""


class ToolRules(Protocol):
    """What is known of a tool before it is called."""

    def param_headers(self, name: str) -> ParamHeaders | None:
        """Which arguments are repeated in headers; None: none, or no such tool."""

    def scopes(self, method: str, params: JsonObject) -> frozenset[str]:
        """What a token must allow for this request, beyond what it must for all."""


class NoRules:
    """Tools without rules of their own."""

    def param_headers(self, name: str) -> ParamHeaders | None:
        """None."""
        del name
        return None

    def scopes(self, method: str, params: JsonObject) -> frozenset[str]:
        """None."""
        del method, params
        return frozenset()
