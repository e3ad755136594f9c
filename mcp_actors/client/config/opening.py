"""From a configuration to a client of one of its servers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from mcp_actors.client.config.config_file import Config, load_config

if TYPE_CHECKING:
    from mcp_actors.client.client import Client

C = TypeVar("C", bound="Client")
Source = str | os.PathLike[str] | Mapping[str, Any] | Config


def open_client(client_class: type[C], source: Source, name: str | None, overrides: Mapping[str, Any]) -> C:
    """A client of the server ``name``, or of the only one. ``overrides`` win over what the entry says.

    Raises:
        ConfigError: the configuration or the entry cannot be used, or the server is disabled.
    """
    config = source if isinstance(source, Config) else load_config(source)
    entry = config.only if name is None else config.entry(name)
    if entry.disabled:
        raise config.place.of_server(entry.name).error(
            "the server is disabled; enable it in its entry to use it"
        )
    # Each kind of server has a constructor of the same name.
    constructor = getattr(client_class, entry.kind)
    settings: dict[str, Any] = {"env": entry.env, "cwd": entry.cwd}
    target: object = entry.command
    if entry.kind != "stdio":
        settings, target = {"headers": entry.headers}, entry.url
    try:
        client: C = constructor(target, **{**settings, **entry.options, **overrides})
    except (TypeError, ValueError) as error:
        # Such an error begins with the option. What the caller gave is the caller's own mistake.
        if str(error).partition(" ")[0] in entry.options.keys() - overrides.keys():
            raise config.place.of_server(entry.name).error(str(error)) from error
        raise
    return client
