"""The conformance server: every tool, resource and prompt that the official suite asks for. ``--port N``."""

from __future__ import annotations

import argparse
import base64
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from msgspec import Meta

from mcp_actors.protocol import types
from mcp_actors.server.content import AssistantMessage, Audio, Image, UserMessage
from mcp_actors.server.context import Context
from mcp_actors.server.faults import Refusal, ToolError
from mcp_actors.server.http.app import WsgiApp
from mcp_actors.server.questions import Elicit, Roots, Sample
from mcp_actors.server.server import Server

PNG: Final = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
WAV: Final = base64.b64decode("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA==")
SCHEMA_2020_12: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
SHORT_SECONDS: Final = 0.05
THREADS: Final = 16

server = Server(
    "mcp-actors-conformance", version="1.0.0", request_state_keys=(b"all workers of a server share this",)
)


@dataclass
class Name:
    """A form with one field."""

    name: str


@dataclass
class Confirmation:
    """A form with a tick."""

    ok: bool


@dataclass
class Color:
    """A form with a color."""

    color: str


# Plain tools.


@server.tool()
def test_simple_text() -> str:
    """Returns text."""
    return "This is a simple text response for testing."


@server.tool()
def test_image_content() -> Image:
    """Returns an image."""
    return Image(PNG, mime_type="image/png")


@server.tool()
def test_audio_content() -> Audio:
    """Returns a sound."""
    return Audio(WAV, mime_type="audio/wav")


def _embedded(uri: str, mime_type: str, text: str) -> types.EmbeddedResource:
    return types.EmbeddedResource(
        resource=types.TextResourceContents(uri=uri, mime_type=mime_type, text=text)
    )


@server.tool()
def test_embedded_resource() -> types.EmbeddedResource:
    """Returns a resource."""
    return _embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")


@server.tool()
def test_multiple_content_types() -> list[str | Image | types.EmbeddedResource]:
    """Returns text, an image and a resource."""
    return [
        "Multiple content types test:",
        Image(PNG, mime_type="image/png"),
        _embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ]


@server.tool()
def test_tool_with_logging(ctx: Context) -> str:
    """Logs three times."""
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        ctx.info(words)
        ctx.sleep(SHORT_SECONDS)
    return "Tool with logging executed successfully"


@server.tool()
def test_tool_with_progress(ctx: Context) -> str:
    """Reports progress three times."""
    for progress in (0, 50, 100):
        ctx.report_progress(progress, 100, f"Completed step {progress} of 100")
        ctx.sleep(SHORT_SECONDS)
    return "Tool with progress executed successfully"


@server.tool()
def test_error_handling() -> str:
    """Fails."""
    raise ToolError("This tool intentionally returns an error for testing")


@server.tool()
def test_logging_tool(ctx: Context) -> str:
    """Logs, which only those hear who asked for it."""
    ctx.info("a log message")
    return "logged"


@server.tool()
def test_streaming_elicitation(ctx: Context) -> str:
    """Works without asking, though its client could be asked."""
    ctx.report_progress(1, 1)
    return "streamed"


@server.tool(required_capability={"sampling": {}})
def test_missing_capability() -> str:
    """Needs a client with a model."""
    return "the client has a model"


@server.tool(input_schema=SCHEMA_2020_12)
def json_schema_2020_12_tool(**arguments: Any) -> str:
    """Has a schema of many keywords."""
    return f"called with {sorted(arguments)}"


@server.tool()
def test_x_mcp_header(region: Annotated[str, Meta(extra_json_schema={"x-mcp-header": "Region"})]) -> str:
    """Has an argument that is repeated in a header."""
    return f"region {region}"


@server.tool()
def test_reconnection(ctx: Context) -> str:
    """Closes its connection in the middle of the call."""
    ctx.close_connection()
    ctx.sleep(0.1)
    return "Reconnection test completed successfully"


@server.tool()
def test_trigger_tool_change() -> str:
    """Changes the list of tools."""
    server.add_tool(_another, name="test_another_tool", replace=True)
    return "the tools changed"


