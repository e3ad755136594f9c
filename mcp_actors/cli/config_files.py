"""Where configurations lie, and which server of which file is meant."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from mcp_actors.cli.mistake import Mistake
from mcp_actors.cli.output import remark
from mcp_actors.client.config import Config, ConfigError, load_config

#: In the folder where the command is run, in this order.
_HERE: Final = (".mcp.json", ".vscode/mcp.json", ".cursor/mcp.json")


def places() -> list[Path]:
    """Where a configuration is looked for, best first."""
    return [*map(Path, _HERE), _claude_desktop()]


def files() -> list[Path]:
    """Those that exist."""
    return [path for path in places() if path.is_file()]


def choose(file: Path | None, server: str | None) -> tuple[Config, str]:
    """The configuration and the server in it that are meant. Raises `Mistake`."""
    found = files() if file is None else [file]
    if not found:
        looked = "\n".join(f"    {place}" for place in places())
        raise Mistake(
            "no server was named: give its command after --, or --config FILE",
            f"  none of these files is there:\n{looked}",
        )
    # Later files are not even opened once the server is found: a mistake in them is not about it.
    configs = []
    for path in found:
        config = load(path)
        configs.append(config)
        if server in config.names or (server is None and config.names):
            return config, server or _only(config)
    known = "; ".join(f"{config.place}: {', '.join(config.names) or 'none'}" for config in configs)
    raise Mistake(f"no server {server!r}; there are {known}" if server else f"no servers: {known}")


def load(path: Path) -> Config:
    """Read a file. Raises `Mistake`."""
    with speaking():
        return load_config(path)


@contextmanager
def speaking() -> Iterator[None]:
    """Around everything that reads a configuration: what is wrong with it is said without a traceback."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
    except ConfigError as error:
        raise Mistake(str(error)) from error
    finally:
        for text in dict.fromkeys(str(one.message) for one in caught):
            remark(f"warning: {text}", "yellow")


def _only(config: Config) -> str:
    try:
        # Whoever opens the server reads its entry again, and then is the time to warn.
        with warnings.catch_warnings(action="ignore"):
            return config.only.name
    except ConfigError as error:
        hint = "  --server NAME says which one" if len(config.names) > 1 else ""
        raise Mistake(str(error), hint) from error


def _claude_desktop() -> Path:
    if sys.platform == "darwin":
        settings = Path.home() / "Library" / "Application Support"
    else:
        settings = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return settings / "Claude" / "claude_desktop_config.json"
