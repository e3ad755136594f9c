"""The registry: order, duplicates, lookups, news, and readers that never see half a change."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.protocol import types
from mcp_actors.server.registry import (
    CompletionEntry,
    Registry,
    ResourceEntry,
    TemplateEntry,
    TextResource,
    ToolEntry,
)
from mcp_actors.server.registry.listing import MAX_KEPT, Listed
from tests.conftest import BOUND
from tests.server.registry.fakes import FakeTool, another, nothing, prompt, resource, template, tool

PROMPT = types.PromptReference(name="p")
TEMPLATE = types.ResourceTemplateReference(uri="x:{a}")


def names(registry: Registry) -> list[str]:
    return [entry.key for entry in registry.tools.entries]


@pytest.mark.requirement("feature:tools")
def test_what_was_added_is_found_and_listed_in_order() -> None:
    registry = Registry()
    for name in ("b", "a", "c"):
        registry.add_tool(tool(name))
    assert names(registry) == ["b", "a", "c"]
    found = registry.get_tool("a")
    assert found is not None
    assert found.key == "a"
    assert registry.get_tool("d") is None
    assert len(registry.tools) == 3


def test_what_comes_back_stands_at_the_end() -> None:
    registry = Registry()
    for name in ("a", "b", "c"):
        registry.add_tool(tool(name))
    removed = registry.remove_tool("a")
    assert names(registry) == ["b", "c"]
    registry.add_tool(removed)
    assert names(registry) == ["b", "c", "a"]


def test_a_duplicate_is_refused_and_both_functions_are_named() -> None:
    registry = Registry()
    registry.add_tool(tool("a"))
    with pytest.raises(
        ValueError, match=r"a tool 'a' already, by tests\S+\.nothing; tests\S+\.another cannot"
    ):
        registry.add_tool(tool("a", another))
    found = registry.get_tool("a")
    assert found is not None
    assert found.function is nothing


def test_a_replacement_takes_the_place_of_the_other() -> None:
    registry = Registry()
    for name in ("a", "b"):
        registry.add_tool(tool(name))
    registry.add_tool(tool("a", another), replace=True)
    registry.add_tool(tool("c"), replace=True)
    assert names(registry) == ["a", "b", "c"]
    assert registry.tools.entries[0].function is another


@pytest.mark.parametrize(
    ("remove", "complaint"),
    [
        (lambda registry: registry.remove_tool("x"), "there is no tool 'x'"),
        (lambda registry: registry.remove_resource("x:y"), "there is no resource 'x:y'"),
        (lambda registry: registry.remove_template("x:{y}"), "there is no resource template"),
        (lambda registry: registry.remove_prompt("x"), "there is no prompt 'x'"),
        (
            lambda registry: registry.remove_completion(PROMPT, "x"),
            "there is no completion of 'prompt' 'p' 'x'",
        ),
    ],
)
def test_what_nobody_offers_cannot_be_removed(remove: Callable[[Registry], Any], complaint: str) -> None:
    registry = Registry()
    told: list[str] = []
    registry.on_change(told.append)
    with pytest.raises(LookupError, match=complaint):
        remove(registry)
    assert told == []


@pytest.mark.requirement("feature:resources")
def test_the_exact_resource_wins_over_templates_and_these_come_in_order() -> None:
    registry = Registry()
    registry.add_template(template("x:{a}"))
    registry.add_template(template("x:{+b}"))
    registry.add_resource(resource("x:one"))
    one, two, three = map(registry.resource_for, ("x:one", "x:two", "x:two/three"))
    assert one is not None
    assert (one[0].key, one[1]) == ("x:one", {})
    assert two is not None
    assert (two[0].key, two[1]) == ("x:{a}", {"a": "two"})
    assert three is not None
    assert (three[0].key, three[1]) == ("x:{+b}", {"b": "two/three"})
    assert registry.resource_for("y:one") is None
    registry.remove_template("x:{a}")
    registry.remove_resource("x:one")
    again = registry.resource_for("x:one")
    assert again is not None
    assert again[0].key == "x:{+b}"
    assert registry.get_resource("x:one") is None
    assert registry.get_template("x:{+b}") is again[0]


def test_a_source_is_added_as_a_whole_or_not_at_all() -> None:
    class Both:
        def entries(self) -> tuple[ResourceEntry, TemplateEntry]:
            return resource("x:"), template("x:{+path}")

    registry = Registry()
    told: list[str] = []
    registry.add_template(template("x:{+path}"))
    registry.on_change(told.append)
    with pytest.raises(ValueError, match="a resource template 'x:{\\+path}' already"):
        registry.add_source(Both())
    assert (len(registry.resources), told) == (0, [])
    registry.add_source(Both(), replace=True)
    assert (len(registry.resources), len(registry.templates), told) == (1, 1, ["resources"])
    registry.add_source(TextResource("x:t", "text"))
    assert registry.get_resource("x:t") is not None


def test_listeners_are_told_once_per_change_and_can_leave() -> None:
    registry = Registry()
    told: list[str] = []
    deaf: list[str] = []
    registry.on_change(told.append)
    leave = registry.on_change(deaf.append)
    registry.add_tool(tool("a"))
    leave()
    leave()
    registry.add_tool(tool("a"), replace=True)
    registry.remove_tool("a")
    registry.add_resource(resource("x:a"))
    registry.remove_resource("x:a")
    registry.add_template(template("x:{a}"))
    registry.remove_template("x:{a}")
    registry.add_prompt(prompt("p"))
    assert registry.get_prompt("p") is registry.remove_prompt("p")
    registry.add_completion(CompletionEntry.of(PROMPT, "a", lambda value: [value]))
    assert told == ["tools"] * 3 + ["resources"] * 4 + ["prompts"] * 2
    assert deaf == ["tools"]


def test_a_listener_sees_the_change_and_may_make_another() -> None:
    registry, seen = Registry(), []

    def listener(kind: str) -> None:
        seen.append((kind, names(registry)))
        if len(registry.tools) == 1:
            registry.add_tool(tool("b"))

    registry.on_change(listener)
    registry.add_tool(tool("a"))
    assert seen == [("tools", ["a"]), ("tools", ["a", "b"])]


def test_capabilities_are_those_of_which_there_is_anything() -> None:
    registry = Registry()
    assert registry.capabilities() == set()
    registry.add_tool(tool("a"))
    assert registry.capabilities() == {"tools"}
    registry.add_template(template("x:{a}"))
    registry.add_template(TemplateEntry.of("y:{a}", nothing))
    registry.add_prompt(prompt("p"))
    assert registry.capabilities() == {"tools", "resources", "prompts"}
    registry.add_completion(CompletionEntry.of(TEMPLATE, "a", lambda value: [value]))
    assert registry.capabilities() == {"tools", "resources", "prompts", "completions"}
    alone = Registry()
    alone.add_resource(resource("x:a"))
    alone.add_prompt(prompt("p", "a", choices={"a": ("x",)}))
    assert alone.capabilities() == {"resources", "prompts", "completions"}


@pytest.mark.requirement("feature:completion")
def test_a_function_completes_before_the_type_does() -> None:
    registry = Registry()
    registry.add_prompt(prompt("p", "color", "other", choices={"color": ("red", "Green", "darkred")}))
    registry.add_template(template("x:{a}", {"a": ("true", "false")}))
    registry.add_template(TemplateEntry.of("y:{a}", nothing))
    by_type = registry.get_completion(PROMPT, "color")
    assert by_type is not None
    assert by_type.suggest("RED", {}) == ["red", "darkred"]
    assert by_type.suggest("", {}) == ["red", "Green", "darkred"]
    assert registry.get_completion(PROMPT, "other") is None
    assert registry.get_completion(types.PromptReference(name="q"), "color") is None
    of_template = registry.get_completion(TEMPLATE, "a")
    assert of_template is not None
    assert of_template.suggest("t", {}) == ["true"]
    assert registry.get_completion(types.ResourceTemplateReference(uri="y:{a}"), "a") is None
    assert registry.get_completion(types.ResourceTemplateReference(uri="z:{a}"), "a") is None

    added = CompletionEntry.of(PROMPT, "color", lambda value: [value + "!"])
    registry.add_completion(added)
    found = registry.get_completion(PROMPT, "color")
    assert found is not None
    assert found.suggest("x", {}) == ["x!"]
    with pytest.raises(ValueError, match="a completion of 'prompt' 'p' 'color' already"):
        registry.add_completion(added)
    registry.add_completion(added, replace=True)
    assert registry.remove_completion(PROMPT, "color").function is added.function


def test_only_what_there_is_can_be_completed_unless_it_comes_later() -> None:
    registry = Registry()
    registry.add_prompt(prompt("p", "a", "b"))
    registry.add_prompt(prompt("q"))
    registry.add_template(template("x:{a}"))
    for reference, said in (
        (PROMPT, "the prompt 'p' has 'a', 'b'"),
        (types.PromptReference(name="q"), "the prompt 'q' has no arguments"),
        (TEMPLATE, "the template 'x:{a}' has 'a'"),
    ):
        with pytest.raises(ValueError, match=said):
            registry.add_completion(CompletionEntry.of(reference, "z", lambda value: [value]))
    registry.add_completion(CompletionEntry.of(TEMPLATE, "a", lambda value: [value]))
    registry.add_completion(
        CompletionEntry.of(types.PromptReference(name="later"), "z", lambda value: [value])
    )
    assert len(registry.completions) == 2


def test_what_is_derived_of_a_listing_is_made_once_per_change() -> None:
    registry, made = Registry(), []
    registry.add_tool(tool("a"))

    def encoded() -> bytes:
        made.append(names(registry))
        return b"x"

    for _ in range(3):
        assert registry.tools.once(("2026-07-28", None), encoded) == b"x"
    assert made == [["a"]]
    registry.add_tool(tool("b"))
    registry.tools.once(("2026-07-28", None), encoded)
    assert made == [["a"], ["a", "b"]]


def test_what_is_derived_of_a_listing_has_a_bound() -> None:
    listing, made = Registry().tools, []

    def make() -> int:
        made.append(1)
        return len(made)

    first = [listing.once(number, make) for number in range(MAX_KEPT + 10)]
    assert [listing.once(number, make) for number in range(MAX_KEPT)] == first[:MAX_KEPT]
    assert len(made) == MAX_KEPT + 10
    listing.once(MAX_KEPT + 5, make)
    assert len(made) == MAX_KEPT + 11


def test_a_thing_without_a_key_cannot_be_listed() -> None:
    with pytest.raises(NotImplementedError):
        _ = Listed(function=nothing).key


@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["add", "replace", "remove"]), st.sampled_from("abcdef")), max_size=40
    )
)
def test_any_history_leaves_the_order_of_arrival(steps: list[tuple[str, str]]) -> None:
    registry = Registry()
    model: dict[str, None] = {}
    for step, name in steps:
        if step == "replace" or (step == "add" and name not in model):
            registry.add_tool(tool(name), replace=step == "replace")
            model[name] = None
        elif step == "remove" and name in model:
            registry.remove_tool(name)
            del model[name]
        else:
            with pytest.raises((ValueError, LookupError)):
                registry.add_tool(tool(name)) if step == "add" else registry.remove_tool(name)
        numbers = [entry.number for entry in registry.tools.entries]
        assert names(registry) == list(model)
        assert numbers == sorted(set(numbers))


def change(registry: Registry, first: ToolEntry, second: ToolEntry) -> None:
    for _ in range(100):
        for entry in (first, second):
            registry.add_tool(entry)
        for entry in (first, second):
            registry.remove_tool(entry.key)


def watch(registry: Registry, stop: threading.Event, wrong: list[object]) -> None:
    while not stop.is_set():
        listing = registry.tools
        keys = [entry.key for entry in listing.entries]
        if len(keys) != len(set(keys)) or any(listing.get(key) is None for key in keys):
            wrong.append(keys)


@pytest.fixture
def _hasty() -> Iterator[None]:
    """Threads change places as often as can be."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.stress
