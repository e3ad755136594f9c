"""Kinds of news: each reaches its own callback, as a value of its own type, and what does not fit none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors import Client
from mcp_actors.client.notifications import Gap
from tests.client.features.ear import Ear
from tests.client.features.news_host import NewsHost
from tests.client.features.places import Place
from tests.client.toy_host import SILENCE, STATELESS, VERSIONS, ToyHost, text
from tests.client.waiting import BOUND, until

MakeClient = Callable[..., Client]
MakeHost = Callable[..., ToyHost]
MakeNews = Callable[..., NewsHost]

TASK = {"taskId": "t", "status": "working", "createdAt": "x", "lastUpdatedAt": "y", "ttl": None}
#: How to listen, what comes, what a handler is told; and params that do not fit.
KINDS: dict[str, tuple[str, dict[str, Any], Callable[[Any], Any], list[Any]]] = {
    "on_resource_updated": (
        "notifications/resources/updated",
        {"uri": "toy:a"},
        lambda heard: heard == "toy:a",
        [{}, {"uri": 5}, {"uri": None}, [], 5],
    ),
    "on_log": (
        "notifications/message",
        {"level": "info", "data": [1, None], "logger": "db"},
        lambda heard: (heard.level, heard.data, heard.logger) == ("info", [1, None], "db"),
        [{}, {"level": "loud", "data": 1}, {"level": 5, "data": 1}, {"data": 1}],
    ),
    "on_cancelled": (
        "notifications/cancelled",
        {"requestId": 999, "reason": "bored"},
        lambda heard: (heard.request_id, heard.reason) == (999, "bored"),
        [{"requestId": {}}, {"requestId": 1.5, "reason": 5}],
    ),
    "on_elicitation_complete": (
        "notifications/elicitation/complete",
        {"elicitationId": "e7"},
        lambda heard: heard == "e7",
        [{}, {"elicitationId": 7}],
    ),
    "on_task_status": (
        "notifications/tasks/status",
        TASK,
        lambda heard: (heard.task_id, heard.status, heard.ttl) == ("t", "working", None),
        [{}, {"taskId": "t"}, TASK | {"status": 1}],
    ),
}
each_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.mark.requirement("notification:kinds")
@pytest.mark.parametrize("what", ["tools", "prompts", "resources"])
def test_changed_lists_reach_their_callbacks(what: str, place: Place) -> None:
    client, ears = place.connect(), {one: Ear() for one in ("tools", "prompts", "resources")}
    for one, ear in ears.items():
        getattr(client, f"on_{one}_changed")(ear)
    # The streams of 2026-07-28 are opened one after the other; the answer comes after the last of them.
    client.ping()
    client.call_tool("change", {"what": what})
    assert ears.pop(what).wait_for(1) == [()]
    assert [ear.heard for ear in ears.values()] == [[], []]


@pytest.mark.requirement("notification:kinds")
@each_kind
@pytest.mark.parametrize("version", VERSIONS)
def test_each_kind_arrives_as_a_value_of_its_own(
    version: str, kind: str, make_host: MakeHost, make_client: MakeClient
) -> None:
    method, params, fits, _ = KINDS[kind]
    host = make_host(version=version)
    client, ear = make_client(host).wait_ready(), Ear()
    getattr(client, kind)(ear)
    host.notify(method, **params)
    (heard,) = ear.wait_for(1)
    assert fits(heard)


@pytest.mark.requirement("notification:kinds")
@each_kind
def test_what_does_not_fit_is_ignored(kind: str, client: Client, host: ToyHost) -> None:
    method, params, fits, misfits = KINDS[kind]
    ear = Ear()
    getattr(client, kind)(ear)
    for misfit in misfits:
        host.say({"jsonrpc": "2.0", "method": method, "params": misfit})
    host.notify(method, **params)
    (heard,) = ear.wait_for(1)
    assert fits(heard)
    assert client.stats().lane.failed == 0


@pytest.mark.requirement("notification:kinds")
@each_kind
def test_a_detached_handler_hears_no_more(kind: str, client: Client, host: ToyHost) -> None:
    method, params, _, _ = KINDS[kind]
    ears = [Ear(), Ear()]
    detach = getattr(client, kind)(ears[0])
    getattr(client, kind)(ears[1])
    host.notify(method, **params)
    ears[1].wait_for(1)
    detach()
    detach()
    host.notify(method, **params)
    ears[1].wait_for(2)
    assert len(ears[0].heard) == 1


@pytest.mark.requirement("notification:kinds")
@pytest.mark.parametrize(
    "kind",
    [*KINDS, "on_tools_changed", "on_prompts_changed", "on_resources_changed", "on_progress", "on_gap"],
)
def test_a_handler_is_callable(kind: str, client: Client) -> None:
    with pytest.raises(TypeError, match="must be callable, not int"):
        getattr(client, kind)(5)


@pytest.mark.requirement("notification:kinds")
def test_progress_of_every_request_reaches_who_listens_for_it(client: Client, host: ToyHost) -> None:
    def work(request: dict[str, Any]) -> Any:
        host.progress(request, 1, total=3, message="one")
        host.progress(request, 2.5)
        return text("done")

    host.answers["tools/call"] = work
    everybody, mine = Ear(), Ear()
    client.on_progress(everybody)
    assert client.call_tool("echo", on_progress=mine).text == "done"
    heard = [(one.progress, one.total, one.message) for one in everybody.wait_for(2)]
    assert heard == [(1.0, 3.0, "one"), (2.5, None, None)]
    assert [one.progress for one in mine.heard] == [1.0, 2.5]


@pytest.mark.requirement("notification:kinds")
@pytest.mark.parametrize("version", VERSIONS)
def test_who_listens_for_cancellations_hears_of_it_and_so_does_the_caller(
    version: str, make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(version=version)
    host.answers["tools/call"] = lambda _: SILENCE
    client, ear = make_client(host).wait_ready(), Ear()
    client.on_cancelled(ear)
    future = client.submit_tool("echo")
    request = host.await_heard("tools/call")
    host.notify("notifications/cancelled", requestId=request["id"], reason="bored")
    (heard,) = ear.wait_for(1)
    assert heard.request_id == request["id"]
    error: Any = future.exception(BOUND)
    assert error.type == "cancelled"


@pytest.mark.requirement("notification:kinds")
def test_a_server_cannot_pretend_that_there_was_a_gap(client: Client, host: ToyHost) -> None:
    gaps, logs = Ear(), Ear()
    client.on_gap(gaps)
    client.on_log(logs)
    for params in ({"gap": "boo"}, {"gap": {"reason": "x", "lost": []}}, {}):
        host.notify("mcp_actors/gap", **params)
    host.notify("notifications/message", level="info", data=1)
    logs.wait_for(1)
    assert gaps.heard == []
    assert client.stats().lane.failed == 0


@pytest.mark.requirement("notification:kinds")
def test_who_listens_for_everything_does_not_hear_of_gaps(
    make_news: MakeNews, make_client: MakeClient
) -> None:
    host = make_news(STATELESS)
    client, everything, gaps = make_client(host), Ear(), Ear()
    client.on_notification(everything)
    client.on_gap(gaps)
    client.wait_ready()
    host.drop()
    assert gaps.wait_for(1) == [Gap("the connection was lost")]
    until(lambda: client.state == "ready")
    assert all(one.method.startswith("notifications/") for one in everything.heard)


@pytest.mark.requirement("notification:kinds")
def test_a_handler_of_one_kind_may_use_the_client(client: Client, host: ToyHost) -> None:
    answers = Ear()
    client.on_log(lambda heard: answers(client.call_tool("echo", {"x": heard.data}).text))
    host.notify("notifications/message", level="info", data=7)
    assert answers.wait_for(1) == ['{"x": 7}']
