"""Grant: what an authorizer needs to know of one way to a token."""

from __future__ import annotations

from typing import Protocol

from mcp_actors.auth.discovery import Site
from mcp_actors.auth.errand import Errand
from mcp_actors.auth.tokens import Tokens
from mcp_actors.auth.urls import shown
from mcp_actors.errors import AuthorizationFailed

__all__ = ["Grant", "IssuerPin"]


class Grant(Protocol):
    """Shared by all authorizers made from one configuration; each method runs on the thread of an errand."""

    @property
    def interactive(self) -> bool:
        """Whether a person has to act."""

    @property
    def pinned(self) -> str | None:
        """The one issuer that may see the credentials; None while it does not matter."""

    @property
    def trusted(self) -> frozenset[str]:
        """URLs that the user named, which may lie in any network."""

    @property
    def scopes(self) -> tuple[str, ...] | None:
        """What the user wants beside that which the server asks for."""

    @property
    def holder(self) -> str:
        """Whose the tokens are, as far as the configuration tells: nobody uses those of another."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """What the user handed over."""

    def acquire(self, errand: Errand, site: Site, scopes: tuple[str, ...]) -> Tokens:
        """A new authorization. Raises an `McpError` if there is none to be had."""

    def refresh(self, errand: Errand, site: Site, tokens: Tokens) -> Tokens | None:
        """Newer tokens in place of ``tokens``; None if a new authorization is needed."""


class IssuerPin:
    """Credentials belong to one issuer: the one given, else the first that is met. Any thread."""

    def __init__(self, issuer: str | None) -> None:
        self._held = {} if issuer is None else {"issuer": issuer}
        #: The issuer that the user named, which may lie in any network; one that was only met is not in here.
        self.trusted = frozenset({issuer} if issuer else ())

    @property
    def issuer(self) -> str | None:
        """Who may see the credentials; None while nobody has."""
        return self._held.get("issuer")

    def hold(self, site: Site) -> None:
        """The credentials are about to be shown to this site's authorization server."""
        # One operation of a dict: of two threads that meet two servers, the first decides for both.
        self._held.setdefault("issuer", site.authority.issuer)
        if self._held["issuer"] != site.authority.issuer:
            raise AuthorizationFailed(
                f"the client's credentials belong to {shown(self._held['issuer'])} and are not shown to "
                f"{shown(site.authority.issuer)}"
            )
