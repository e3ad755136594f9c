"""The everything server asks and tells its client: sampling, elicitation, roots, logs, updates, tasks."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_actors import errors
from mcp_actors.protocol import types
from tests.client.waiting import until
from tests.real.hearing import Heard
from tests.real.programs import MARKS, PATIENCE, MakeStdio, kill_and_notice

pytestmark = MARKS

RESOURCE = "demo://resource/dynamic/text/1"


@pytest.mark.requirement("feature:elicitation")
def test_a_client_that_offers_nothing_is_not_asked(everything: list[str], make_stdio: MakeStdio) -> None:
    names = {one.name for one in make_stdio(everything, **PATIENCE).list_tools()}
    conditional = {"get-roots-list", "trigger-sampling-request", "trigger-elicitation-request"}
    assert not names & conditional


@pytest.mark.requirement("feature:sampling")
def test_the_model_is_asked(everything: list[str], make_stdio: MakeStdio) -> None:
    asked: list[types.CreateMessageParams] = []

    def sample(request: types.CreateMessageParams) -> types.CreateMessageResult:
        asked.append(request)
        content = types.TextContent(text=f"you said {request.messages[0].text!r}")
        return types.CreateMessageResult(
            role="assistant", content=content, model="toy-1", stop_reason="endTurn"
        )

    client = make_stdio(everything, sampling_handler=sample, **PATIENCE).wait_ready()
    text = client.call_tool("trigger-sampling-request", {"prompt": "tea?", "maxTokens": 7}).text
    assert "you said 'Resource trigger-sampling-request context: tea?'" in text
    assert '"model": "toy-1"' in text
    assert [(one.max_tokens, one.system_prompt, one.temperature) for one in asked] == [
        (7, "You are a helpful test server.", 0.7)
    ]


@pytest.mark.requirement("feature:sampling")
def test_a_model_that_fails_is_an_error_of_the_tool_alone(
    everything: list[str], make_stdio: MakeStdio, caplog: pytest.LogCaptureFixture
) -> None:
    def sample(request: types.CreateMessageParams) -> str:
        raise RuntimeError(f"no model for {request.max_tokens} tokens")

    client = make_stdio(everything, sampling_handler=sample, **PATIENCE).wait_ready()
    assert client.call_tool("trigger-sampling-request", {"prompt": "tea?"}).is_error
    assert client.call_tool("echo", {"message": "still there"}).text == "Echo: still there"
    assert "sampling" in caplog.text


@pytest.mark.requirement("feature:elicitation")
def test_the_user_is_asked_with_a_form(everything: list[str], make_stdio: MakeStdio) -> None:
    forms: list[types.ElicitParams] = []
    answers: list[dict[str, object] | None] = [{"name": "Ada", "check": True, "integer": 9}, None]

    def ask(form: types.ElicitParams) -> dict[str, object] | None:
        forms.append(form)
        return answers.pop(0)

    client = make_stdio(everything, elicitation_handler=ask, **PATIENCE).wait_ready()
    text = client.call_tool("trigger-elicitation-request").text
    assert "- Name: Ada" in text
    assert "- Agreed to terms: true" in text
    assert "- Favorite Integer: 9" in text
    # The user left it as the server filled it in.
    assert '"firstLine": "It was a dark and stormy night."' in text
    assert "User declined" in client.call_tool("trigger-elicitation-request").text
    assert isinstance(forms[0], types.ElicitFormParams)
    assert {"name", "email", "titledMultipleSelectEnum", "legacyTitledEnum"} <= set(
        forms[0].requested_schema["properties"]
    )


@pytest.mark.requirement("feature:elicitation")
def test_the_user_is_sent_to_a_page(everything: list[str], make_stdio: MakeStdio) -> None:
    pages: list[types.ElicitParams] = []

    def ask(page: types.ElicitParams) -> bool:
        pages.append(page)
        return True

    client = make_stdio(
        everything, elicitation_handler=ask, elicitation_modes=("form", "url"), **PATIENCE
    ).wait_ready()
    arguments = {"url": "https://example.com/sign-in", "message": "please sign in"}
    assert "User completed the URL elicitation" in client.call_tool("trigger-url-elicitation", arguments).text
    assert isinstance(pages[0], types.ElicitUrlParams)
    assert (pages[0].url, pages[0].message) == (arguments["url"], arguments["message"])


@pytest.mark.requirement("feature:elicitation")
def test_a_page_that_must_be_visited_first_is_an_error_that_says_so(
    everything: list[str], make_stdio: MakeStdio
) -> None:
    options = {"elicitation_handler": lambda _: True, "elicitation_modes": ("form", "url")}
    client = make_stdio(everything, **options, **PATIENCE).wait_ready()
    arguments = {"url": "https://example.com/", "message": "go", "errorPath": True}
    with pytest.raises(errors.RemoteError) as caught:
        client.call_tool("trigger-url-elicitation", arguments)
    assert caught.value.code == -32042
    assert caught.value.data["elicitations"][0]["url"] == "https://modelcontextprotocol.io"
    assert "User completed" in client.call_tool("trigger-url-elicitation", arguments).text


@pytest.mark.requirement("feature:roots")
def test_roots_are_told_and_told_again_when_they_change(
    everything: list[str], make_stdio: MakeStdio, tmp_path: Path
) -> None:
    places = [tmp_path]
    heard = Heard()
    client = make_stdio(everything, roots=lambda: places, log_handler=heard, **PATIENCE).wait_ready()
    assert tmp_path.as_uri() in client.call_tool("get-roots-list").text
    places.append(tmp_path / "more")
    client.send_roots_changed()
    until(lambda: any("2 root(s)" in str(one.data) for one in heard.news))
    assert (tmp_path / "more").as_uri() in client.call_tool("get-roots-list").text


@pytest.mark.requirement("feature:logging")
def test_log_messages_arrive_from_the_chosen_level_on(everything: list[str], make_stdio: MakeStdio) -> None:
    heard, also = Heard(), Heard()
    client = make_stdio(everything, log_handler=heard, **PATIENCE).wait_ready()
    client.on_log(also)
    client.set_logging_level("info")
    client.subscribe_resource(RESOURCE)
    assert heard.wait()[0].level == "info"
    assert RESOURCE in heard.news[0].data
    assert also.wait()[0].data == heard.news[0].data
    client.set_logging_level("error")
    client.unsubscribe_resource(RESOURCE)
    client.ping()
    assert len(heard.news) == 1


@pytest.mark.requirement("connection:recover")
def test_updates_arrive_also_after_a_kill_because_the_subscription_is_renewed(
    everything: list[str], make_stdio: MakeStdio
) -> None:
    client = make_stdio(everything, **PATIENCE).wait_ready()
    heard, others = Heard(), Heard()
    client.on_resource_updated(heard, RESOURCE)
    client.on_resource_updated(others, "demo://resource/dynamic/text/2")
    client.subscribe_resource(RESOURCE)
    client.call_tool("toggle-subscriber-updates")
    heard.wait(1)
    kill_and_notice(client, "server-everything")
    client.call_tool("toggle-subscriber-updates", wait=True)
    heard.wait(2)
    # Ends the server's timer, so that it can leave when it is asked to.
    client.call_tool("toggle-subscriber-updates")
    assert others.news == []


@pytest.mark.requirement("notification:kinds")
def test_changes_of_the_lists_are_told(everything: list[str], make_stdio: MakeStdio) -> None:
    tools, resources = Heard(), Heard()
    client = make_stdio(everything, elicitation_handler=lambda _: None, **PATIENCE)
    client.on_tools_changed(tools)
    client.on_notification(resources, "notifications/resources/list_changed")
    client.start().wait_ready()
    # It adds tools as soon as it knows what the client offers.
    tools.wait()
    assert "trigger-elicitation-request" in {one.name for one in client.list_tools()}
    client.call_tool("gzip-file-as-resource", {"name": "y.gz", "data": "data:text/plain,y"})
    resources.wait()
