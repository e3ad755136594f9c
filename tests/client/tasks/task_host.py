"""A toy host that runs its tools as tasks, in either dialect, state by state as a test wants it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from mcp_actors.client.gate import TASKS_EXTENSION
from tests.client.toy_host import SILENCE, Refusal, ToyHost, text, tool

CORE: Final = "2025-11-25"
EXTENSION: Final = "2026-07-28"
KINDS: Final = (CORE, EXTENSION)
ID: Final = "task-1"
RELATED: Final = {"_meta": {"io.modelcontextprotocol/related-task": {"taskId": ID}}}

_CAPABILITIES: Final[dict[str, dict[str, Any]]] = {
    CORE: {"tools": {}, "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}},
    EXTENSION: {"tools": {}, "extensions": {TASKS_EXTENSION: {}}},
}


class TaskHost(ToyHost):
    """Every call of a tool becomes the task ``task-1``. ``states`` are what it is like each time it is looked
    at; the last one stays."""

    def __init__(self, version: str, **settings: Any) -> None:
        super().__init__(version, **({"capabilities": _CAPABILITIES.get(version, {"tools": {}})} | settings))
        self.states: list[dict[str, Any]] = [self.state("working")]
        self.poll_ms: int | None = 1
        self.result: Callable[[], Any] = lambda: text("done") | RELATED
        self.answers |= {
            "tools/list": lambda _: {"tools": [long_tool("slow", "required"), long_tool("both", "optional")]},
            "tools/call": self._create,
            "tasks/get": self._get,
            "tasks/result": lambda _: self.result(),
            "tasks/cancel": self._cancel,
            "tasks/update": lambda _: {"resultType": "complete"},
            "tasks/list": lambda _: {"tasks": [self.task()]},
        }

    @property
    def core(self) -> bool:
        """Whether the tasks are those of 2025-11-25."""
        return self.version == CORE

    def state(self, status: str, message: str | None = None, **more: Any) -> dict[str, Any]:
        """What a look shows."""
        return {"status": status} | ({} if message is None else {"statusMessage": message}) | more

    def completed(self, answer: str = "done") -> dict[str, Any]:
        """What the last look shows."""
        return self.state("completed") | ({} if self.core else {"result": text(answer)})

    def task(self) -> dict[str, Any]:
        """The task as it is now."""
        ms = "" if self.core else "Ms"
        poll = {} if self.poll_ms is None else {f"pollInterval{ms}": self.poll_ms}
        times = {"createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:01Z"}
        return {"taskId": ID, f"ttl{ms}": 60_000, "odd": 1} | times | poll | self.states[0]

    def _create(self, request: dict[str, Any]) -> Any:
        if not self.core:
            return {"resultType": "task"} | self.task()
        return {"task": self.task()} if "task" in request["params"] else text("no task")

    def _get(self, request: dict[str, Any]) -> Any:
        if request["params"]["taskId"] != ID:
            raise Refusal(-32602, "no such task")
        if len(self.states) > 1:
            self.states.pop(0)
        return ({} if self.core else {"resultType": "complete"}) | self.task()

    def _cancel(self, _: dict[str, Any]) -> Any:
        self.states = [self.state("cancelled", "as you wish")]
        return self.task() if self.core else {"resultType": "complete"}


def long_tool(name: str, support: str) -> dict[str, Any]:
    """A tool that may run as a task, or must."""
    return tool(name) | {"execution": {"taskSupport": support}}


def silent(_: Any) -> Any:
    """An answer that never comes."""
    return SILENCE