@pytest.mark.usefixtures("_hasty")
def test_readers_see_whole_listings_while_writers_change_them() -> None:
    registry, stop = Registry(), threading.Event()
    told: list[str] = []
    wrong: list[object] = []
    registry.on_change(told.append)
    readers = [threading.Thread(target=watch, args=(registry, stop, wrong)) for _ in range(2)]
    pairs = [(tool(f"a{number}"), tool(f"b{number}")) for number in range(4)]
    writers = [threading.Thread(target=change, args=(registry, *pair)) for pair in pairs]
    for thread in (*readers, *writers):
        thread.start()
    for thread in writers:
        thread.join(BOUND)
    stop.set()
    for thread in readers:
        thread.join(BOUND)
    assert wrong == []
    assert (len(registry.tools), len(told)) == (0, 4 * 100 * 4)


class Hesitant(ToolEntry, frozen=True, kw_only=True, dict=True, eq=False):
    """A tool that is long in being added."""

    begun: threading.Event
    go_on: threading.Event

    @property
    def key(self) -> str:
        self.begun.set()
        self.go_on.wait(BOUND)
        return self.definition.name


def test_writers_take_turns_so_that_no_change_is_lost() -> None:
    registry, begun, go_on = Registry(), threading.Event(), threading.Event()
    model = tool("slow")
    slow = Hesitant(
        definition=model.definition, function=nothing, signature=FakeTool(), begun=begun, go_on=go_on
    )
    first = threading.Thread(target=registry.add_tool, args=(slow,))
    second = threading.Thread(target=registry.add_tool, args=(tool("quick"),))
    first.start()
    assert begun.wait(BOUND)
    second.start()
    # A chance to overtake, which it must not take.
    second.join(0.1)
    go_on.set()
    for thread in (first, second):
        thread.join(BOUND)
    assert names(registry) == ["slow", "quick"]


def test_a_thousand_tools_are_added_without_encoding_any() -> None:
    registry = Registry()
    entries = [ToolEntry.of(nothing, FakeTool(), name=f"t{number}") for number in range(1000)]
    for entry in entries:
        registry.add_tool(entry)
    assert not any("wire" in entry.__dict__ for entry in registry.tools.entries)
    assert registry.tools.entries[-1].wire["name"] == "t999"
