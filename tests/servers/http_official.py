"""Servers made with the official package, over HTTP: ``http_official <server> <transport> <port>``."""

from __future__ import annotations

import importlib
import sys

if __name__ == "__main__":
    name, transport, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
    server = importlib.import_module(f"tests.servers.{name}").server
    if transport == "sse":
        server.run("sse", port=port)
    else:
        server.run("streamable-http", port=port, json_response=transport == "json")
