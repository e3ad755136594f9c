"""Requests to authorization servers under one set of rules: where to, how long, how large, and no detours."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode, urljoin, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from mcp_actors.auth.addresses import Reach, reach_of_address, reach_of_server
from mcp_actors.auth.flights import interrupted
from mcp_actors.auth.outgoing import Answer, Outgoing
from mcp_actors.auth.urls import require_safe, same_origin, shown
from mcp_actors.errors import AuthorizationFailed, RequestTimeout
from mcp_actors.protocol import codec
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.slot import Slot, SlotTimeout
from mcp_actors.telemetry.redaction import printable

if TYPE_CHECKING:
    from mcp_actors.auth.exchange import Line

__all__ = ["Fetcher", "Network", "Reply"]

logger = logging.getLogger("mcp_actors.auth")

_JSON: Final = {"accept": "application/json"}
_MAX_REDIRECTS: Final = 3
_GRACE: Final = 1.0
_SAME_METHOD: Final = frozenset({307, 308})
_REDIRECTS: Final = frozenset({301, 302, 303}) | _SAME_METHOD
_TOO_MANY: Final = 429


class Network(Struct, frozen=True):
    """How the outside is reached on behalf of one MCP server."""

    server_url: str
    timeout: float = 30.0
    """Seconds for one request from beginning to end."""
    verify: bool | str = True
    proxies: Mapping[str, str] | None = None


class Reply(Struct, frozen=True):
    """An answer and where it came from. ``repr`` does not show the body."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def members(self) -> dict[str, Any] | None:
        """The JSON object that the body holds, None if it holds anything else."""
        try:
            value = codec.decode(self.body)
        except codec.DecodeFailed:
            return None
        return value if isinstance(value, dict) else None

    @property
    def passing(self) -> bool:
        """Whether the answer says nothing of the matter: the server is down, or was asked too often."""
        return self.status >= 500 or self.status == _TOO_MANY

    @property
    def summary(self) -> str:
        """The answer in a few words, for an error."""
        target = self.headers.get("location")
        if self.status in _REDIRECTS and target:
            return f"HTTP {self.status} to {shown(urljoin(self.url, target))}, which is not followed"
        return f"HTTP {self.status}"

    def __repr__(self) -> str:
        return f"<Reply {self.status} from {shown(self.url)}>"


