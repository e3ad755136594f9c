"""Sampling: a server borrows the client's model, by a request or inside a result."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors import Client, errors
from mcp_actors.protocol.types import CreateMessageParams, CreateMessageResult, TextContent
from tests.client.features.places import Place
from tests.client.toy_host import HANDSHAKES, ToyHost, asking, sample
from tests.client.waiting import BOUND

MakeClient = Callable[..., Client]
MakeHost = Callable[..., ToyHost]


def asked(client: Client) -> Any:
    """What the server learned when it asked the model."""
    return json.loads(client.call_tool("ask", {"what": "model"}).text)


@pytest.mark.requirement("feature:sampling")
def test_the_handler_gets_the_question_and_its_text_is_the_answer(place: Place) -> None:
    questions: list[CreateMessageParams] = []

    def answer(question: CreateMessageParams) -> str:
        questions.append(question)
        return "hi"

    client = place.connect(sampling_handler=answer)
    assert asked(client) == {
        "role": "assistant",
        "content": {"type": "text", "text": "hi"},
        "model": "unspecified",
    }
    assert (questions[0].max_tokens, questions[0].messages[0].role) == (10, "user")


@pytest.mark.requirement("feature:sampling")
def test_a_full_result_goes_out_as_it_is(place: Place) -> None:
    said = CreateMessageResult(
        role="assistant", content=TextContent(text="hi"), model="gpt-0", stop_reason="endTurn"
    )
    found = asked(place.connect(sampling_handler=lambda _: said))
    assert (found["model"], found["stopReason"]) == ("gpt-0", "endTurn")


@pytest.mark.requirement("feature:sampling")
def test_the_user_may_refuse(place: Place) -> None:
    client = place.connect(sampling_handler=lambda _: None)
    if place.stateless:
        with pytest.raises(errors.Cancelled, match="sampling/createMessage has no answer"):
            asked(client)
    else:
        assert asked(client) == {"error": -1}
    client.ping()


@pytest.mark.requirement("feature:sampling")
def test_a_handler_that_raises_harms_that_question_alone(place: Place) -> None:
    def fail(_: CreateMessageParams) -> str:
        raise RuntimeError("out of tokens")

    client = place.connect(sampling_handler=fail)
    if place.stateless:
        with pytest.raises(errors.Cancelled):
            asked(client)
    else:
        assert asked(client) == {"error": -32603}
    assert client.call_tool("add", {"a": 1, "b": 1}).structured_content == {"sum": 2}


@pytest.mark.requirement("feature:sampling")
def test_a_client_without_a_handler_offers_none(place: Place) -> None:
    client = place.connect()
    if place.stateless:
        with pytest.raises(errors.RemoteError) as caught:
            asked(client)
        assert caught.value.code == -32021
    else:
        assert asked(client) == {"error": -32601}


@pytest.mark.requirement("feature:sampling")
def test_a_handler_may_use_the_client(place: Place) -> None:
    def answer(_: CreateMessageParams) -> str:
        return client.call_tool("add", {"a": 20, "b": 22}).text

    client = place.connect(sampling_handler=answer)
    assert asked(client)["content"]["text"] == '{"sum": 42}'


@pytest.mark.requirement("feature:sampling")
@pytest.mark.parametrize("version", HANDSHAKES)
def test_it_is_declared_in_the_words_of_the_revision(
    version: str, make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(version=version)
    make_client(host, sampling_handler=lambda _: "", sampling_tools=True, protocol=version).wait_ready()
    said = host.await_heard("initialize")["params"]["capabilities"]
    assert said == {"sampling": {"tools": {}} if version == "2025-11-25" else {}}


@pytest.mark.requirement("feature:sampling")
@pytest.mark.parametrize(("offered", "code"), [(False, -32602), (True, None)])
def test_tools_are_for_those_who_declared_them(
    offered: bool, code: int | None, make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(version="2025-11-25")
    client = make_client(host, sampling_handler=lambda _: "hi", sampling_tools=offered).wait_ready()
    question = sample()
    question["params"]["tools"] = [{"name": "t", "inputSchema": {"type": "object"}}]
    host.say({"jsonrpc": "2.0", "id": 1, **question})
    assert host.await_answer(1).get("error", {}).get("code") == code
    client.ping()


@pytest.mark.requirement("feature:sampling")
def test_a_future_is_answered_for_as_well(host: ToyHost, make_client: MakeClient) -> None:
    host.answers["tools/call"] = lambda request: (
        asking({"q": sample()})
        if "inputResponses" not in request["params"]
        else {"content": [request["params"]["inputResponses"]["q"]["content"]]}
    )
    client = make_client(host, sampling_handler=lambda _: "hi")
    assert client.submit_tool("echo").result(BOUND).text == "hi"