@server.tool()
def test_trigger_prompt_change() -> str:
    """Changes the list of prompts."""
    server.add_prompt(_another, name="test_another_prompt", replace=True)
    return "the prompts changed"


def _another() -> str:
    """Is added by a call."""
    return "another"


# Questions to the client, in both eras.


@server.tool()
def test_sampling(prompt: str, ctx: Context) -> str:
    """Asks the client's model."""
    return f"LLM response: {ctx.sample(prompt, max_tokens=100).text}"


@server.tool()
def test_elicitation(message: str, ctx: Context) -> str:
    """Asks the client's user."""
    schema = {
        "type": "object",
        "properties": {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"},
        },
        "required": ["username", "email"],
    }
    answer = ctx.elicit(message, schema)
    return f"User response: {answer.action} {answer.content}"


@server.tool()
def test_elicitation_sep1034_defaults(ctx: Context) -> str:
    """Asks with defaults."""
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
            "verified": {"type": "boolean", "default": True},
        },
        "required": [],
    }
    answer = ctx.elicit("Please review and update the form fields with defaults", schema)
    return f"Elicitation completed: action={answer.action}, content={answer.content}"


@server.tool()
def test_elicitation_sep1330_enums(ctx: Context) -> str:
    """Asks with choices of all kinds."""
    titled = [
        {"const": f"value{n}", "title": f"{word} Option"}
        for n, word in enumerate(("First", "Second", "Third"), 1)
    ]
    plain = ["option1", "option2", "option3"]
    schema = {
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": plain},
            "titledSingle": {"type": "string", "oneOf": titled},
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled}},
        },
        "required": [],
    }
    answer = ctx.elicit("Please select options from the enum fields", schema)
    return f"Elicitation completed: action={answer.action}, content={answer.content}"


@server.tool()
def test_input_required_result_elicitation(ctx: Context) -> str:
    """Asks for a name."""
    answer = ctx.elicit("What is your name?", Name, key="user_name")
    return f"Hello, {answer.data.name}!" if answer.accepted else f"No name: {answer.action}"


@server.tool()
def test_input_required_result_sampling(ctx: Context) -> str:
    """Asks the client's model."""
    said = ctx.sample("What is the capital of France?", max_tokens=100, key="capital_question")
    return f"The model says: {said.text}"


@server.tool()
def test_input_required_result_list_roots(ctx: Context) -> str:
    """Asks for the client's folders."""
    return f"Roots: {[root.uri for root in ctx.roots(key='client_roots')]}"


@server.tool()
def test_input_required_result_request_state(ctx: Context) -> str:
    """Asks and remembers."""
    answer = ctx.elicit("Please confirm", Confirmation, key="confirm")
    return f"state-ok, confirmed: {answer.accepted and answer.data.ok}"


@server.tool()
def test_input_required_result_tampered_state(ctx: Context) -> str:
    """Asks and notices what was changed on the way."""
    answer = ctx.elicit("Please confirm", Confirmation, key="confirm")
    return f"state-ok, confirmed: {answer.accepted and answer.data.ok}"


@server.tool()
def test_input_required_result_multiple_inputs(ctx: Context) -> str:
    """Asks three things at once."""
    given = ctx.ask(
        {
            "user_name": Elicit("What is your name?", Name),
            "greeting": Sample("Write a greeting", 50),
            "client_roots": Roots(),
        }
    )
    return f"{given['greeting'].text} {given['user_name'].content} {len(given['client_roots'])} roots"


@server.tool()
def test_input_required_result_multi_round(ctx: Context) -> str:
    """Asks twice, one after the other."""
    name = ctx.elicit("Step 1: What is your name?", Name, key="step1")
    color = ctx.elicit("Step 2: What is your favorite color?", Color, key="step2")
    return f"{name.content} likes {color.content}"


@server.tool()
def test_input_required_result_capabilities(ctx: Context) -> str:
    """Asks only what this client can be asked."""
    if "elicitation" in ctx.client_capabilities:
        return f"User: {ctx.elicit('Your name?', Name, key='user_name').action}"
    return f"Model: {ctx.sample('Say hello', max_tokens=50, key='greeting').text}"


