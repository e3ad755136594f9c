"""A WSGI app whose threads share one client, as under gunicorn --threads."""

from __future__ import annotations

import threading
import urllib.request
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from mcp_actors import Client, errors
from mcp_actors.cli.demo_server import COMMAND

# Made at import, as in any web application: nothing runs until the first request, and each forked worker
# gets its own server.
client = Client.stdio(COMMAND, name="demo")


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """GET /20 answers with 20 + 20."""
    number = int(environ["PATH_INFO"].lstrip("/"))
    try:
        text = client.call_tool("add", {"a": number, "b": number}, timeout=5.0).text
    except errors.Unavailable as error:
        start_response("503 Service Unavailable", [("Retry-After", f"{error.retry_after or 1:.0f}")])
        return [error.message.encode()]
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [text.encode()]


class Server(ThreadingMixIn, WSGIServer):
    """A thread per request."""


class Quiet(WSGIRequestHandler):
    """Without a line per request."""

    def log_message(self, format: str, *args: Any) -> None:
        del format, args


def main() -> None:
    with client, make_server("127.0.0.1", 0, application, Server, Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"

        def get(number: int) -> str:
            with urllib.request.urlopen(f"{address}/{number}", timeout=10) as response:
                body: bytes = response.read()
            return body.decode()

        with ThreadPoolExecutor(8) as browsers:
            print(list(browsers.map(get, range(10))))
        server.shutdown()


if __name__ == "__main__":
    main()
