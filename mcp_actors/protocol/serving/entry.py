"""Entry: the checks that a request passes before anybody works on it, in the order of the protocol."""

from __future__ import annotations

from typing import Final

from mcp_actors.protocol import codec, jsonrpc
from mcp_actors.protocol.codec import Json, JsonObject
from mcp_actors.protocol.envelope import META_PREFIX
from mcp_actors.protocol.serving.profile import Profile
from mcp_actors.protocol.serving.terms import LEVELS, Job, Refused, Terms
from mcp_actors.protocol.types.jsonrpc_error import UNSUPPORTED_VERSION

VERSION: Final = META_PREFIX + "protocolVersion"
CAPABILITIES: Final = META_PREFIX + "clientCapabilities"
CLIENT_INFO: Final = META_PREFIX + "clientInfo"
LOG_LEVEL: Final = META_PREFIX + "logLevel"

_SHOWN: Final = 80


def params_of(request: jsonrpc.Request | jsonrpc.Notification) -> JsonObject | Refused:
    """The parameters, decoded; none are an empty object."""
    if request.params is None:
        return {}
    try:
        params = codec.decode(request.params)
    except codec.DecodeFailed as error:
        return Refused(jsonrpc.INVALID_PARAMS, f"params cannot be read: {error}")
    return params if isinstance(params, dict) else Refused(jsonrpc.INVALID_PARAMS, "params must be an object")


def describes_itself(params: JsonObject) -> bool:
    """Whether a request is of 2026-07-28 or later. A bare ``_meta`` proves nothing: others use it, too."""
    meta = params.get("_meta")
    return isinstance(meta, dict) and VERSION in meta


def admit_stateless(request: jsonrpc.Request, params: JsonObject, profile: Profile) -> Job | Refused:
    """A request that describes itself. MCP 2026-07-28, basic: the first failure wins, in this order."""
    meta = params.get("_meta")
    if not isinstance(meta, dict):
        return Refused(jsonrpc.INVALID_PARAMS, "params._meta is missing")
    for key in (VERSION, CAPABILITIES):
        if key not in meta:
            return Refused(jsonrpc.INVALID_PARAMS, f"params._meta lacks {key}")
    fault = _misfit(meta)
    if fault is not None:
        return Refused(jsonrpc.INVALID_PARAMS, fault)
    version = meta[VERSION]
    revision = profile.revision(version, stateless=True)
    if revision is None:
        return unsupported(version, profile)
    if not profile.offers(request.method, revision):
        return no_such_method(request.method)
    client = meta.get(CLIENT_INFO)
    terms = Terms(
        revision, meta[CAPABILITIES], client if isinstance(client, dict) else None, meta, meta.get(LOG_LEVEL)
    )
    return Job(request.id, request.method, params, terms)


def admit_agreed(
    request: jsonrpc.Request, params: JsonObject, profile: Profile, agreed: Terms
) -> Job | Refused:
    """A request inside a session that was opened by a handshake, or counts as opened."""
    if not profile.offers(request.method, agreed.revision):
        if agreed.revision not in profile.revisions:
            return unsupported(agreed.revision.version, profile)
        return no_such_method(request.method)
    meta = params.get("_meta")
    terms = Terms(
        agreed.revision, agreed.capabilities, agreed.client_info, meta if isinstance(meta, dict) else {}
    )
    return Job(request.id, request.method, params, terms)


def agree(params: JsonObject, profile: Profile) -> Terms | Refused:
    """What is agreed on by ``initialize``: the client's revision if we speak it, else our newest."""
    version, capabilities = params.get("protocolVersion"), params.get("capabilities", {})
    if not isinstance(version, str):
        return Refused(jsonrpc.INVALID_PARAMS, "initialize needs a protocolVersion")
    if not isinstance(capabilities, dict):
        return Refused(jsonrpc.INVALID_PARAMS, "capabilities must be an object")
    revision = profile.revision(version, stateless=False) or profile.newest_handshake()
    if revision is None:
        return unsupported(version, profile)
    client = params.get("clientInfo")
    return Terms(revision, capabilities, client if isinstance(client, dict) else None)


def unsupported(version: str, profile: Profile) -> Refused:
    """The answer to a revision that the server does not speak."""
    data = {"supported": profile.versions, "requested": version}
    return Refused(UNSUPPORTED_VERSION, f"protocol version {shown(version)} is not supported", data)


def no_such_method(method: str) -> Refused:
    """The answer to a method that does not exist here, or that the server does not offer."""
    return Refused(jsonrpc.METHOD_NOT_FOUND, f"method {shown(method)} does not exist here")


def shown(text: object) -> str:
    """What a client wrote, for an error's message: escaped, and not longer than a reader takes."""
    if not isinstance(text, str):
        return f"a {type(text).__name__}"
    return ascii(text) if len(text) <= _SHOWN else ascii(text[:_SHOWN]) + "..."


def _misfit(meta: dict[str, Json]) -> str | None:
    if not isinstance(meta[VERSION], str):
        return f"{VERSION} must be a string"
    if not isinstance(meta[CAPABILITIES], dict):
        return f"{CAPABILITIES} must be an object"
    level = meta.get(LOG_LEVEL)
    if level is not None and level not in LEVELS:
        return f"{LOG_LEVEL} must be one of {', '.join(LEVELS)}"
    return None
