"""Entries: what is listed of a function, and what is refused before anybody sees it."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from mcp_actors.protocol import types
from mcp_actors.protocol.uri_template import TemplateError
from mcp_actors.server.registry import PromptEntry, ResourceEntry, TemplateEntry, ToolEntry
from mcp_actors.server.registry.naming import full_name_of, name_of
from mcp_actors.server.signatures import prompt_arguments_of, signature_of, template_arguments_of
from tests.server.registry.fakes import FakeText, FakeTool, nothing

ICON = types.Icon(src="https://example.com/a.png")


class Thing:
    def method(self) -> None: ...

    def __call__(self) -> None: ...


def test_a_tool_is_listed_with_all_that_was_said_about_it() -> None:
    entry = ToolEntry.of(
        nothing,
        FakeTool(output_schema={"type": "object"}, description="from the docstring"),
        name="a.b-c_1",
        title="A",
        icons=[ICON],
        annotations=types.ToolAnnotations(read_only_hint=True),
        task_support="optional",
        mode="stateless",
        meta={"k": 1},
        scopes=["read", "write"],
        required_capability={"sampling": {}},
        timeout=2.5,
    )
    assert entry.wire == {
        "_meta": {"k": 1, "mode": "stateless"},
        "name": "a.b-c_1",
        "inputSchema": {"type": "object"},
        "title": "A",
        "description": "from the docstring",
        "outputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True},
        "icons": [{"src": "https://example.com/a.png"}],
        "execution": {"taskSupport": "optional"},
    }
    assert entry.wire is entry.wire
    assert (entry.key, entry.task_support, entry.timeout) == ("a.b-c_1", "optional", 2.5)
    assert entry.scopes == frozenset({"read", "write"})
    assert entry.required_capability == {"sampling": {}}
    assert types.Tool.from_wire(entry.wire).mode == "stateless"


def test_a_tool_about_which_nothing_was_said_is_named_after_its_function() -> None:
    entry = ToolEntry.of(nothing, FakeTool(), name=None, scopes=None)
    assert entry.wire == {"name": "nothing", "inputSchema": {"type": "object"}}
    assert (entry.task_support, entry.scopes, entry.required_capability, entry.timeout) == (
        "forbidden",
        frozenset(),
        None,
        None,
    )


def test_a_description_that_was_given_wins_even_if_it_is_empty() -> None:
    said = FakeTool(description="from the docstring")
    assert ToolEntry.of(nothing, said, description="mine").definition.description == "mine"
    assert ToolEntry.of(nothing, said, description="").definition.description == ""


@pytest.mark.parametrize("name", ["a b", "ä", "a/b", "x" * 129, "a\n"])
def test_names_that_clients_would_not_take_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="cannot name a tool"):
        ToolEntry.of(nothing, FakeTool(), name=name)
    with pytest.raises(ValueError, match="cannot name a prompt"):
        PromptEntry.of(nothing, FakeText(), name=name)


def test_a_lambda_needs_a_name() -> None:
    with pytest.raises(ValueError, match="'<lambda>' cannot name a tool"):
        ToolEntry.of(lambda: None, FakeTool())


def test_the_longest_name_is_taken() -> None:
    assert ToolEntry.of(nothing, FakeTool(), name="x" * 128).key == "x" * 128


@pytest.mark.parametrize(
    "options", [{"task_support": "maybe"}, {"mode": "mixed"}, {"timeout": 0}, {"timeout": -1.0}]
)
def test_options_that_mean_nothing_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="task_support|mode|timeout"):
        ToolEntry.of(nothing, FakeTool(), **options)


def test_a_resource_is_listed_by_its_uri() -> None:
    entry = ResourceEntry.of("data:a", nothing, mime_type="text/plain", size=3, name="a thing", meta={"k": 1})
    assert entry.key == "data:a"
    assert entry.wire == {
        "_meta": {"k": 1},
        "uri": "data:a",
        "name": "a thing",
        "mimeType": "text/plain",
        "size": 3,
    }


@pytest.mark.parametrize(
    "uri", ["", "a", "/a", "a b:c", "x:a b", "x:\n", "x:\ud800", "1:a", "x:" + "a" * 8192]
)
def test_what_is_no_uri_is_refused(uri: str) -> None:
    with pytest.raises(ValueError, match="is no URI"):
        ResourceEntry.of(uri, nothing)


def test_a_template_is_listed_by_its_text() -> None:
    entry = TemplateEntry.of("x:{+a}", nothing, FakeText(description="d"), mime_type="a/b")
    assert (entry.key, entry.template.variables) == ("x:{+a}", ("a",))
    assert entry.wire == {"uriTemplate": "x:{+a}", "name": "nothing", "description": "d", "mimeType": "a/b"}


def test_a_template_that_cannot_be_served_is_refused() -> None:
    with pytest.raises(TemplateError, match="a variable is missing"):
        TemplateEntry.of("x:{}", nothing)
    with pytest.raises(ValueError, match=r"'x:\{\?a\*\}' cannot be served: a becomes any number of names"):
        TemplateEntry.of("x:{?a*}", nothing)


def test_a_prompt_is_listed_with_its_arguments() -> None:
    declared = [types.PromptArgument(name="a", required=True)]
    assert PromptEntry.of(nothing, FakeText(declared), title="T").wire == {
        "name": "nothing",
        "title": "T",
        "arguments": [{"name": "a", "required": True}],
    }
    assert "arguments" not in PromptEntry.of(nothing, FakeText()).wire


def test_real_signatures_are_what_the_entries_expect() -> None:
    def add(a: int, b: int = 1) -> int:
        """Adds."""
        return a + b

    def ask(polite: bool) -> str:
        """Asks."""
        return str(polite)

    made = ToolEntry.of(add, signature_of(add))
    assert made.wire["inputSchema"]["required"] == ["a"]
    assert made.wire["description"] == "Adds."
    asked = PromptEntry.of(ask, prompt_arguments_of(ask))
    assert asked.wire["arguments"] == [{"name": "polite", "required": True}]
    assert asked.signature.choices == {"polite": ("true", "false")}
    read = TemplateEntry.of("x:{polite}", ask, template_arguments_of(ask, {"polite"}))
    assert read.definition.description == "Asks."


def test_every_callable_has_a_name() -> None:
    module = __name__
    assert name_of(nothing) == "nothing"
    assert (name_of(Thing().method), full_name_of(Thing().method)) == ("method", f"{module}.Thing.method")
    assert (name_of(Thing()), full_name_of(Thing())) == ("Thing", f"{module}.Thing")
    wrapped = functools.partial(functools.partial(nothing))
    assert (name_of(wrapped), full_name_of(wrapped)) == ("nothing", "tests.server.registry.fakes.nothing")
