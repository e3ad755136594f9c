"""Answers: which code answers which method, and what wraps it."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.serving.terms import Job
from mcp_actors.runtime.fork_border import ForkBorder
from mcp_actors.server.asking import RoundAsker
from mcp_actors.server.call import Call, Later
from mcp_actors.server.context import Context
from mcp_actors.server.faults import InputNeeded, Refusal
from mcp_actors.server.listings import Listings
from mcp_actors.server.parts import Parts
from mcp_actors.server.readings import Readings
from mcp_actors.server.task_calls import TaskDesk
from mcp_actors.server.tool_calls import ToolCalls

Answer: TypeAlias = Callable[[Call], JsonObject | Later]
#: ``middleware(context, params, proceed)`` returns what ``proceed()`` returns, or something else, or raises.
Middleware: TypeAlias = Callable[[Context, JsonObject, Callable[[], Any]], Any]


class Answers:
    """On workers' threads. Middleware is called in the order of its adding, the first outermost."""

    def __init__(
        self, parts: Parts, middleware: list[Middleware], methods: dict[str, Callable[..., Any]]
    ) -> None:
        self._parts = parts
        self._middleware = middleware
        tools = ToolCalls(parts)
        readings, listings, tasks = Readings(parts), Listings(parts), TaskDesk(parts.tasks)
        self._table: dict[str, Answer] = {
            "tools/call": tools.answer,
            "tools/list": listings.answer,
            "resources/list": listings.answer,
            "resources/templates/list": listings.answer,
            "resources/read": readings.read,
            "prompts/list": listings.answer,
            "prompts/get": readings.prompt,
            "completion/complete": readings.complete,
            **{f"tasks/{name}": tasks.answer for name in ("get", "result", "list", "cancel", "update")},
        }
        self._own = methods
        self._is_brief = tools.is_brief

    def answer(self, call: Call) -> JsonObject | Later:
        """What a request is answered with."""
        if call.job.method == "tools/call" and not self._middleware:
            # What a tool does has a border of its own, inside of where its failures become results.
            return self._answer(call)
        with ForkBorder():
            return self._wrapped(call) if self._middleware else self._answer(call)

    def is_brief(self, job: Job) -> bool:
        """Whether the thread that waits for the answer can as well give it. Middleware may take any time."""
        return job.method == "tools/call" and not self._middleware and self._is_brief(job)

    def _wrapped(self, call: Call) -> JsonObject | Later:
        proceed = partial(self._answer, call)
        asker = self._parts.asker(call)
        # What it wraps may ask, too, and must not take the answers for its own.
        context = self._parts.context(call, asker, prefix="middleware-")
        for wrap in reversed(self._middleware):
            proceed = partial(wrap, context, call.job.params, proceed)
        try:
            return proceed()
        except InputNeeded as needed:
            assert isinstance(asker, RoundAsker)
            return asker.question(needed, secrets.token_bytes(16))

    def _answer(self, call: Call) -> JsonObject | Later:
        answer = self._table.get(call.job.method)
        if answer is not None:
            return answer(call)
        own = self._own.get(call.job.method)
        if own is None:
            raise Refusal(jsonrpc.METHOD_NOT_FOUND, f"method {call.job.method} does not exist here")
        context = self._parts.context(call, self._parts.asker(call))
        result: JsonObject = own(context, call.job.params)
        return result
