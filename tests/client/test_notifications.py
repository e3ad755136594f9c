"""News from the server: who hears it, in which order, and what a bad handler can break (nothing)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors import Client, Notification
from mcp_actors.client.notifications import Progress
from tests.client.toy_host import SILENCE, VERSIONS, ToyHost, text
from tests.client.waiting import BOUND, opened_at_the_end, until

MakeClient = Callable[..., Client]
MakeHost = Callable[..., ToyHost]
LOG = "notifications/message"


class Ear:
    """A handler that remembers, and can be waited for."""

    def __init__(self) -> None:
        self.heard: list[Notification] = []
        self._news = threading.Condition()

    def __call__(self, notification: Notification) -> None:
        with self._news:
            self.heard.append(notification)
            self._news.notify_all()

    def wait_for(self, count: int) -> list[Any]:
        with self._news:
            assert self._news.wait_for(lambda: len(self.heard) >= count, BOUND), f"{len(self.heard)} came"
        return [one.params.get("data") for one in self.heard]


@pytest.mark.requirement("notification:handlers")
@pytest.mark.parametrize("version", VERSIONS)
def test_handlers_hear_their_method_and_wildcards_hear_all(
    version: str, make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(version=version)
    client = make_client(host)
    everything, logs, tools = Ear(), Ear(), Ear()
    client.on_notification(everything)
    client.on_notification(logs, LOG)
    client.on_notification(tools, "notifications/tools/list_changed")
    client.wait_ready()
    host.notify(LOG, level="info", data=1)
    host.say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    host.notify("custom/thing", data=3)
    assert everything.wait_for(3) == [1, None, 3]
    assert everything.heard[1] == Notification("notifications/tools/list_changed", {})
    assert [one.method for one in logs.heard] == [LOG]
    assert [one.method for one in tools.heard] == ["notifications/tools/list_changed"]


@pytest.mark.requirement("notification:handlers")
def test_order_is_kept_and_every_handler_hears_each_once(client: Client, host: ToyHost) -> None:
    ears = [Ear(), Ear()]
    for ear in ears:
        client.on_notification(ear)
    for number in range(2000):
        host.notify(LOG, data=number)
    for ear in ears:
        assert ear.wait_for(2000) == list(range(2000))
    assert client.stats().lane.dropped == 0


@pytest.mark.requirement("notification:handlers")
def test_large_and_small_ones_keep_their_order(client: Client, host: ToyHost) -> None:
    ear = Ear()
    client.on_notification(ear)
    for number in range(12):
        host.notify(LOG, data=number, ballast="x" * (200_000 if number % 3 == 0 else 10))
    assert ear.wait_for(12) == list(range(12))


@pytest.mark.requirement("notification:handlers")
def test_a_detached_handler_hears_nothing_more(client: Client, host: ToyHost) -> None:
    ear, other = Ear(), Ear()
    detach = client.on_notification(ear)
    client.on_notification(other)
    host.notify(LOG, data=1)
    ear.wait_for(1)
    detach()
    detach()
    host.notify(LOG, data=2)
    other.wait_for(2)
    assert ear.wait_for(1) == [1]


@pytest.mark.requirement("notification:handlers")
@pytest.mark.parametrize("error", [LookupError, SystemExit, KeyboardInterrupt])
def test_a_handler_that_raises_is_logged_and_harms_nobody(
    error: type[BaseException], client: Client, host: ToyHost, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: Notification) -> None:
        raise error("mine")

    ear = Ear()
    client.on_notification(fail)
    client.on_notification(ear)
    host.notify(LOG, data=1)
    host.notify(LOG, data=2)
    assert ear.wait_for(2) == [1, 2]
    client.ping()
    until(lambda: client.stats().lane.failed == 2)
    assert "a handler failed" in caplog.text


@pytest.mark.requirement("notification:reentrant")
def test_a_handler_may_call_the_client_and_change_the_handlers(client: Client, host: ToyHost) -> None:
    answers: list[str] = []
    done = threading.Event()
    detachers: list[Callable[[], None]] = []

    def handler(_: Notification) -> None:
        detachers[0]()
        answers.append(client.call_tool("echo", {"from": "handler"}).text)
        answers.append(client.submit_tool("echo").result(BOUND).text)
        client.on_notification(lambda _: done.set())
        host.notify(LOG, data=2)

    detachers.append(client.on_notification(handler))
    host.notify(LOG, data=1)
    assert done.wait(BOUND)
    assert answers == ['{"from": "handler"}', "null"]


@pytest.mark.requirement("flow:slow-handler")
def test_a_stuck_handler_does_not_hold_up_answers(client: Client, host: ToyHost) -> None:
    gate, entered = threading.Event(), threading.Event()

    def stuck(_: Notification) -> None:
        entered.set()
        gate.wait(2 * BOUND)

    client.on_notification(stuck)
    with opened_at_the_end(gate):
        host.notify(LOG, data=0)
        assert entered.wait(BOUND)
        for number in range(1000):
            host.notify(LOG, data=number)
            if number % 100 == 0:
                assert client.call_tool("echo", {"n": number}).text == f'{{"n": {number}}}'
        assert client.stats().lane.dropped == 0


@pytest.mark.requirement("flow:slow-handler")
def test_a_flood_on_a_stuck_handler_drops_the_oldest_counts_them_and_stays_bounded(
    client: Client, host: ToyHost, caplog: pytest.LogCaptureFixture
) -> None:
    gate, entered, ear = threading.Event(), threading.Event(), Ear()

    def stuck(_: Notification) -> None:
        entered.set()
        gate.wait(4 * BOUND)

    client.on_notification(stuck, "stuck")
    client.on_notification(ear, LOG)
    with opened_at_the_end(gate):
        host.notify("stuck")
        assert entered.wait(BOUND)
        for number in range(12_000):
            host.notify(LOG, data=number)
        assert client.call_tool("echo").text == "null"
        lane = client.stats().lane
        assert lane.dropped == 2_000
        assert lane.greatest_depth <= 10_000
        assert "handlers do not keep up" in caplog.text
    assert ear.wait_for(10_000) == list(range(2_000, 12_000))
    assert client.stats().lane.dropped == 2_000


@pytest.mark.requirement("flow:slow-handler")
def test_bytes_are_bounded_too(client: Client, host: ToyHost) -> None:
    gate, entered = threading.Event(), threading.Event()

    def stuck(_: Notification) -> None:
        entered.set()
        gate.wait(4 * BOUND)

    client.on_notification(stuck)
    with opened_at_the_end(gate):
        host.notify(LOG, data=0)
        assert entered.wait(BOUND)
        for _ in range(200):
            host.notify(LOG, data="x" * 100_000)
        client.ping()
        lane = client.stats().lane
        assert lane.dropped > 100
        assert lane.greatest_bytes <= 8 * 1024 * 1024


@pytest.mark.requirement("flow:slow-handler")
def test_state_news_are_merged_before_any_is_dropped(client: Client, host: ToyHost) -> None:
    gate, entered, ear = threading.Event(), threading.Event(), Ear()

    def stuck(_: Notification) -> None:
        entered.set()
        gate.wait(4 * BOUND)

    client.on_notification(stuck, "stuck")
    client.on_notification(ear, "notifications/resources/updated")
    client.on_notification(ear, "notifications/tools/list_changed")
    with opened_at_the_end(gate):
        host.notify("stuck")
        assert entered.wait(BOUND)
        for number in range(11_000):
            host.notify("notifications/resources/updated", uri=f"toy:{number % 7}", data=number)
            if number % 2:
                host.notify("notifications/tools/list_changed")
        client.ping()
        assert client.stats().lane.dropped == 0
        assert client.stats().lane.merged > 5_000
    host.notify("notifications/tools/list_changed", data="last")
    until(lambda: bool(ear.heard) and ear.heard[-1].params.get("data") == "last")
    latest = {one.params["uri"]: one.params["data"] for one in ear.heard if "uri" in one.params}
    assert latest == {f"toy:{number % 7}": number for number in range(10_993, 11_000)}


@pytest.mark.requirement("flow:slow-handler")
def test_with_block_nothing_is_dropped_and_the_reader_stops(host: ToyHost, make_client: MakeClient) -> None:
    client = make_client(host, notification_overflow="block").wait_ready()
    gate, entered, ear = threading.Event(), threading.Event(), Ear()

    def stuck(_: Notification) -> None:
        entered.set()
        gate.wait(4 * BOUND)

    client.on_notification(stuck, "stuck")
    client.on_notification(ear, LOG)
    with opened_at_the_end(gate):
        host.notify("stuck")
        assert entered.wait(BOUND)
        for number in range(15_000):
            host.notify(LOG, data=number)
        until(lambda: client.stats().lane.depth >= 7_500)
        assert client.stats().wire.read_buffer_bytes > 0
    assert ear.wait_for(15_000) == list(range(15_000))
    assert client.stats().lane.dropped == 0


def test_notifications_without_handlers_are_counted_and_dropped(client: Client, host: ToyHost) -> None:
    for _ in range(20_000):
        host.notify("notifications/tools/list_changed")
    client.ping()
    lane = client.stats().lane
    assert (lane.unheard, lane.depth, lane.dropped) == (20_000, 0, 0)
    assert host.all_heard("tools/list") == []


@pytest.mark.requirement("request:progress")
def test_on_progress_of_the_client_hears_the_progress_of_every_request_that_asked(
    client: Client, host: ToyHost
) -> None:
    def answer(request: dict[str, Any]) -> Any:
        host.progress(request, 5)
        return text("x")

    host.answers["tools/call"] = answer
    heard: list[float] = []
    done = threading.Event()
    detach = client.on_progress(lambda news: heard.append(news.progress) or done.set())  # type: ignore[func-returns-value]
    client.call_tool("echo", on_progress=lambda _: None)
    assert done.wait(BOUND)
    detach()
    client.call_tool("echo", on_progress=lambda _: None)
    assert heard == [5.0]


def test_a_notification_with_rubbish_for_params_reaches_its_handler(client: Client, host: ToyHost) -> None:
    ear = Ear()
    client.on_notification(ear)
    for params in (b"5", b"null", b"[1]", b'"x"'):
        host.say_bytes(b'{"jsonrpc":"2.0","method":"odd","params":' + params + b"}")
    ear.wait_for(4)
    assert [one.params for one in ear.heard] == [{}, {}, {}, {}]


def test_handlers_survive_a_reconnect(client: Client, host: ToyHost) -> None:
    ear = Ear()
    client.on_notification(ear)
    host.notify(LOG, data=1)
    ear.wait_for(1)
    host.drop()
    host.await_wires(2)
    client.wait_ready()
    host.notify(LOG, data=2)
    assert ear.wait_for(2) == [1, 2]


# What the server asks of us.


def test_requests_of_a_handshake_server_are_answered(make_host: MakeHost, make_client: MakeClient) -> None:
    host = make_host(version="2025-11-25")
    host.answers["tools/call"] = lambda _: SILENCE
    client = make_client(host).wait_ready()
    call = client.submit_tool("echo")
    request = host.await_heard("tools/call")
    host.say({"jsonrpc": "2.0", "id": request["id"], "method": "ping"})
    assert host.await_answer(request["id"])["result"] == {}
    for id_, method in enumerate(("sampling/createMessage", "roots/list", "elicitation/create", "x")):
        host.say({"jsonrpc": "2.0", "id": f"s{id_}", "method": method, "params": {}})
        assert host.await_answer(f"s{id_}")["error"]["code"] == -32601
    host.reply(request, text("still served"))
    assert call.result(BOUND).text == "still served"


def test_requests_of_a_stateless_server_are_violations_and_get_no_answer(
    client: Client, host: ToyHost
) -> None:
    host.say({"jsonrpc": "2.0", "id": "s", "method": "ping"})
    client.ping()
    assert client.stats().violations == 1
    assert host.answers_heard() == []


def test_a_number_that_no_float_can_hold_is_no_reason_to_fail_a_call() -> None:
    assert Progress.of({"progress": 10**400, "total": -(10**400)}) == Progress(0.0)
