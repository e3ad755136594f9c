"""A WSGI app whose client is made, and with USE_BEFORE_FORK also used, when the module is loaded.

The server is that of SERVER_COMMAND, or with SERVER_URL the one behind it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from typing import Any

from mcp_actors import Client

if url := os.environ.get("SERVER_URL"):
    client = Client.http(url, proxies={}, request_timeout=10)
else:
    client = Client.stdio(json.loads(os.environ["SERVER_COMMAND"]), request_timeout=10)
if os.environ.get("USE_BEFORE_FORK"):
    client.call_tool("pid")


def app(_environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
    """Tell which worker answered, and which server it asked."""
    body = json.dumps({"worker": os.getpid(), "server": int(client.call_tool("pid").text)}).encode()
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    return [body]
