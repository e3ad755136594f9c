"""The everything server: what a client can ask of it, and what happens when it is killed or too slow."""

from __future__ import annotations

import base64
import gzip

import pytest

from mcp_actors import Client, Progress, errors
from mcp_actors.protocol import types
from tests.client.waiting import BOUND
from tests.real.programs import MARKS, PATIENCE, MakeStdio, kill_server

pytestmark = MARKS


@pytest.fixture
def client(everything: list[str], make_stdio: MakeStdio) -> Client:
    """A ready client."""
    return make_stdio(everything, **PATIENCE).wait_ready()


@pytest.mark.requirement("feature:tools")
@pytest.mark.requirement("feature:ping")
def test_the_everything_server(client: Client) -> None:
    assert client.protocol_version == "2025-11-25"
    assert client.server_info.name == "mcp-servers/everything"
    names = {one.name for one in client.list_tools()}
    assert {"echo", "get-sum", "get-tiny-image", "trigger-long-running-operation"} <= names
    assert client.call_tool("echo", {"message": "grüß dich"}).text == "Echo: grüß dich"
    assert client.call_tool("get-sum", {"a": 2, "b": 3}).text == "The sum of 2 and 3 is 5."
    resources = client.list_resources()
    assert client.read_resource(resources[0].uri).raw["contents"][0]["uri"] == resources[0].uri
    assert {one.name for one in client.list_prompts()} >= {"simple-prompt", "args-prompt"}
    assert "Paris" in str(client.get_prompt("args-prompt", {"city": "Paris"}).raw)
    client.ping()
    futures = [client.submit_tool("get-sum", {"a": number, "b": 1}) for number in range(50)]
    assert [future.result(4 * BOUND).text for future in futures] == [
        f"The sum of {number} and 1 is {number + 1}." for number in range(50)
    ]


@pytest.mark.requirement("feature:tools")
def test_all_kinds_of_content_are_understood(client: Client) -> None:
    text, image = client.call_tool(
        "get-annotated-message", {"messageType": "error", "includeImage": True}
    ).content
    assert isinstance(text, types.TextContent)
    assert text.annotations is not None
    assert (text.annotations.priority, text.annotations.audience) == (1.0, ["user", "assistant"])
    assert isinstance(image, types.ImageContent)
    assert image.mime_type == "image/png"
    reference = {"resourceType": "Blob", "resourceId": 7}
    _, embedded, _ = client.call_tool("get-resource-reference", reference).content
    assert isinstance(embedded, types.EmbeddedResource)
    assert embedded.resource.uri == "demo://resource/dynamic/blob/7"
    _, *links = client.call_tool("get-resource-links", {"count": 2}).content
    assert all(isinstance(link, types.ResourceLink) for link in links)
    weather = client.call_tool("get-structured-content", {"location": "Chicago"}).structured_content
    assert weather == {"temperature": 36, "conditions": "Light rain / drizzle", "humidity": 82}


@pytest.mark.requirement("feature:resources")
def test_templates_give_text_and_bytes(client: Client) -> None:
    templates = [one.uri_template for one in client.list_resource_templates()]
    assert templates == [f"demo://resource/dynamic/{kind}/{{resourceId}}" for kind in ("text", "blob")]
    text = client.read_resource("demo://resource/dynamic/text/3").raw["contents"][0]["text"]
    assert text.startswith("Resource 3: This is a plaintext resource")
    blob = client.read_resource("demo://resource/dynamic/blob/3").raw["contents"][0]["blob"]
    assert base64.b64decode(blob).startswith(b"Resource 3: This is a base64 blob")
    with pytest.raises(errors.RemoteError):
        client.read_resource("demo://resource/dynamic/text/none")


@pytest.mark.requirement("feature:completion")
def test_arguments_are_completed(client: Client) -> None:
    department = client.complete("completable-prompt", "department", "S")
    assert department.values == ["Sales", "Support"]
    reference = types.PromptReference(name="completable-prompt")
    name = client.complete(reference, "name", "", context={"department": "Engineering"})
    assert name.values == ["Alice", "Bob", "Charlie"]
    template = types.ResourceTemplateReference(uri="demo://resource/dynamic/text/{resourceId}")
    assert client.complete(template, "resourceId", "12").values == ["12"]
    assert client.complete(template.uri, "resourceId", "no number").values == []


@pytest.mark.requirement("feature:resources")
def test_a_resource_that_a_tool_made_is_read(client: Client) -> None:
    (link,) = client.call_tool(
        "gzip-file-as-resource", {"name": "x.gz", "data": "data:text/plain,hello"}
    ).content
    assert isinstance(link, types.ResourceLink)
    assert "demo://resource/session/x.gz" in {one.uri for one in client.list_resources()}
    blob = client.read_resource(link.uri).raw["contents"][0]["blob"]
    assert gzip.decompress(base64.b64decode(blob)) == b"hello"


@pytest.mark.requirement("connection:recover")
def test_the_everything_server_is_killed_in_the_middle_of_a_call(client: Client) -> None:
    heard: list[Progress] = []

    def kill(news: Progress) -> None:
        if not heard:
            kill_server("server-everything")
        heard.append(news)

    arguments = {"duration": 60, "steps": 600}
    with pytest.raises(errors.ConnectionLost, match="killed by SIGKILL"):
        client.call_tool("trigger-long-running-operation", arguments, on_progress=kill)
    assert heard
    assert client.call_tool("echo", {"message": "back"}, wait=True).text == "Echo: back"


def test_a_call_of_the_everything_server_is_cancelled(client: Client) -> None:
    future = client.submit_tool("trigger-long-running-operation", {"duration": 60, "steps": 2})
    assert future.cancel()
    assert client.call_tool("echo", {"message": "still there"}).text == "Echo: still there"
    with pytest.raises(errors.RequestTimeout):
        client.call_tool("trigger-long-running-operation", {"duration": 60, "steps": 2}, timeout=0.2)
    assert client.call_tool("echo", {"message": "usable"}).text == "Echo: usable"
    assert client.stats().reconnects == 0
