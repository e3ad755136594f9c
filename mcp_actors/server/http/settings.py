"""HttpSettings: where and how a server is offered over HTTP, and the bounds of what clients control."""

from __future__ import annotations

from dataclasses import dataclass, fields

from mcp_actors.protocol.http.origins import Origins

MIB = 1024 * 1024
#: From so many threads on two are kept free for what is over at once: signs of life, health, refusals.
_MANY_THREADS = 16
#: However many threads there are, no more than so many are kept from streams.
_MOST_SPARED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """Times are seconds.

    Args:
        path: the endpoint, below wherever the app is mounted; where it is mounted is another name for it.
        hosts: names that requests may use for this server, with or without a port, "*" for any; None: those
            of the loopback interface.
        origins: web pages that may call, though they come from elsewhere, such as ``https://app.example``.
        cors: the same, and their browsers are told so, that their scripts may read the answers.
        stateless: no sessions for clients of the handshake era; each POST stands alone.
        legacy_sse: offer HTTP+SSE of 2024-11-05, at ``sse_path`` and ``messages_path``. It is nothing without
            sessions.
        health: answer at ``health_path``.
        max_sessions, max_client_sessions: how many sessions there may be, and how many of one client that a
            token tells from others; None: a quarter.
        session_idle: sessions that nobody uses for so long are ended.
        threads: how many threads the WSGI server has, if that is known.
        lend_threads: tools that have shown to be short, and that take no context, run on the thread that
            serves their request instead of one of the server's own.
        max_streams: streams that may hold a thread each; None: about three quarters of the threads and never
            the last two, 16 if their number is not known.
        max_requests: requests, streams among them, that may hold a thread each; None: all threads but one
            or two, any number if that is not known.
        max_client_requests: how many of these one client may have, as its token or its session tells it from
            others, or its address where it has neither; None: three quarters.
        max_wait: how long a request may wait until another that holds a thread is over, before it is refused.
            Meanwhile it holds one of the threads that are kept free.
        sse_after: when an answer that is not there yet begins as a stream.
        keep_alive: how often a silent stream gives a sign of life.
        look_every: how often to see whether the client is still there.
        retry_ms: how long clients are told to wait before they resume a stream.
        max_events, max_event_bytes: what is kept of a session's streams, so that they can be resumed.
        max_total_event_bytes: what is kept of all sessions together; the oldest goes first.
        max_queued, max_queued_bytes: what may wait for a client that does not read.
    """

    path: str = "/mcp"
    hosts: tuple[str, ...] | None = None
    origins: tuple[str, ...] = ()
    cors: tuple[str, ...] = ()
    stateless: bool = False
    legacy_sse: bool = True
    sse_path: str = "/sse"
    messages_path: str = "/messages"
    health: bool = True
    health_path: str = "/health"
    max_body_bytes: int = 4 * MIB
    max_sessions: int = 1000
    max_client_sessions: int | None = None
    session_idle: float = 1800.0
    threads: int | None = None
    lend_threads: bool = True
    max_streams: int | None = None
    max_requests: int | None = None
    max_client_requests: int | None = None
    max_wait: float = 0.25
    sse_after: float = 15.0
    keep_alive: float = 15.0
    look_every: float = 1.0
    retry_ms: int = 1000
    max_events: int = 1000
    max_event_bytes: int = 4 * MIB
    max_total_event_bytes: int = 64 * MIB
    max_queued: int = 10_000
    max_queued_bytes: int = 8 * MIB

    def __post_init__(self) -> None:
        for name in ("path", "sse_path", "messages_path", "health_path"):
            if not getattr(self, name).startswith("/"):
                raise ValueError(f"{name} begins with a slash, unlike {getattr(self, name)!r}")
        for name in ("hosts", "origins", "cors"):
            if isinstance(getattr(self, name), str):
                raise TypeError(f"{name} is a tuple of strings, not one string")
        for field in fields(self):
            value = getattr(self, field.name)
            if type(value) in (int, float) and value <= 0:
                raise ValueError(f"{field.name} must be above 0, not {value}")

    @property
    def allowed(self) -> Origins:
        """Whose requests are served."""
        return Origins(self.hosts, self.origins + self.cors)

    @property
    def streams(self) -> int:
        """How many streams may hold a thread each."""
        if self.max_streams is not None:
            return self.max_streams
        if self.threads is None:
            return 16
        return max(1, self.threads - max(2, min(self.threads // 4, _MOST_SPARED)))

    @property
    def client_sessions(self) -> int:
        """How many sessions one client may have."""
        return (
            max(1, self.max_sessions // 4) if self.max_client_sessions is None else self.max_client_sessions
        )

    @property
    def requests(self) -> int | None:
        """How many requests may hold a thread each; None: any number."""
        if self.max_requests is not None or self.threads is None:
            return self.max_requests
        return max(1, self.threads - (1 if self.threads < _MANY_THREADS else 2))

    @property
    def client_requests(self) -> int | None:
        """How many of them may be of one client; None: any number."""
        if self.max_client_requests is not None or self.requests is None:
            return self.max_client_requests
        return max(1, self.requests * 3 // 4)
