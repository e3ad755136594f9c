"""Servers of ours behind a URL in this process, so that a test can look into them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from werkzeug.serving import BaseWSGIServer, make_server

from mcp_actors import Server
from mcp_actors.server.http.app import WsgiApp
from tests.client.waiting import BOUND


@contextmanager
def hosted(server: Server, port: int, **settings: Any) -> Iterator[WsgiApp]:
    """Serve at this port of the loopback interface; at the end nothing of it is left."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    app = server.wsgi(look_every=0.05, **settings)
    listener: BaseWSGIServer = make_server("127.0.0.1", port, app, threaded=True)
    thread = threading.Thread(target=listener.serve_forever, args=(0.02,), name="hosting")
    thread.start()
    try:
        yield app
    finally:
        _end(app.stop, listener.shutdown, lambda: thread.join(BOUND), listener.server_close, server.close)


def _end(*steps: Callable[[], object]) -> None:
    for step in steps:
        step()
