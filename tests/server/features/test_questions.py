"""Questions of a handler to its client: by requests in one era, by rounds in the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypedDict

import msgspec
import pytest

from mcp_actors import Elicit, InvalidAnswer, NoAnswer, Roots, Sample, Server, errors, types
from mcp_actors.server.context import Context
from tests.client.features.ear import Ear
from tests.server.conftest import Connect, MakeTalk
from tests.server.talk import HANDSHAKE, STATELESS, Talk


@dataclass
class Guest:
    """Who comes."""

    name: str
    age: int = 30
    vegan: bool | None = None


class Choice(TypedDict):
    color: Literal["red", "blue"]
    sizes: list[Literal["s", "m"]]


class Weight(msgspec.Struct):
    kilos: float


FORM = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def offer(server: Server, ask: Any) -> None:
    """A tool that answers with what ``ask`` found out."""

    @server.tool(structured_output=False)
    def question(ctx: Context) -> str:
        try:
            return repr(ask(ctx))
        except NoAnswer as error:
            return f"no answer: {error}"


@pytest.mark.requirement("feature:elicitation")
@pytest.mark.requirement("feature:mrtr")
@pytest.mark.parametrize(
    ("form", "filled", "found"),
    [
        (Guest, {"name": "Ada"}, Guest("Ada", 30, None)),
        (Guest, {"name": "Ada", "age": 36, "vegan": True}, Guest("Ada", 36, True)),
        (Choice, {"color": "red", "sizes": ["s"]}, {"color": "red", "sizes": ["s"]}),
        (Weight, {"kilos": 2.5}, Weight(2.5)),
        (FORM, {"city": "Wien"}, {"city": "Wien"}),
    ],
)
def test_a_form_comes_back_as_what_was_asked_for(
    server: Server, connect: Connect, era: str, form: Any, filled: dict[str, Any], found: Any
) -> None:
    offer(server, lambda ctx: ctx.elicit("Who?", form).data)
    client = connect(server, era, elicitation_handler=lambda _: filled)
    assert client.call_tool("question").text == repr(found)


@pytest.mark.requirement("feature:elicitation")
@pytest.mark.parametrize(
    ("answer", "action"),
    [(None, "decline"), (types.ElicitResult(action="cancel"), "cancel"), ({"city": "Rom"}, "accept")],
)
def test_what_the_user_did_is_told(
    server: Server, connect: Connect, era: str, answer: Any, action: str
) -> None:
    offer(server, lambda ctx: [(got := ctx.elicit("Where?", FORM)).action, got.accepted])
    client = connect(server, era, elicitation_handler=lambda _: answer)
    assert client.call_tool("question").text == repr([action, action == "accept"])


@pytest.mark.requirement("feature:elicitation")
def test_a_user_may_be_asked_to_visit_a_page(server: Server, connect: Connect, era: str) -> None:
    offer(server, lambda ctx: ctx.elicit_url("Log in", "https://example.com/login").accepted)
    asked: list[Any] = []

    def visit(question: Any) -> bool:
        asked.append(question.url)
        return True

    client = connect(server, era, elicitation_handler=visit, elicitation_modes=("form", "url"))
    assert client.call_tool("question").text == "True"
    assert asked == ["https://example.com/login"]


@pytest.mark.requirement("feature:sampling")
def test_the_clients_model_may_be_asked(server: Server, connect: Connect, era: str) -> None:
    asked: list[types.CreateMessageParams] = []

    def think(question: types.CreateMessageParams) -> str:
        asked.append(question)
        return "forty-two"

    offer(
        server,
        lambda ctx: (
            ctx.sample(
                "What is the answer?",
                max_tokens=5,
                system_prompt="Be brief",
                stop_sequences=("!",),
                model_preferences=types.ModelPreferences(hints=[types.ModelHint(name="deep")]),
            ).text
        ),
    )
    assert connect(server, era, sampling_handler=think).call_tool("question").text == repr("forty-two")
    assert (asked[0].max_tokens, asked[0].system_prompt) == (5, "Be brief")
    assert asked[0].stop_sequences == ["!"]


@pytest.mark.requirement("feature:sampling")
def test_messages_for_the_model_may_be_values_or_plain_objects(
    server: Server, connect: Connect, era: str
) -> None:
    messages: list[Any] = [
        types.SamplingMessage(role="user", content=types.TextContent(text="one")),
        {"role": "assistant", "content": {"type": "text", "text": "two"}},
    ]
    offer(server, lambda ctx: ctx.sample(messages).text)
    client = connect(server, era, sampling_handler=lambda asked: str(len(asked.messages)))
    assert client.call_tool("question").text == repr("2")


@pytest.mark.requirement("feature:roots")
def test_the_clients_folders_may_be_asked_for(server: Server, connect: Connect, era: str) -> None:
    offer(server, lambda ctx: [root.uri for root in ctx.roots()])
    client = connect(server, era, roots=["file:///home/ada"])
    assert client.call_tool("question").text == repr(["file:///home/ada"])


@pytest.mark.requirement("feature:mrtr")
def test_several_questions_may_be_asked_at_once_and_one_after_the_other(
    server: Server, connect: Connect, era: str
) -> None:
    runs: list[int] = []

    @server.tool(structured_output=False)
    def interview(ctx: Context) -> str:
        runs.append(1)
        first = ctx.ask({"who": Elicit("Who?", Guest), "where": Roots(), "what": Sample("What?")})
        second = ctx.elicit("Sure?", FORM)
        third = ctx.elicit("Really?", FORM, key="really")
        who, where, what = first["who"].data.name, len(first["where"]), first["what"].text
        return f"{who} {where} {what} {second.data} {third.action}"

    handler = lambda question: {"city": "Bonn"} if question.message != "Who?" else {"name": "Ada"}  # noqa: E731
    client = connect(
        server, era, roots=["/a", "/b"], elicitation_handler=handler, sampling_handler=lambda _: "this"
    )
    assert client.call_tool("interview").text == "Ada 2 this {'city': 'Bonn'} accept"
    assert len(runs) == (4 if era == STATELESS else 1)


@pytest.mark.requirement("feature:mrtr")
def test_resources_and_prompts_may_ask_too(server: Server, connect: Connect, era: str) -> None:
    @server.resource("demo://{x}")
    def resource(x: str, ctx: Context) -> str:
        return x + str(ctx.elicit("Where?", FORM).data)

    @server.prompt()
    def prompt(ctx: Context) -> str:
        return str(ctx.elicit("Where?", FORM).data)

    client = connect(server, era, elicitation_handler=lambda _: {"city": "Graz"})
    assert client.read_resource("demo://y").contents[0].to_wire()["text"] == "y{'city': 'Graz'}"
    assert client.get_prompt("prompt").messages[0].content.to_wire()["text"] == "{'city': 'Graz'}"


def test_a_completion_may_not_ask_where_it_cannot(server: Server, connect: Connect, era: str) -> None:
    server.add_prompt(lambda x: x, name="prompt")
    found: list[str] = []

    @server.completion(argument="x", prompt="prompt")
    def complete(_text: str, ctx: Context) -> list[str]:
        try:
            found.append(str(ctx.elicit("Where?", FORM).data))
        except NoAnswer as error:
            found.append(str(error))
        return []

    client = connect(server, era, elicitation_handler=lambda _: {"city": "Graz"})
    client.complete(types.PromptReference(name="prompt"), "x", "")
    told = "the client cannot be asked anything while it waits for completion/complete"
    assert found == [told if era == STATELESS else "{'city': 'Graz'}"]


# Clients that cannot, or do not.


QUESTIONS: dict[str, Any] = {
    "elicitation": lambda ctx: ctx.elicit("Where?", FORM),
    "elicitation.url": lambda ctx: ctx.elicit_url("Go", "https://example.com"),
    "sampling": lambda ctx: ctx.sample("What?"),
    "sampling.tools": lambda ctx: ctx.sample("What?", tools=[]),
    "roots": lambda ctx: ctx.roots(),
}


@pytest.mark.parametrize("lacking", QUESTIONS)
def test_who_did_not_declare_a_capability_is_not_asked(
    server: Server, connect: Connect, era: str, lacking: str
) -> None:
    offer(server, QUESTIONS[lacking])
    some = (
        {"elicitation_handler": lambda _: None, "sampling_handler": lambda _: "x"} if "." in lacking else {}
    )
    client = connect(server, era, **some)
    if era == HANDSHAKE:
        assert client.call_tool("question").text.endswith(f"does not offer {lacking}")
        return
    with pytest.raises(errors.RemoteError) as missing:
        client.call_tool("question")
    assert missing.value.code == -32021
    nested = missing.value.data["requiredCapabilities"]
    for key in lacking.split("."):
        nested = nested[key]


def test_who_declared_pages_alone_is_not_asked_to_fill_in_a_form(
    server: Server, talk: MakeTalk, era: str
) -> None:
    offer(server, QUESTIONS["elicitation"])
    answer = talk(server, era, elicitation={"url": {}}).tool("question")
    if era == HANDSHAKE:
        assert answer["result"]["content"][0]["text"].endswith("does not offer elicitation.form")
    else:
        assert answer["error"]["data"] == {"requiredCapabilities": {"elicitation": {"form": {}}}}


def test_a_revision_without_forms_cannot_be_asked(server: Server, connect: Connect) -> None:
    offer(server, QUESTIONS["elicitation"])
    client = connect(server, "2024-11-05", elicitation_handler=lambda _: None)
    assert client.call_tool("question").text.startswith("no answer: the client cannot be asked")


def test_a_client_that_refuses_is_no_answer(server: Server, connect: Connect) -> None:
    offer(server, QUESTIONS["sampling"])
    client = connect(server, HANDSHAKE, sampling_handler=lambda _: None)
    text = client.call_tool("question").text
    assert text == "no answer: the client refused sampling/createMessage: User rejected sampling request"


class Answering:
    """A client of the handshake era whose answers are written by hand."""

    def __init__(self, talk: Talk) -> None:
        self.talk = talk
        self.call = talk.ask("tools/call", name="question")
        self.question = talk.read()

    def finish(self, **answer: Any) -> str:
        self.talk.send({"id": self.question["id"], **answer})
        text: str = self.talk.answer_to(self.call)["result"]["content"][0]["text"]
        return text


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"result": {"action": "accept"}}, "does not fit: a form that was accepted has content"),
        ({"result": {"action": "accept", "content": {"name": 7}}}, "does not fit"),
        ({"result": {"action": 7}}, "does not fit"),
        ({"result": [1]}, "is no object"),
        ({"error": {"code": 1, "message": "no way"}}, "refused elicitation/create: no way"),
        ({"error": "no way"}, "refused elicitation/create: without a reason"),
    ],
)
def test_a_wrong_answer_is_no_answer(
    server: Server, talk: MakeTalk, answer: dict[str, Any], words: str
) -> None:
    offer(server, lambda ctx: ctx.elicit("Who?", Guest).data)
    answering = Answering(talk(server, HANDSHAKE, elicitation={}))
    assert answering.question["method"] == "elicitation/create"
    assert words in answering.finish(**answer)


def test_a_client_that_takes_too_long_is_told_that_it_need_not_go_on(server: Server, talk: MakeTalk) -> None:
    offer(server, lambda ctx: ctx.elicit("Who?", Guest, timeout=0.02))
    answering = Answering(talk(server, HANDSHAKE, elicitation={"form": {}}))
    [text] = answering.talk.answer_to(answering.call)["result"]["content"]
    assert "did not answer elicitation/create" in text["text"]
    [taken_back] = answering.talk.heard
    assert taken_back["method"] == "notifications/cancelled"
    assert taken_back["params"]["requestId"] == answering.question["id"]


#: What is wrong with an answer, for each question: the result, and what the handler is told.
MALFORMED: list[tuple[str, Any, str]] = [
    ("elicitation", {}, "`action`"),
    ("elicitation", {"action": "maybe"}, "$.action"),
    ("elicitation", {"action": "accept"}, "a form that was accepted has content"),
    ("elicitation", {"action": "accept", "content": {"city": 7}}, "/city: 7 is not of type"),
    ("elicitation", {"action": "accept", "content": {}}, '"city" is a required property'),
    ("elicitation", {"action": "accept", "content": [1]}, "$.content"),
    ("elicitation.url", {"action": 1}, "$.action"),
    ("sampling", {"role": "assistant", "content": {"type": "text", "text": "x"}}, "`model`"),
    ("sampling", {"role": "assistant", "model": "m", "content": 7}, "does not fit"),
    ("roots", {"roots": [{"uri": 7}]}, "$.roots[0].uri"),
    ("roots", {"cancelled": True}, "`roots`"),
]
ABLE: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}


def doubt(server: Server, kind: str) -> None:
    """A tool that tells what it was raised."""

    @server.tool(structured_output=False)
    def question(ctx: Context) -> str:
        try:
            return repr(QUESTIONS[kind](ctx))
        except InvalidAnswer as error:
            return f"invalid: {error}"


@pytest.mark.parametrize(("kind", "result", "words"), MALFORMED)
def test_an_answer_that_is_malformed_is_told_as_what_it_is(
    server: Server, talk: MakeTalk, era: str, kind: str, result: Any, words: str
) -> None:
    doubt(server, kind)
    one = talk(server, era, **ABLE)
    if era == HANDSHAKE:
        text = Answering(one).finish(result=result)
    else:
        key = kind.partition(".")[0].replace("elicitation", "elicit").replace("sampling", "sample") + "-1"
        state = one.tool("question")["result"]["requestState"]
        again = {"name": "question", "arguments": {}, "inputResponses": {key: result}, "requestState": state}
        text = one.call("tools/call", **again)["result"]["content"][0]["text"]
    assert text.startswith("invalid: the client's answer to ")
    assert words in text


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            {"result": {"action": "cancel"}, "error": {"code": 1, "message": "no"}},
            "both a result and an error",
        ),
        ({}, "neither a method, a result nor an error"),
        ({"jsonrpc": "1.0", "result": {}}, "without jsonrpc 2.0"),
        ({"result": "cancel"}, "is no object"),
        ({"result": None}, "is no object"),
    ],
)
def test_what_is_no_answer_at_all_is_neither_a_cancellation_nor_waited_for(
    server: Server, talk: MakeTalk, answer: dict[str, Any], words: str
) -> None:
    doubt(server, "elicitation")
    text = Answering(talk(server, HANDSHAKE, elicitation={"form": {}})).finish(**answer)
    assert text.startswith("invalid: the client's answer to elicitation/create ")
    assert words in text


def test_what_nobody_catches_is_the_error_of_the_request_in_the_era_of_rounds(
    server: Server, talk: MakeTalk
) -> None:
    @server.tool()
    def question(ctx: Context) -> None:
        ctx.elicit("Where?", FORM)

    one = talk(server, STATELESS, **ABLE)
    state = one.tool("question")["result"]["requestState"]
    again = {
        "name": "question",
        "arguments": {},
        "inputResponses": {"elicit-1": {"action": 7}},
        "requestState": state,
    }
    assert one.call("tools/call", **again)["error"]["code"] == -32602


def test_a_malformed_answer_reaches_a_task_too(server: Server, talk: MakeTalk) -> None:
    found = Ear()

    @server.tool(task_support="required")
    def question(ctx: Context) -> None:
        try:
            ctx.elicit("Where?", FORM)
        except InvalidAnswer as error:
            found(str(error))

    one = talk(server, HANDSHAKE, **ABLE)
    task = one.call("tools/call", name="question", task={})["result"]["task"]["taskId"]
    one.ask("tasks/result", taskId=task)
    asked = one.read()
    while asked["method"] != "elicitation/create":
        asked = one.read()
    one.send({"id": asked["id"], "result": {}, "error": {}})
    [told] = found.wait_for(1)
    assert told.endswith("a response with both a result and an error")


def test_a_form_by_a_schema_that_is_none_is_the_handlers_own_mistake(
    server: Server, talk: MakeTalk, era: str
) -> None:
    offer(server, lambda ctx: ctx.elicit("Where?", {"type": "no such type"}))
    [text] = talk(server, era, **ABLE).tool("question")["result"]["content"]
    assert text["text"] == "tool 'question' failed"
