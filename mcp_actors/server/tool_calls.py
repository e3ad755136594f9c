"""Tool calls: from the name and arguments of a call to its result."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from time import perf_counter
from typing import Any, Final

from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.serving.entry import shown
from mcp_actors.protocol.serving.terms import Job
from mcp_actors.runtime.fork_border import ForkBorder
from mcp_actors.server import content
from mcp_actors.server.as_task import AsTask
from mcp_actors.server.asking import Asker, RoundAsker
from mcp_actors.server.call import Call, Later
from mcp_actors.server.conditions import check_client, in_time, too_long
from mcp_actors.server.faults import (
    InputNeeded,
    NoAnswer,
    Refusal,
    RequestCancelled,
    ToolError,
    invalid_params,
)
from mcp_actors.server.parts import Parts
from mcp_actors.server.registry.entries import ToolEntry
from mcp_actors.server.signatures import InvalidArguments, UnusableResult
from mcp_actors.server.task_calls import TaskCalls, TimeLimit
from mcp_actors.telemetry.redaction import redact

#: From here on arguments that do not fit are the tool's error, for the model to read. Dates sort as text.
_MODEL_READS_MISTAKES: Final = "2025-11-25"
#: So many characters of an exception's text are told, where any are.
_SHOWN: Final = 4_000

logger: Final = logging.getLogger("mcp_actors.server")


class ToolCalls:
    """Answers ``tools/call``. On a worker's thread."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._tasks = TaskCalls(parts.tasks)

    def answer(self, call: Call) -> JsonObject | Later:
        """The result of a tool, or of making a task of it."""
        entry = self._entry(call)
        arguments = self._arguments(call, entry)
        if not isinstance(arguments, dict):
            return arguments.result
        late = _late(entry)
        if self._tasks.becomes_task(call, entry):
            limit = None if entry.timeout is None else TimeLimit(entry.timeout, late)
            return self._tasks.start(
                call, lambda asker: self._run_whole(call, entry, arguments, asker), limit
            )
        asker = self._parts.asker(call) if entry.signature.context_parameter is not None else None
        outcome = in_time(
            call,
            entry.timeout,
            lambda: self._run(call, entry, arguments, asker),
            lambda: call.conclude(late),
        )
        return self._go_on(call, entry, outcome) if isinstance(outcome, AsTask) else outcome

    def is_brief(self, job: Job) -> bool:
        """Whether this call can be expected to be over before another thread is awake. Any thread."""
        name = job.params.get("name")
        entry = self._parts.registry.get_tool(name) if isinstance(name, str) else None
        return entry is not None and entry.is_brief

    def _go_on(self, call: Call, entry: ToolEntry, rest: AsTask) -> JsonObject:
        """A tool wants to go on as a task. For a client that knows no tasks it goes on as it is."""
        if call.cancellation:
            # Its time was over before it said so: the client has its answer.
            raise RequestCancelled(call.cancellation.reason)
        if self._tasks.knows_tasks(call):
            return self._tasks.start(call, lambda _asker: self._whole(entry, rest, None))
        return self._whole(entry, rest, None)

    def _entry(self, call: Call) -> ToolEntry:
        name = call.job.params.get("name")
        entry = self._parts.registry.get_tool(name) if isinstance(name, str) else None
        if entry is None:
            raise invalid_params(f"there is no tool {shown(name)}")
        check_client(call, entry, f"tool {name!r}")
        return entry

    def _arguments(self, call: Call, entry: ToolEntry) -> dict[str, Any] | _Mistake:
        given = call.job.params.get("arguments")
        if given is None:
            given = {}
        if not isinstance(given, dict):
            raise invalid_params("arguments must be an object")
        try:
            return entry.signature.arguments(given)
        except InvalidArguments as error:
            if call.job.terms.revision.version < _MODEL_READS_MISTAKES:
                raise invalid_params(str(error)) from None
            return _Mistake(error_result(str(error)))

    def _run(
        self, call: Call, entry: ToolEntry, arguments: dict[str, Any], asker: Asker | None
    ) -> JsonObject | AsTask:
        """Call the tool's function."""
        parameter = entry.signature.context_parameter
        if parameter is not None:
            assert asker is not None
            arguments = {**arguments, parameter: self._parts.context(call, asker)}
        return self._perform(entry, lambda: entry.function(**arguments), asker)

    def _run_whole(self, call: Call, entry: ToolEntry, arguments: dict[str, Any], asker: Asker) -> JsonObject:
        """As `_run`, for what is a task already."""
        return self._whole(entry, self._run(call, entry, arguments, asker), asker)

    def _whole(self, entry: ToolEntry, outcome: JsonObject | AsTask, asker: Asker | None) -> JsonObject:
        while isinstance(outcome, AsTask):
            outcome = self._perform(entry, outcome.work, asker)
        return outcome

    def _perform(self, entry: ToolEntry, work: Callable[[], Any], asker: Asker | None) -> JsonObject | AsTask:
        """Do what a tool does and make a result of what becomes of it."""
        begun = perf_counter()
        try:
            with ForkBorder():
                value = work()
            return value if isinstance(value, AsTask) else content.tool_result(value, entry.signature)
        except InputNeeded as needed:
            assert isinstance(asker, RoundAsker)
            return asker.question(needed, secrets.token_bytes(16))
        except (Refusal, RequestCancelled):
            raise
        except (ToolError, NoAnswer) as error:
            # Why the client could not be asked is no secret to it.
            return error_result(str(error))
        except UnusableResult as error:
            logger.error("tool %r: %s", entry.key, error)
            raise Refusal(jsonrpc.INTERNAL_ERROR, f"tool {entry.key!r} gave no usable result") from None
        # SystemExit, too: a tool's failure is its own.
        except BaseException as error:
            logger.exception("tool %r failed", entry.key)
            return error_result(self._words(entry, error))
        finally:
            entry.brevity.note(perf_counter() - begun)

    def _words(self, entry: ToolEntry, error: BaseException) -> str:
        if self._parts.options.expose_errors:
            # Also whoever wants to see errors does not want to hand out passwords.
            return f"tool {entry.key!r} failed: {type(error).__name__}: {redact(str(error))[:_SHOWN]}"
        # What an exception says may be a secret, and is in the log.
        return f"tool {entry.key!r} failed"


class _Mistake:
    """Arguments that do not fit, as a result."""

    def __init__(self, result: JsonObject) -> None:
        self.result = result


def error_result(text: str) -> JsonObject:
    """The result of a tool that failed."""
    return {"content": [{"type": "text", "text": text}], "isError": True}


def _late(entry: ToolEntry) -> JsonObject:
    return error_result(too_long(f"tool {entry.key!r}", entry.timeout)) if entry.timeout is not None else {}
