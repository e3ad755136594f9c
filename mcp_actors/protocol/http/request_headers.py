"""The headers of outgoing HTTP requests: what a frame needs is found in one scan of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import Raw, Struct, field

from mcp_actors.protocol import codec
from mcp_actors.protocol.envelope import META_PREFIX
from mcp_actors.protocol.http.header_values import NoHeaderForm, encode
from mcp_actors.protocol.http.media_types import EVENT_STREAM, JSON
from mcp_actors.protocol.http.param_headers import ParamHeaders
from mcp_actors.protocol.jsonrpc import Answer, Failure, Id, Notification, Request, scan
from mcp_actors.protocol.revisions import by_version

SESSION_ID: Final = "Mcp-Session-Id"
PROTOCOL_VERSION: Final = "MCP-Protocol-Version"
LAST_EVENT_ID: Final = "Last-Event-ID"

Kind: TypeAlias = Literal["request", "notification", "response"]
Headers: TypeAlias = dict[str, str]

_POST: Final[Headers] = {"Accept": f"{JSON}, {EVENT_STREAM}", "Content-Type": JSON}


class Outbound(Struct, frozen=True):
    """One frame as its POST sees it. ``modern``: it goes out by the rules of the stateless era.

    ``cancels`` is the request that a cancellation names. ``probing``: it asks for the server's era.
    """

    kind: Kind
    id: Id | None
    method: str | None
    modern: bool
    headers: Headers
    cancels: Id | None = None
    probing: bool = False

    @property
    def carries_session(self) -> bool:
        """Whether the POST names a session."""
        return SESSION_ID in self.headers


class RequestHeaders(Struct, frozen=True):
    """Makes the headers of one connection. ``version`` and ``session_id`` are those agreed on, once they are.

    ``tool_headers`` gives what the most recent listing says about a tool, None if it is not in it.
    """

    tool_headers: Callable[[str], ParamHeaders | None]
    version: str | None = None
    session_id: str | None = None

    def outbound(self, frame: bytes) -> Outbound:
        """What a POST of this frame needs.

        Raises:
            ValueError: the frame is not one JSON-RPC message.
        """
        said = _read(frame)
        if said.method is None:
            return Outbound("response", said.id, None, False, self._agreed(_POST))
        if said.meta_version is not None or (said.method != "initialize" and self._is_modern):
            headers, modern = self._described(said), True
        else:
            # MCP, lifecycle: initialize belongs to no session yet, and settles the version.
            headers, modern = (dict(_POST) if said.method == "initialize" else self._agreed(_POST)), False
        if said.id is not None:
            # Once the era is known, server/discover is a question like any other.
            probing = said.method == "server/discover" and self.version is None
            return Outbound("request", said.id, said.method, modern, headers, probing=probing)
        cancels = said.params.request_id if said.method == "notifications/cancelled" else None
        return Outbound("notification", None, said.method, modern, headers, cancels)

    def listening(self, last_event_id: str = "") -> Headers:
        """For the GET that opens a stream, or continues one after the event of that id."""
        headers = self._agreed({"Accept": EVENT_STREAM})
        if last_event_id:
            # UTF-8, as event streams have it, in the form that Python's HTTP libraries write byte by byte.
            headers[LAST_EVENT_ID] = last_event_id.encode("utf-8").decode("latin-1")
        return headers

    def leaving(self) -> Headers:
        """For the DELETE that ends the session."""
        return self._agreed({})

    @property
    def _is_modern(self) -> bool:
        revision = by_version(self.version) if self.version is not None else None
        return revision is not None and revision.stateless

    def _agreed(self, headers: Headers) -> Headers:
        """The headers, and what the handshake has settled."""
        revision = by_version(self.version) if self.version is not None else None
        headers = dict(headers)
        if revision is not None and revision.has_version_header:
            headers[PROTOCOL_VERSION] = revision.version
        if self.session_id is not None:
            headers[SESSION_ID] = self.session_id
        return headers

    def _described(self, said: _Said) -> Headers:
        """MCP 2026-07-28: the headers repeat what the message says about itself."""
        assert said.method is not None
        headers = dict(_POST)
        _put(headers, PROTOCOL_VERSION, said.meta_version or self.version)
        _put(headers, "Mcp-Method", said.method)
        params = said.params
        match said.method:
            case "tools/call":
                _put(headers, "Mcp-Name", params.name)
                self._repeat_arguments(headers, params)
            case "prompts/get":
                _put(headers, "Mcp-Name", params.name)
            case "resources/read":
                _put(headers, "Mcp-Name", params.uri)
            case "tasks/get" | "tasks/update" | "tasks/cancel":
                _put(headers, "Mcp-Name", params.task_id)
        return headers

    def _repeat_arguments(self, headers: Headers, params: _Params) -> None:
        repeated = None if params.name is None else self.tool_headers(params.name)
        if repeated:
            headers.update(repeated.headers(codec.decode(params.arguments)))


def _put(headers: Headers, name: str, value: str | None) -> None:
    """Set a header; a value that has no header form gets none, and the server is the one to refuse it."""
    if value is None:
        return
    try:
        headers[name] = encode(value)
    except NoHeaderForm:
        return


class _Meta(Struct, frozen=True, gc=False):
    version: str | None = field(default=None, name=META_PREFIX + "protocolVersion")


class _Params(Struct, frozen=True, gc=False):
    name: str | None = None
    uri: str | None = None
    task_id: str | None = field(default=None, name="taskId")
    request_id: Id | None = field(default=None, name="requestId")
    arguments: Raw = Raw(b"null")
    meta: _Meta | None = field(default=None, name="_meta")


_NO_PARAMS: Final = _Params()


class _Said(Struct, frozen=True, gc=False):
    """The members of a frame that headers are made of."""

    id: Id | None = None
    method: str | None = None
    params: _Params = _NO_PARAMS

    @property
    def meta_version(self) -> str | None:
        return None if self.params.meta is None else self.params.meta.version


_decode: Callable[[bytes], _Said] = msgspec.json.Decoder(_Said).decode


def _read(frame: bytes) -> _Said:
    try:
        return _decode(frame)
    except (ValueError, RecursionError):
        return _read_slowly(frame)


def _read_slowly(frame: bytes) -> _Said:
    """Frames that msgspec refuses though they are legal: with lone surrogates, or unusual params."""
    match scan(frame):
        case Request(id_, method, params):
            return _Said(id_, method, _params(params))
        case Notification(method, params):
            return _Said(None, method, _params(params))
        case Answer(id_) | Failure(id_):
            return _Said(id_)
        case message:
            raise ValueError(f"not one JSON-RPC message, but {type(message).__name__}")


def _params(raw: Raw | None) -> _Params:
    value = None if raw is None else codec.decode(raw)
    if not isinstance(value, dict):
        return _NO_PARAMS
    meta = value.get("_meta")
    version = meta.get(META_PREFIX + "protocolVersion") if isinstance(meta, dict) else None
    request_id = value.get("requestId")
    return _Params(
        name=_string(value.get("name")),
        uri=_string(value.get("uri")),
        task_id=_string(value.get("taskId")),
        request_id=request_id if type(request_id) in (int, str) else None,
        arguments=Raw(codec.encode(value.get("arguments"))),
        meta=_Meta(_string(version)),
    )


def _string(value: codec.Json) -> str | None:
    return value if isinstance(value, str) else None
