"""What the library reports about itself: events, logs, crash reports.

``attach`` and ``flush`` belong to the bus of the process, ``mcp_actors.telemetry.bus.bus``.
"""

from __future__ import annotations

from mcp_actors.telemetry.bus import Bus
from mcp_actors.telemetry.bus import bus as _process_bus
from mcp_actors.telemetry.crash_report import CrashReport, Restart
from mcp_actors.telemetry.events import (
    EVENTS,
    ChildRestarted,
    ConnectionTransition,
    Event,
    NotificationReceived,
    NotificationsDropped,
    ProtocolViolation,
    RequestEvent,
    RequestFailed,
    RequestStarted,
    RequestStopped,
    TransportIo,
    UnknownResponse,
    new_correlation_id,
)
from mcp_actors.telemetry.frame_log import FrameLog
from mcp_actors.telemetry.gauges import ProcessGauges, process_gauges
from mcp_actors.telemetry.logs import log_events, logger_for, stderr_logger
from mcp_actors.telemetry.redaction import printable, redact

__all__ = [
    "EVENTS",
    "Bus",
    "ChildRestarted",
    "ConnectionTransition",
    "CrashReport",
    "Event",
    "FrameLog",
    "NotificationReceived",
    "NotificationsDropped",
    "ProcessGauges",
    "ProtocolViolation",
    "RequestEvent",
    "RequestFailed",
    "RequestStarted",
    "RequestStopped",
    "Restart",
    "TransportIo",
    "UnknownResponse",
    "attach",
    "flush",
    "log_events",
    "logger_for",
    "new_correlation_id",
    "printable",
    "process_gauges",
    "redact",
    "stderr_logger",
]

attach = _process_bus.attach
flush = _process_bus.flush
