"""The telemetry of requests: started, stopped, failed. Costs nothing while nobody listens."""

from __future__ import annotations

import time
from typing import NamedTuple

from mcp_actors.client.failures import error_type
from mcp_actors.protocol.outcomes import CallOutcome, Completed, WaitOutcome
from mcp_actors.protocol.pending import Caller, Flight
from mcp_actors.telemetry.bus import Bus
from mcp_actors.telemetry.events import RequestFailed, RequestStarted, RequestStopped, new_correlation_id


class _Span(NamedTuple):
    method: str
    request_id: int
    correlation_id: str
    began: float


class Spans:
    """Belongs to the Connection actor's thread."""

    def __init__(self, bus: Bus, client: str) -> None:
        self._bus = bus
        self._client = client
        self._open: dict[Caller, _Span] = {}

    def begin(self, flight: Flight, began: float | None = None) -> None:
        """A request is written for the first time: now, or by its caller since ``began``."""
        moment = time.monotonic() if began is None else began
        span = _Span(flight.method, flight.id, new_correlation_id(), moment)
        self._open[flight.caller] = span
        self._bus.emit(RequestStarted(self._client, span.method, span.request_id, span.correlation_id))

    def end(self, caller: Caller, outcome: CallOutcome | WaitOutcome) -> None:
        """A caller got its answer."""
        span = self._open.pop(caller, None)
        if span is None:
            return
        duration = time.monotonic() - span.began
        about = (self._client, span.method, span.request_id, span.correlation_id, duration)
        if isinstance(outcome, Completed):
            self._bus.emit(RequestStopped(*about))
        else:
            self._bus.emit(RequestFailed(*about, error_type(outcome)))
