"""Resources, prompts, completions and lists of a server, in both eras."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from mcp_actors import AssistantMessage, Client, NotFound, Server, UserMessage, errors, types
from mcp_actors.server.context import Context
from mcp_actors.server.registry.sources import TextResource
from tests.client.waiting import BOUND, opened_at_the_end
from tests.server.conftest import Connect, MakeServer
from tests.server.talk import STATELESS, VERSIONS


@pytest.fixture
def library(server: Server) -> Server:
    furnish_with_books(server)
    furnish_with_prompts(server)
    return server


def furnish_with_books(server: Server) -> None:
    @server.resource("book://all", mime_type="text/csv")
    def catalogue() -> str:
        return "a,b"

    @server.resource("book://cover")
    def cover() -> bytes:
        return b"\x00png"

    @server.resource("book://{author}/{number}")
    def book(author: str, number: int, ctx: Context) -> dict[str, Any]:
        if number == 0:
            raise NotFound
        if number == 1:
            raise FileNotFoundError("/secret/path")
        if number == 2:
            raise RuntimeError("secret")
        return {"author": author, "number": number, "method": ctx.method}

    @server.resource("book://nothing")
    def nothing() -> Any:
        return None


def furnish_with_prompts(server: Server) -> None:
    @server.prompt()
    def review(title: str, tone: str = "kind") -> list[UserMessage | AssistantMessage]:
        """Review a book."""
        return [UserMessage(f"Review {title}"), AssistantMessage(f"In a {tone} tone.")]

    @server.prompt()
    def broken() -> Any:
        return object()

    @server.prompt()
    def where(ctx: Context) -> str:
        return ctx.protocol_version

    @server.completion(argument="title", prompt="review")
    def titles(text: str) -> list[str]:
        return [title for title in ("Emma", "Persuasion", "Emil") if title.startswith(text)]

    @server.completion(argument="number", template="book://{author}/{number}")
    def numbers(_text: str, others: dict[str, str], ctx: Context) -> Any:
        if others.get("author") == "nobody":
            return [7]
        return [others.get("author", "?"), ctx.method]


@pytest.mark.requirement("feature:resources")
@pytest.mark.parametrize("version", VERSIONS)
def test_resources_are_listed_and_read(library: Server, connect: Connect, version: str) -> None:
    client = connect(library, version)
    assert [one.uri for one in client.list_resources()] == ["book://all", "book://cover", "book://nothing"]
    assert [one.uri_template for one in client.list_resource_templates()] == ["book://{author}/{number}"]
    [text] = client.read_resource("book://all").contents
    assert text.to_wire() == {"uri": "book://all", "mimeType": "text/csv", "text": "a,b"}
    [blob] = client.read_resource("book://cover").contents
    assert blob.to_wire()["blob"] == "AHBuZw=="
    [made] = client.read_resource("book://austen/7").contents
    assert made.to_wire()["text"] == '{"author":"austen","number":7,"method":"resources/read"}'


@pytest.mark.parametrize("uri", ["book://none", "book://austen/0", "book://austen/1"])
def test_what_is_not_there_is_told_with_its_uri(
    library: Server, connect: Connect, era: str, uri: str
) -> None:
    with pytest.raises(errors.RemoteError) as missing:
        connect(library, era).read_resource(uri)
    assert missing.value.code == (-32602 if era == STATELESS else -32002)
    assert missing.value.data == {"uri": uri}
    assert "secret" not in str(missing.value)


@pytest.mark.parametrize(
    ("uri", "code"), [("book://austen/x", -32602), ("book://austen/2", -32603), ("book://nothing", -32603)]
)
def test_a_resource_that_cannot_be_read_says_no_more_than_that(
    library: Server, connect: Connect, era: str, uri: str, code: int
) -> None:
    with pytest.raises(errors.RemoteError) as failed:
        connect(library, era).read_resource(uri)
    assert failed.value.code == code
    assert "secret" not in str(failed.value)


@pytest.mark.requirement("feature:prompts")
@pytest.mark.parametrize("version", VERSIONS)
def test_prompts_are_listed_and_filled_in(library: Server, connect: Connect, version: str) -> None:
    client = connect(library, version)
    first = client.list_prompts()[0]
    assert (first.name, first.description) == ("review", "Review a book.")
    assert [(one.name, one.required) for one in first.arguments or ()] == [("title", True), ("tone", False)]
    prompt = client.get_prompt("review", {"title": "Emma"})
    assert prompt.description == "Review a book."
    assert [(one.role, one.content.to_wire()["text"]) for one in prompt.messages] == [
        ("user", "Review Emma"),
        ("assistant", "In a kind tone."),
    ]
    assert client.get_prompt("where").messages[0].content.to_wire()["text"] == version


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"name": "none"}, -32602),
        ({"name": 1}, -32602),
        ({"name": "review"}, -32602),
        ({"name": "review", "arguments": {"title": 1}}, -32602),
        ({"name": "review", "arguments": ["Emma"]}, -32602),
        ({"name": "broken"}, -32603),
    ],
)
def test_a_prompt_that_cannot_be_filled_in_is_an_error(
    library: Server, connect: Connect, era: str, params: dict[str, Any], code: int
) -> None:
    with pytest.raises(errors.RemoteError) as unfit:
        connect(library, era).request("prompts/get", params)
    assert unfit.value.code == code


@pytest.mark.requirement("feature:completion")
@pytest.mark.parametrize("version", VERSIONS[:-1])
def test_arguments_are_completed(library: Server, connect: Connect, version: str) -> None:
    client = connect(library, version)
    prompt = types.PromptReference(name="review")
    assert client.complete(prompt, "title", "Em").values == ["Emma", "Emil"]
    assert client.complete(prompt, "tone", "k").values == []
    template = types.ResourceTemplateReference(uri="book://{author}/{number}")
    found = client.complete(template, "number", "", context={"author": "austen"})
    assert found.values == ["austen", "completion/complete"]
    assert client.complete(types.ResourceTemplateReference(uri="book://all"), "x", "").values == []


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"ref": {"type": "ref/prompt", "name": "none"}, "argument": {"name": "x", "value": ""}}, -32602),
        ({"ref": {"type": "ref/resource", "uri": "no:/"}, "argument": {"name": "x", "value": ""}}, -32602),
        ({"ref": {"type": "ref/prompt", "name": "review"}}, -32602),
        (
            {
                "ref": {"type": "ref/resource", "uri": "book://{author}/{number}"},
                "argument": {"name": "number", "value": ""},
                "context": {"arguments": {"author": "nobody"}},
            },
            -32603,
        ),
    ],
)
def test_what_cannot_be_completed_is_an_error(
    library: Server, connect: Connect, era: str, params: dict[str, Any], code: int
) -> None:
    with pytest.raises(errors.RemoteError) as unfit:
        connect(library, era).request("completion/complete", params)
    assert unfit.value.code == code


def test_what_needs_no_function_is_read_as_well(server: Server, connect: Connect, era: str) -> None:
    server.add_source(TextResource("demo://text", "just a text"))
    [text] = connect(server, era).read_resource("demo://text").contents
    assert text.to_wire()["text"] == "just a text"


@pytest.mark.parametrize("uri", [None, 7])
def test_a_uri_is_a_text(library: Server, connect: Connect, era: str, uri: object) -> None:
    with pytest.raises(errors.RemoteError, match="uri must be a string"):
        connect(library, era).request("resources/read", {"uri": uri})


def test_a_completion_is_of_a_prompt_or_of_a_template(server: Server) -> None:
    for names in ({}, {"prompt": "a", "template": "b://{c}"}):
        with pytest.raises(TypeError, match="either a prompt or a template"):
            server.completion(argument="x", **names)


@pytest.mark.requirement("feature:pagination")
@pytest.mark.parametrize("version", VERSIONS)
def test_long_lists_come_in_pages(make_server: MakeServer, connect: Connect, version: str) -> None:
    server = make_server(page_size=2)
    for number in range(5):
        server.add_tool(lambda: 1, name=f"tool-{number}")
        server.add_prompt(lambda: "", name=f"prompt-{number}")
        server.add_resource(f"demo://{number}", lambda: "")
        server.add_resource(f"demo://{number}/{{x}}", lambda x: x)
    client = connect(server, version)
    assert [len(page.tools) for page in client.tool_pages()] == [2, 2, 1]
    assert [tool.name for tool in client.list_tools()] == [f"tool-{number}" for number in range(5)]
    assert len(client.list_prompts()) == len(client.list_resources()) == 5
    assert len(client.list_resource_templates()) == 5


@pytest.mark.parametrize("cursor", ["rubbish", 7, True])
def test_a_cursor_that_is_none_of_ours_is_refused(
    library: Server, connect: Connect, era: str, cursor: object
) -> None:
    with pytest.raises(errors.RemoteError) as refused:
        connect(library, era).request("prompts/list", {"cursor": cursor})
    assert refused.value.code == -32602


def test_a_page_that_was_begun_goes_on_after_a_change(
    make_server: MakeServer, connect: Connect, era: str
) -> None:
    server = make_server(page_size=2)
    for number in range(4):
        server.add_tool(lambda: 1, name=f"tool-{number}")
    pages = iter(connect(server, era).tool_pages())
    assert [tool.name for tool in next(pages).tools] == ["tool-0", "tool-1"]
    server.remove_tool("tool-1")
    assert [tool.name for tool in next(pages).tools] == ["tool-2", "tool-3"]


def test_what_may_be_kept_is_said_to_those_who_understand(make_server: MakeServer, talk: Any) -> None:
    server = make_server(ttl_ms=500, cache_scope="public")
    server.add_tool(lambda: 1, name="one")
    told = talk(server, STATELESS).call("tools/list")["result"]
    assert (told["ttlMs"], told["cacheScope"], told["resultType"]) == (500, "public", "complete")
    assert set(talk(server, "2025-11-25").call("tools/list")["result"]) == {"tools"}


# What is said of all kinds: which clients may have it, and how long it may take.


@pytest.fixture
def picky(server: Server) -> Server:
    @server.resource("demo://fixed", required_capability={"sampling": {}})
    @server.resource("demo://{name}/x", required_capability={"sampling": {}})
    def resource(name: str = "") -> str:
        return name

    @server.prompt(required_capability={"sampling": {}})
    def prompt() -> str:
        return "hello"

    return server


READ: dict[str, Callable[[Client], Any]] = {
    "resource 'demo://fixed'": lambda client: client.read_resource("demo://fixed"),
    "resource 'demo://a/x'": lambda client: client.read_resource("demo://a/x"),
    "prompt 'prompt'": lambda client: client.get_prompt("prompt"),
}


@pytest.mark.parametrize("what", READ)
def test_what_needs_a_client_that_declares_more_is_refused_to_others(
    picky: Server, connect: Connect, era: str, what: str
) -> None:
    assert READ[what](connect(picky, era, sampling_handler=lambda _: "hi"))
    with pytest.raises(errors.RemoteError, match=f"{what} needs a client that declares more") as missing:
        READ[what](connect(picky, era))
    assert missing.value.code == -32021
    assert missing.value.data == {"requiredCapabilities": {"sampling": {}}}


@pytest.mark.parametrize("what", READ)
def test_what_takes_too_long_to_read_is_an_error_that_names_the_time(
    server: Server, connect: Connect, era: str, what: str
) -> None:
    told, gate = threading.Event(), threading.Event()

    def dawdle(ctx: Context) -> str:
        gate.wait(BOUND)
        if ctx.cancelled:
            told.set()
        return "too late"

    server.add_resource("demo://fixed", dawdle, timeout=0.05)

    @server.resource("demo://{name}/x", timeout=0.05)
    def resource(name: str, ctx: Context) -> str:
        return name + dawdle(ctx)

    server.add_prompt(dawdle, name="prompt", timeout=0.05)
    with opened_at_the_end(gate):
        client = connect(server, era)
        with pytest.raises(errors.RemoteError, match=f"{what} took longer than 0.05 s") as late:
            READ[what](client)
        assert late.value.code == -32603
    assert told.wait(BOUND)


def test_what_is_read_in_time_is_not_answered_for(server: Server, connect: Connect, era: str) -> None:
    server.add_resource("demo://fixed", lambda: "in time", name="fixed", timeout=BOUND)
    contents = connect(server, era).read_resource("demo://fixed").contents
    assert contents[0].to_wire()["text"] == "in time"


def test_a_capability_is_an_object_where_it_is_written(server: Server) -> None:
    for offer in (server.tool, server.prompt):
        with pytest.raises(TypeError, match="required_capability must be an object"):
            offer(name="x", required_capability="sampling")(lambda: "x")  # type: ignore[arg-type]


def test_what_cannot_be_listed_is_refused_where_it_is_written(
    server: Server, connect: Connect, era: str
) -> None:
    for offer in (server.tool, server.prompt, partial(server.resource, "demo://x")):
        with pytest.raises(TypeError):
            offer(name="odd", meta={"x": object()})(lambda: "x")
    server.add_tool(lambda: "x", name="good")
    assert [tool.name for tool in connect(server, era).list_tools()] == ["good"]
