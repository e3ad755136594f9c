"""A configuration: the servers that a file or a mapping describes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

from mcp_actors.client.config.document import parse_document, servers_of
from mcp_actors.client.config.expansion import Expansion, workspace_folder
from mcp_actors.client.config.place import Place, suggestion
from mcp_actors.client.config.section import Section
from mcp_actors.client.config.server_entry import ServerEntry, read_entry, says_disabled
from mcp_actors.client.config.text_file import read_text
from mcp_actors.client.outgoing import check_text

_NO_FILE: Final = "configuration"


class Config:
    """The servers of a configuration. Each is read when it is asked for: a mistake spoils no other."""

    def __init__(self, place: Place, servers: Mapping[str, Any], expansion: Expansion) -> None:
        self.place = place
        self._servers = servers
        self._expansion = expansion

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all servers, disabled ones included, in the order of the configuration."""
        return tuple(self._servers)

    def entry(self, name: str) -> ServerEntry:
        """The server of this name, with its variables expanded now.

        Raises:
            ConfigError: there is no such server, its entry has a mistake, or a variable is not set.
        """
        if check_text("name", name) not in self._servers:
            raise self.place.error(f"no server {name!r}{suggestion(name, self.names)}; {self._listed()}")
        return read_entry(name, Section(self.place.of_server(name), self._servers[name], self._expansion))

    @property
    def only(self) -> ServerEntry:
        """The one server of a configuration that has no other, or whose others are all disabled.

        Raises:
            ConfigError: there is none, or more than one; or as for ``entry``.
        """
        enabled = tuple(name for name, given in self._servers.items() if not says_disabled(given))
        candidates = enabled or self.names
        if len(candidates) != 1:
            raise self.place.error(f"say which server you want; {self._listed()}")
        return self.entry(candidates[0])

    def __repr__(self) -> str:
        return f"<Config {self.place}: {self._listed()}>"

    def _listed(self) -> str:
        return f"it has {', '.join(self.names)}" if self._servers else "it has none"


def load_config(
    source: str | os.PathLike[str] | Mapping[str, Any], *, environ: Mapping[str, str] = os.environ
) -> Config:
    """The configuration in a file, or in a mapping that was read from one.

    Raises:
        ConfigError: the file cannot be read, is no JSON, or holds no servers.
    """
    if isinstance(source, Mapping):
        place = Place(_NO_FILE)
        return Config(place, servers_of(source, place), Expansion(environ))
    if not isinstance(source, str | os.PathLike):
        raise TypeError(f"source must be a path or a mapping, not {type(source).__name__}")
    file = os.path.expanduser(os.fspath(source))
    # Such a string is not shown: it is a whole configuration.
    if file.lstrip().startswith("{"):
        raise Place(_NO_FILE).error("a string is taken as the path of a file; pass JSON as a dict")
    place = Place(file)
    document = parse_document(read_text(file, place), place)
    return Config(place, servers_of(document, place), Expansion(environ, workspace_folder(file)))
