"""Sampling: what the server asks reaches the handler, and what the handler says fits the revision."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_actors.client.answering.desk import Desk, Unanswered
from mcp_actors.protocol.revisions import ALL, Revision, by_version
from mcp_actors.protocol.types import (
    AudioContent,
    CreateMessageParams,
    CreateMessageResult,
    ImageContent,
    TextContent,
    ToolUseContent,
    UnknownContent,
)

pytestmark = pytest.mark.requirement("feature:sampling")

NEWEST = ALL[0]
OLDER = [revision for revision in ALL if revision.version < "2025-11-25"]
NEWER = [revision for revision in ALL if revision.version >= "2025-11-25"]
TOOLS = [{"name": "look", "inputSchema": {"type": "object"}}]


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def request(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"messages": list(messages), "maxTokens": 10, **more}


def answered(given: Any, params: Any = None, revision: Revision = NEWEST, **options: Any) -> dict[str, Any]:
    desk = Desk(sampling_handler=lambda _: given, **options)
    return desk.answer("sampling/createMessage", request() if params is None else params, revision)


def refused(given: Any, params: Any = None, revision: Revision = NEWEST, **options: Any) -> Unanswered:
    with pytest.raises(Unanswered) as caught:
        answered(given, params, revision, **options)
    return caught.value


def result(content: Any, **more: Any) -> CreateMessageResult:
    return CreateMessageResult(**{"role": "assistant", "content": content, "model": "m", **more})


def test_the_handler_gets_what_the_server_asks() -> None:
    seen: list[CreateMessageParams] = []

    def handler(asked: CreateMessageParams) -> str:
        seen.append(asked)
        return "yes"

    desk = Desk(sampling_handler=handler)
    params = request({"role": "user", "content": text("hi")}, systemPrompt="be brief", temperature=0.5)
    desk.answer("sampling/createMessage", params, NEWEST)
    assert seen[0].messages[0].text == "hi"
    assert (seen[0].max_tokens, seen[0].system_prompt, seen[0].temperature) == (10, "be brief", 0.5)


@pytest.mark.parametrize("revision", ALL, ids=str)
def test_a_string_is_the_assistants_text(revision: Revision) -> None:
    wire = {"role": "assistant", "content": text("hello"), "model": "unspecified"}
    assert answered("hello", revision=revision) == wire


@pytest.mark.parametrize("revision", ALL, ids=str)
def test_a_result_is_sent_as_it_is(revision: Revision) -> None:
    given = result(ImageContent(data="AA==", mime_type="image/png"), stop_reason="endTurn")
    assert answered(given, revision=revision) == {
        "role": "assistant",
        "content": {"type": "image", "data": "AA==", "mimeType": "image/png"},
        "model": "m",
        "stopReason": "endTurn",
    }


def test_no_answer_means_that_the_user_said_no() -> None:
    problem = refused(None)
    assert (problem.code, problem.message, problem.declined) == (-1, "User rejected sampling request", True)


@pytest.mark.parametrize("revision", OLDER, ids=str)
def test_older_revisions_get_one_block_unwrapped_and_never_several(revision: Revision) -> None:
    one = TextContent(text="a")
    assert answered(result([one]), revision=revision)["content"] == text("a")
    problem = refused(result([one, one]), revision=revision)
    assert problem.code == -32603
    assert "2 content blocks" in problem.message


@pytest.mark.parametrize("revision", NEWER, ids=str)
def test_newer_revisions_get_all_blocks(revision: Revision) -> None:
    one = TextContent(text="a")
    assert answered(result([one, one]), revision=revision)["content"] == [text("a"), text("a")]
    assert answered(result([one]), revision=revision)["content"] == [text("a")]


@pytest.mark.parametrize("revision", ALL, ids=str)
def test_an_answer_without_content_is_none(revision: Revision) -> None:
    assert "0 content blocks" in refused(result([]), revision=revision).message


def test_sound_is_no_answer_before_there_was_sound() -> None:
    first = by_version("2024-11-05")
    assert first is not None
    sound = result(AudioContent(data="AA==", mime_type="audio/wav"))
    assert "audio" in refused(sound, revision=first).message
    assert answered(sound)["content"]["type"] == "audio"


@pytest.mark.parametrize("revision", NEWER, ids=str)
def test_the_use_of_a_tool_is_an_answer_only_where_tools_were_brought(revision: Revision) -> None:
    use = result([ToolUseContent(id="1", name="look", input={})], stop_reason="toolUse")
    with_tools = request(tools=TOOLS)
    wire = answered(use, with_tools, revision, sampling_tools=True)
    assert wire["content"] == [{"type": "tool_use", "id": "1", "name": "look", "input": {}}]
    assert "tool_use" in refused(use, revision=revision, sampling_tools=True).message
    assert "tool_use" in refused(use, request(tools=[]), revision, sampling_tools=True).message


@pytest.mark.parametrize("extra", [{"tools": TOOLS}, {"tools": []}, {"toolChoice": {"mode": "auto"}}])
def test_tools_that_were_not_offered_are_refused(extra: dict[str, Any]) -> None:
    for revision in ALL:
        assert refused("x", request(**extra), revision).code == -32602
    # Older revisions have no word to offer them, so that they stay unoffered.
    for revision in OLDER:
        assert refused("x", request(**extra), revision, sampling_tools=True).code == -32602
    assert answered("x", request(**extra), sampling_tools=True)["content"] == text("x")


def use(*ids: str) -> dict[str, Any]:
    blocks = [{"type": "tool_use", "id": id_, "name": "look", "input": {}} for id_ in ids]
    return {"role": "assistant", "content": [text("let me see"), *blocks]}


def results(*ids: str, role: str = "user", also: Any = ()) -> dict[str, Any]:
    blocks = [{"type": "tool_result", "toolUseId": id_, "content": []} for id_ in ids]
    return {"role": role, "content": [*blocks, *also]}


def said(role: str) -> dict[str, Any]:
    return {"role": role, "content": text("x")}


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [said("user"), said("assistant"), said("user")],
        [use("1"), results("1")],
        [said("user"), use("1", "2"), results("2", "1"), use("3"), results("3"), said("assistant")],
        [{"role": "assistant", "content": []}],
    ],
)
def test_conversations_in_which_every_use_has_its_result_are_passed_on(messages: list[Any]) -> None:
    assert answered("x", request(*messages), sampling_tools=True)["content"] == text("x")


@pytest.mark.parametrize(
    "messages",
    [
        [use("1")],
        [use("1"), said("user")],
        [use("1"), said("user"), results("1")],
        [use("1"), use("2"), results("1", "2")],
        [use("1", "2"), results("1")],
        [use("1"), results("1", "1")],
        [use("1"), results("2")],
        [use("1"), results("1", also=[text("and")])],
        [use("1"), results("1", role="assistant")],
        [results("1")],
        [use("1"), {"role": "user", "content": []}],
        [{"role": "user", "content": use("1")["content"]}, results("1")],
    ],
)
def test_conversations_in_which_uses_and_results_do_not_match_are_refused(messages: list[Any]) -> None:
    problem = refused("x", request(*messages), sampling_tools=True)
    assert problem.code == -32602
    assert "$.messages" in problem.message


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"messages": []},
        {"messages": {}, "maxTokens": 1},
        {"messages": [], "maxTokens": "1"},
        request({"role": "system", "content": text("x")}),
        request({"role": "user", "content": 5}),
        request({"role": "user", "content": [[text("x")]]}),
        request({"role": "user", "content": {"type": "text"}}),
    ],
)
def test_params_that_do_not_fit_are_refused(params: dict[str, Any]) -> None:
    assert refused("x", params).code == -32602


@pytest.mark.parametrize(
    "given",
    [
        5,
        {},
        b"x",
        ["x"],
        result(TextContent(text=5)),  # type: ignore[arg-type]  # that is the mistake
        result(TextContent(text="x"), role="system"),
        result(TextContent(text="x"), model=None),
        result(TextContent(text="x"), stop_reason=5),
        result(TextContent(text="x"), meta={"x": object()}),
        result(UnknownContent(type="video")),
    ],
)
def test_what_is_no_answer_is_a_failure_of_the_handler(given: Any) -> None:
    problem = refused(given)
    assert problem.code == -32603
    assert problem.message.startswith("the sampling handler failed: ")
