"""Elicitation: a server asks the user, and the client's code brings the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from mcp_actors.client.answering.consultation import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    Unanswered,
    check_handler,
    consult,
    failed,
    logger,
)
from mcp_actors.protocol import codec
from mcp_actors.protocol.codec import DecodeFailed, Json, JsonObject
from mcp_actors.protocol.types import (
    ElicitFormParams,
    ElicitParams,
    ElicitResult,
    ElicitUrlParams,
    elicit_params,
)
from mcp_actors.schemas.checking import Schemas, UnusableSchema
from mcp_actors.telemetry.redaction import printable

#: Gets a form or the address of a page, and returns what the user did:
#:
#: - a mapping: the user sent the form with these answers; fields that are absent get the server's defaults;
#: - True: the user sent the form as the server filled it in, or agreed to visit the page;
#: - False or None: the user said no;
#: - an `ElicitResult`: exactly that, without defaults, for example ``ElicitResult(action="cancel")``.
#:
#: Answers that do not fit the form, and anything raised, are an internal error to the server.
ElicitationHandler: TypeAlias = Callable[
    [ElicitFormParams | ElicitUrlParams], Mapping[str, Any] | bool | ElicitResult | None
]

_NAME: Final = "elicitation handler"
_ACTIONS: Final = ("accept", "decline", "cancel")
_LONGEST_PLACE: Final = 200


class ElicitationDesk:
    """Answers ``elicitation/create``."""

    def __init__(self, handler: ElicitationHandler) -> None:
        self._handler = check_handler("elicitation_handler", handler)
        self._schemas = Schemas()

    def answer(self, params: JsonObject, *, modes: tuple[str, ...]) -> JsonObject:
        """The result for the wire; ``modes``: what this client declared. Raises `Unanswered`."""
        request = self._request(params, modes)
        given = consult(_NAME, self._handler, request)
        if isinstance(request, ElicitUrlParams):
            return _visited(given)
        return self._filled_in(request, given)

    def _request(self, params: JsonObject, modes: tuple[str, ...]) -> ElicitParams:
        # MCP 2025-11-25, client/elicitation: no mode means a form.
        mode = params.get("mode", "form")
        if mode not in modes:
            raise _unfit(f"this client does not offer the mode {printable(repr(mode), 40)}")
        try:
            request = elicit_params(params)
            if isinstance(request, ElicitFormParams):
                # Before anybody is asked: nobody should fill in a form whose answers cannot be judged.
                _ = request.fields
                self._schemas.prepare(request.requested_schema, formats=True)
            elif not request.secure:
                raise DecodeFailed("expected a plain https address, or http on this machine - at `$.url`")
        except (DecodeFailed, UnusableSchema) as error:
            raise _unfit(str(error)) from None
        return request

    def _filled_in(self, form: ElicitFormParams, given: object) -> JsonObject:
        if given is None or given is False:
            return {"action": "decline"}
        if isinstance(given, ElicitResult):
            return self._as_told(form, given)
        if given is True:
            return self._accepted(form, form.defaults())
        if isinstance(given, Mapping):
            return self._accepted(form, form.defaults() | dict(given))
        raise failed(_NAME, f"it returned {type(given).__name__}, no mapping, bool, ElicitResult or None")

    def _as_told(self, form: ElicitFormParams, given: ElicitResult) -> JsonObject:
        wire = _bare(given)
        if given.action == "accept":
            return wire | self._accepted(form, {} if given.content is None else given.content)
        return wire

    def _accepted(self, form: ElicitFormParams, content: Json) -> JsonObject:
        try:
            plain = codec.decode(codec.encode(content))
        except (TypeError, ValueError) as error:
            raise failed(_NAME, f"its answers are not JSON: {type(error).__name__}") from error
        complaint = self._complaint(form, plain)
        if complaint is not None:
            logger.warning("the answer of the %s does not fit the form: %s", _NAME, complaint)
            raise Unanswered(INTERNAL_ERROR, f"the answer does not fit the form: {complaint}")
        return {"action": "accept", "content": plain}

    def _complaint(self, form: ElicitFormParams, content: Json) -> str | None:
        """Field and rule, never the value: it may be private, and this is logged and sent."""
        if not isinstance(content, dict):
            return "the content is no object"
        known = {field.name for field in form.fields}
        for name in content:
            if name not in known:
                return f"{printable(name, _LONGEST_PLACE)}: is no field of the form"
        try:
            fault = self._schemas.fault(form.requested_schema, content, formats=True)
        except UnusableSchema as error:
            return str(error)
        if fault is None:
            return None
        place = fault.place.removeprefix("/")
        return f"{place}: {fault.complaint}" if place else fault.complaint


def _visited(given: object) -> JsonObject:
    if given is None or given is False:
        return {"action": "decline"}
    if given is True:
        # Consent, not completion: what happens on the page is between the user and the server.
        return {"action": "accept"}
    if isinstance(given, ElicitResult):
        if given.content is not None:
            raise failed(_NAME, "it returned content for a page; a page takes consent alone")
        return _bare(given)
    raise failed(_NAME, f"it returned {type(given).__name__} for a page, no bool, ElicitResult or None")


def _bare(given: ElicitResult) -> JsonObject:
    """What the user did, without the content: only an accepted form has any."""
    if given.action not in _ACTIONS:
        raise failed(_NAME, "the action of its result is none of accept, decline and cancel")
    return {"action": given.action} | ({"_meta": given.meta} if given.meta else {})


def _unfit(reason: str) -> Unanswered:
    return Unanswered(INVALID_PARAMS, f"elicitation/create: {reason}")
