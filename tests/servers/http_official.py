"""The server made with the official package, over HTTP: ``http_official.py <transport> <port>``."""

from __future__ import annotations

import sys

from tests.servers.official_server import server

if __name__ == "__main__":
    transport, port = sys.argv[1], int(sys.argv[2])
    if transport == "sse":
        server.run("sse", port=port)
    else:
        server.run("streamable-http", port=port, json_response=transport == "json")
