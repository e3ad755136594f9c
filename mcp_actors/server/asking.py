"""Asking: how a handler's questions reach its client, in each era."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol, assert_never

from msgspec import Raw

from mcp_actors.protocol import codec, jsonrpc
from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.request_state import Binding, InvalidRequestState, RequestStates
from mcp_actors.protocol.revisions import client_capability_for
from mcp_actors.protocol.serving.questions import (
    Answered,
    Declined,
    Unanswered,
    Unaskable,
    Unreadable,
    Verdict,
)
from mcp_actors.protocol.serving.terms import Terms
from mcp_actors.protocol.types.jsonrpc_error import ErrorObject
from mcp_actors.server.faults import (
    InputNeeded,
    InvalidAnswer,
    InvalidInput,
    NoAnswer,
    Refusal,
    RequestCancelled,
    invalid_params,
    missing_capability,
)

if TYPE_CHECKING:
    from mcp_actors.server.call import Call

#: The requests that may be answered by a question back (2026-07-28).
MAY_ASK: Final = frozenset({"tools/call", "prompts/get", "resources/read"})
MAX_ROUNDS: Final = 10

logger: Final = logging.getLogger("mcp_actors.server")


class Asker(Protocol):
    """A way to the client. ``requests`` maps keys of the handler's choice to ``method`` and ``params``."""

    def ask(self, requests: Mapping[str, JsonObject], seconds: float) -> dict[str, JsonObject]:
        """The client's result for each key. Raises NoAnswer, RequestCancelled or InputNeeded."""

    def misfit(self, words: str) -> Exception:
        """What to raise about an answer that does not fit the question: an InvalidAnswer."""


class SessionAsker:
    """Real requests, one after the other, while the handler waits (up to 2025-11-25)."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def ask(self, requests: Mapping[str, JsonObject], seconds: float) -> dict[str, JsonObject]:
        return {key: self._ask(request, seconds) for key, request in requests.items()}

    def misfit(self, words: str) -> Exception:
        return InvalidAnswer(words)

    def _ask(self, request: JsonObject, seconds: float) -> JsonObject:
        method = request["method"]
        path = lacking(request, self._call.job.terms)
        if path is not None:
            raise NoAnswer(f"the client cannot be asked: it does not offer {path}")
        return answer_of(self._call.ask(method, request.get("params", {}), seconds), method)


class RoundAsker:
    """Questions inside a result: the handler is run again, from the start, with the answers (2026-07-28).

    What earlier rounds brought travels through the client and back, sealed against changes.
    """

    def __init__(self, call: Call, states: RequestStates, binding: Binding, now: float) -> None:
        self._call = call
        self._states = states
        self._binding = binding
        self._now = now
        self._rounds, self._answers = self._read(call.job.params)

    def ask(self, requests: Mapping[str, JsonObject], seconds: float) -> dict[str, JsonObject]:
        del seconds  # nobody waits here
        missing = {key: request for key, request in requests.items() if key not in self._answers}
        if not missing:
            return {key: self._answers[key] for key in requests}
        for request in missing.values():
            self._check_capability(request)
        if self._rounds >= MAX_ROUNDS:
            raise Refusal(jsonrpc.INTERNAL_ERROR, f"the client was asked in {MAX_ROUNDS} rounds already")
        raise InputNeeded(missing)

    def misfit(self, words: str) -> Exception:
        return InvalidInput(words)

    def question(self, needed: InputNeeded, nonce: bytes) -> JsonObject:
        """The result that asks the client."""
        payload = {"round": self._rounds + 1, "answers": self._answers}
        state = self._states.seal(payload, binding=self._binding, now=self._now, nonce=nonce)
        return {
            "resultType": "input_required",
            "inputRequests": dict(needed.requests),
            "requestState": state,
        }

    def _read(self, params: JsonObject) -> tuple[int, dict[str, JsonObject]]:
        responses, state = params.get("inputResponses"), params.get("requestState")
        rounds, answers = 0, dict[str, JsonObject]()
        if state is not None:
            rounds, answers = self._open(state)
        if responses is None:
            return rounds, answers
        if not isinstance(responses, dict) or not all(isinstance(one, dict) for one in responses.values()):
            raise invalid_params("inputResponses must be an object of objects")
        return rounds, {**answers, **responses}

    def _open(self, state: Any) -> tuple[int, dict[str, JsonObject]]:
        try:
            if not isinstance(state, str):
                raise InvalidRequestState("not a string")
            payload = self._states.open(state, binding=self._binding, now=self._now)
        except InvalidRequestState as invalid:
            # Who forges one must not learn how far it got.
            logger.debug("%s: %s", self._call.peer.name, invalid)
            words = "requestState is not valid here, or not any more"
            raise invalid_params(words, {"reason": "invalid_request_state"}) from None
        return payload["round"], payload["answers"]

    def _check_capability(self, request: JsonObject) -> None:
        path = lacking(request, self._call.job.terms)
        if path is not None:
            why = f"{request['method']} needs a client that declares {path}"
            raise missing_capability(_nested(path), why)


class NoAsker:
    """A request that may not be answered by a question."""

    def __init__(self, method: str) -> None:
        self._method = method

    def ask(self, requests: Mapping[str, JsonObject], seconds: float) -> dict[str, JsonObject]:
        del requests, seconds
        raise NoAnswer(f"the client cannot be asked anything while it waits for {self._method}")

    def misfit(self, words: str) -> Exception:
        return NoAnswer(words)


def lacking(request: JsonObject, terms: Terms) -> str | None:
    """The capability that a question needs and the client did not declare; None: it can be asked."""
    path = client_capability_for(request["method"], terms.revision)
    if path is None or not terms.declares(path):
        return path or request["method"]
    params, declared = request.get("params") or {}, terms.capabilities[path]
    part = None
    if path == "elicitation":
        # MCP 2025-11-25, elicitation: an empty object stands for forms alone.
        part = "url" if params.get("mode") == "url" else ("form" if declared else None)
    elif path == "sampling" and ("tools" in params or "toolChoice" in params):
        part = "tools"
    return None if part is None or terms.declares(f"{path}.{part}") else f"{path}.{part}"


def answer_of(verdict: Verdict, method: str) -> JsonObject:
    """The client's result. Raises NoAnswer if there is none, RequestCancelled if nobody waits any more."""
    match verdict:
        case Answered(result):
            return _object(result, method)
        case Declined(error):
            raise NoAnswer(f"the client refused {method}: {_words(error)}")
        case Unreadable(reason):
            raise InvalidAnswer(f"the client's answer to {method} cannot be read: {reason}")
        case Unaskable(reason):
            raise NoAnswer(f"the client cannot be asked: {reason}")
        case Unanswered(reason, expired):
            if expired:
                raise NoAnswer(f"the client did not answer {method}: {reason}")
            raise RequestCancelled(reason)
        case _:
            assert_never(verdict)


def _object(result: Raw, method: str) -> JsonObject:
    try:
        value = codec.decode(result)
    except codec.DecodeFailed as error:
        raise InvalidAnswer(f"the client's answer to {method} cannot be read: {error}") from None
    if not isinstance(value, dict):
        raise InvalidAnswer(f"the client's answer to {method} is no object")
    return value


def _words(error: Raw) -> str:
    try:
        return ErrorObject.from_wire(codec.decode(error)).message
    except codec.DecodeFailed:
        return "without a reason"


def _nested(path: str) -> JsonObject:
    nested: JsonObject = {}
    for key in reversed(path.split(".")):
        nested = {key: nested}
    return nested
