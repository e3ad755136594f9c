"""The error object of a failed request, and the codes with a meaning."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from mcp_actors.protocol.types.value import Value

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
RESOURCE_NOT_FOUND: Final = -32002  # up to 2025-11-25; INVALID_PARAMS afterwards
URL_ELICITATION_REQUIRED: Final = -32042  # 2025-11-25 only
HEADER_MISMATCH: Final = -32020  # this one and the next two: since 2026-07-28
MISSING_CLIENT_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022
USER_REJECTED: Final = -1  # sampling, up to 2025-11-25


class ErrorObject(Value):
    """Why a request failed, as the peer tells it."""

    code: int
    message: str
    data: Any | msgspec.UnsetType = msgspec.UNSET
