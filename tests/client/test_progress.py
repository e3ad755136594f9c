"""Progress of a blocking call: on the caller's own thread, before the call returns, and no longer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors import Client, Progress, errors
from tests.client.toy_host import SILENCE, VERSIONS, ToyHost, text
from tests.client.waiting import in_thread

MakeClient = Callable[..., Client]
MakeHost = Callable[..., ToyHost]


@pytest.mark.requirement("request:progress")
@pytest.mark.parametrize("version", VERSIONS)
def test_progress_comes_on_the_callers_own_thread_before_the_call_returns(
    version: str, make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(version=version)

    def answer(request: dict[str, Any]) -> Any:
        host.progress(request, 1, total=3, message="one")
        host.progress(request, 2.5)
        host.notify("notifications/progress", progressToken=request["id"] + 1, progress=99)
        return text("done")

    host.answers["tools/call"] = answer
    heard: list[tuple[threading.Thread, Progress]] = []
    client = make_client(host)
    client.call_tool("echo", on_progress=lambda news: heard.append((threading.current_thread(), news)))
    token = host.await_heard("tools/call")["id"]
    assert heard == [
        (threading.current_thread(), Progress(1.0, 3.0, "one", token)),
        (threading.current_thread(), Progress(2.5, None, None, token)),
    ]


@pytest.mark.requirement("request:progress")
def test_progress_after_the_end_is_dropped(client: Client, host: ToyHost) -> None:
    heard: list[Progress] = []
    client.on_progress(heard.append)
    client.call_tool("echo", on_progress=heard.append)
    host.progress(host.await_heard("tools/call"), 1)
    client.ping()
    assert heard == []


def test_no_progress_is_asked_for_unless_somebody_wants_it(client: Client, host: ToyHost) -> None:
    client.call_tool("echo")
    assert "progressToken" not in host.await_heard("tools/call")["params"]["_meta"]


def test_an_on_progress_that_raises_ends_its_own_call_and_cancels_upstream(
    client: Client, host: ToyHost
) -> None:
    def answer(request: dict[str, Any]) -> Any:
        host.progress(request, 1)
        return SILENCE

    def fail(_: Progress) -> None:
        raise LookupError("mine")

    host.answers["tools/call"] = answer
    with pytest.raises(LookupError, match="mine"):
        client.call_tool("echo", on_progress=fail)
    request = host.await_heard("tools/call")
    host.await_heard("notifications/cancelled", requestId=request["id"], reason="interrupted")
    client.ping()


@pytest.mark.parametrize("value", ["x", None, [], {}, True, 1e308, -5, 2**80])
def test_progress_of_any_shape_is_survived(value: Any, client: Client, host: ToyHost) -> None:
    def answer(request: dict[str, Any]) -> Any:
        host.progress(request, value, total=value, message=value)
        return text("done")

    host.answers["tools/call"] = answer
    heard: list[Progress] = []
    assert client.call_tool("echo", on_progress=heard.append).text == "done"
    assert [type(one.progress) for one in heard] == [float]


def test_steady_progress_does_not_extend_the_deadline(client: Client, host: ToyHost) -> None:
    stop = threading.Event()

    def answer(request: dict[str, Any]) -> Any:
        def talk() -> None:
            number = 0
            while not stop.wait(0.001):
                number += 1
                host.progress(request, number)

        in_thread(talk)
        return SILENCE

    host.answers["tools/call"] = answer
    try:
        with pytest.raises(errors.RequestTimeout):
            client.call_tool("echo", timeout=0.1, on_progress=lambda _: None)
    finally:
        stop.set()
