"""What the tests of the WSGI app get: an app with peers of the tests' own, and a driver for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors.server.http.app import WsgiApp
from mcp_actors.server.http.settings import HttpSettings
from tests.server.http.driver import Driver
from tests.server.http.fake_peer import NEWEST, FakePeer, FakePeers, initialize

#: Quick times, so that tests see keep-alives and lost clients soon. Nothing depends on how soon.
QUICK: dict[str, Any] = {"keep_alive": 0.05, "look_every": 0.01}


class Site:
    """An app, its peers, and a way to call it."""

    def __init__(self, peers: FakePeers, settings: dict[str, Any], options: dict[str, Any]) -> None:
        self.peers = peers
        self.app = WsgiApp(HttpSettings(**(QUICK | settings)), peers, **options)
        self.driver = Driver(self.app)
        self.post = self.driver.post
        self.get = self.driver.get
        self.request = self.driver.request

    def open(self, version: str = NEWEST) -> Session:
        """Shake hands."""
        answer = self.post(initialize(version))
        assert answer.status == 200
        return Session(self, answer.session, self.peers.last)


class Session:
    """A session as its client sees it, and the peer at its other end."""

    def __init__(self, site: Site, id: str, peer: FakePeer) -> None:
        self.id = id
        self.peer = peer
        self._site = site

    def _headers(self, options: dict[str, Any]) -> dict[str, Any]:
        return {"headers": {"Mcp-Session-Id": self.id} | options.pop("headers", {}), **options}

    def post(self, message: Any, **options: Any) -> Any:
        return self._site.post(message, **self._headers(options))

    def get(self, last_event_id: str | None = None, **options: Any) -> Any:
        headers = {} if last_event_id is None else {"Last-Event-ID": last_event_id}
        return self._site.get(**self._headers({"headers": headers, **options}))

    def delete(self, **options: Any) -> Any:
        return self._site.request("DELETE", **self._headers(options))


MakeSite = Callable[..., Site]


@pytest.fixture
def make_site() -> MakeSite:
    def make(
        *, scripts: dict[str, Any] | None = None, options: dict[str, Any] | None = None, **settings: Any
    ) -> Site:
        return Site(FakePeers(**(scripts or {})), settings, options or {})

    return make


@pytest.fixture
def site(make_site: MakeSite) -> Site:
    return make_site()
