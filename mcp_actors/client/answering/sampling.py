"""Sampling: a server asks for the client's model, and the client's code answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from mcp_actors.client.answering.consultation import (
    INVALID_PARAMS,
    USER_REJECTED,
    Unanswered,
    check_handler,
    consult,
    failed,
)
from mcp_actors.protocol import codec
from mcp_actors.protocol.codec import DecodeFailed, JsonObject
from mcp_actors.protocol.revisions import Revision
from mcp_actors.protocol.types import (
    ContentBlock,
    CreateMessageParams,
    CreateMessageResult,
    SamplingMessage,
    TextContent,
    ToolResultContent,
    ToolUseContent,
)

#: Gets what the server asks of the model, and returns the model's answer; a plain string is an answer of the
#: assistant in one text block; None means that the user said no. Anything raised is an internal error to the
#: server, which learns the exception's type and nothing more. ``max_tokens`` is for the handler to respect.
SamplingHandler: TypeAlias = Callable[[CreateMessageParams], CreateMessageResult | str | None]

#: The model's name where the handler returned text alone; the protocol wants one.
UNSPECIFIED: Final = "unspecified"

_NAME: Final = "sampling handler"
# Dates sort as text.
_LISTS_AND_TOOLS: Final = "2025-11-25"
_AUDIO: Final = "2025-03-26"


class SamplingDesk:
    """Answers ``sampling/createMessage``."""

    def __init__(self, handler: SamplingHandler) -> None:
        self._handler = check_handler("sampling_handler", handler)

    def answer(self, params: JsonObject, revision: Revision, *, tools: bool) -> JsonObject:
        """The result for the wire; ``tools``: whether this client declared them. Raises `Unanswered`."""
        request = _request(params, tools)
        given = consult(_NAME, self._handler, request)
        if given is None:
            raise Unanswered(USER_REJECTED, "User rejected sampling request", declined=True)
        if isinstance(given, str):
            given = CreateMessageResult(role="assistant", content=TextContent(text=given), model=UNSPECIFIED)
        if not isinstance(given, CreateMessageResult):
            raise failed(_NAME, f"it returned {type(given).__name__}, no CreateMessageResult, str or None")
        return _result(given, request, revision)


def _request(params: JsonObject, tools: bool) -> CreateMessageParams:
    try:
        request = CreateMessageParams.from_wire(params)
        _check_turns(request.messages)
    except DecodeFailed as error:
        raise Unanswered(INVALID_PARAMS, f"sampling/createMessage: {error}") from None
    if not tools and (request.tools is not None or request.tool_choice is not None):
        # MCP 2025-11-25, client/sampling: an error unless the client declared sampling.tools.
        raise Unanswered(INVALID_PARAMS, "this client does not offer sampling with tools")
    return request


def _check_turns(messages: list[SamplingMessage]) -> None:
    """Each use of tools is followed by one message of the user that holds all results and nothing else."""
    # MCP 2025-11-25, client/sampling: imbalance is -32602.
    wanted: list[str] = []
    for index, message in enumerate(messages):
        blocks = message.blocks
        results = [block.tool_use_id for block in blocks if isinstance(block, ToolResultContent)]
        if (results or wanted) and (message.role != "user" or len(results) != len(blocks)):
            raise DecodeFailed(f"results of tools must stand alone - at `$.messages[{index}]`")
        if sorted(results) != sorted(wanted):
            raise DecodeFailed(f"results of tools must answer each use once - at `$.messages[{index}]`")
        wanted = [block.id for block in blocks if isinstance(block, ToolUseContent)]
        if wanted and message.role != "assistant":
            raise DecodeFailed(f"only the assistant uses tools - at `$.messages[{index}]`")
    if wanted:
        raise DecodeFailed("the last use of tools has no results - at `$.messages`")


def _result(given: CreateMessageResult, request: CreateMessageParams, revision: Revision) -> JsonObject:
    try:
        # Made by hand, its fields were never looked at.
        wire: JsonObject = codec.decode(codec.encode(given))
        blocks = CreateMessageResult.from_wire(wire).blocks
    except (TypeError, ValueError) as error:
        raise failed(_NAME, f"its result does not fit the protocol: {type(error).__name__}") from error
    for complaint in _complaints(blocks, request, revision):
        raise failed(_NAME, complaint)
    if revision.version < _LISTS_AND_TOOLS:
        wire["content"] = blocks[0].to_wire()
    return wire


def _complaints(
    blocks: list[ContentBlock], request: CreateMessageParams, revision: Revision
) -> Iterator[str]:
    """What keeps blocks from being an answer in this revision."""
    version = revision.version
    if not blocks or (len(blocks) > 1 and version < _LISTS_AND_TOOLS):
        yield f"its result has {len(blocks)} content blocks; {version} takes exactly one"
    allowed = {"text", "image"}
    if version >= _AUDIO:
        allowed.add("audio")
    if request.tools:
        allowed.add("tool_use")
    for block in blocks:
        if block.type not in allowed:
            yield f"its result holds {block.type!r} content, which was not asked for or is not in {version}"
