"""Tools: what there is, and calling it, in every manner."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import structs

from mcp_actors.client.batch import Batch, Prepared
from mcp_actors.client.calls import Manner
from mcp_actors.client.faces.face import Face
from mcp_actors.client.futures import CallFuture
from mcp_actors.client.notifications import ProgressHandler
from mcp_actors.client.outgoing import Outgoing, check_text, outgoing, tool_call
from mcp_actors.client.outputs import Decode, Outputs
from mcp_actors.client.pages import Pages
from mcp_actors.client.results import decoded
from mcp_actors.protocol import types
from mcp_actors.transports.contract import LooksUpTools

if TYPE_CHECKING:
    from mcp_actors.client.tasks.handle import TaskHandle
    from mcp_actors.client.tasks.tasks import Tasks
    from mcp_actors.client.toolbox import Toolbox


class ToolFace(Face):
    """What a server can do."""

    _outputs: Outputs
    _tasks_extension: bool
    _kept_tasks: Tasks | None = None
    _toolbox: Toolbox | None = None
    _learned = 0

    def list_tools(
        self, *, timeout: float | None = None, wait: bool = False, fresh: bool = False
    ) -> list[types.Tool]:
        """All tools of the server; pages are followed. ``fresh=True`` asks anew."""
        pages = self.tool_pages(timeout=timeout, wait=wait, fresh=fresh)
        tools = [tool for page in pages.collect() for tool in page.tools]
        if isinstance(self._transport, LooksUpTools):
            tools = self._transport.surface(tools)
        self._listings.remember(tools)
        return tools

    def tool_pages(
        self,
        *,
        cursor: str | None = None,
        timeout: float | None = None,
        wait: bool = False,
        fresh: bool = False,
    ) -> Pages[types.ListToolsResult]:
        """The list of tools page by page, from ``cursor`` on."""
        manner = self._manner(timeout, wait=wait)
        pages = self._pages("tools/list", types.ListToolsResult, manner, cursor=cursor, fresh=fresh)
        pages.on_page = self._listings.remember_page
        return pages

    def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        on_progress: ProgressHandler | None = None,
        wait: bool = False,
        replay: bool = False,
        meta: Mapping[str, Any] | None = None,
    ) -> types.CallToolResult:
        """Call a tool and block until it has answered. A tool that failed gives ``result.is_error``.

        ``on_progress`` runs on this thread, before the call returns. ``wait=True`` waits for a connection
        that is not ready. ``replay=True`` sends the call again after a lost connection, if the last listing
        says that the tool is read-only or idempotent. ``meta`` goes into the request's ``_meta``.
        """
        request = self._tool_request(name, arguments, meta)
        repeat = replay and self._listings.repeatable(name)
        manner = self._manner(timeout, on_progress, wait=wait, replay=repeat)
        # Most calls are no tasks, and most programs never need to know what those are.
        if self._tasks_extension or self._listings.needs_task(name):
            return self._outputs.check(name, self._tasks.call(name, request, manner))
        return self._outputs.check(name, self._rounds.complete(types.CallToolResult, request, manner))

    def submit_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        on_progress: ProgressHandler | None = None,
        wait: bool = False,
        meta: Mapping[str, Any] | None = None,
    ) -> CallFuture[types.CallToolResult]:
        """Call a tool and return a future at once. ``on_progress`` runs among the notification handlers.

        A call that becomes a task lasts until the task has ended, and cancelling it cancels the task;
        ``on_progress`` then hears of the status on the thread that follows it.
        """
        manner = self._manner(timeout, on_progress, wait=wait)
        return self._calls.submit(
            *self._prepared_call(name, self._tool_request(name, arguments, meta), manner)
        )

    def batch(self) -> Batch:
        """Collect calls in a ``with`` block and send them together at its end."""
        return Batch(self._calls, self._prepared_tool, self._prepared_request)

    def start_task(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        ttl: float | None = None,
        timeout: float | None = None,
        wait: bool = False,
        meta: Mapping[str, Any] | None = None,
    ) -> TaskHandle[types.CallToolResult]:
        """Call a tool as a task, which goes on at the server; the handle, as soon as it was accepted.

        ``ttl``: for how many seconds the server is asked to keep it. Tasks exist in 2025-11-25 and, with
        ``extensions={"io.modelcontextprotocol/tasks": {}}``, in 2026-07-28.
        """
        request = self._tool_request(name, arguments, meta)
        handle = self._tasks.start(name, request, self._manner(timeout, wait=wait), ttl)
        return handle.checked(partial(self._outputs.check, name))

    def get_task(
        self, task_id: str, *, timeout: float | None = None, wait: bool = False
    ) -> TaskHandle[types.CallToolResult]:
        """A task by its id, which somebody kept."""
        return self._tasks.get(task_id, self._manner(timeout, wait=wait))

    def list_tasks(
        self, *, timeout: float | None = None, wait: bool = False
    ) -> list[TaskHandle[types.CallToolResult]]:
        """All tasks that the server knows of this client (2025-11-25)."""
        return self._tasks.list_all(self._manner(timeout, wait=wait))

    @property
    def tools(self) -> Toolbox:
        """The tools as functions: ``client.tools.get_current_time(timezone="Europe/Vienna")``."""
        if self._toolbox is None:
            from mcp_actors.client.toolbox import Toolbox

            self._toolbox = Toolbox(self)
        # A listing may have been made by a caller, or by the connection after a loss.
        if self._listings.version != self._learned:
            self._learned = self._listings.version
            self._toolbox.learn(self._listings.tools)
        return self._toolbox

    @property
    def _tasks(self) -> Tasks:
        if self._kept_tasks is None:
            from mcp_actors.client.tasks.tasks import Tasks

            self._kept_tasks = Tasks(
                self._calls,
                self._rounds,
                tool=self._listings.tool,
                extension=self._tasks_extension,
                seconds=self._options.request_timeout,
                enclosures=self._enclosures,
            )
        return self._kept_tasks

    def _prepared_tool(
        self, name: str, arguments: Mapping[str, Any] | None, timeout: float | None
    ) -> Prepared:
        return self._prepared_call(name, self._tool_request(name, arguments, None), self._manner(timeout))

    def _prepared_request(
        self, method: str, params: Mapping[str, Any] | None, timeout: float | None
    ) -> Prepared:
        request = self._enclose(outgoing(check_text("method", method), params), None)
        return request, self._manner(timeout), lambda result: decoded(result, method)

    def _prepared_call(self, name: str, request: Outgoing, manner: Manner) -> tuple[Outgoing, Manner, Decode]:
        required = self._listings.needs_task(name)
        if required:
            request = structs.replace(request, task=True)
        if required or self._tasks_extension:
            decode: Decode = self._tasks.decoder(request, manner, partial(self._outputs.check, name))
        else:
            decode = self._rounds.decoder(types.CallToolResult, request)
        return request, manner, self._outputs.checking(name, decode)

    def _tool_request(
        self, name: str, arguments: Mapping[str, Any] | None, meta: Mapping[str, Any] | None
    ) -> Outgoing:
        request = tool_call(name, arguments)
        if meta is not None or self._enclosures.traces:
            request = self._enclosures.enclose(request, meta)
        if self._listings.session_mode == "optional" or "session_id" in (meta or {}):
            return request
        return structs.replace(request, session=True)
