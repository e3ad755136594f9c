"""Dialogue: one HTTP request and its response, authorized, with redirects that stay at home."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Final
from urllib.parse import urljoin, urlsplit

import urllib3
from msgspec import structs

from mcp_actors.protocol.http.media_types import JSON, media_type
from mcp_actors.protocol.http.responses import Reply
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.transports.http.authorizer import Attempt, KnowsAtOnce, Refusal
from mcp_actors.transports.http.discretion import discreet_reply
from mcp_actors.transports.http.engine import Engine, Errand
from mcp_actors.transports.http.grip import Grip
from mcp_actors.transports.http.settings import HttpSettings

#: How often one request is sent again, for a redirect or a new authorization.
_MOST_ROUNDS: Final = 8
_REDIRECTS: Final = frozenset({307, 308})
#: Whoever refuses so wants an authorization, or another.
REFUSALS: Final = frozenset({401, 403})
_CHUNK: Final = 64 * 1024
#: How long a request waits for somebody to log in, if nobody gives it up before.
_PATIENCE: Final = 300.0
# Identity: what is not compressed cannot be a bomb. A server that compresses all the same is bounded.
_USUAL: Final = {"Accept-Encoding": "identity", "User-Agent": "mcp-actors"}

logger: Final = logging.getLogger("mcp_actors.transports")


class TooLarge(Exception):
    """A body above the limit. The message says which."""


class Dialogues:
    """Shared by all exchanges of one wire.

    ``simple``: what goes along with a request is known, or somebody knows it who tells without waiting.
    ``says_who``: the server is told who asks, as far as anybody knows.
    """

    def __init__(self, engine: Engine, settings: HttpSettings) -> None:
        self._engine = engine
        self._settings = settings
        self._fixed = None if callable(settings.headers) else merged(_USUAL, settings.own_headers())
        plain = self._fixed is not None and "host" not in map(str.lower, self._fixed)
        authorizer = settings.authorizer
        self.simple = plain and (authorizer is None or isinstance(authorizer, KnowsAtOnce))
        self.says_who = authorizer is not None or "authorization" in map(str.lower, self._fixed or ())

    def patience(self, grip: Grip) -> Deadline:
        """For how long one request may wait for a login; all its rounds are to have the same."""
        return Deadline(time.monotonic() + _PATIENCE, grip.clock)

    def begin(
        self, errand: Errand, grip: Grip, seconds: float | None, patience: Deadline
    ) -> urllib3.BaseHTTPResponse | None:
        """POST a simple request over a connection that is there; None if there is none, or no authorization.

        For a thread that must not wait for anything but a socket. If it is not `final`, go on with `ask`.
        """
        assert self._fixed is not None
        headers = {**self._fixed, **errand.headers}
        authorizer = self._settings.authorizer
        if authorizer is None:
            return self._engine.post(errand, headers, grip, seconds)
        attempt = Attempt(errand.method, errand.url, patience)
        more = self._at_hand(attempt)
        if more is None:
            return None
        response = self._engine.post(errand, merged(headers, more), grip, seconds)
        if response is not None and self.final(response):
            authorizer.answered(attempt, _lowered(response))
        return response

    def _at_hand(self, attempt: Attempt) -> Mapping[str, str] | None:
        authorizer: object = self._settings.authorizer
        return authorizer.at_hand(attempt) if isinstance(authorizer, KnowsAtOnce) else None

    def final(self, response: urllib3.BaseHTTPResponse) -> bool:
        """Whether the response is neither a redirect nor a refusal about which something might be done."""
        refused = self._settings.authorizer is not None and response.status in REFUSALS
        return not refused and response.status not in _REDIRECTS

    def ask(
        self,
        errand: Errand,
        grip: Grip,
        begun: urllib3.BaseHTTPResponse | None = None,
        patience: Deadline | None = None,
    ) -> urllib3.BaseHTTPResponse:
        """Send a request and return when a response has begun that is neither a refusal that can be mended
        nor a redirect within the origin. Raises urllib3's errors, and those of the authorizer.

        ``begun`` is the first response, if there is one already, ``patience`` what it was begun with.
        """
        deadline = patience or self.patience(grip)
        for _ in range(_MOST_ROUNDS):
            attempt = Attempt(errand.method, errand.url, deadline, grip.on_held)
            response, begun = begun, None
            if response is None:
                response = self._engine.request(errand, self._headers(errand, attempt), grip)
            try:
                target = _redirected(errand.url, response)
                if target is None and not self._mended(attempt, response):
                    return response
            except BaseException:
                response.close()
                raise
            # Not drained: whoever refuses or redirects may send without end.
            response.close()
            if target is not None:
                errand = structs.replace(errand, url=target)
        raise urllib3.exceptions.HTTPError(f"the server redirected or refused {_MOST_ROUNDS} times in a row")

    def mention(self, errand: Errand, grip: Grip, seconds: float) -> None:
        """Send a request whose answer is of no interest, and for which nobody has to log in."""
        try:
            headers = self._headers(errand, Attempt(errand.method, errand.url, Deadline.after(seconds)))
        except Exception as error:  # noqa: BLE001 - the user's own function for headers may raise anything
            logger.debug("%s was not sent: %s", errand.method, type(error).__name__)
            return
        self._engine.request(errand, headers, grip, seconds).close()

    def whole(self, reply: Reply, response: urllib3.BaseHTTPResponse) -> Reply:
        """The reply with its body; what a server says of a failure holds no secret of ours."""
        reply = structs.replace(reply, body=self.read(response))
        earnest = reply.succeeded and media_type(reply.content_type) == JSON
        return reply if earnest else discreet_reply(reply, self._settings.secrets)

    def read(self, response: urllib3.BaseHTTPResponse) -> bytes:
        """The body, decoded, as long as it is within the limit. Raises TooLarge."""
        limit, length = self._settings.max_frame_bytes, response.length_remaining
        if length is not None and length <= limit and "Content-Encoding" not in response.headers:
            # The usual case: one read takes it all. What is missing then is noticed by the next. To read
            # nothing would not end the response, and the connection would not be free for others.
            body = response.read(length or None, decode_content=False)
            if len(body) == length:
                return body
        return self._read_piecemeal(response, limit)

    def _read_piecemeal(self, response: urllib3.BaseHTTPResponse, limit: int) -> bytes:
        parts, size = [], 0
        try:
            while chunk := response.read(_CHUNK):
                size += len(chunk)
                if size > limit:
                    raise TooLarge(f"a body above the limit of {limit} bytes")
                parts.append(chunk)
        except BaseException:
            response.close()
            raise
        response.release_conn()
        return b"".join(parts)

    def finish(self, response: urllib3.BaseHTTPResponse) -> None:
        """Be done with a response whose body is of no interest; if that is short, the connection lives on."""
        # Not decoded: a few bytes could become very many. An event stream may never end.
        if reply_of(response).streams or len(response.read(_CHUNK, decode_content=False)) == _CHUNK:
            response.close()
        else:
            response.release_conn()

    def _headers(self, errand: Errand, attempt: Attempt) -> dict[str, str]:
        settings, fixed = self._settings, self._fixed
        own = merged(_USUAL, settings.own_headers()) if fixed is None else fixed
        # None of ours is among the user's.
        headers = {**own, **errand.headers}
        if settings.authorizer is not None:
            headers = merged(headers, settings.authorizer.headers(attempt))
        return headers

    def _mended(self, attempt: Attempt, response: urllib3.BaseHTTPResponse) -> bool:
        authorizer = self._settings.authorizer
        if authorizer is None:
            return False
        headers = _lowered(response)
        if response.status not in REFUSALS:
            authorizer.answered(attempt, headers)
            return False
        challenges = tuple(response.headers.getlist("WWW-Authenticate"))
        return authorizer.refused(attempt, Refusal(response.status, challenges, headers))


def merged(headers: Mapping[str, str], others: Mapping[str, str]) -> dict[str, str]:
    """The headers with others in their place, however those are spelled."""
    replaced = {name.lower() for name in others}
    return {name: value for name, value in headers.items() if name.lower() not in replaced} | dict(others)


def origin(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port of a URL. Raises ValueError."""
    parts = urlsplit(url)
    # What stands before them is a user name here, and elsewhere, as in urllib3, the host that is gone to.
    if "@" in parts.netloc or "\\" in parts.netloc:
        raise ValueError("an address that can be read in two ways")
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, (parts.hostname or "").lower(), parts.port or usual


def at_home(url: str, reference: str) -> str | None:
    """The address that a server means by a reference, None if it is not of the same origin as the URL."""
    try:
        target = urljoin(url, reference)
        return target if origin(target) == origin(url) else None
    except ValueError:
        return None


def reply_of(response: urllib3.BaseHTTPResponse, body: bytes = b"") -> Reply:
    """What the rules of the protocol judge a response by."""
    headers = response.headers
    challenges = tuple(headers.getlist("WWW-Authenticate")) if response.status in REFUSALS else ()
    return Reply(
        response.status, headers.get("Content-Type"), headers.get("Mcp-Session-Id"), body, challenges
    )


def _lowered(response: urllib3.BaseHTTPResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}


def _redirected(url: str, response: urllib3.BaseHTTPResponse) -> str | None:
    """Where to go instead: only to the same origin, and only with the same method and body."""
    if response.status not in _REDIRECTS:
        return None
    location = response.headers.get("Location")
    return None if location is None else at_home(url, location)
