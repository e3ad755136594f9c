"""What a server can be told, checked once at the border."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypedDict

from msgspec import Struct

from mcp_actors.protocol import codec
from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.revisions import ALL, Revision, by_version
from mcp_actors.protocol.serving.finishing import Freshness
from mcp_actors.protocol.serving.policy import SessionPolicy
from mcp_actors.protocol.serving.terms import LEVELS
from mcp_actors.protocol.types import Icon

if TYPE_CHECKING:
    from mcp_actors.server.server import Server
    from mcp_actors.server.tasks.store import TaskStore

Lifespan: TypeAlias = "Callable[[Server], AbstractContextManager[Any]]"

_KEY_BYTES: Final = 32


class CommonOptions(TypedDict, total=False):
    """What a server takes beside its name; see `ServerOptions` for the defaults."""

    version: str
    title: str | None
    description: str | None
    website_url: str | None
    icons: Sequence[Icon]
    instructions: str | None
    lifespan: Lifespan | None
    threads: int
    max_client_threads: int | None
    max_running: int
    page_size: int
    protocols: Sequence[str]
    ttl_ms: int
    cache_scope: str
    log_level: str
    expose_errors: bool
    request_state_keys: Sequence[bytes]
    task_store: TaskStore | None
    experimental: Mapping[str, Any]
    extensions: Mapping[str, Any]
    init_timeout: float


class ServerOptions(Struct, frozen=True, kw_only=True):
    """Durations are seconds unless their name says otherwise.

    Args:
        threads: how many handlers may run at a time.
        max_client_threads: how many of them may be for one client over HTTP, whose further requests wait for
            its own; None: three quarters.
        max_running: how many requests of one client may run or wait.
        ttl_ms, cache_scope: for how long, and by whom, listings and resources may be kept (2026-07-28).
        log_level: what a session hears of log messages before it says what it wants.
        expose_errors: for development: tell clients type and text of a tool's exception, with what looks like
            a secret masked, and not more than 4,000 characters; else only what `ToolError` says.
        request_state_keys: secrets that all processes of this server share, newest first, at least 32 bytes
            each; by default one that is made up by each process.
        experimental, extensions: further capabilities to declare.
    """

    version: str = "0.1.0"
    title: str | None = None
    description: str | None = None
    website_url: str | None = None
    icons: Sequence[Icon] = ()
    instructions: str | None = None
    lifespan: Lifespan | None = None
    threads: int = 32
    max_client_threads: int | None = None
    max_running: int = 1024
    page_size: int = 100
    protocols: Sequence[str] = tuple(revision.version for revision in ALL)
    ttl_ms: int = 0
    cache_scope: str = "private"
    log_level: str = "info"
    expose_errors: bool = False
    request_state_keys: Sequence[bytes] = ()
    task_store: TaskStore | None = None
    experimental: Mapping[str, Any] = {}
    extensions: Mapping[str, Any] = {}
    init_timeout: float = 60.0

    def __post_init__(self) -> None:
        for name in ("threads", "max_running", "page_size"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} must be at least 1, not {value!r}")
        if self.max_client_threads is not None and self.max_client_threads < 1:
            raise ValueError(f"max_client_threads must be at least 1, not {self.max_client_threads!r}")
        if self.log_level not in LEVELS:
            raise ValueError(f"log_level must be one of {', '.join(LEVELS)}, not {self.log_level!r}")
        if self.cache_scope not in ("public", "private"):
            raise ValueError(f"cache_scope is public or private, not {self.cache_scope!r}")
        if self.ttl_ms < 0:
            raise ValueError(f"ttl_ms must not be below 0, like {self.ttl_ms}")
        if any(len(key) < _KEY_BYTES for key in self.request_state_keys):
            raise ValueError(f"each of request_state_keys has at least {_KEY_BYTES} bytes")
        self.revisions()
        # What cannot be written would end each session that asks for it.
        codec.encode([dict(self.experimental), dict(self.extensions), self.info(""), self.instructions])

    def revisions(self) -> tuple[Revision, ...]:
        """The revisions to speak, newest first."""
        chosen = [by_version(version) for version in self.protocols]
        if not chosen or None in chosen:
            raise ValueError(f"protocols are some of {', '.join(map(str, ALL))}, not {self.protocols!r}")
        return tuple(revision for revision in ALL if revision in chosen)

    def policy(self) -> SessionPolicy:
        """The numbers of each session."""
        return SessionPolicy(
            init_timeout=self.init_timeout,
            max_running=self.max_running,
            log_level=self.log_level,
            freshness=Freshness(self.ttl_ms, self.cache_scope),
        )

    def info(self, name: str) -> JsonObject:
        """What the server says it is."""
        said: JsonObject = {
            "name": name,
            "version": self.version,
            "title": self.title,
            "description": self.description,
            "websiteUrl": self.website_url,
            "icons": [icon.to_wire() for icon in self.icons] or None,
        }
        return {key: value for key, value in said.items() if value is not None}
