"""urllib3: its pool of connections, used by the caller's own thread. The limit for those who build on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import urlsplit

import urllib3

from benchmarks.contestants.blocking import Blocking
from benchmarks.contestants.contract import Contestant
from benchmarks.contestants.post import body_of, headers_of, text_in

#: With fewer than there are callers, connections would be made anew all the time.
_CONNECTIONS: Final = 64


@contextmanager
def open_urllib3(url: str) -> Iterator[Contestant]:
    """One pool for all callers; nothing is sent twice."""
    parts = urlsplit(url)
    with urllib3.HTTPConnectionPool(str(parts.hostname), parts.port, maxsize=_CONNECTIONS) as pool:

        def call(tool: str, arguments: Mapping[str, Any]) -> str:
            body, headers = body_of(tool, arguments), headers_of(tool)
            return text_in(pool.urlopen("POST", parts.path, body, headers, retries=False).data)

        yield Blocking(call)
