"""WsgiRequest: what a WSGI environment says about a request, and its body within bounds."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final
from urllib.parse import parse_qs, quote

from mcp_actors.protocol.http.inbound import check_body, too_large
from mcp_actors.protocol.http.mirrors import Headers
from mcp_actors.protocol.http.rejections import Rejected
from mcp_actors.server.http.presence import Presence, presence_in

_CHUNK = 64 * 1024
_UNKNOWN: Final = -1
_BODY_HEADERS: Final = (("CONTENT_TYPE", "content-type"), ("CONTENT_LENGTH", "content-length"))


class WsgiRequest:
    """One request. Belongs to the thread that serves it."""

    # Any: that is what WSGI environments hold.
    def __init__(self, environ: dict[str, Any]) -> None:
        self._environ = environ
        self.method: str = environ["REQUEST_METHOD"]
        self.mount: str = environ.get("SCRIPT_NAME", "").rstrip("/")
        self.path: str = environ.get("PATH_INFO", "").rstrip("/")
        self.headers: Headers = _headers(environ)
        self._length: int | None = _UNKNOWN

    @property
    def url(self) -> str:
        """The address that the client used, as far as WSGI tells."""
        environ = self._environ
        host = environ.get("HTTP_HOST") or f"{environ.get('SERVER_NAME')}:{environ.get('SERVER_PORT')}"
        # PEP 3333: the path's bytes, decoded as latin-1.
        path = quote((environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")).encode("latin-1"))
        query = environ.get("QUERY_STRING", "")
        return f"{environ.get('wsgi.url_scheme', 'http')}://{host}{path}{'?' if query else ''}{query}"

    @property
    def address(self) -> str | None:
        """Where the client is, or the proxy in front of us."""
        return self._environ.get("REMOTE_ADDR") or None

    @property
    def presence(self) -> Presence | None:
        """How to see that the client has gone, if there is a way."""
        return presence_in(self._environ)

    def parameter(self, name: str) -> str | None:
        """A parameter of the query, if it is there once."""
        values = parse_qs(self._environ.get("QUERY_STRING", "")).get(name, [])
        return values[0] if len(values) == 1 else None

    def body_length(self, max_bytes: int) -> int | None:
        """How long the body says it is, None if its end will tell. Raises ``Rejected``."""
        if self._length == _UNKNOWN:
            terminated = bool(self._environ.get("wsgi.input_terminated"))
            self._length = check_body(self.headers, max_bytes=max_bytes, terminated=terminated)
        return self._length

    def body(self, max_bytes: int) -> bytes:
        """The body. Never more than the limit is held. Raises ``Rejected``."""
        length = self.body_length(max_bytes)
        wanted = max_bytes + 1 if length is None else length
        body = self._read(wanted)
        if len(body) > max_bytes:
            raise too_large(max_bytes)
        if length is not None and len(body) < length:
            raise Rejected(400, "the body ended early")
        return body

    def _read(self, wanted: int) -> bytes:
        source = self._environ["wsgi.input"]
        parts: list[bytes] = []
        while wanted > 0:
            try:
                part = source.read(min(wanted, _CHUNK))
            except OSError:
                # The client broke off, or broke the rules of chunks.
                raise Rejected(400, "the body could not be read") from None
            if not part:
                break
            parts.append(part)
            wanted -= len(part)
        return b"".join(parts)


def _headers(environ: dict[str, Any]) -> Headers:
    """Names in lower case. Servers join what came several times."""
    found = {_name(key): value for key, value in environ.items() if key.startswith("HTTP_")}
    for key, name in _BODY_HEADERS:
        value = environ.get(key)
        if value:
            found[name] = value
    return found


@lru_cache(maxsize=256)
def _name(key: str) -> str:
    """The header that a key of the environment stands for. Nearly all requests have the same ones."""
    return key[5:].replace("_", "-").lower()
