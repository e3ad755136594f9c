"""MCP 2026-07-28: what the headers of a POST repeat of its body, compared."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from mcp_actors.protocol.codec import Json, JsonObject
from mcp_actors.protocol.http.header_values import MAX_INTEGER, InvalidHeaderValue, decode
from mcp_actors.protocol.http.param_headers import Mirrored, ParamHeaders
from mcp_actors.protocol.http.rejections import Rejected, quoted
from mcp_actors.protocol.jsonrpc import Request
from mcp_actors.protocol.types.jsonrpc_error import HEADER_MISMATCH

#: Names in lower case; what came several times is joined with commas, as WSGI has it.
Headers: TypeAlias = Mapping[str, str]
#: What a tool's schema has repeated in headers, None for an unknown tool.
ToolHeaders: TypeAlias = Callable[[str], ParamHeaders | None]

_NAMED_BY: Final = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
# As JSON writes whole numbers; no number within ±(2^53 - 1) needs more digits.
_WHOLE: Final = re.compile(r"(-?[0-9]{1,17})(?:\.0{1,17})?")


def check_mirrors(
    headers: Headers, request: Request, params: JsonObject, version: str, tools: ToolHeaders
) -> None:
    """Compare the headers with the request that came under them; ``version`` is the one in its ``_meta``.

    Raises:
        Rejected: a header is missing, differs, or cannot be read. Proxies may have acted on it.
    """
    try:
        _compare(headers, "MCP-Protocol-Version", version)
        _compare(headers, "Mcp-Method", request.method)
        key = _NAMED_BY.get(request.method)
        if key is not None:
            _compare(headers, "Mcp-Name", params.get(key))
        if request.method == "tools/call":
            _compare_arguments(headers, params, tools)
    except (_Mismatch, InvalidHeaderValue) as mismatch:
        raise Rejected(400, str(mismatch), code=HEADER_MISMATCH, id=request.id) from None


class _Mismatch(Exception):
    """Header and body differ."""


def _compare(headers: Headers, name: str, value: Json) -> None:
    said = headers.get(name.lower())
    if not isinstance(value, str):
        # Without a value to repeat the body is wrong, which is said where bodies are judged.
        if said is not None:
            raise _Mismatch(f"the header {name} repeats nothing of the body")
    elif said is None:
        raise _Mismatch(f"the header {name} is missing")
    elif decode(said) != value:
        raise _Mismatch(f"the header {name} says {quoted(said)}, the body {quoted(value)}")


def _compare_arguments(headers: Headers, params: JsonObject, tools: ToolHeaders) -> None:
    name = params.get("name")
    repeated = tools(name) if isinstance(name, str) else None
    for mirrored in repeated.mirrored if repeated else ():
        said = headers.get(mirrored.header.lower())
        value = _argument(mirrored, params.get("arguments"))
        if said is not None:
            if not _same(decode(said), value):
                raise _Mismatch(f"the header {mirrored.header} differs from its argument")
        elif _has_header_form(value):
            raise _Mismatch(f"the header {mirrored.header} is missing")


def _argument(mirrored: Mirrored, arguments: Json) -> Json:
    """The argument that the header repeats, None if there is none."""
    found = arguments
    for key in mirrored.path:
        found = found.get(key) if isinstance(found, dict) else None
    if isinstance(found, float) and mirrored.type == "integer" and found.is_integer():
        return int(found)
    return found


def _same(said: str, value: Json) -> bool:
    if not _has_header_form(value):
        return False
    if isinstance(value, bool):
        return said == ("true" if value else "false")
    if isinstance(value, int):
        whole = _WHOLE.fullmatch(said)
        return whole is not None and int(whole[1]) == value
    return bool(said == value)


def _has_header_form(value: Json) -> bool:
    """What has none (a list, a fraction) is refused by the tool's schema, where it is not expected."""
    if isinstance(value, int):
        return abs(value) <= MAX_INTEGER
    return isinstance(value, str) and not _SURROGATE.search(value)


_SURROGATE: Final = re.compile("[\ud800-\udfff]")
