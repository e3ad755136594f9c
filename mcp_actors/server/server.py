"""Server: plain functions, offered to MCP clients wherever synchronous Python runs."""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeVar, Unpack
from weakref import WeakSet

from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.serving.news import News
from mcp_actors.protocol.serving.profile import TASK_METHODS, TASKS, Profile
from mcp_actors.runtime import lifetime
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.lazy import Lazy, Spent
from mcp_actors.server.answers import Answers, Middleware
from mcp_actors.server.capabilities import declared
from mcp_actors.server.hearing import Hearing
from mcp_actors.server.host import Host
from mcp_actors.server.line import Line
from mcp_actors.server.options import CommonOptions, ServerOptions
from mcp_actors.server.parts import Parts
from mcp_actors.server.registry.registry import Kind
from mcp_actors.server.skills.face import SkillsFace
from mcp_actors.server.task_calls import RunningTasks, status_news
from mcp_actors.server.tasks.board import TaskBoard
from mcp_actors.server.tasks.life import TaskRecord
from mcp_actors.server.tasks.memory_store import MemoryTaskStore
from mcp_actors.transports.contract import OpenFailed
from mcp_actors.transports.memory import MemoryEnd

if TYPE_CHECKING:
    from mcp_actors.server.authorization.authorization import Authorization
    from mcp_actors.server.http.app import WsgiApp
    from mcp_actors.server.http.event_store import EventStore
    from mcp_actors.server.http.session_store import SessionStore

M = TypeVar("M", bound=Callable[..., Any])

#: How long what runs may take to end when the server is closed.
CLOSE_SECONDS: Final = 10.0
#: How long requests may take to be answered after their client has closed its side of the wire.
LINGER_SECONDS: Final = 5.0

logger: Final = logging.getLogger("mcp_actors.server")


