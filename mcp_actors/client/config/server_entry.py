"""One server of a configuration: how to start or reach it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from mcp_actors.client.config.entry_options import OWN_KEY, TIMEOUTS, read_options
from mcp_actors.client.config.env_file import read_env_file
from mcp_actors.client.config.place import suggestion
from mcp_actors.client.config.section import Section

Kind = Literal["stdio", "http", "sse"]

#: Keys that say how a server is reached, by the kinds of servers that they mean something to.
_STDIO_KEYS: Final = frozenset({"command", "args", "env", "envFile", "cwd"})
_URL_KEYS: Final = frozenset({"url", "headers"})
_COMMON_KEYS: Final = frozenset({"type", "transport", "disabled", "enabled", OWN_KEY, *TIMEOUTS})
#: What other hosts keep here for themselves: approvals, names and pictures, their own sandboxes.
_FOREIGN_KEYS: Final = frozenset(
    {
        "alwaysAllow",
        "autoApprove",
        "description",
        "dev",
        "gallery",
        "icon",
        "prefix",
        "tool_filters",
        "version",
    }
)
_AUTHORIZATION_KEYS: Final = frozenset({"auth", "oauth"})
_FOREIGN_PREFIX: Final = "sandbox"
#: Spellings of the transports, without case, hyphens and underscores.
_KINDS: Final[dict[str, Kind]] = {"stdio": "stdio", "http": "http", "streamablehttp": "http", "sse": "sse"}
_KIND_NAMES: Final = ("stdio", "http", "streamable-http", "sse")
_HTTP_URL: Final = re.compile(r"https?://[^/\s]\S*", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEntry:
    """How one server is started or reached, with all variables expanded. What may be secret is not shown."""

    name: str
    kind: Kind
    command: tuple[str, ...] = field(default=(), repr=False)
    env: dict[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = None
    url: str | None = field(default=None, repr=False)
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    disabled: bool = False
    #: Keyword arguments for the constructor of the client.
    options: dict[str, Any] = field(default_factory=dict)


def read_entry(name: str, section: Section) -> ServerEntry:
    """The entry that a section describes; warns of keys that have no effect."""
    kind = _kind(section)
    _warn_of_idle_keys(section, kind)
    reached = _started(section) if kind == "stdio" else _addressed(section)
    return ServerEntry(
        name=name,
        kind=kind,
        disabled=section.flag("disabled", False) or not section.flag("enabled", True),
        options=read_options(section, kind),
        **reached,
    )


def says_disabled(given: object) -> bool:
    """Whether an entry that was not read yet switches its server off."""
    return isinstance(given, Mapping) and (given.get("disabled") is True or given.get("enabled") is False)


def _kind(section: Section) -> Kind:
    named = {_named_kind(section, key) for key in ("type", "transport") if key in section}
    if len(named) > 1:
        raise section.place.error("type and transport name different transports; keep one of them")
    kind = named.pop() if named else _guessed_kind(section)
    needed = "command" if kind == "stdio" else "url"
    if needed not in section:
        raise section.place.error(f"a server of type {kind} needs {needed!r}")
    return kind


def _guessed_kind(section: Section) -> Kind:
    # A path that ends in /sse proves nothing: Streamable HTTP may live there too.
    if ("command" in section) == ("url" in section):
        found = "both 'command' and 'url'" if "command" in section else "neither 'command' nor 'url'"
        raise section.place.error(f"has {found}; give one: a command to run, or the url of a running server")
    return "stdio" if "command" in section else "http"


def _named_kind(section: Section, key: str) -> Kind:
    word = section.word(key) or ""
    kind = _KINDS.get(re.sub("[-_]", "", word).lower())
    if kind is None:
        known = ", ".join(_KIND_NAMES)
        raise section.place.of_key(key).error(f"must be one of {known}{suggestion(word, _KIND_NAMES)}")
    return kind


def _warn_of_idle_keys(section: Section, kind: Kind) -> None:
    own, other = (_STDIO_KEYS, _URL_KEYS) if kind == "stdio" else (_URL_KEYS, _STDIO_KEYS)
    quiet = own | _COMMON_KEYS | _FOREIGN_KEYS
    for key in section.keys:
        if key in quiet or key.startswith(_FOREIGN_PREFIX):
            continue
        if key in _AUTHORIZATION_KEYS and kind != "stdio":
            # Each host means something else by it.
            section.place.of_key(key).warn(
                "not taken from a file: write headers, or pass auth= to from_config"
            )
        elif key in other:
            section.place.of_key(key).warn(f"has no effect on servers of type {kind}")
        else:
            section.place.of_key(key).warn(f"unknown key, ignored{suggestion(key, own | _COMMON_KEYS)}")


def _started(section: Section) -> dict[str, Any]:
    """The part of an entry that starts a process."""
    program = section.command("command")
    if not program or not program[0]:
        raise section.place.of_key("command").error("must name a program")
    return {
        "command": (*program, *section.texts("args")),
        "env": _environment(section),
        "cwd": section.path("cwd"),
    }


def _environment(section: Section) -> dict[str, str]:
    file = section.path("envFile")
    env = {} if file is None else read_env_file(file, section.place.of_key("envFile"))
    env.update(section.table("env"))
    for name in env:
        if not name or "=" in name or "\0" in name:
            raise section.place.of_key("env").error("holds a name that no environment variable can have")
    return env


def _addressed(section: Section) -> dict[str, Any]:
    """The part of an entry that reaches a running server."""
    url, headers = section.text("url") or "", section.table("headers")
    if not _HTTP_URL.fullmatch(url):
        raise section.place.of_key("url").error("must be an address that starts with http:// or https://")
    for name, value in headers.items():
        # An HTTP library refuses these too, with the value in its message.
        if "\n" in value or "\r" in value:
            raise section.place.of_key("headers").of_key(name).error("must be one line")
    return {"url": url, "headers": headers}
