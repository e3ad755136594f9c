"""A server made with the official package that asks its client and tells it news, in both eras."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_actors import Client, Progress, errors
from mcp_actors.protocol import types
from tests.client.waiting import BOUND, opened_at_the_end
from tests.real.hearing import Heard
from tests.real.programs import ERAS, MARKS, PATIENCE, MakeStdio, kill_and_notice

pytestmark = [*MARKS, pytest.mark.parametrize("era", ERAS)]

MakeClient = Callable[..., Client]
ONE = "note://one"


@pytest.fixture
def make(era: str, official_features: list[str], make_stdio: MakeStdio) -> MakeClient:
    """Makes ready clients that speak the era of the test."""

    def make(**options: Any) -> Client:
        client = make_stdio(official_features, protocol=era, **PATIENCE, **options).wait_ready()
        assert client.protocol_version == era
        return client

    return make


def answer(form: types.ElicitParams) -> dict[str, object] | bool:
    """A user who is Ada, 36 years old, and lives on the floor of her name's length."""
    if isinstance(form, types.ElicitUrlParams):
        return form.url == "https://example.com/consent"
    return {"floor": 3} if form.message == "Which floor, Ada?" else {"name": "Ada", "age": 36}


def say(request: types.CreateMessageParams) -> types.CreateMessageResult:
    """A model that repeats what it is told."""
    content = types.TextContent(text=f"{request.system_prompt}! {request.messages[0].text}")
    return types.CreateMessageResult(role="assistant", content=content, model="parrot")


@pytest.mark.requirement("feature:elicitation")
@pytest.mark.requirement("feature:mrtr")
def test_the_user_is_asked_and_accepts_declines_or_cancels(make: MakeClient) -> None:
    answers: list[object] = [{"name": "Ada", "age": 36}, None, types.ElicitResult(action="cancel")]
    client = make(elicitation_handler=lambda _: answers.pop(0))
    assert client.call_tool("introduce").text == "Ada is 36"
    assert client.call_tool("introduce").text == "decline"
    assert client.call_tool("introduce").text == "cancel"


@pytest.mark.requirement("feature:elicitation")
@pytest.mark.requirement("feature:mrtr")
def test_a_second_question_depends_on_the_first_answer(make: MakeClient) -> None:
    result = make(elicitation_handler=answer).call_tool("check_in")
    assert result.structured_content == {"result": "Ada sleeps on floor 3"}


@pytest.mark.requirement("feature:elicitation")
def test_a_question_that_is_declined_is_an_error_of_the_tool(make: MakeClient) -> None:
    client = make(elicitation_handler=lambda _: None)
    result = client.call_tool("check_in")
    assert result.is_error
    assert "elicitation was decline" in result.text
    assert client.call_tool("report", {"title": "t"}).is_error is False


@pytest.mark.requirement("feature:sampling")
def test_the_model_is_asked(make: MakeClient) -> None:
    text = make(sampling_handler=say).call_tool("opinion", {"topic": "tea"}).text
    assert text == "parrot on tea: be brief! About tea?"


@pytest.mark.requirement("feature:roots")
def test_the_roots_are_asked_for(make: MakeClient, tmp_path: Path) -> None:
    result = make(roots=[tmp_path]).call_tool("places")
    assert result.structured_content == {"result": [tmp_path.as_uri()]}


@pytest.mark.requirement("feature:mrtr")
def test_one_call_asks_everybody(make: MakeClient, tmp_path: Path) -> None:
    client = make(elicitation_handler=answer, sampling_handler=say, roots=[tmp_path])
    futures = [client.submit_tool("everything_at_once", {"topic": f"t{number}"}) for number in range(5)]
    assert [future.result(4 * BOUND).text for future in futures] == [
        f"Ada, parrot, 1 roots on t{number}" for number in range(5)
    ]


def test_a_handler_may_use_the_client_while_the_server_waits_for_it(make: MakeClient) -> None:
    clients: list[Client] = []

    def ask(_: types.ElicitParams) -> dict[str, object]:
        title = clients[0].call_tool("report", {"title": "inner"}).structured_content["title"]
        return {"name": title, "age": len(clients[0].list_tools())}

    clients.append(make(elicitation_handler=ask))
    assert clients[0].call_tool("introduce").text == "inner is 12"


@pytest.mark.requirement("connection:recover")
def test_the_server_is_killed_while_the_user_thinks(make: MakeClient) -> None:
    asked, decided = threading.Event(), threading.Event()

    def think(form: types.ElicitParams) -> dict[str, object] | bool:
        asked.set()
        assert decided.wait(BOUND)
        return answer(form)

    client = make(elicitation_handler=think)
    with opened_at_the_end(decided):
        future = client.submit_tool("introduce")
        assert asked.wait(BOUND)
        kill_and_notice(client, "official_features.py")
        client.ping(wait=True)
    # The call is lost with its server, or the answer means nothing to the next one.
    with pytest.raises((errors.ConnectionLost, errors.RemoteError)):
        future.result(4 * BOUND)
    assert client.call_tool("introduce").text == "Ada is 36"