class Server(SkillsFace):
    """A named collection of functions. Nothing runs until it is served: `run`, `run_http`, `wsgi`, or
    ``Client.memory(server)``. Threads may share it; after a fork each process serves for itself."""

    def __init__(self, name: str, **options: Unpack[CommonOptions]) -> None:
        super().__init__()
        lifetime.refuse_gevent()
        if not isinstance(name, str) or not name:
            raise ValueError(f"a server has a name, not {name!r}")
        self.name = name
        self.options = ServerOptions(**options)
        self._middleware: list[Middleware] = []
        self._listeners: dict[str, list[Callable[[JsonObject], object]]] = {}
        self._methods: dict[str, Callable[..., Any]] = {}
        self._extension_methods: dict[str, str] = {}
        self._kinds: frozenset[str] = frozenset()
        # Without tokens a task is found by its id, which nobody can guess, and cannot be listed.
        self._tells_clients_apart = False
        # Replaced by an empty one at each change: a profile that was made of what was before goes with it.
        self._profiles: list[Profile] = []
        self._hosts: Lazy[Host] = Lazy(self._begin, lambda host: host.stop(Deadline.after(CLOSE_SECONDS)))
        self.registry.on_change(self._changed)
        _all.add(self)

    # What surrounds the functions.

    def middleware(self, function: M) -> M:
        """Wrap every request: ``function(context, params, proceed)`` returns what ``proceed()`` returns."""
        self._middleware.append(function)
        return function

    def on_notification(self, method: str) -> Callable[[M], M]:
        """Hear what clients tell: ``function(params)`` for each notification of ``method``."""

        def listen(function: M) -> M:
            self._listeners.setdefault(method, []).append(function)
            return function

        return listen

    def method(self, name: str, *, extension: str) -> Callable[[M], M]:
        """Answer a method that an extension adds: ``function(context, params)`` returns the result."""

        def offer(function: M) -> M:
            self._methods[name] = function
            self._extension_methods[name] = extension
            self._profiles = []
            return function

        return offer

    # News.

    def resource_updated(self, uri: str) -> None:
        """Tell those who subscribed to a resource that it changed."""
        if not isinstance(uri, str):
            raise TypeError(f"the uri of a resource must be a string, not {type(uri).__name__}")
        host = self._hosts.value
        if host is not None:
            host.announce(News("updated", uri))

    # Ways to serve.

    def run(
        self, *, framing: Literal["line", "content-length"] = "line", max_frame_bytes: int = 16 * 1024 * 1024
    ) -> None:
        """Serve over this process's own stdin and stdout until the client is gone.

        Whatever is printed meanwhile goes to stderr: stdout belongs to the protocol.
        """
        from mcp_actors.transports.own_stdio.transport import OwnStdioTransport
        from mcp_actors.transports.own_stdio.wire import Linger

        def settle() -> None:
            line.end_when_idle("the client closed its side")

        # A client that says nothing more may still listen: its answers are waited for.
        linger = Linger(settle, LINGER_SECONDS)
        transport = OwnStdioTransport(framing=framing, max_frame_bytes=max_frame_bytes, linger=linger)
        with self:
            line = Line(self.host, transport, name=f"{self.name} stdio")
            line.open()
            # Whoever presses Ctrl-C wants it to end, and no traceback.
            with contextlib.suppress(KeyboardInterrupt):
                line.wait()

    def wsgi(
        self,
        *,
        authorization: Authorization | None = None,
        event_store: EventStore | None = None,
        session_store: SessionStore | None = None,
        **settings: Any,
    ) -> WsgiApp:
        """This server as a WSGI app: Streamable HTTP of both eras, and HTTP+SSE. See `HttpSettings`."""
        from mcp_actors.server.web import app_of

        if authorization is not None:
            self._tells_clients_apart = True
            self._profiles = []
        return app_of(self, authorization, event_store, session_store, settings)

    def run_http(
        self,
        host: str = "127.0.0.1",
        port: int = 8000,
        path: str = "/mcp",
        *,
        threads: int = 64,
        **settings: Any,
    ) -> None:
        """Serve over HTTP until interrupted, or closed. For more, give `wsgi()` to a WSGI server you choose.

        Each request that waits for its answer, and each open stream, holds one of ``threads``; idle they cost
        next to nothing.
        """
        from mcp_actors.server.web import serve

        serve(self, host, port, threads, {"path": path, **settings})

    def accept(self, end: MemoryEnd) -> None:
        """Serve a client in this process: the other end of a memory wire."""
        from mcp_actors.transports.memory import GivenEnd

        if self._hosts.spent:
            raise OpenFailed(Ending(EndKind.IMPOSSIBLE, f"server {self.name!r} was closed"))
        try:
            host = self.host
        except Exception as error:
            logger.exception("server %r cannot be started", self.name)
            reason = f"server {self.name!r} cannot be started: {type(error).__name__}"
            raise OpenFailed(Ending(EndKind.REFUSED, reason)) from error
        Line(host, GivenEnd(end), name=f"{self.name} memory").open()

    # Life.

    @property
    def host(self) -> Host:
        """What is at work in this process, started now if need be. Raises RuntimeError after `close`."""
        try:
            return self._hosts.get()
        except Spent:
            raise RuntimeError(f"server {self.name!r} was closed") from None

    @property
    def closed(self) -> bool:
        """Whether it was closed. It cannot be used again."""
        return self._hosts.spent

    def start(self) -> Self:
        """Start now what would be started by the first request."""
        _ = self.host
        return self

    def close(self, timeout: float = CLOSE_SECONDS) -> None:
        """End: no new requests, a bounded time for those that run, then the workers. Idempotent.

        In a handler it returns at once: the server ends as soon as what runs, the handler included, has ended
        or used up the time.
        """
        host = self._hosts.spend()
        if host is not None:
            host.stop(Deadline.after(timeout))

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Server {self.name!r}>"

    # Inside.

    def profile(self) -> Profile:
        """What the server says about itself at the moment."""
        profiles = self._profiles
        if not profiles:
            profiles.append(self._describe())
        return profiles[0]

    def _describe(self) -> Profile:
        # What was ever offered stays declared: a list that became empty is still a list.
        self._kinds |= self.registry.capabilities()
        methods = dict(self._extension_methods)
        offers_tasks = any(entry.task_support != "forbidden" for entry in self.registry.tools.entries)
        if offers_tasks or TASKS in self.options.extensions:
            methods |= dict.fromkeys(TASK_METHODS, TASKS)
        extensions = {**dict.fromkeys(methods.values(), {}), **self.options.extensions}
        return Profile(
            self.options.info(self.name),
            declared(
                self._kinds,
                tasks=offers_tasks,
                list_tasks=self._tells_clients_apart,
                extensions=extensions,
                experimental=self.options.experimental,
            ),
            instructions=self.options.instructions,
            revisions=self.options.revisions(),
            extension_methods=methods,
        )

    def _begin(self) -> Host:
        store = self.options.task_store or MemoryTaskStore()
        tasks = TaskBoard(store, time.time, lambda: datetime.now(UTC).isoformat(timespec="milliseconds"))
        parts = Parts(self, self.registry, self.options, tasks)
        answers = Answers(parts, self._middleware, self._methods)
        resources = ExitStack()
        if self.options.lifespan is not None:
            parts.lifespan = resources.enter_context(self.options.lifespan(self))
        try:
            return self._host_of(answers, tasks, resources)
        except BaseException:
            # What was opened for it would be opened once more by the next attempt.
            resources.close()
            raise

    def _host_of(self, answers: Answers, tasks: TaskBoard, resources: ExitStack) -> Host:
        host = Host(
            self.name,
            profile=self.profile,
            policy=self.options.policy(),
            answer=answers.answer,
            is_brief=answers.is_brief,
            heard=Hearing(self._listeners).hear,
            farewell=resources.close,
            lost=self._hosts.drop,
            threads=self.options.threads,
            client_threads=self.options.max_client_threads,
        )
        tasks.on_status(lambda record: _tell_of(host, record))
        host.keep(RunningTasks(tasks))
        return host

    def _changed(self, kind: Kind) -> None:
        self._profiles = []
        host = self._hosts.value
        if host is not None:
            host.announce(News(kind))

    def _forget(self) -> None:
        self._hosts.forget()


def _tell_of(host: Host, record: TaskRecord) -> None:
    # A session of 2025-11-25 hears of its own tasks, by their heralds.
    if record.dialect == "extension":
        host.announce(status_news(record))


_all: WeakSet[Server] = WeakSet()


def _forget_all() -> None:
    """In a forked child: no thread of the parent's servers exists here."""
    for server in list(_all):
        server._forget()


os.register_at_fork(after_in_child=_forget_all)
