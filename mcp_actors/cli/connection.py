"""From a target to a client that is ready."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any, Final

from mcp_actors import Client, telemetry
from mcp_actors.cli.config_files import choose, speaking
from mcp_actors.cli.mistake import Mistake
from mcp_actors.cli.output import json_text, one_line, remark
from mcp_actors.cli.target import Target
from mcp_actors.client.config.opening import open_client
from mcp_actors.protocol.types import LogMessageParams
from mcp_actors.runtime.deadline import Deadline

#: Somebody waits before the screen. The second start is for servers that end at a question unknown to them.
_IMPATIENCE: Final[dict[str, Any]] = {"max_failed_starts": 2, "backoff_min": 0.2}
_STDERR: Final = "mcp_actors.stderr."
_CONNECTION: Final = "mcp_actors.client."
_LAST_WORDS: Final = 0.5


@contextmanager
def connected(target: Target, **options: Any) -> Iterator[Client]:
    """A client that is ready, and closed in the end, whatever happens. Raises `Mistake` and `McpError`."""
    with ExitStack() as stack:
        if target.verbose:
            stack.enter_context(_talkative(target.verbose))
        client = stack.enter_context(closing(_client(target, {**_options(target), **options})))
        if target.verbose:
            stack.callback(_hear_out, client)
        client.start().wait_ready(target.timeout)
        yield client


def _options(target: Target) -> dict[str, Any]:
    options = dict(_IMPATIENCE)
    if target.timeout is not None:
        options |= {"request_timeout": target.timeout, "init_timeout": target.timeout}
    if target.protocol is not None:
        options["protocol"] = target.protocol
    if target.verbose:
        options["log_handler"] = _show_message
    return options


def _client(target: Target, options: dict[str, Any]) -> Client:
    try:
        if target.url is not None:
            return Client.http(target.url, headers=target.headers(), **options)
        if target.command:
            env, cwd = target.environment(), target.cwd
            return Client.stdio(target.command, env=env, cwd=cwd, **options)
        return _configured(target, options)
    except ValueError as error:
        # An option whose value cannot be used, such as a revision that nobody knows.
        raise Mistake(str(error)) from error


def _configured(target: Target, options: dict[str, Any]) -> Client:
    config, name = choose(target.config, target.server)
    with speaking():
        # Read only where it matters: what an entry is warned of is said each time that it is read.
        if (target.env or target.cwd is not None) and config.entry(name).kind != "stdio":
            target.forbid_surroundings(name)
        if target.env:
            options["env"] = {**config.entry(name).env, **target.environment()}
        if target.cwd is not None:
            options["cwd"] = target.cwd
        return open_client(Client, config, name, options)


@contextmanager
def _talkative(verbose: int) -> Iterator[None]:
    level = logging.INFO if verbose == 1 else logging.DEBUG
    logger, handler = logging.getLogger("mcp_actors"), _Remarks()
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(level)
    stop = telemetry.log_events(level)
    try:
        yield
    finally:
        telemetry.flush(1.0)
        stop()
        logger.setLevel(before)
        logger.removeHandler(handler)


class _Remarks(logging.Handler):
    """Log lines on stderr: what the server writes is marked with a bar, what happens with its sign."""

    def filter(self, record: logging.LogRecord) -> bool:
        """What a connection logs by itself is among the events, which carry the attribute."""
        return hasattr(record, "mcp") or not record.name.startswith(_CONNECTION)

    def emit(self, record: logging.LogRecord) -> None:
        name, text = record.name.rpartition(".")[2], one_line(record.getMessage())
        remark(f"{name} | {text}" if record.name.startswith(_STDERR) else f"{name} {text}")


def _show_message(message: LogMessageParams) -> None:
    data = message.data if isinstance(message.data, str) else json_text(message.data, indent=None)
    remark(f"{message.level}: {one_line(data)}")


def _hear_out(client: Client) -> None:
    """Let the last messages be shown: they come before the result, but on a thread of their own."""
    deadline = Deadline.after(_LAST_WORDS)
    while client.stats().lane.depth and not deadline.expired:
        time.sleep(0.01)
