"""Our client and our server over HTTP with everything on, in both eras: what one tells the other hears."""

from __future__ import annotations

import json
import signal
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_actors import Client, Progress, errors
from mcp_actors.protocol import types
from tests.client.waiting import BOUND, in_thread, until
from tests.real.hearing import Heard
from tests.real.test_foreign_clients import EXPECTED, MISSING, SERVER
from tests.real.web import Connect, Program, Run, connect, forget_session, run
from tests.server.talk import ERAS, HANDSHAKE
from tests.servers.serving import serving

__all__ = ["connect", "run"]

pytestmark = [
    pytest.mark.real,
    pytest.mark.requirement("transport:http"),
    pytest.mark.requirement("negotiation:era"),
]

MakeClient = Callable[..., Client]
ONE = "note://one"

both_eras = pytest.mark.parametrize("era", ERAS)


@pytest.fixture
def program(run: Run) -> Program:
    return run([*SERVER, "{port}"], "/mcp")


@pytest.fixture
def make(era: str, program: Program, connect: Connect) -> MakeClient:
    """Makes ready clients that speak the era of the test."""

    def make(**options: Any) -> Client:
        client = connect(program, protocol=era, **options).wait_ready()
        assert client.protocol_version == era
        return client

    return make


def health(program: Program) -> dict[str, Any]:
    """What the server says about itself to those who look after it."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(program.url.replace("/mcp", "/health"), timeout=BOUND) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


def answer(form: types.ElicitParams) -> dict[str, object]:
    """A user who is Ada, 36 years old, and lives on the third floor."""
    return {"floor": 3} if form.message == "Which floor, Ada?" else {"name": "Ada", "age": 36}


def muse(request: types.CreateMessageParams) -> types.CreateMessageResult:
    """A model that repeats what it is told."""
    content = types.TextContent(text=f"{request.system_prompt}! {request.messages[0].text}")
    return types.CreateMessageResult(role="assistant", content=content, model="parrot")


@both_eras
def test_what_is_offered_can_be_used(make: MakeClient, era: str) -> None:
    client = make()
    assert [tool.name for tool in client.list_tools()] == EXPECTED["tools"]
    calls = [in_thread(lambda n=n: client.call_tool("add", {"a": n}).text) for n in range(20)]  # type: ignore[misc]
    assert [call.result(4 * BOUND) for call in calls] == [str(n + 2) for n in range(20)]
    assert client.call_tool("report", {"title": "sales"}).structured_content == EXPECTED["report"]
    assert client.call_tool("add", {"a": "many"}).text == EXPECTED["bad_arguments"]
    assert client.call_tool("crash").text == EXPECTED["crash"]
    assert client.read_resource("bytes://few").raw["contents"][0]["blob"] == "AP8A"
    assert client.get_prompt("letter", {"to": "Ada"}).text == "Write a kind letter to Ada."
    assert client.complete("note://{name}", "name", "o").values == ["one"]
    with pytest.raises(errors.RemoteError) as caught:
        client.read_resource("note://nothing")
    assert (caught.value.code, caught.value.data) == (MISSING[era], {"uri": "note://nothing"})
    client.ping()


@both_eras
@pytest.mark.requirement("feature:mrtr")
def test_user_model_and_roots_are_asked(make: MakeClient, tmp_path: Path) -> None:
    client = make(elicitation_handler=answer, sampling_handler=muse, roots=[tmp_path])
    assert client.call_tool("check_in").text == EXPECTED["check_in"]
    assert client.call_tool("opinion", {"topic": "tea"}).text == EXPECTED["opinion"]
    assert client.call_tool("places").structured_content == {"result": [tmp_path.as_uri()]}
    futures = [client.submit_tool("everything_at_once", {"topic": f"t{n}"}) for n in range(5)]
    assert [future.result(4 * BOUND).text for future in futures] == [
        f"Ada, parrot, 1 roots on t{n}" for n in range(5)
    ]


@both_eras
def test_progress_and_logs_are_heard(make: MakeClient) -> None:
    logs, steps = Heard(), list[Progress]()
    client = make(log_handler=logs)
    client.set_logging_level("warning")
    assert client.call_tool("count", {"to": 4}, on_progress=steps.append).text == "4"
    assert [(one.progress, one.total, one.message) for one in steps] == [
        (n, 4, f"step {n}") for n in range(1, 5)
    ]
    client.call_tool("chatter")
    assert [(one.level, one.logger) for one in logs.wait(2)] == [
        ("warning", "chatter"),
        ("error", "chatter"),
    ]


@both_eras
@pytest.mark.requirement("request:cancel-caller")
def test_a_call_that_is_given_up_is_cancelled_in_the_server(make: MakeClient) -> None:
    client, begun = make(), Heard()
    call = client.submit_tool("wait", on_progress=begun)
    begun.wait()
    assert call.cancel()
    assert client.call_tool("was_cancelled").structured_content == {"result": True}


@both_eras
@pytest.mark.requirement("feature:subscriptions")
def test_updates_are_told_until_nobody_wants_them(make: MakeClient) -> None:
    client, heard = make(), Heard()
    client.on_resource_updated(heard, ONE)
    client.subscribe_resource(ONE)
    client.call_tool("write_note", {"name": "other", "text": "x"})
    client.call_tool("write_note", {"name": "one", "text": "changed"})
    assert heard.wait() == [ONE]
    assert client.read_resource(ONE).text == "changed"
    client.unsubscribe_resource(ONE)
    client.call_tool("write_note", {"name": "one", "text": "again"})
    assert client.read_resource(ONE).text == "again"
    assert heard.news == [ONE]


@both_eras
@pytest.mark.requirement("feature:list-changed")
def test_a_tool_that_is_learned_by_one_client_is_told_to_all(make: MakeClient) -> None:
    clients = [make() for _ in range(3)]
    heard = [Heard() for _ in clients]
    for client, ears in zip(clients, heard, strict=True):
        client.on_tools_changed(ears)
        assert "fly" not in {tool.name for tool in client.list_tools()}
    until(lambda: _learned(clients[0], heard))
    for client in clients:
        assert client.call_tool("fly").text == "fly was learned"
        assert "fly" in {tool.name for tool in client.list_tools()}


def _learned(client: Client, heard: list[Heard]) -> bool:
    """A stream of news may not be open yet when the first call is made."""
    client.call_tool("learn", {"name": "fly"})
    return all(ears.news for ears in heard)


@both_eras
def test_a_connection_that_the_server_lets_go_of_is_taken_up_again(make: MakeClient) -> None:
    client = make()
    for _ in range(3):
        steps: list[Progress] = []
        assert client.call_tool("hang_up", on_progress=steps.append).text == "after all"
        assert [one.progress for one in steps] == [1, 2]
    assert client.stats().reconnects == 0


@both_eras
@pytest.mark.requirement("connection:recover")
def test_killed_and_started_again_it_is_found_again(make: MakeClient, program: Program) -> None:
    client, heard = make(), Heard()
    client.on_resource_updated(heard, ONE)
    client.subscribe_resource(ONE)
    before = client.call_tool("pid").text
    program.restart()
    assert client.call_tool("pid", wait=True).text != before

    def told() -> bool:
        client.call_tool("write_note", {"name": "one", "text": "changed"}, wait=True)
        return ONE in heard.news

    until(told)


@pytest.mark.requirement("connection:recover")
@pytest.mark.parametrize("era", [HANDSHAKE])
def test_a_session_that_is_ended_by_somebody_is_replaced(make: MakeClient, program: Program) -> None:
    client, heard = make(), Heard()
    client.on_resource_updated(heard, ONE)
    client.subscribe_resource(ONE)
    forget_session(program, client)
    client.call_tool("write_note", {"name": "one", "text": "changed"}, wait=True)
    assert heard.wait() == [ONE]
    assert client.stats().reconnects == 1


@both_eras
def test_a_client_that_leaves_leaves_nothing_in_the_server(
    make: MakeClient, program: Program, era: str
) -> None:
    clients = [make() for _ in range(3)]
    for client in clients:
        client.on_tools_changed(Heard())
        client.subscribe_resource(ONE)
    until(lambda: health(program)["streams"] == 3)
    assert health(program)["sessions"] == (3 if era == HANDSHAKE else 0)
    for client in clients:
        client.close()
    until(
        lambda: health(program) == {"status": "ok", "sessions": 0, "streams": 0},
        otherwise=lambda: str(health(program)),
    )


@both_eras
@pytest.mark.requirement("transport:wsgi")
def test_ctrl_c_ends_the_server_in_good_order_though_streams_are_open(era: str, tmp_path: Path) -> None:
    with serving([*SERVER[2:], "{port}"], tmp_path / "log") as served:
        client = Client.http(served.url(), protocol=era, proxies={}, backoff_min=BOUND)
        with client:
            client.on_tools_changed(Heard())
            client.subscribe_resource(ONE)
            served.process.send_signal(signal.SIGINT)
            assert served.process.wait(2 * BOUND) == 0
    # Threads that write streams would be left to their fate, with a warning and a traceback.
    assert served.log.read_text() == ""
