"""A transport of the user's own: any object that keeps the contract can be connected."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from mcp_actors import Client, errors
from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.transports.contract import OpenFailed, SendVerdict, Wire, WireEnded, WireStats
from mcp_actors.transports.memory import MemoryTransport
from tests.client.conftest import quick
from tests.client.toy_host import SILENCE, ToyHost, text
from tests.client.waiting import BOUND, until


class OwnWire:
    """A wire that passes everything on, and breaks where a test tells it to."""

    def __init__(self, inner: Wire, owner: OwnTransport) -> None:
        self._inner = inner
        self._owner = owner

    def wait(self) -> None:
        self._inner.wait()

    def read(self, limit: int | None) -> list[bytes]:
        self._owner.limits.append(limit)
        if self._owner.reading_fails:
            raise self._owner.reading_fails.pop()
        return self._inner.read(limit)

    def send(self, frame: bytes, token: int | None) -> SendVerdict:
        return self._inner.send(frame, token)

    def flush(self, deadline: Deadline) -> bool:
        return self._inner.flush(deadline)

    def close(self, deadline: Deadline) -> Ending:
        return self._inner.close(deadline)

    def stats(self) -> WireStats:
        return self._inner.stats()

    def forget(self) -> None:
        self._inner.forget()


class OwnTransport:
    """A transport as a user may write one."""

    label = "mine"

    def __init__(self, host: ToyHost) -> None:
        self._inner = MemoryTransport(host)
        self.opening_fails: list[Exception] = []
        self.reading_fails: list[Exception] = []
        self.limits: list[int | None] = []

    def open(self, deadline: Deadline) -> OwnWire:
        if self.opening_fails:
            raise self.opening_fails.pop()
        return OwnWire(self._inner.open(deadline), self)

    def describe(self) -> Mapping[str, object]:
        return {"command": ["mine", "--token=abcdef0123456789"], "secrets": ["abcdef0123456789"]}


@pytest.fixture
def own(host: ToyHost) -> OwnTransport:
    return OwnTransport(host)


@pytest.fixture
def connect(own: OwnTransport) -> Iterator[Callable[..., Client]]:
    made: list[Client] = []

    def make(**options: Any) -> Client:
        made.append(Client.connect(transport=own, **quick(options)))
        return made[-1]

    yield make
    for client in made:
        client.close()


@pytest.mark.requirement("transport:custom")
def test_a_transport_of_ones_own_plugs_in(connect: Callable[..., Client]) -> None:
    client = connect().wait_ready()
    assert client.name == "mine"
    assert client.call_tool("echo", {"a": 1}).text == '{"a": 1}'
    assert client.stats().wire.frames_out == 2


@pytest.mark.requirement("transport:custom")
def test_what_it_tells_about_its_server_is_in_the_crash_report_without_secrets(
    connect: Callable[..., Client], host: ToyHost
) -> None:
    client = connect().wait_ready()
    host.answers["tools/call"] = lambda _: host.drop() or SILENCE  # type: ignore[func-returns-value]
    with pytest.raises(errors.ConnectionLost) as caught:
        client.call_tool("echo")
    assert "abcdef0123456789" not in str(caught.value)
    assert caught.value.crash_report is not None
    assert caught.value.crash_report.command[0] == "mine"


@pytest.mark.requirement("transport:custom")
@pytest.mark.parametrize("error", [LookupError("mine"), OSError(5, "io")])
def test_an_error_of_its_reading_ends_that_wire_and_nothing_else(
    error: Exception, connect: Callable[..., Client], own: OwnTransport, host: ToyHost
) -> None:
    client = connect().wait_ready()
    host.answers["tools/call"] = lambda _: own.reading_fails.append(error) or text("x")  # type: ignore[func-returns-value]
    with pytest.raises(errors.ConnectionLost, match=f"reading failed: {type(error).__name__}"):
        client.call_tool("echo")
    host.answers["tools/call"] = lambda _: text("fine")
    assert client.call_tool("echo", wait=True).text == "fine"
    assert client.stats().restarts == 0


@pytest.mark.requirement("transport:custom")
def test_its_refusals_are_retried_unless_they_are_hopeless(
    connect: Callable[..., Client], own: OwnTransport
) -> None:
    own.opening_fails = [OpenFailed(Ending(EndKind.REFUSED, "not yet"))] * 2
    assert connect().call_tool("echo").text == "null"
    own.opening_fails = [OpenFailed(Ending(EndKind.IMPOSSIBLE, "never"))]
    with pytest.raises(errors.StartFailed, match="mine could not be started: never"):
        connect().wait_ready()


def test_an_unexpected_error_of_its_opening_costs_a_restart_and_is_survived(
    connect: Callable[..., Client], own: OwnTransport
) -> None:
    own.opening_fails = [LookupError("a bug of the transport")]
    client = connect()
    assert client.call_tool("echo").text == "null"
    assert client.stats().restarts == 1


@pytest.mark.requirement("flow:os-pushback")
def test_window_and_frames_per_permit_reach_the_wire(
    connect: Callable[..., Client], own: OwnTransport, host: ToyHost
) -> None:
    client = connect(window=3, frames_per_permit=1).wait_ready()
    for number in range(100):
        host.notify("x", number=number)
    assert client.call_tool("echo").text == "null"
    assert set(own.limits) == {1}
    until(lambda: client.stats().lane.unheard == 100)


def test_an_end_told_by_reading_is_the_end_that_callers_hear_of(
    connect: Callable[..., Client], own: OwnTransport, host: ToyHost
) -> None:
    client = connect().wait_ready()
    ended = WireEnded(Ending(EndKind.BROKEN, "the cable was cut"))
    host.answers["tools/call"] = lambda _: own.reading_fails.append(ended) or text("x")  # type: ignore[func-returns-value]
    error = client.submit_tool("echo").exception(BOUND)
    assert isinstance(error, errors.ConnectionLost)
    assert "the cable was cut" in str(error)