@pytest.mark.requirement("feature:elicitation")
def test_the_user_is_sent_to_a_page(make: MakeClient, era: str) -> None:
    client = make(elicitation_handler=answer, elicitation_modes=("form", "url"))
    ended = Heard()
    client.on_elicitation_complete(ended)
    assert client.call_tool("visit").text == "accept"
    # Since 2026-07-28 nobody tells that a visit has ended.
    assert era == ERAS[0] or ended.wait() == ["visit-1"]


@pytest.mark.requirement("negotiation:capabilities")
def test_a_client_without_handlers_gives_an_error_that_names_what_is_missing(make: MakeClient) -> None:
    client = make()
    for tool, arguments, missing in (
        ("introduce", {}, "elicitation"),
        ("opinion", {"topic": "tea"}, "sampling"),
        ("places", {}, "roots"),
    ):
        with pytest.raises(errors.McpError, match=missing):
            client.call_tool(tool, arguments)
    assert client.call_tool("report", {"title": "t"}).is_error is False


@pytest.mark.requirement("request:progress")
def test_progress_is_heard_by_the_caller_and_by_everybody(make: MakeClient) -> None:
    client, heard = make(), Heard()
    client.on_progress(heard)
    steps: list[Progress] = []
    assert client.call_tool("count", {"to": 4}, on_progress=steps.append).structured_content == {"result": 4}
    assert [(one.progress, one.total, one.message) for one in steps] == [
        (number, 4, f"step {number}") for number in range(1, 5)
    ]
    assert heard.wait(4)[-1].progress == 4


@pytest.mark.requirement("feature:logging")
def test_log_messages_are_heard_from_the_chosen_level_on(make: MakeClient, era: str) -> None:
    heard = Heard()
    client = make(log_handler=heard)
    client.set_logging_level("warning")
    client.call_tool("chatter")
    # Before 2026-07-28 the server is told once and may be trusted with it; this one says everything.
    expected = ["warning", "error"] if era == ERAS[0] else ["debug", "warning", "error"]
    assert [one.level for one in heard.wait(len(expected))] == expected
    assert (heard.news[-1].logger, heard.news[-1].data) == ("chatter", {"said": "error"})


@pytest.mark.requirement("feature:resources")
@pytest.mark.requirement("feature:subscriptions")
def test_updates_of_a_resource_are_told_until_nobody_wants_them(make: MakeClient) -> None:
    client, heard = make(), Heard()
    client.on_resource_updated(heard, ONE)
    client.subscribe_resource(ONE)
    client.call_tool("write_note", {"name": "other", "text": "x"})
    client.call_tool("write_note", {"name": "one", "text": "changed"})
    assert heard.wait(1) == [ONE]
    assert client.read_resource(ONE).raw["contents"][0]["text"] == "changed"
    client.unsubscribe_resource(ONE)
    client.call_tool("write_note", {"name": "one", "text": "again"})
    assert client.read_resource(ONE).raw["contents"][0]["text"] == "again"
    assert len(heard.news) == 1


@pytest.mark.requirement("feature:subscriptions")
@pytest.mark.requirement("connection:recover")
def test_a_subscription_outlives_its_server(make: MakeClient) -> None:
    client, heard, gaps = make(), Heard(), Heard()
    client.on_resource_updated(heard, ONE)
    client.on_gap(gaps)
    client.subscribe_resource(ONE)
    before = client.call_tool("pid").text
    kill_and_notice(client, "official_features.py")
    assert client.call_tool("pid", wait=True).text != before
    assert gaps.wait()[0].lost == ()
    client.call_tool("write_note", {"name": "one", "text": "changed"})
    assert heard.wait() == [ONE]


@pytest.mark.requirement("feature:subscriptions")
@pytest.mark.requirement("notification:kinds")
def test_a_tool_that_is_learned_is_announced(make: MakeClient) -> None:
    client, heard = make(), Heard()
    client.on_tools_changed(heard)
    assert "fly" not in {one.name for one in client.list_tools()}
    client.call_tool("learn", {"name": "fly"})
    heard.wait(1)
    assert "fly" in {one.name for one in client.list_tools()}
    assert client.call_tool("fly").text == "fly was learned"


@pytest.mark.requirement("feature:tools")
def test_structured_results_come_with_their_schema(make: MakeClient) -> None:
    client = make()
    (tool,) = [one for one in client.list_tools() if one.name == "report"]
    assert tool.output_schema is not None
    assert set(tool.output_schema["properties"]) == {"title", "numbers", "nested"}
    result = client.call_tool("report", {"title": "sums"})
    assert result.structured_content == {"title": "sums", "numbers": [1, 2, 3], "nested": {"half": 0.5}}
    assert client.call_tool("report").is_error


@pytest.mark.requirement("feature:resources")
@pytest.mark.requirement("feature:completion")
def test_templates_bytes_and_completions(make: MakeClient) -> None:
    client = make()
    assert [one.uri_template for one in client.list_resource_templates()] == ["note://{name}"]
    assert client.read_resource("bytes://few").raw["contents"][0]["blob"] == "AP8A"
    assert client.complete("note://{name}", "name", "o").values == ["one"]
    assert client.complete("letter", "tone", "").values == ["kind", "cross"]
    letter = types.PromptReference(name="letter")
    assert client.complete(letter, "tone", "", context={"to": "boss"}).values == ["humble"]
    with pytest.raises(errors.RemoteError):
        client.read_resource("note://none")
