"""gunicorn --preload with a client over HTTP: each worker has connections and a session of its own."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.client.test_gunicorn import Site
from tests.client.waiting import BOUND, until
from tests.servers.http_peer import HttpPeer, Turn, text
from tests.transports.http.conftest import ERAS, MakePeer

pytestmark = [pytest.mark.real, pytest.mark.requirement("runtime:fork")]


@pytest.fixture(params=ERAS)
def peer(request: pytest.FixtureRequest, make_peer: MakePeer) -> HttpPeer:
    """A server that tells its clients the numbers of their sessions, as far as they have any."""
    peer = make_peer(request.param)

    def tell(turn: Turn) -> None:
        session = turn.headers.get("mcp-session-id", "no-0")
        turn.answer(text(session.split("-")[1]))

    peer.calls["pid"] = tell
    return peer


@pytest.fixture(params=["", "1"], ids=["made-before-the-fork", "used-before-the-fork"])
def site(request: pytest.FixtureRequest, peer: HttpPeer) -> Iterator[Site]:
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        one = Site(Path(directory), SERVER_URL=peer.url, USE_BEFORE_FORK=request.param)
        try:
            yield one
        finally:
            one.stop()


def test_both_workers_speak_for_themselves_and_take_their_leave(site: Site, peer: HttpPeer) -> None:
    sessions = set(site.servers().values())
    assert len(sessions) == (1 if peer.modern else 2)
    assert len(peer.turns("server/discover")) >= 2
    site.process.send_signal(signal.SIGTERM)
    assert site.process.wait(2 * BOUND) == 0, site.told()
    assert "Traceback" not in site.told()
    until(lambda: not peer._socks)
    assert peer.open_sessions == set()
