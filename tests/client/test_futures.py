"""submit_tool: futures as the standard library knows them, cancelled upstream, never settled by an actor."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, as_completed, wait
from typing import Any

import pytest

from mcp_actors import Client, Progress, errors
from tests.client.toy_host import SILENCE, Refusal, ToyHost, text
from tests.client.waiting import BOUND, in_thread, opened_at_the_end, until

MakeClient = Callable[..., Client]


def test_a_future_of_the_standard_library_comes_back_at_once(client: Client, host: ToyHost) -> None:
    host.answers["tools/call"] = lambda _: SILENCE
    future = client.submit_tool("echo", {"a": 1})
    assert isinstance(future, Future)
    assert not future.done()
    host.reply(host.await_heard("tools/call"), text("x"))
    assert future.result(BOUND).text == "x"
    assert future.exception() is None
    assert not future.cancel()


def test_the_first_submit_starts_the_client(host: ToyHost, make_client: MakeClient) -> None:
    assert make_client(host).submit_tool("echo").result(BOUND).text == "null"


def test_as_completed_gives_them_in_the_order_of_their_answers(client: Client, host: ToyHost) -> None:
    host.answers["tools/call"] = lambda _: SILENCE
    futures: dict[Future[Any], int] = {
        client.submit_tool("echo", {"n": number}): number for number in range(3)
    }
    host.await_heard("tools/call", 3)
    requests = {one["params"]["arguments"]["n"]: one for one in host.all_heard("tools/call")}
    order = []
    finished = as_completed(futures, timeout=BOUND)
    for number in (2, 0, 1):
        host.reply(requests[number], text(str(number)))
        order.append(futures[next(finished)])
    assert order == [2, 0, 1]


def test_wait_is_woken_by_a_cancelled_future(client: Client, host: ToyHost) -> None:
    host.answers["tools/call"] = lambda _: SILENCE
    futures = [client.submit_tool("echo") for _ in range(2)]
    host.await_heard("tools/call", 2)
    waiting = in_thread(lambda: wait(futures, BOUND, FIRST_COMPLETED))
    assert futures[0].cancel()
    assert waiting.result(BOUND).done == {futures[0]}
    assert futures[1].cancel()


@pytest.mark.requirement("request:cancel-caller")
@pytest.mark.requirement("request:cancel-idempotent")
def test_cancelling_in_flight_cancels_upstream_once_and_the_connection_stays_ready(
    client: Client, host: ToyHost, caplog: pytest.LogCaptureFixture
) -> None:
    host.answers["tools/call"] = lambda _: SILENCE
    future = client.submit_tool("echo")
    request = host.await_heard("tools/call")
    with caplog.at_level(logging.DEBUG, "concurrent.futures"):
        cancellings = [in_thread(future.cancel) for _ in range(4)]
        assert [one.result(BOUND) for one in cancellings] == [True] * 4
        assert future.cancel()
    assert not [record for record in caplog.records if record.name == "concurrent.futures"]
    assert future.cancelled()
    with pytest.raises(CancelledError):
        future.result(BOUND)
    host.await_heard("notifications/cancelled", requestId=request["id"])
    host.reply(request, text("late"))
    client.ping()
    assert len(host.all_heard("notifications/cancelled")) == 1
    assert client.stats().late_responses == 1
    assert (client.stats().pending, client.stats().in_flight, client.state) == (0, 0, "ready")


def test_cancelling_before_the_client_is_ready_sends_nothing(host: ToyHost, make_client: MakeClient) -> None:
    usual = host.answers["server/discover"]
    host.answers["server/discover"] = lambda _: SILENCE
    client = make_client(host)
    future = client.submit_tool("echo")
    request = host.await_heard("server/discover")
    assert future.cancel()
    host.reply(request, usual(request))
    client.wait_ready()
    client.request("tools/list")
    assert host.all_heard("tools/call") == []


def test_the_errors_of_a_call_are_the_futures_exceptions(client: Client, host: ToyHost) -> None:
    def refuse(_: Any) -> Any:
        raise Refusal(-32000, "no")

    host.answers["tools/call"] = refuse
    assert isinstance(client.submit_tool("echo").exception(BOUND), errors.RemoteError)
    host.answers["tools/call"] = lambda _: {"content": 5}
    assert isinstance(client.submit_tool("echo").exception(BOUND), errors.InvalidResponse)
    host.answers["tools/call"] = lambda _: SILENCE
    error = client.submit_tool("echo", timeout=0.05).exception(BOUND)
    assert isinstance(error, errors.RequestTimeout)
    assert str(error).splitlines()[0] == "no answer to tools/call 'echo' within 0.05 s (state: ready)"


def test_a_result_that_does_not_come_in_time_can_be_waited_for_again(client: Client, host: ToyHost) -> None:
    host.answers["tools/call"] = lambda _: SILENCE
    future = client.submit_tool("echo")
    request = host.await_heard("tools/call")
    with pytest.raises(TimeoutError):
        future.result(0.01)
    host.reply(request, text("x"))
    assert future.result(BOUND).text == "x"


@pytest.mark.requirement("request:progress")
def test_progress_of_a_future_runs_among_the_handlers(client: Client, host: ToyHost) -> None:
    def answer(request: dict[str, Any]) -> Any:
        for number in range(3):
            host.progress(request, number)
        return text("done")

    host.answers["tools/call"] = answer
    heard: list[tuple[float, str]] = []
    enough = threading.Event()

    def listen(news: Progress) -> None:
        heard.append((news.progress, threading.current_thread().name))
        if len(heard) == 3:
            enough.set()

    assert client.submit_tool("echo", on_progress=listen).result(BOUND).text == "done"
    assert enough.wait(BOUND)
    assert [number for number, _ in heard] == [0, 1, 2]
    assert all(name.startswith("memory pool-") for _, name in heard)


def test_callbacks_never_run_on_an_actors_thread(client: Client, host: ToyHost) -> None:
    host.answers["tools/call"] = lambda _: SILENCE
    threads: list[str] = []
    done = threading.Semaphore(0)

    def note(_: Future[Any]) -> None:
        threads.append(threading.current_thread().name)
        done.release()

    futures = [client.submit_tool("echo", {"n": number}) for number in range(5)]
    host.await_heard("tools/call", 5)
    requests = host.all_heard("tools/call")
    for future in futures:
        future.add_done_callback(note)
    host.reply(requests[0], text("x"))
    host.say({"jsonrpc": "2.0", "id": requests[1]["id"], "error": {"code": 1, "message": "no"}})
    host.notify("notifications/cancelled", requestId=requests[2]["id"])
    host.drop()
    for _ in futures:
        assert done.acquire(timeout=BOUND)
    assert not {
        name for name in threads if name.endswith((" connection", " transport", " pool", " supervisor"))
    }


@pytest.mark.requirement("request:one-outcome")
def test_closing_settles_every_future_and_no_callback_runs_on_an_actors_thread(
    host: ToyHost, make_client: MakeClient
) -> None:
    client = make_client(host).wait_ready()
    host.answers["tools/call"] = lambda _: SILENCE
    threads: list[str] = []
    futures = [client.submit_tool("echo") for _ in range(300)]
    for future in futures:
        future.add_done_callback(lambda _: threads.append(threading.current_thread().name))
    client.close()
    assert all(isinstance(future.exception(BOUND), errors.ClientClosed) for future in futures)
    until(lambda: len(threads) == 300)
    assert not {
        name for name in threads if name.endswith((" connection", " transport", " pool", " supervisor"))
    }


@pytest.mark.requirement("request:one-outcome")
def test_futures_are_settled_although_every_worker_is_stuck_in_a_callback(
    host: ToyHost, make_client: MakeClient
) -> None:
    client = make_client(host).wait_ready()
    gate, entered = threading.Event(), threading.Semaphore(0)

    def block(_: Future[Any]) -> None:
        entered.release()
        gate.wait(2 * BOUND)

    with opened_at_the_end(gate):
        for _ in range(32):
            client.submit_tool("echo").add_done_callback(block)
        for _ in range(32):
            assert entered.acquire(timeout=BOUND)
        rest = [client.submit_tool("echo") for _ in range(8)]
        assert client.call_tool("echo").text == "null"
        client.close()
        assert all(future.done() for future in rest)


def test_a_callback_that_raises_harms_nobody(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    def fail(_: Future[Any]) -> None:
        raise LookupError("mine")

    gate = threading.Event()
    future = client.submit_tool("echo")
    future.add_done_callback(fail)
    future.add_done_callback(lambda _: gate.set())
    assert gate.wait(BOUND)
    assert client.submit_tool("echo").result(BOUND).text == "null"
    del caplog


def test_a_callback_may_call_the_client(client: Client) -> None:
    answers: Future[str] = Future()
    client.submit_tool("echo").add_done_callback(
        lambda _: answers.set_result(client.call_tool("echo", {"b": 2}).text)
    )
    assert answers.result(BOUND) == '{"b": 2}'


def test_submitting_and_closing_race_without_a_lost_future(host: ToyHost, make_client: MakeClient) -> None:
    for _ in range(15):
        client = make_client(host).wait_ready()
        gate = threading.Barrier(3)

        def submit(client: Client = client, gate: threading.Barrier = gate) -> list[BaseException | None]:
            gate.wait(BOUND)
            found: list[BaseException | None] = []
            for _ in range(10):
                try:
                    found.append(client.submit_tool("echo").exception(BOUND))
                except errors.ClientClosed as closed:
                    found.append(closed)
            return found

        submitting = [in_thread(submit) for _ in range(2)]
        gate.wait(BOUND)
        client.close()
        for one in submitting:
            for error in one.result(2 * BOUND):
                assert error is None or isinstance(error, errors.ClientClosed | errors.Unavailable), repr(
                    error
                )