class Fetcher:
    """Made for one errand; when that is ``cancelled`` a request under way is cut."""

    def __init__(
        self, network: Network, cancelled: Slot[None], trusted: frozenset[str] = frozenset()
    ) -> None:
        self._network = network
        self._cancelled = cancelled
        # Origins that the user named: those need no permission by where the MCP server is.
        self._trusted = trusted
        self._reach: Reach | None = None

    def get(self, url: str, what: str, headers: Mapping[str, str] | None = None) -> Reply:
        """Ask for a document. ``what`` names it in errors.

        Raises:
            AuthorizationFailed: the address may not be asked, or gave no whole answer.
            RequestTimeout: the answer took too long.
        """
        return self._follow(Outgoing("GET", url, {**_JSON, **(headers or {})}), what)

    def post_form(
        self, url: str, what: str, form: Mapping[str, str], headers: Mapping[str, str] | None = None
    ) -> Reply:
        """Send a form, as token endpoints want it. Raises as ``get``."""
        kind = {**_JSON, "content-type": "application/x-www-form-urlencoded", **(headers or {})}
        return self._follow(Outgoing("POST", url, kind, urlencode(form).encode("ascii")), what)

    def post_json(self, url: str, what: str, value: Mapping[str, Any]) -> Reply:
        """Send JSON, as registration wants it. Raises as ``get``."""
        kind = {**_JSON, "content-type": "application/json"}
        return self._follow(Outgoing("POST", url, kind, codec.encode(dict(value))), what)

    def _follow(self, outgoing: Outgoing, what: str) -> Reply:
        deadline = Deadline.after(self._network.timeout)
        for _ in range(_MAX_REDIRECTS + 1):
            require_safe(outgoing.url, what)
            reply = self._once(outgoing, what, deadline)
            target = _redirect(outgoing.method, reply)
            if target is None:
                return reply
            outgoing = replace(outgoing, url=target)
        raise AuthorizationFailed(f"{what} at {shown(outgoing.url)} redirects in circles; tell its operator")

    def _once(self, outgoing: Outgoing, what: str, deadline: Deadline) -> Reply:
        from mcp_actors.auth.exchange import Line, Refused, Unreachable

        url, network = outgoing.url, self._network
        # The deadline is kept below; that of the socket, which each byte puts off, must not come first.
        timeout = deadline.remaining() + _GRACE
        outgoing = replace(outgoing, timeout=timeout, verify=network.verify, proxies=network.proxies)
        logger.debug("> %s %s", outgoing.method, shown(url))
        try:
            answer = self._run(outgoing, Line(self._permission(url)), what, deadline)
        except Unreachable as error:
            raise self._failure(what, url, error) from error
        except Refused as error:
            raise AuthorizationFailed(f"{what} at {shown(url)} is refused: {error}") from None
        logger.debug("< %d %s", answer.status, shown(url))
        return Reply(url, answer.status, answer.headers, answer.body)

    def _permission(self, url: str) -> Callable[[Reach], bool]:
        """What decides about the address that the exchange reaches, or would have a proxy reach."""
        from mcp_actors.auth.exchange import Refused

        # The server's own origin is asked anyhow, for what it is there for.
        if any(same_origin(url, trusted) for trusted in (self._network.server_url, *self._trusted)):
            return lambda _reach: True
        literal = _literal(url)
        if literal is not None and literal > self._most():
            raise Refused("it lies inside a network that its server has no business with")
        # On the thread of the exchange, for names are resolved without a timeout.
        return lambda reach: reach is not Reach.NOWHERE and reach <= self._most()

    def _most(self) -> Reach:
        """How far the MCP server may send us."""
        if self._reach is None:
            self._reach = reach_of_server(self._network.server_url)
        return self._reach

    def _run(self, outgoing: Outgoing, line: Line, what: str, deadline: Deadline) -> Answer:
        """The exchange on a thread of its own: names are resolved without a timeout, and a peer that drips
        never lets one expire. Here the total deadline is kept, and an interrupt heard."""
        done: Slot[Answer | BaseException] = Slot()
        thread = threading.Thread(
            target=_exchange, args=(outgoing, line, done), name="mcp-actors-auth-exchange", daemon=True
        )
        self._cancelled.on_set(lambda _: line.cut())
        thread.start()
        try:
            outcome = done.wait(deadline)
        except SlotTimeout:
            raise RequestTimeout(
                f"{what} at {shown(outgoing.url)} gave no whole answer within {self._network.timeout:g} s"
            ) from None
        finally:
            line.cut()
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def _failure(self, what: str, url: str, error: Exception) -> AuthorizationFailed:
        if self._cancelled.is_set:
            return interrupted()
        reason = printable(str(error), 200)
        return AuthorizationFailed(f"{what} at {shown(url)} cannot be reached: {reason}", retryable=True)


def _exchange(outgoing: Outgoing, line: Line, done: Slot[Answer | BaseException]) -> None:
    from mcp_actors.auth.exchange import exchange

    try:
        done.set(exchange(outgoing, line))
    except BaseException as error:  # noqa: BLE001 - raised again by whoever waits for the answer
        done.set(error)


def _redirect(method: str, reply: Reply) -> str | None:
    """Where to ask again, in the same way and at the same origin; None if the reply stands as it is."""
    location = reply.headers.get("location")
    if location is None or reply.status not in (_REDIRECTS if method == "GET" else _SAME_METHOD):
        return None
    try:
        target = urljoin(reply.url, location)
    except ValueError:
        return None
    return target if same_origin(reply.url, target) else None


def _literal(url: str) -> Reach | None:
    try:
        return reach_of_address(urlsplit(url).hostname or "")
    except ValueError:
        return None
