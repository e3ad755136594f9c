"""What a client reports about itself: events, logs, numbers; and that it costs nothing unasked."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mcp_actors import Client, errors, telemetry
from mcp_actors.telemetry import events as T
from mcp_actors.telemetry.bus import bus
from tests.client.toy_host import SILENCE, Refusal, ToyHost
from tests.client.waiting import BOUND, until

MakeClient = Callable[..., Client]


class Recorder:
    """Collects events until it is detached."""

    def __init__(self) -> None:
        self.events: list[T.Event] = []

    def of(self, kind: type[T.Event]) -> list[Any]:
        assert telemetry.flush(BOUND)
        return [event for event in self.events if isinstance(event, kind)]


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    one = Recorder()
    detach = telemetry.attach(one.events.append)
    yield one
    detach()


@pytest.mark.requirement("telemetry:events")
def test_a_request_is_told_from_start_to_stop(recorder: Recorder, client: Client) -> None:
    client.call_tool("echo")
    (started,), (stopped,) = recorder.of(T.RequestStarted), recorder.of(T.RequestStopped)
    assert (started.client, started.method) == ("memory", "tools/call")
    assert started.correlation_id == stopped.correlation_id
    assert started.request_id == stopped.request_id
    assert stopped.duration >= 0
    assert recorder.of(T.RequestFailed) == []


@pytest.mark.requirement("telemetry:events")
def test_every_failure_is_told_with_the_type_of_its_error(
    recorder: Recorder, client: Client, host: ToyHost
) -> None:
    def refuse(_: Any) -> Any:
        raise Refusal(-32000, "no")

    host.answers["tools/call"] = refuse
    with pytest.raises(errors.RemoteError):
        client.call_tool("a")
    host.answers["tools/call"] = lambda _: SILENCE
    with pytest.raises(errors.RequestTimeout):
        client.call_tool("b", timeout=0.01)
    future = client.submit_tool("c")
    host.await_heard("tools/call", 3)
    future.cancel()
    until(lambda: client.stats().pending == 0)
    lost = client.submit_tool("d")
    host.await_heard("tools/call", 4)
    host.drop()
    with pytest.raises(errors.ConnectionLost):
        lost.result(BOUND)
    host.await_wires(2)
    client.wait_ready()
    closed = client.submit_tool("e")
    host.await_heard("tools/call", 5)
    client.close()
    with pytest.raises(errors.ClientClosed):
        closed.result(BOUND)
    assert [event.error_type for event in recorder.of(T.RequestFailed)] == [
        "jsonrpc",
        "timeout",
        "cancelled",
        "transport",
        "shutdown",
    ]
    assert len(recorder.of(T.RequestStarted)) == 5


@pytest.mark.requirement("telemetry:events")
def test_transitions_are_told_in_order_with_reasons(
    recorder: Recorder, host: ToyHost, make_client: MakeClient
) -> None:
    client = make_client(host).wait_ready()
    host.drop()
    until(lambda: client.stats().reconnects == 1)
    client.close()
    assert [(event.before, event.after, event.reason) for event in recorder.of(T.ConnectionTransition)] == [
        ("starting", "initializing", ""),
        ("initializing", "ready", ""),
        ("ready", "backoff", "the server exited with code 7"),
        ("backoff", "initializing", "the server exited with code 7"),
        ("initializing", "ready", ""),
        ("ready", "closing", ""),
    ]


@pytest.mark.requirement("telemetry:events")
def test_notifications_violations_unknown_answers_and_bytes_are_told(
    recorder: Recorder, client: Client, host: ToyHost
) -> None:
    host.notify("notifications/message", data=1)
    host.say_bytes(b"rubbish")
    host.say({"jsonrpc": "2.0", "id": 4711, "result": {}})
    client.ping()
    assert [event.method for event in recorder.of(T.NotificationReceived)] == ["notifications/message"]
    assert [event.kind for event in recorder.of(T.ProtocolViolation)] == ["malformed"]
    assert [(event.request_id, event.late) for event in recorder.of(T.UnknownResponse)] == [(4711, False)]
    moved = recorder.of(T.TransportIo)
    assert {event.direction for event in moved} == {"in", "out"}
    assert sum(event.bytes for event in moved if event.direction == "in") == client.stats().wire.bytes_in


@pytest.mark.requirement("telemetry:free")
def test_nothing_is_made_while_nobody_listens(
    client: Client, host: ToyHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise AssertionError("an event was emitted")

    monkeypatch.setattr(type(bus), "emit", fail)
    client.call_tool("echo")
    host.notify("x")
    host.say_bytes(b"rubbish")
    client.ping()
    assert client.state == "ready"
    assert client.stats().restarts == 0


def test_a_telemetry_handler_that_raises_harms_no_call(client: Client) -> None:
    def fail(_: T.Event) -> None:
        raise LookupError("mine")

    detach = telemetry.attach(fail)
    try:
        assert client.call_tool("echo").text == "null"
        telemetry.flush(BOUND)
    finally:
        detach()


@pytest.mark.requirement("telemetry:logs")
def test_each_client_logs_under_its_own_name(
    host: ToyHost, make_client: MakeClient, caplog: pytest.LogCaptureFixture
) -> None:
    client = make_client(host, name="weather.one").wait_ready()
    with caplog.at_level(logging.INFO):
        host.drop()
        until(lambda: client.stats().reconnects == 1)
    lines = [record for record in caplog.records if record.name == "mcp_actors.client.weather_one"]
    assert [(line.levelno, line.getMessage()) for line in lines] == [
        (logging.WARNING, "= ready -> backoff the server exited with code 7")
    ]


@pytest.mark.requirement("telemetry:logs")
def test_a_healthy_client_logs_no_warning(
    host: ToyHost, make_client: MakeClient, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        client = make_client(host)
        client.call_tool("echo")
        client.list_tools()
        client.close()
    assert caplog.records == []


@pytest.mark.requirement("transport:stats")
def test_stats_count_bytes_frames_and_reconnects(client: Client, host: ToyHost) -> None:
    client.call_tool("echo")
    wire = client.stats().wire
    assert (wire.frames_out, wire.frames_in) == (2, 2)
    assert wire.bytes_out > 100
    assert wire.bytes_in > 100
    assert wire.backlog_bytes == 0
    host.drop()
    until(lambda: client.stats().reconnects == 1)
    stats = client.stats()
    assert stats.wire.frames_out == 1
    assert set(stats.mailboxes) == {"supervisor", "transport", "pool", "connection"}
    assert (stats.restarts, stats.in_flight, stats.parked) == (0, 0, False)
    assert stats.uptime is not None


@pytest.mark.requirement("error:crash-report")
def test_the_crash_report_of_a_running_server_says_that_it_runs(client: Client) -> None:
    report = client.crash_report
    assert report is not None
    assert (report.server, report.reason, report.state) == ("memory", "the server is running", "ready")
    assert "server/discover" in report.frames_sent[0]
    assert "supportedVersions" in report.frames_received[0]


@pytest.mark.requirement("error:crash-report")
def test_the_crash_report_hides_secrets(client: Client, host: ToyHost) -> None:
    host.answers["tools/call"] = lambda _: host.drop() or SILENCE  # type: ignore[func-returns-value]
    with pytest.raises(errors.ConnectionLost) as caught:
        client.call_tool("login", {"password": "hunter2-hunter2", "api_key": "sk-abcdef0123456789abcdef"})
    assert caught.value.crash_report is not None
    shown = caught.value.crash_report.render() + str(caught.value)
    assert "hunter2" not in shown
    assert "abcdef0123456789" not in shown
    assert "tools/call" in shown


@pytest.mark.requirement("error:crash-report")
def test_the_restarts_are_kept_but_not_without_bound(client: Client, host: ToyHost) -> None:
    for number in range(20):
        host.drop(f"the server exited with code {number}")
        until(lambda number=number: client.stats().reconnects == number + 1)  # type: ignore[misc]
    report = client.crash_report
    assert report is not None
    assert len(report.restarts) == 16
    assert report.restarts[-1].reason == "the server exited with code 19"
