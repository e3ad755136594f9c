"""Batch: several requests that are sent together, as one array where the revision has arrays (2025-03-26)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from msgspec import Raw

from mcp_actors.client.calls import Calls, Manner
from mcp_actors.client.futures import CallFuture
from mcp_actors.client.outgoing import Outgoing

T = TypeVar("T")

Prepared = tuple[Outgoing, Manner, Callable[[Raw], Any]]


class BatchCall(Generic[T]):
    """One call of a batch. Its future is there as soon as the batch was sent."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._future: CallFuture[T] | None = None

    @property
    def future(self) -> CallFuture[T]:
        """The future of the call, which can also be cancelled or waited for with others."""
        if self._future is None:
            raise RuntimeError(f"{self._what} was not sent yet: its batch goes out when the with block ends")
        return self._future

    def result(self, timeout: float | None = None) -> T:
        """The answer, or the error of the call."""
        return self.future.result(timeout)

    def sent(self, future: CallFuture[T]) -> None:
        """The batch was sent."""
        self._future = future

    def __repr__(self) -> str:
        state = "not sent" if self._future is None else "done" if self._future.done() else "sent"
        return f"<BatchCall {self._what} ({state})>"


class Batch:
    """Collects calls and sends them at the end of the ``with`` block; an error in there sends nothing.

    There is room for all of them (``max_in_flight``), or none is sent. Each has its own answer, error and
    deadline, which begins when the batch is sent. For one thread.
    """

    def __init__(self, calls: Calls, tool: Callable[..., Prepared], other: Callable[..., Prepared]) -> None:
        self._calls = calls
        self._tool = tool
        self._other = other
        self._waiting: list[tuple[Prepared, BatchCall[Any]]] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, timeout: float | None = None
    ) -> BatchCall[Any]:
        """Call a tool, with the others."""
        return self._add(self._tool(name, arguments, timeout))

    def request(
        self, method: str, params: Mapping[str, Any] | None = None, *, timeout: float | None = None
    ) -> BatchCall[Any]:
        """Send any request, with the others; its result will be plain JSON."""
        return self._add(self._other(method, params, timeout))

    def send(self) -> None:
        """Send what was collected, now. The batch is empty afterwards, or as it was if nothing was sent."""
        if not self._waiting:
            return
        futures = self._calls.submit_together([prepared for prepared, _ in self._waiting])
        waiting, self._waiting = self._waiting, []
        for (_, call), future in zip(waiting, futures, strict=True):
            call.sent(future)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.send()

    def _add(self, prepared: Prepared) -> BatchCall[Any]:
        call: BatchCall[Any] = BatchCall(prepared[0].what)
        self._waiting.append((prepared, call))
        return call
