"""What must be true of this package, as data; each has a test that carries its id, or a reason why not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Requirement:
    """One promise. ``deferred`` is empty, or the reason why no test has to carry it yet."""

    id: str
    sentence: str
    deferred: str = ""


WIRES: Final = "comes with the TCP and WebSocket transports"
METRICS: Final = "comes with the exporters for Prometheus and OpenTelemetry"
BENCH: Final = "measured by benchmarks/, which no test asserts"
INTEGRATIONS: Final = "gunicorn, Flask and Django are tested; Celery is not yet"

REQUIREMENTS: Final = (
    # runtime — the actor system
    Requirement(
        "runtime:mailbox:closable",
        "no message is lost in silence: a put after close is refused, what was left is handed to "
        "`undelivered`",
    ),
    Requirement(
        "runtime:mailbox:timers",
        "timers live in the mailbox; a cancelled timer cannot fire; no timer threads",
    ),
    Requirement(
        "runtime:actor:exit-once", "a parent hears of a child's end exactly once, with the reason as a value"
    ),
    Requirement("runtime:actor:start-acknowledged", "a child counts as started only after its init"),
    Requirement(
        "runtime:supervisor:rest-for-one",
        "the failed child and those after it restart in order; those before it live on",
    ),
    Requirement(
        "runtime:supervisor:intensity",
        "more than 3 bugs in 5 s end the tree, children stopped first, callers answered",
    ),
    Requirement("runtime:supervisor:order", "start in order, stop in reverse, every stop bounded"),
    Requirement(
        "runtime:permits:active-once", "a wire delivers nothing without a permit, one delivery per permit"
    ),
    Requirement(
        "runtime:pool:bounded",
        "tasks are bounded, isolated, answered exactly once; a crashing task harms nobody",
    ),
    Requirement("runtime:exit", "a program that forgets to close still exits at once, children reaped"),
    Requirement(
        "runtime:fork", "after fork: no shared pipe, no hang; first use starts a new tree in the child"
    ),
    Requirement(
        "runtime:registry",
        "connections can be registered and found by name; the registry is an interface with a local default",
    ),
    # connection — the client state machine
    Requirement("connection:states", "the five states and every edge of the table, each tested"),
    Requirement("connection:init-timeout", "no handshake within 10 s → backoff"),
    Requirement(
        "connection:backoff", "exponential 1→30 s, ±20 % jitter, capped, reset after sustained uptime"
    ),
    Requirement(
        "connection:park",
        "a server that fails 3 times before it was ever ready is parked, not stormed, and says why",
    ),
    Requirement(
        "connection:unavailable",
        "after the first ready, calls while not ready fail at once and name the state; `wait=True` "
        "waits inside the deadline",
    ),
    Requirement(
        "connection:recover", "after a loss: reconnect, renegotiate, relist, resubscribe, only then ready"
    ),
    Requirement(
        "connection:second-initialize",
        "a server that sends `initialize` gets −32601, counted as a violation, nothing reset",
    ),
    Requirement(
        "connection:stop",
        "`close()` is bounded (~100 ms with a well-behaved server), idempotent, concurrent-safe; "
        "in-flight calls get `shutdown`",
    ),
    Requirement("connection:generation", "late frames and exits of an earlier wire do nothing"),
    # request — the life of a call
    Requirement("request:ids", "unique, monotonic, never reused; overflow guarded"),
    Requirement(
        "request:one-outcome",
        "exactly one terminal outcome per caller under reordering, duplicates, unknown ids",
    ),
    Requirement("request:timeout", "per-request deadline → cancel upstream once, tombstone, `timeout` error"),
    Requirement("request:no-leak", "nothing left in the tables after everything settles; tombstones decay"),
    Requirement("request:cancel-idempotent", "cancelling k times = once"),
    Requirement(
        "request:cancel-caller", "KeyboardInterrupt or `future.cancel()` in a caller cancels upstream"
    ),
    Requirement(
        "request:tombstones", "late answers after timeout, cancel, loss are dropped; TTL formula; sweep 60 s"
    ),
    Requirement("request:unknown-id", "counted, logged at debug, harmless"),
    Requirement("request:busy", "busy send retried 3 × 10 ms ±50 %, then `backpressure`"),
    Requirement("request:server-cancelled", "`notifications/cancelled` ends the one call it names"),
    Requirement(
        "request:lost",
        "a loss fails all in-flight calls at once with outcome `unknown` or `not_sent`; never "
        "replayed unless allowed",
    ),
    Requirement("request:progress", "`on_progress` per call; after completion or cancel progress is dropped"),
    Requirement(
        "request:batch",
        "several requests submitted together; JSON-RPC arrays accepted where 2025-03-26 was negotiated",
    ),
    Requirement("request:modes", "stateless / stateful tool dispatch and `session_mode`"),
    Requirement("request:admission", "at most `max_in_flight` callers; the next fails or waits, as asked"),
    # flow — backpressure and size
    Requirement(
        "flow:mailbox-bound",
        "the Connection mailbox never holds more than window + callers + constant, shown by a "
        "benchmark under flood",
    ),
    Requirement(
        "flow:os-pushback", "without a permit the reader does not read: the server blocks, memory stays flat"
    ),
    Requirement(
        "flow:frame-limit", "above 16 MiB: refused while reading, transport closed, in-flight failed, backoff"
    ),
    Requirement(
        "flow:decode-offload",
        "frames above 128 kB decode off the actor thread, ≤ 8 at once, order of answers still correct",
    ),
    Requirement(
        "flow:slow-handler",
        "a slow or stuck notification handler neither grows memory nor holds up answers; nothing "
        "dropped while handlers keep up; drops counted; `block` policy on request",
    ),
    # notification
    Requirement(
        "notification:handlers", "per method and wildcard; FIFO; detachable; crash of one harms none"
    ),
    Requirement("notification:reentrant", "a handler may call the client"),
    Requirement(
        "notification:kinds",
        "list_changed ×3, resources/updated, progress, message, cancelled reach typed callbacks",
    ),
    # negotiation
    Requirement(
        "negotiation:versions",
        "all five revisions, both roles; preferred newest; unsupported → clear error with both lists",
    ),
    Requirement("negotiation:era", "dual-era detection on stdio and HTTP, remembered per process or origin"),
    Requirement(
        "negotiation:capabilities",
        "checked before each call: `capability` error without touching the wire",
    ),
    Requirement(
        "negotiation:degrade",
        "features missing in the negotiated revision fail clearly, method by method",
    ),
    Requirement(
        "negotiation:experimental",
        "experimental and extension capabilities declared, discovered, off by default",
    ),
    Requirement(
        "negotiation:phases",
        "server refuses requests before initialize (except ping) in the handshake era; init timeout "
        "on the server too",
    ),
    # features (client and server side of each)
    Requirement(
        "feature:tools",
        "list with pages, call, structured output checked against `outputSchema`, annotations",
    ),
    Requirement(
        "feature:resources",
        "list, templates, read (text, blob), subscribe / unsubscribe / listen, updated",
    ),
    Requirement("feature:prompts", "list, get with argument checks"),
    Requirement("feature:completion", "arguments of prompts and templates are completed"),
    Requirement("feature:logging", "levels, setLevel and per request"),
    Requirement(
        "feature:sampling",
        "a handler on the client, requests and multi-round-trip results on the server",
    ),
    Requirement(
        "feature:roots",
        "a handler on the client, requests and multi-round-trip results on the server",
    ),
    Requirement(
        "feature:elicitation",
        "a handler on the client, requests and multi-round-trip results on the server",
    ),
    Requirement(
        "feature:ping",
        "both directions, before initialize too; keep-alive with a threshold that ends a dead connection",
    ),
    Requirement("feature:pagination", "cursors followed with a cycle guard, or page by page"),
    Requirement(
        "feature:caching",
        "ttlMs / cacheScope honoured, invalidated by notifications, partitioned by principal",
    ),
    Requirement("feature:subscriptions", "`subscriptions/listen`, both roles"),
    Requirement("feature:mrtr", "multi-round-trip requests"),
    Requirement("feature:tasks", "2025-11-25 tasks and the 2026 extension"),
    Requirement("feature:skills", "the skills extension, as the conformance suite has it"),
    Requirement(
        "feature:list-changed",
        "server sends on add and delete, at most one per 100 ms per kind, the last change never lost",
    ),
    Requirement(
        "feature:schema",
        "arguments validated by JSON Schema 2020-12 before a handler runs; errors as the revision wants them",
    ),
    Requirement("feature:subscriber-cleanup", "a dead subscriber leaves no subscription"),
    # transport (client and server unless said otherwise)
    Requirement(
        "transport:contract",
        "one contract, one public law suite (`testing.check_transport`) passed by every transport, "
        "also usable on a user's own",
    ),
    Requirement(
        "transport:stdio", "lines (and `content-length`), shutdown ladder, tree kill, stderr, env, cwd"
    ),
    Requirement(
        "transport:tcp",
        "connect / listen, line framing, nodelay, keepalive, idle timeout 5 min, connection limit, reconnect",
        WIRES,
    ),
    Requirement(
        "transport:http",
        "Streamable HTTP, both eras: sessions, GET stream, resume with Last-Event-ID and retry, "
        "DELETE, 404 → new session, headers",
    ),
    Requirement("transport:sse", "legacy HTTP+SSE"),
    Requirement(
        "transport:websocket", "text frames, ping 30 s, size limit → 1009, close codes, backpressure", WIRES
    ),
    Requirement("transport:memory", "connected pair for tests and embedding"),
    Requirement("transport:custom", "a user's own transport class plugs in"),
    Requirement("transport:stats", "bytes, frames, reconnects, buffer levels"),
    Requirement("transport:pool", "a pool of connections with round_robin, least_loaded, random", WIRES),
    Requirement("transport:wsgi", "the server as a WSGI app under gunicorn gthread, waitress, Flask, Django"),
    # errors
    Requirement("error:tree", "one tree, `.type`, `.code`, `.details`, `.retryable`, recovery hint"),
    Requirement("error:matrix", "each row of the repair matrices ends as written"),
    Requirement(
        "error:translate",
        "any exception in a handler becomes a correct JSON-RPC error, with no secret and no traceback "
        "on the wire",
    ),
    Requirement(
        "error:crash-report", "exit code, stderr tail, last frames, uptime, restarts in every failure"
    ),
    Requirement(
        "error:plain", "the first line says what failed, to what, after how long; never an exception group"
    ),
    # security
    Requirement("security:origin", "Origin / Host checks, loopback by default"),
    Requirement(
        "security:limits",
        "body, header, session, connection, notification-queue, schema-depth, page, MRTR-round "
        "limits, all with an error",
    ),
    Requirement(
        "security:oauth",
        "the whole client flow, issuer-bound credentials, no token to another origin, redirects not "
        "followed off-origin",
    ),
    Requirement(
        "security:resource-server",
        "bearer verification, 401/403 challenges, protected-resource metadata; sessions bound to the "
        "principal",
    ),
    Requirement(
        "security:no-shell", "commands never pass through a shell; env allow-list or inherit, said aloud"
    ),
    Requirement("security:request-state", "integrity-protected, bound, expiring"),
    # telemetry
    Requirement(
        "telemetry:events",
        "request start/stop/exception, connection transition, notification received, protocol "
        "violation, unknown response, transport io; stable schema, correlation id",
    ),
    Requirement("telemetry:free", "no cost when nobody listens; sampling rate"),
    Requirement(
        "telemetry:metrics",
        "counters, gauges, histograms; Prometheus text; OpenTelemetry spans and the MCP metric names; "
        "trace context in `_meta`",
        METRICS,
    ),
    Requirement("telemetry:logs", "structured, per connection, server stderr under its own logger"),
    # quality
    Requirement(
        "quality:latency",
        "phase transition < 100 µs, correlation < 50 µs, error translation < 10 µs, notification "
        "dispatch < 100 µs, version negotiation < 1 ms, capability negotiation < 5 ms, in a benchmark",
        BENCH,
    ),
    Requirement("quality:conformance", "the official suite, both roles, at 2025-11-25 and 2026-07-28"),
    Requirement(
        "quality:real-servers",
        "filesystem, memory, everything, sequential-thinking (npm), time, git, fetch (PyPI) work end to end",
    ),
    Requirement("quality:integrations", "Flask, gunicorn, Celery, with the real programs", INTEGRATIONS),
)
