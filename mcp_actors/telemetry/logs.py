"""Telemetry as ``logging`` records, and the names of the loggers.

Each line opens with a sign: ``<`` in, ``>`` out, ``=`` state, ``%`` timer, ``!`` error. The event itself is
the record's ``mcp`` attribute, for handlers that write structured logs.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from mcp_actors.telemetry.bus import Bus, bus
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
)
from mcp_actors.telemetry.redaction import presentable

__all__ = ["log_events", "logger_for", "stderr_logger"]

_LONGEST_NAME: Final = 64
_LONGEST_TEXT: Final = 300
_UNFIT: Final = re.compile(r"[^\w\-]")

Line: TypeAlias = Callable[[Any], str]


def logger_for(client_name: str) -> logging.Logger:
    """The logger of one client: ``mcp_actors.client.<name>``."""
    return logging.getLogger(f"mcp_actors.client.{_fit(client_name)}")


def stderr_logger(name: str) -> logging.Logger:
    """The logger that gets what one server writes to stderr: ``mcp_actors.stderr.<name>``."""
    return logging.getLogger(f"mcp_actors.stderr.{_fit(name)}")


def log_events(level: int | str = logging.INFO, *, source: Bus = bus) -> Callable[[], None]:
    """Log every event whose level is at least ``level``; returns the function that stops it.

    INFO shows state changes, failed requests and everything worse; DEBUG also every request and frame.
    """
    threshold = _level_number(level)
    wanted = [kind for kind in EVENTS if LINES[kind][0] >= threshold]
    return source.attach(log_event, *wanted) if wanted else _nothing_to_detach


def log_event(event: Event) -> None:
    """Write one event to the logger of its client."""
    level, line = LINES[type(event)]
    logger = logger_for(event.client)
    if logger.isEnabledFor(level):
        logger.log(level, "%s", line(event), extra={"mcp": _structured(event)})


def _started(event: RequestStarted) -> str:
    return f"> {_request(event)} [{event.correlation_id}]"


def _stopped(event: RequestStopped) -> str:
    return f"< {_request(event)} in {event.duration:.3f} s [{event.correlation_id}]"


def _failed(event: RequestFailed) -> str:
    sign = "%" if event.error_type == "timeout" else "!"
    outcome = f"{event.error_type} after {event.duration:.3f} s"
    return f"{sign} {_request(event)}: {outcome} [{event.correlation_id}]"


def _transition(event: ConnectionTransition) -> str:
    return f"= {event.before} -> {event.after}" + (f": {_text(event.reason)}" if event.reason else "")


def _notification(event: NotificationReceived) -> str:
    return f"< {_text(event.method)}"


def _dropped(event: NotificationsDropped) -> str:
    return f"! {event.dropped} notifications dropped, {event.merged} merged: the handlers are too slow"


def _violation(event: ProtocolViolation) -> str:
    where = f" in a frame of {event.frame_bytes} bytes" if event.frame_bytes else ""
    detail = f": {_text(event.detail)}" if event.detail else ""
    return f"! protocol violation {_text(event.kind)}{where}{detail}"


def _unknown(event: UnknownResponse) -> str:
    kind = "late answer" if event.late else "answer to an unknown request"
    return f"< {kind} dropped, id={_text(event.request_id)}"


def _io(event: TransportIo) -> str:
    sign = "<" if event.direction == "in" else ">"
    return f"{sign} {event.frames} frames, {event.bytes} bytes"


def _restarted(event: ChildRestarted) -> str:
    return f"! {event.child} restarted after a bug: {_text(event.error)}"


# Warnings only for what an operator can act on; a failed request is the business of its caller.
LINES: Final[dict[type[Event], tuple[int, Line]]] = {
    RequestStarted: (logging.DEBUG, _started),
    RequestStopped: (logging.DEBUG, _stopped),
    RequestFailed: (logging.INFO, _failed),
    ConnectionTransition: (logging.INFO, _transition),
    NotificationReceived: (logging.DEBUG, _notification),
    NotificationsDropped: (logging.WARNING, _dropped),
    ProtocolViolation: (logging.WARNING, _violation),
    UnknownResponse: (logging.DEBUG, _unknown),
    TransportIo: (logging.DEBUG, _io),
    ChildRestarted: (logging.ERROR, _restarted),
}


def _request(event: RequestEvent) -> str:
    return f"{_text(event.method)} id={_text(event.request_id)}"


def _structured(event: Event) -> dict[str, object]:
    return {
        name: _text(value) if isinstance(value, str) else value for name, value in event.to_json().items()
    }


def _text(value: object) -> str:
    # Methods, ids and details come from the peer: data, not terminal commands, and possibly with secrets.
    return presentable(str(value), _LONGEST_TEXT)


def _fit(name: str) -> str:
    # A dot would open a new level of the logger tree.
    return _UNFIT.sub("_", name[:_LONGEST_NAME]) or "unnamed"


def _level_number(level: int | str) -> int:
    number = logging.getLevelNamesMapping().get(level.upper()) if isinstance(level, str) else level
    if number is None:
        raise ValueError(f"not a logging level: {level!r}")
    return number


def _nothing_to_detach() -> None:
    return None
