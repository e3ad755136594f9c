"""Servers described in a configuration file: Claude Desktop's, Claude Code's, Cursor's, VS Code's."""

from __future__ import annotations

from mcp_actors.client.config.config_file import Config, load_config
from mcp_actors.client.config.place import ConfigError, ConfigWarning
from mcp_actors.client.config.server_entry import ServerEntry

__all__ = ["Config", "ConfigError", "ConfigWarning", "ServerEntry", "load_config"]
