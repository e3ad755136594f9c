"""Crash reports: what is known about the server at the moment a call fails."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp_actors.client.failures import describe
from mcp_actors.client.wiring import Wiring
from mcp_actors.protocol.endings import Ending
from mcp_actors.telemetry.crash_report import CrashReport, signal_name
from mcp_actors.transports.contract import Describes


def crash_report(wiring: Wiring, loss: Ending | None = None) -> CrashReport:
    """The report as of now. Any thread. ``loss`` ended a call; the connection may have survived it."""
    board, facts = wiring.board, _facts(wiring)
    ending = board.last_ending if board.opened_at is None else None
    secrets = tuple(facts.get("secrets", ()))
    return CrashReport(
        server=wiring.transport.label,
        reason=describe(loss or board.cause) or (ending.reason if ending else "the server is running"),
        command=tuple(facts.get("command", ())),
        cwd=facts.get("cwd"),
        url=facts.get("url"),
        proxy=facts.get("proxy"),
        stderr_tail=tuple(ending.stderr_tail if ending else facts.get("stderr_tail", ())),
        frames_sent=board.frames.last_sent(secrets),
        frames_received=board.frames.last_received(secrets),
        uptime=board.uptime,
        state=board.state.value,
        restarts=board.losses,
        attempts=board.attempts,
        protocol_version=board.agreement.revision.version if board.agreement else None,
        secrets=secrets,
        **_exit(ending, facts),
    )


def secrets_of(wiring: Wiring) -> tuple[str, ...]:
    """What no error may repeat. Any thread."""
    return tuple(_facts(wiring).get("secrets", ()))


def _facts(wiring: Wiring) -> Mapping[str, Any]:
    transport = wiring.transport
    return transport.describe() if isinstance(transport, Describes) else {}


def _exit(ending: Ending | None, facts: Mapping[str, Any]) -> dict[str, Any]:
    if ending is None:
        return {"pid": facts.get("pid")}
    signal = None if ending.signal is None else signal_name(ending.signal)
    return {"pid": ending.pid, "exit_code": ending.exit_code, "signal": signal}
