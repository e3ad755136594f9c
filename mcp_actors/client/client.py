"""Client: the blocking face. Every call returns its answer or raises one plain error, within its deadline."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self, Unpack

from mcp_actors.client.calls import Calls, unpark
from mcp_actors.client.enclosures import Enclosures
from mcp_actors.client.faces.news import NewsFace
from mcp_actors.client.faces.prompts import PromptFace
from mcp_actors.client.faces.resources import ResourceFace
from mcp_actors.client.faces.session import SessionFace
from mcp_actors.client.faces.tools import ToolFace
from mcp_actors.client.gate import TASKS_EXTENSION
from mcp_actors.client.listings import Listings
from mcp_actors.client.notifications import Handlers
from mcp_actors.client.options import LADDER_SECONDS, ClientOptions, CommonOptions, EveryOption, check_seconds
from mcp_actors.client.outputs import Outputs
from mcp_actors.client.rounds import Rounds
from mcp_actors.client.tree import Tree
from mcp_actors.client.trees import Trees
from mcp_actors.client.wiring import Wiring
from mcp_actors.protocol.events import NewsWanted
from mcp_actors.protocol.standing import Standing
from mcp_actors.runtime import lifetime
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.registry import LocalRegistry, Registry
from mcp_actors.telemetry.bus import bus
from mcp_actors.transports.contract import AnswersAlways, Ends, KnowsPrincipal, LooksUpTools, Transport

if TYPE_CHECKING:
    from mcp_actors.auth.coercion import Auth
    from mcp_actors.client.config import Config
    from mcp_actors.transports.http.engine import Verify
    from mcp_actors.transports.http.settings import Headers

#: Clients that were given a name, by that name.
registry: Registry[Client] = LocalRegistry()


class Client(ToolFace, ResourceFace, PromptFace, NewsFace, SessionFace):
    """A connection to one MCP server. Threads may share it; after a fork the child gets its own connection.

    Nothing runs until the first call, `start()` or `with`. ``timeout=None`` means ``request_timeout``.
    """

    def __init__(self, transport: Transport, options: ClientOptions) -> None:
        lifetime.refuse_gevent()
        self._transport = transport
        self._options = options
        self._desk = options.desk()
        told = not isinstance(transport, AnswersAlways)
        self._policy = options.policy(self._desk.offer, silence_tells_era=told)
        self._handlers = Handlers(self._listen)
        self._standing = Standing(self._handlers.wanted)
        self._listings = Listings()
        self._ids = itertools.count(1)
        self._trees = Trees(self._plant)
        self._calls = Calls(self._trees, options.max_frame_bytes)
        self._rounds = Rounds(self._calls, self._desk)
        self._tasks_extension = TASKS_EXTENSION in self._desk.offer.extensions
        if isinstance(transport, LooksUpTools):
            transport.find_tool = self._listings.tool
        self._principal = transport.principal if isinstance(transport, KnowsPrincipal) else _always_the_same
        self._outputs = Outputs(self._listings, checked=options.validate_output)
        self._enclosures = Enclosures(options.trace_context)
        if options.log_handler is not None:
            self.on_log(options.log_handler)
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

        chosen = ClientOptions.of(with_patience(command, options))
        transport = stdio_transport(
            command, chosen, env=env, cwd=cwd, framing=framing, inherit_env=inherit_env
        )
        return cls(transport, chosen)

    @classmethod
    def http(
        cls,
        url: str,
        *,
        headers: Headers | None = None,
        auth: Auth | None = None,
        verify: Verify = True,
        proxies: Mapping[str, str] | None = None,
        **options: Unpack[CommonOptions],
    ) -> Self:
        """A server behind a URL: Streamable HTTP of either era, or the older HTTP+SSE if that is what it has.

        ``headers`` is a mapping, or a function that is asked before each request. ``auth`` is a bearer token,
        a function that returns one, or an object such as `OAuth`. ``verify`` is False, the path of a CA file
        or an ``ssl.SSLContext``; ``proxies`` maps ``http`` and ``https``, by default as the environment says.
        """
        return cls._web(url, options, headers=headers, auth=auth, verify=verify, proxies=proxies)

    @classmethod
    def sse(
        cls,
        url: str,
        *,
        headers: Headers | None = None,
        auth: Auth | None = None,
        verify: Verify = True,
        proxies: Mapping[str, str] | None = None,
        **options: Unpack[CommonOptions],
    ) -> Self:
        """A server that is known to speak HTTP+SSE, the transport of the first revision."""
        return cls._web(url, options, headers=headers, auth=auth, verify=verify, proxies=proxies, legacy=True)

    @classmethod
    def _web(cls, url: str, options: CommonOptions, **how: Any) -> Self:
        from mcp_actors.client.web import http_transport, with_patience

        chosen = ClientOptions.of(with_patience(options, how["auth"]))
        return cls(http_transport(url, chosen, **how), chosen)

    @classmethod
    def memory(cls, host: Any, **options: Unpack[CommonOptions]) -> Self:
        """A server in this process: any object that accepts the other end of a memory wire."""
        from mcp_actors.transports.memory import MemoryTransport

        chosen = ClientOptions.of(options)
        return cls(MemoryTransport(host, max_frame_bytes=chosen.max_frame_bytes), chosen)

    @classmethod
    def from_config(
        cls,
        source: str | os.PathLike[str] | Mapping[str, Any] | Config,
        server: str | None = None,
        /,
        **options: Unpack[EveryOption],
    ) -> Self:
        """A server from a configuration file: ``mcpServers`` of Claude or Cursor, ``servers`` of VS Code.

        ``server`` may be left out if there is only one. ``options`` come before those of the file.
        """
        from mcp_actors.client.config.opening import open_client

        return open_client(cls, source, server, dict(options))

    @classmethod
    def connect(cls, *, transport: Transport, **options: Unpack[CommonOptions]) -> Self:
        """A server behind a transport of your own; see `mcp_actors.transports.contract`."""
        return cls(transport, ClientOptions.of(options))

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
        if isinstance(self._transport, Ends):
            self._transport.end()
        if tree is not None:
            # For those who still go through the pages of a list.
            tree.wiring.cache.clear()
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

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a client cannot be pickled or copied: threads share it, and processes make their own, "
            "for example at module level"
        )

    # Inside.

    def _plant(self) -> Tree:
        return Tree(
            Wiring(
                name=self.name,
                options=self._options,
                policy=self._policy,
                transport=self._transport,
                handlers=self._handlers,
                desk=self._desk,
                standing=self._standing,
                bus=bus,
                relisted=self._listings.relisted,
                ids=self._ids,
            )
        )

    def _listen(self) -> None:
        """Somebody began or ceased to listen for news, which some servers want to know."""
        tree = self._trees.value
        connection = None if tree is None else tree.connection
        if tree is None or connection is None:
            return
        departures, wanted = tree.wiring.board.departures, NewsWanted()
        if departures is None:
            connection.tell(wanted)
            return
        try:
            departures.hold(wanted)
            connection.tell(wanted)
        except BaseException:
            # An interrupt: maybe nobody tells the connection, and nobody shall wait for that.
            departures.go_on(wanted)
            raise


def _always_the_same() -> str:
    """In whose name a client asks that shows no credentials: its own."""
    return ""
