"""Client: the blocking face. Every call returns its answer or raises one plain error, within its deadline."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, Self, Unpack

from msgspec import structs

from mcp_actors import errors
from mcp_actors.client.calls import Calls, Manner, unpark
from mcp_actors.client.futures import CallFuture
from mcp_actors.client.listings import Listings, P, Pages
from mcp_actors.client.notifications import Detach, Handlers, NotificationHandler, ProgressHandler
from mcp_actors.client.options import LADDER_SECONDS, ClientOptions, CommonOptions, check_seconds
from mcp_actors.client.outgoing import check_text, outgoing, prompt_wanted, tool_call
from mcp_actors.client.post_mortem import crash_report
from mcp_actors.client.results import decoded, parse, told
from mcp_actors.client.stats import ClientStats, stats_of
from mcp_actors.client.tree import Tree
from mcp_actors.client.trees import Trees
from mcp_actors.client.wiring import Wiring
from mcp_actors.protocol import codec, types
from mcp_actors.protocol.agreement import Agreement
from mcp_actors.runtime import lifetime
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.registry import LocalRegistry, Registry
from mcp_actors.telemetry.bus import bus
from mcp_actors.telemetry.crash_report import CrashReport
from mcp_actors.transports.contract import Transport

#: Clients that were given a name, by that name.
registry: Registry[Client] = LocalRegistry()

State = Literal["starting", "initializing", "ready", "backoff", "closing"]


class Client:
    """A connection to one MCP server. Threads may share it; after a fork the child gets its own connection.

    Nothing runs until the first call, `start()` or `with`. ``timeout=None`` means ``request_timeout``.
    """

    def __init__(self, transport: Transport, options: ClientOptions) -> None:
        lifetime.refuse_gevent()
        self._transport = transport
        self._options = options
        self._policy = options.policy()
        self._handlers = Handlers()
        self._listings = Listings()
        self._ids = itertools.count(1)
        self._trees = Trees(self._plant)
        self._calls = Calls(self._trees, options.max_frame_bytes)
        self.name = options.name or transport.label
        if options.name is not None:
            registry.register(options.name, self)

    # Ways to a server.

    @classmethod
    def stdio(
        cls,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        framing: Literal["line", "content-length"] = "line",
        inherit_env: bool = False,
        **options: Unpack[CommonOptions],
    ) -> Self:
        """A server that is run as a child process and spoken to over its stdin and stdout."""
        from mcp_actors.client.launch import stdio_transport, with_patience

        chosen = ClientOptions(**with_patience(command, options))
        transport = stdio_transport(
            command, chosen, env=env, cwd=cwd, framing=framing, inherit_env=inherit_env
        )
        return cls(transport, chosen)

    @classmethod
    def memory(cls, host: Any, **options: Unpack[CommonOptions]) -> Self:
        """A server in this process: any object that accepts the other end of a memory wire."""
        from mcp_actors.transports.memory import MemoryTransport

        chosen = ClientOptions(**options)
        return cls(MemoryTransport(host, max_frame_bytes=chosen.max_frame_bytes), chosen)

    @classmethod
    def connect(cls, *, transport: Transport, **options: Unpack[CommonOptions]) -> Self:
        """A server behind a transport of your own; see `mcp_actors.transports.contract`."""
        return cls(transport, ClientOptions(**options))

    # Lifecycle.

    def start(self) -> Self:
        """Begin to connect and return at once. A parked client tries again."""
        tree = self._trees.value
        if tree is not None and tree.failure is not None:
            self._trees.drop(tree)
            tree.stop(Deadline.after(0.0))
            tree = None
        current = self._calls.tree("start() came too late")
        # One that was made just now tries anyway; it must not do so twice.
        if current is tree:
            unpark(current)
        return self

    def wait_ready(self, timeout: float | None = None) -> Self:
        """Block until the connection is ready; raises why it is not, with the crash report."""
        options = self._options
        patience = options.max_failed_starts * (options.init_timeout + options.backoff_max)
        seconds = patience if timeout is None else check_seconds("timeout", timeout)
        self._calls.await_ready("", seconds, Deadline.after(seconds))
        return self

    def close(self, timeout: float | None = None) -> None:
        """End the server and everything of ours. Bounded, idempotent, from any thread or callback.

        Calls in flight raise `ClientClosed`. The default time is what a server that ignores every request to
        end needs: about 6 s. A server that ends when its input does takes milliseconds.
        """
        seconds = sum(LADDER_SECONDS) + 2.0 if timeout is None else check_seconds("timeout", timeout)
        tree = self._trees.spend()
        if self._options.name is not None:
            registry.unregister(self._options.name, self)
        if tree is not None:
            tree.stop(Deadline.after(seconds))

    def __enter__(self) -> Self:
        try:
            return self.start().wait_ready()
        except BaseException:
            self.close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Client {self.name} ({self.state})>"

    # What is known.

    @property
    def state(self) -> State:
        """Where the connection is."""
        if self._trees.spent:
            return "closing"
        tree = self._trees.value
        return "starting" if tree is None else tree.state.value

    @property
    def server_info(self) -> types.Implementation:
        """How the server introduced itself. Unverified."""
        info = {"name": "", "version": "", **self._agreement("server_info").server_info}
        return told("server_info", types.Implementation, info)

    @property
    def server_capabilities(self) -> types.ServerCapabilities:
        """What the server offers."""
        capabilities = self._agreement("server_capabilities").capabilities
        return told("server_capabilities", types.ServerCapabilities, capabilities)

    @property
    def instructions(self) -> str | None:
        """What the server wants its users to know."""
        return self._agreement("instructions").instructions

    @property
    def protocol_version(self) -> str:
        """The revision that both sides agreed on."""
        return self._agreement("protocol_version").revision.version

    @property
    def crash_report(self) -> CrashReport | None:
        """What is known about the server now; None while nothing was started."""
        tree = self._trees.value
        return None if tree is None else crash_report(tree.wiring)

    def stats(self) -> ClientStats:
        """The numbers of this moment."""
        tree = self._trees.value
        return ClientStats(state=self.state) if tree is None else stats_of(tree)

    # Requests.

    def ping(self, *, timeout: float | None = None, wait: bool = False) -> None:
        """Make sure that the server answers."""
        manner = self._manner(timeout, wait=wait)
        deadline = Deadline.after(manner.seconds)
        if not self._ever_ready():
            self._calls.await_ready("ping", manner.seconds, deadline)
        # MCP 2026-07-28 has no ping; server/discover costs as little and every server has it.
        method = "ping" if self._agreement("ping").revision.has_ping else "server/discover"
        self._calls.run(outgoing(method, what="ping"), structs.replace(manner, deadline=deadline))

    def list_tools(self, *, timeout: float | None = None, wait: bool = False) -> list[types.Tool]:
        """All tools of the server; pages are followed."""
        pages = self._pages("tools/list", types.ListToolsResult, timeout, wait)
        tools = [tool for page in pages for tool in page.tools]
        self._listings.remember(tools)
        return tools

    def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        on_progress: ProgressHandler | None = None,
        wait: bool = False,
        replay: bool = False,
    ) -> types.CallToolResult:
        """Call a tool and block until it has answered. A tool that failed gives ``result.is_error``.

        ``on_progress`` runs on this thread, before the call returns. ``wait=True`` waits for a connection
        that is not ready. ``replay=True`` sends the call again after a lost connection, if the last listing
        says that the tool is read-only or idempotent.
        """
        request = tool_call(name, arguments)
        repeat = replay and self._listings.repeatable(name)
        manner = self._manner(timeout, on_progress, wait=wait, replay=repeat)
        return parse(types.CallToolResult, self._calls.run(request, manner), request.what)

    def submit_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        on_progress: ProgressHandler | None = None,
        wait: bool = False,
    ) -> CallFuture[types.CallToolResult]:
        """Call a tool and return a future at once. ``on_progress`` runs among the notification handlers."""
        request = tool_call(name, arguments)
        manner = self._manner(timeout, on_progress, wait=wait)
        return self._calls.submit(
            request, manner, lambda result: parse(types.CallToolResult, result, request.what)
        )

    def list_resources(self, *, timeout: float | None = None, wait: bool = False) -> list[types.Resource]:
        """All resources of the server; pages are followed."""
        pages = self._pages("resources/list", types.ListResourcesResult, timeout, wait)
        return [resource for page in pages for resource in page.resources]

    def read_resource(
        self, uri: str, *, timeout: float | None = None, wait: bool = False
    ) -> types.ReadResourceResult:
        """The contents of a resource: text or bytes, possibly several parts."""
        request = outgoing("resources/read", {"uri": check_text("uri", uri)}, what=f"resources/read {uri!r}")
        result = self._calls.run(request, self._manner(timeout, wait=wait))
        return parse(types.ReadResourceResult, result, request.what)

    def list_prompts(self, *, timeout: float | None = None, wait: bool = False) -> list[types.Prompt]:
        """All prompts of the server; pages are followed."""
        pages = self._pages("prompts/list", types.ListPromptsResult, timeout, wait)
        return [prompt for page in pages for prompt in page.prompts]

    def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        *,
        timeout: float | None = None,
        wait: bool = False,
    ) -> types.GetPromptResult:
        """A prompt, filled in with ``arguments``."""
        request = prompt_wanted(name, arguments)
        result = self._calls.run(request, self._manner(timeout, wait=wait))
        return parse(types.GetPromptResult, result, request.what)

    def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        on_progress: ProgressHandler | None = None,
        wait: bool = False,
    ) -> codec.Json:
        """Anything else: send ``method`` and return the result as plain JSON."""
        request = outgoing(check_text("method", method), params)
        manner = self._manner(timeout, on_progress, wait=wait)
        return decoded(self._calls.run(request, manner), method)

    # News.

    def on_notification(self, handler: NotificationHandler, method: str | None = None) -> Detach:
        """Call ``handler`` for each notification, or those of one method; returns what detaches it.

        Handlers run one after the other on a thread of the pool. They may use or close this client.
        """
        return self._handlers.attach(handler, method)

    def on_progress(self, handler: ProgressHandler) -> Detach:
        """Call ``handler`` with the progress of every request; returns a function that detaches it."""
        return self._handlers.attach_progress(handler)

    # Inside.

    def _plant(self) -> Tree:
        return Tree(
            Wiring(
                name=self.name,
                options=self._options,
                policy=self._policy,
                transport=self._transport,
                handlers=self._handlers,
                bus=bus,
                relisted=self._listings.relisted,
                ids=self._ids,
            )
        )

    def _ever_ready(self) -> bool:
        tree = self._trees.value
        return tree is not None and tree.wiring.board.ever_ready

    def _agreement(self, what: str) -> Agreement:
        tree = self._trees.value
        agreement = None if tree is None else tree.wiring.board.agreement
        if agreement is None:
            raise errors.Unavailable(
                f"{what} is not known yet: the client was never ready (state: {self.state})",
                state=self.state,
            )
        return agreement

    def _manner(
        self,
        timeout: float | None,
        on_progress: ProgressHandler | None = None,
        *,
        wait: bool = False,
        replay: bool = False,
    ) -> Manner:
        if on_progress is not None and not callable(on_progress):
            raise TypeError(f"on_progress must be callable, not {type(on_progress).__name__}")
        seconds = self._options.request_timeout if timeout is None else check_seconds("timeout", timeout)
        return Manner(seconds, on_progress, wait, replay)

    def _pages(self, method: str, kind: type[P], timeout: float | None, wait: bool) -> Pages[P]:
        return Pages(self._calls, method, kind, self._manner(timeout, wait=wait))