# Tasks.


@server.tool()
def greet(name: str) -> str:
    """Greets at once."""
    return f"Hello, {name}!"


@server.tool(task_support="optional")
def slow_compute(ctx: Context, seconds: float = 1, label: str = "") -> str:
    """Takes its time."""
    ctx.sleep(seconds)
    return f"computed {label} in {seconds} s"


@server.tool(task_support="required")
def failing_job(ctx: Context) -> str:
    """Fails after a while."""
    ctx.sleep(1)
    raise ToolError("this job always fails")


@server.tool(task_support="optional")
def protocol_error_job() -> str:
    """Fails as a whole."""
    raise Refusal(-32603, "this job breaks down")


@server.tool(task_support="optional")
def confirm_delete(filename: str, ctx: Context) -> str:
    """Asks before it deletes."""
    answer = ctx.elicit(f"Delete {filename}?", Confirmation)
    return f"{filename} deleted" if answer.accepted else f"{filename} kept"


@server.tool(task_support="optional")
def multi_input(ctx: Context) -> str:
    """Asks two things at once."""
    given = ctx.ask({"first": Elicit("Your name?", Name), "second": Elicit("Your color?", Color)})
    return f"{given['first'].content} {given['second'].content}"


@server.tool()
def test_tool_with_task(ctx: Context) -> Any:
    """Asks, and then goes on as a task."""
    answer = ctx.elicit("What is your name?", Name, key="user_name")
    return ctx.as_task(lambda: f"Hello, {answer.data.name}, from a task")


# Resources.


@server.resource("test://static-text", mime_type="text/plain")
def static_text() -> str:
    """Text."""
    return "This is the content of the static text resource."


@server.resource("test://static-binary", mime_type="image/png")
def static_binary() -> bytes:
    """An image."""
    return PNG


@server.resource("test://template/{id}/data", mime_type="application/json")
def template_data(id: str) -> dict[str, Any]:
    """One of many."""
    return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


@server.resource("test://watched-resource", mime_type="text/plain")
def watched_resource() -> str:
    """Can be subscribed to."""
    return "Watched resource content"


# Prompts.


@server.prompt()
def test_simple_prompt() -> str:
    """A prompt without arguments."""
    return "This is a simple prompt for testing."


@server.prompt()
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """A prompt with arguments.

    Args:
        arg1: the first
        arg2: the second
    """
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@server.completion(prompt="test_prompt_with_arguments", argument="arg1")
def complete_arg1(value: str) -> list[str]:
    """Suggestions."""
    return [word for word in ("paris", "park", "party") if word.startswith(value)]


@server.prompt()
def test_prompt_with_embedded_resource(resourceUri: str) -> list[Any]:
    """A prompt with a resource."""
    return [
        UserMessage(_embedded(resourceUri, "text/plain", "Embedded resource content for testing.")),
        UserMessage("Please process the embedded resource above."),
    ]


@server.prompt()
def test_prompt_with_image() -> list[Any]:
    """A prompt with an image."""
    return [UserMessage(Image(PNG, mime_type="image/png")), UserMessage("Please analyze the image above.")]


@server.prompt()
def test_input_required_result_prompt(ctx: Context) -> list[Any]:
    """A prompt that asks for more."""
    answer = ctx.elicit(
        "What context should be used?",
        {"type": "object", "properties": {"context": {"type": "string"}}},
        key="user_context",
    )
    return [UserMessage(f"Context: {answer.content}"), AssistantMessage("Understood.")]


# Skills.

server.add_skills(Path(__file__).parent / "skills")


def app() -> WsgiApp:
    """The server for a WSGI server of others that has this many threads."""
    return server.wsgi(threads=THREADS)


def main() -> None:
    """Serve on the port that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    arguments = parser.parse_args()
    server.run_http(port=arguments.port, threads=THREADS)


if __name__ == "__main__":
    main()
