"""The server's public face as text, read from the code, for reference/server.md. See `generate.py`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from typing import Any, Final

from client_reference import described, parameters, sentence, shown

from mcp_actors.server.authorization.authorization import Authorization
from mcp_actors.server.authorization.dpop import DpopVerifier
from mcp_actors.server.authorization.introspection import IntrospectionVerifier
from mcp_actors.server.authorization.jwt import JwtVerifier
from mcp_actors.server.authorization.principal import Principal
from mcp_actors.server.authorization.static import StaticTokens
from mcp_actors.server.context import Context
from mcp_actors.server.faults import NoAnswer, NotFound, Refusal, RequestCancelled, ToolError
from mcp_actors.server.http.settings import HttpSettings
from mcp_actors.server.media import Audio, File, Image
from mcp_actors.server.messages import AssistantMessage, UserMessage
from mcp_actors.server.offering import FunctionOptions, Offering
from mcp_actors.server.options import CommonOptions, ServerOptions
from mcp_actors.server.questions import Elicit, Roots, Sample
from mcp_actors.server.registry.options import ResourceOptions
from mcp_actors.server.server import Server
from mcp_actors.server.skills.face import SkillsFace

#: What each option means. An option without a meaning, or a meaning without an option, is an error here.
OPTIONS: Final = {
    "version": "the server's own version, as clients show it",
    "title": "its name for people",
    "description": "what it is for",
    "website_url": "where to read more about it",
    "icons": "pictures of it, as `types.Icon`",
    "instructions": "what a model should know before it uses the server",
    "lifespan": "what all handlers share; [lifespan](../server/middleware-and-lifespan.md)",
    "threads": "how many handlers may run at a time",
    "max_client_threads": "how many of them may be for one client over HTTP; None: three quarters",
    "max_running": "how many requests of one client may run or wait",
    "page_size": "how many tools, resources or prompts are listed at once",
    "protocols": "the revisions to speak; [old clients](../server/old-clients.md)",
    "ttl_ms": "milliseconds for which clients may keep listings and resources (2026-07-28)",
    "cache_scope": '`"public"`: whoever asked, others may be given the same answer',
    "log_level": "what a session hears of log messages before it says what it wants",
    "expose_errors": "tell clients the texts of exceptions, masked and cut; [errors](../server/errors.md)",
    "request_state_keys": "secrets that all processes share; [gunicorn](../server/gunicorn.md)",
    "task_store": "where tasks are kept; None: in memory; [tasks](../server/tasks.md)",
    "experimental": "capabilities to declare beyond the protocol, by name",
    "extensions": "extensions to declare, by their id",
    "init_timeout": "seconds that a client may take between the handshake and its next message",
}
SETTINGS: Final = {
    "path": "the endpoint, below wherever the app is mounted; where it is mounted is another name for it",
    "hosts": "names that requests may use; None: those of this machine; [security](../server/security.md)",
    "origins": "web pages of other origins that may call",
    "cors": "the same, and their browsers let scripts read the answers",
    "stateless": "no sessions for clients before 2026-07-28; [several processes](../server/gunicorn.md)",
    "legacy_sse": "offer HTTP+SSE; [old clients](../server/old-clients.md)",
    "sse_path": "where its streams begin",
    "messages_path": "where its messages are posted",
    "health": "answer at `health_path`",
    "health_path": "tells load balancers that the server works",
    "max_body_bytes": "the largest body of a request",
    "max_sessions": "how many sessions there may be, in one process",
    "max_client_sessions": "how many of them one principal may have; None: a quarter",
    "session_idle": "sessions that nobody uses for so many seconds are ended",
    "threads": "how many threads the WSGI server has, if that is known",
    "lend_threads": "short tools without a context run on the thread that serves their request",
    "max_streams": "streams that may hold a thread each; None: three quarters of the threads or more, 16 if "
    "that is not known",
    "max_requests": "requests that may hold a thread each; None: all threads but one or two, any number if "
    "that is not known",
    "max_client_requests": "how many of them one client may have; None: three quarters",
    "max_wait": "seconds that a request may wait for one of those to be over, before it is refused",
    "sse_after": "seconds after which an answer that is not there yet begins as a stream",
    "keep_alive": "seconds between two signs of life of a silent stream",
    "look_every": "seconds between two looks whether the client is still there",
    "retry_ms": "milliseconds that clients are told to wait before they resume a stream",
    "max_events": "events that are kept of a session, so that its streams can be resumed",
    "max_event_bytes": "bytes of these",
    "max_total_event_bytes": "bytes of those of all sessions, in one process; the oldest go first",
    "max_queued": "messages that may wait for a client that does not read",
    "max_queued_bytes": "bytes of these",
}
FUNCTIONS: Final = {
    "name": "as clients call it; the function's name unless given",
    "title": "its name for people",
    "description": "the function's docstring unless given",
    "icons": "pictures of it, as `types.Icon`",
    "meta": "its `_meta`",
    "scopes": "what the caller's token must allow; [authorization](../server/authorization.md)",
    "required_capability": "what the client must have declared",
    "timeout": "seconds that the function may take",
    "annotations": "of tools: `types.ToolAnnotations`; of resources: `types.Annotations`",
    "task_support": 'of tools: `"forbidden"`, `"optional"`, `"required"`; [tasks](../server/tasks.md)',
    "mode": 'of tools: `"stateless"` or `"stateful"`',
    "structured_output": "of tools: False: no output schema; True: there must be one",
    "input_schema": "of tools: instead of the one that follows from the signature",
    "output_schema": "of tools: the same",
    "mime_type": "of resources: what they are",
    "size": "of resources: how many bytes",
}
#: Members that other parts of the package call; no user should.
INSIDE: Final = {"host", "profile", "accept", "options"}


def server_options() -> Iterator[str]:
    """Every option of a server with its default and its meaning."""
    usual = ServerOptions()
    defaults = {name: getattr(usual, name) for name in ServerOptions.__struct_fields__}
    _compare(set(CommonOptions.__annotations__), OPTIONS)
    yield from _table("option", defaults, OPTIONS)


def http_settings() -> Iterator[str]:
    """Every setting of the WSGI app."""
    yield from _table("setting", {field.name: field.default for field in fields(HttpSettings)}, SETTINGS)


def function_options() -> Iterator[str]:
    """What may be said about a tool, resource or prompt."""
    names = {**FunctionOptions.__annotations__, **ResourceOptions.__annotations__}
    _compare(set(names), FUNCTIONS)
    yield "| option | meaning |"
    yield "|---|---|"
    for name, meaning in FUNCTIONS.items():
        yield f"| `{name}` | {meaning} |"


def members(*kinds: type) -> Callable[[], Iterator[str]]:
    """The public members of some classes."""

    def lines() -> Iterator[str]:
        for kind in kinds:
            for name, member in vars(kind).items():
                if not name.startswith("_") and name not in INSIDE and _is_described(member):
                    yield f"- {described(name, member)}"

    return lines


def makers(*kinds: type) -> Callable[[], Iterator[str]]:
    """Classes by how they are made."""

    def lines() -> Iterator[str]:
        for kind in kinds:
            yield f"- `{kind.__name__}({', '.join(_given(kind))})`<br>{sentence(kind)}"

    return lines


def _given(kind: type) -> Iterator[str]:
    if issubclass(kind, Exception) and "__init__" not in vars(kind):
        yield "message: str"
        return
    for parameter in parameters(inspect.signature(kind), bound=0):
        # The clock is there for tests.
        if not parameter.startswith("now:"):
            yield parameter.replace("= <factory>", "= {}")


def _is_described(member: Any) -> bool:
    return isinstance(member, property) or inspect.isfunction(member)


def _table(title: str, defaults: Mapping[str, object], meanings: Mapping[str, str]) -> Iterator[str]:
    _compare(set(defaults), meanings)
    yield f"| {title} | default | meaning |"
    yield "|---|---|---|"
    for name, default in defaults.items():
        yield f"| `{name}` | `{shown(default)}` | {meanings[name]} |"


def _compare(names: set[str], meanings: Mapping[str, str]) -> None:
    if names != set(meanings):
        raise SystemExit(f"the options and their meanings differ: {names ^ set(meanings)}")


SECTIONS: Final[dict[str, Callable[[], Iterator[str]]]] = {
    "server-options": server_options,
    "server-life": members(Server),
    "server-offering": members(Offering),
    "server-skills": members(SkillsFace),
    "function-options": function_options,
    "context": members(Context),
    "server-values": makers(Image, Audio, File, UserMessage, AssistantMessage, Elicit, Sample, Roots),
    "server-faults": makers(ToolError, Refusal, NotFound, RequestCancelled, NoAnswer),
    "http-settings": http_settings,
    "authorization": makers(
        Authorization, Principal, JwtVerifier, IntrospectionVerifier, StaticTokens, DpopVerifier
    ),
    "authorization-members": members(Authorization),
}
