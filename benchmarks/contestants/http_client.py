"""http.client: the standard library's HTTP client in the caller's own thread, each call on a connection."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from benchmarks.contestants.blocking import Blocking
from benchmarks.contestants.contract import Contestant
from benchmarks.contestants.post import body_of, headers_of, text_in


@contextmanager
def open_http_client(url: str) -> Iterator[Contestant]:
    """Connections are made when all others are in use, and kept."""
    parts = urlsplit(url)
    idle: deque[HTTPConnection] = deque()

    def call(tool: str, arguments: Mapping[str, Any]) -> str:
        try:
            connection = idle.pop()
        except IndexError:
            connection = HTTPConnection(parts.netloc)
        connection.request("POST", parts.path, body_of(tool, arguments), headers_of(tool))
        body = connection.getresponse().read()
        idle.append(connection)
        return text_in(body)

    try:
        yield Blocking(call)
    finally:
        for connection in idle:
            connection.close()
