"""An MCP server that wants a token, with its authorization server: what pages and examples talk to.

    with ProtectedServer() as server, Client.http(server.resource_url, auth=OAuth(open_url=agree)) as client:
        print(client.call_tool("whoami").text)

Its one tool, ``whoami``, says to whom the token was given, and for which scopes.
"""

from __future__ import annotations

import http.client
import json
import threading
from typing import Any, Final, Self
from urllib.parse import urlsplit

from tests.auth.authorization_server import AuthorizationServer, Recorded, Reply, Settings, browse

__all__ = ["ProtectedServer", "agree", "browse"]

_COMPLETE: Final = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
_TOOL: Final = {"name": "whoami", "inputSchema": {"type": "object"}}
_RESULTS: Final = {
    "server/discover": {**_COMPLETE, "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}},
    "tools/list": {**_COMPLETE, "tools": [_TOOL]},
}


class ProtectedServer(AuthorizationServer):
    """``settings`` are those of `Settings`. Runs from `start` to `close`, or in a ``with``."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(Settings(results=_RESULTS, **settings))
        # A page that fails half way must not go on for ever.
        self._wire.daemon_threads = True

    def __enter__(self) -> Self:
        return self.start()

    def start(self) -> Self:
        """Listen, on a thread that ends with the process if not before."""
        self._thread = threading.Thread(target=self._wire.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def close(self) -> None:
        """Close every connection."""
        self.__exit__()

    def _result(self, request: Recorded) -> Reply:
        asked = request.json
        if not isinstance(asked, dict) or asked.get("method") != "tools/call":
            return super()._result(request)
        grant = self._authority._access[request.headers["authorization"].partition(" ")[2]]
        words = f"{grant.client_id} may {grant.scope or 'do nothing in particular'}"
        result = {**_COMPLETE, "content": [{"type": "text", "text": words}]}
        body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}).encode()
        return Reply(200, (("Content-Type", "application/json"), *self._nonce_header("resource")), body)


def agree(url: str) -> None:
    """A person with a browser, who agrees: it goes to the login page, and where that sends it."""
    target = urlsplit(browse(url))
    assert target.hostname is not None
    connection = http.client.HTTPConnection(target.hostname, target.port, timeout=5.0)
    try:
        connection.request("GET", f"{target.path}?{target.query}")
        connection.getresponse().read()
    finally:
        connection.close()
