"""Readings: resources, prompts and completions, from the request to the handler's value on the wire."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from typing import Any, Final

from mcp_actors.protocol import codec, jsonrpc, types
from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.serving.entry import shown
from mcp_actors.protocol.serving.terms import Refused
from mcp_actors.protocol.types.jsonrpc_error import INVALID_PARAMS, RESOURCE_NOT_FOUND
from mcp_actors.server import content
from mcp_actors.server.asking import RoundAsker
from mcp_actors.server.call import Call
from mcp_actors.server.conditions import check_client, in_time, too_long
from mcp_actors.server.faults import InputNeeded, NotFound, Refusal, invalid_params
from mcp_actors.server.parts import Parts
from mcp_actors.server.registry.entries import PromptEntry, ResourceEntry, TemplateEntry
from mcp_actors.server.signatures import InvalidArguments, UnusableResult

logger: Final = logging.getLogger("mcp_actors.server")


class Readings:
    """Answers ``resources/read``, ``prompts/get`` and ``completion/complete``. On a worker's thread."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def read(self, call: Call) -> JsonObject:
        """The contents of a resource."""
        uri = call.job.params.get("uri")
        if not isinstance(uri, str):
            raise invalid_params("uri must be a string")
        found = self._parts.registry.resource_for(uri)
        if found is None:
            raise _not_found(call, uri)
        entry, values = found
        what = f"resource {shown(uri)}"
        check_client(call, entry, what)
        mime_type = entry.definition.mime_type
        try:
            return self._ask(
                call,
                entry,
                what,
                self._arguments(entry, values),
                lambda value: content.resource_result(value, uri, mime_type),
            )
        except (NotFound, FileNotFoundError):
            raise _not_found(call, uri) from None

    def prompt(self, call: Call) -> JsonObject:
        """A prompt, filled in."""
        name, given = call.job.params.get("name"), call.job.params.get("arguments")
        entry = self._parts.registry.get_prompt(name) if isinstance(name, str) else None
        if entry is None:
            raise invalid_params(f"there is no prompt {shown(name)}")
        what = f"prompt {shown(name)}"
        check_client(call, entry, what)
        given = {} if given is None else given
        if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
            raise invalid_params("arguments must be an object of strings")
        return self._ask(
            call,
            entry,
            what,
            self._arguments(entry, given),
            lambda value: content.prompt_result(value, entry.definition.description),
        )

    def complete(self, call: Call) -> JsonObject:
        """Suggestions for an argument."""
        try:
            params = types.CompleteParams.from_wire(call.job.params)
        except codec.DecodeFailed as error:
            raise invalid_params(f"what to complete cannot be read: {error}") from None
        self._check_reference(params.ref)
        entry = self._parts.registry.get_completion(params.ref, params.argument.name)
        if entry is None:
            return content.completion_result(())
        known = (params.context or {}).get("arguments")
        context = None
        if entry.context_parameter is not None:
            context = self._parts.context(call, self._parts.asker(call))
        try:
            values = entry.suggest(params.argument.value, known if isinstance(known, dict) else {}, context)
            return content.completion_result(values)
        except UnusableResult as error:
            raise _unusable(params.argument.name, error) from None

    def _check_reference(self, reference: types.Reference) -> None:
        if isinstance(reference, types.PromptReference):
            if self._parts.registry.get_prompt(reference.name) is None:
                raise invalid_params(f"there is no prompt {shown(reference.name)}")
        elif (
            self._parts.registry.get_template(reference.uri) is None
            and self._parts.registry.get_resource(reference.uri) is None
        ):
            raise invalid_params(f"there is no resource template {shown(reference.uri)}")

    def _arguments(
        self, entry: ResourceEntry | TemplateEntry | PromptEntry, given: dict[str, str]
    ) -> dict[str, Any]:
        if entry.signature is None:
            return dict(given)
        try:
            return entry.signature.arguments(given)
        except InvalidArguments as error:
            raise invalid_params(str(error)) from None

    def _ask(
        self,
        call: Call,
        entry: ResourceEntry | TemplateEntry | PromptEntry,
        what: str,
        arguments: dict[str, Any],
        result_of: Callable[[Any], JsonObject],
    ) -> JsonObject:
        """Call the function; it may ask its client back. ``what`` names it in errors."""
        asker = None
        parameter = None if entry.signature is None else entry.signature.context_parameter
        if parameter is not None:
            asker = self._parts.asker(call)
            arguments = {**arguments, parameter: self._parts.context(call, asker)}
        try:
            return in_time(
                call,
                entry.timeout,
                lambda: result_of(entry.function(**arguments)),
                lambda: call.refuse(Refused(jsonrpc.INTERNAL_ERROR, too_long(what, entry.timeout))),
            )
        except InputNeeded as needed:
            assert isinstance(asker, RoundAsker)
            return asker.question(needed, secrets.token_bytes(16))
        except UnusableResult as error:
            raise _unusable(entry.key, error) from None


def _unusable(what: str, error: UnusableResult) -> Refusal:
    logger.error("%r: %s", what, error)
    return Refusal(jsonrpc.INTERNAL_ERROR, f"{what!r} gave no usable result")


def _not_found(call: Call, uri: str) -> Refusal:
    # MCP 2026-07-28, resources: the code of its own is gone.
    code = INVALID_PARAMS if call.job.terms.revision.stateless else RESOURCE_NOT_FOUND
    return Refusal(code, f"there is no resource {shown(uri)}", {"uri": uri})
