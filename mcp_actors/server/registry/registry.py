"""The registry: what a server offers, by name, and who is told when that changes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, Protocol, TypeAlias

from mcp_actors.protocol import types
from mcp_actors.server.registry.completions import Choices, CompletionEntry, key_of
from mcp_actors.server.registry.entries import PromptEntry, ResourceEntry, TemplateEntry, ToolEntry
from mcp_actors.server.registry.listing import Listing
from mcp_actors.server.registry.naming import full_name_of

Kind: TypeAlias = Literal["tools", "resources", "prompts"]
Listener: TypeAlias = Callable[[Kind], None]
Capability: TypeAlias = Literal["tools", "resources", "prompts", "completions"]
Found: TypeAlias = tuple[ResourceEntry | TemplateEntry, dict[str, str]]


class Source(Protocol):
    """What offers resources by itself: a text, a file, a directory."""

    def entries(self) -> Sequence[ResourceEntry | TemplateEntry]:
        """What it offers."""


class Registry:
    """Any thread may read, add and remove.

    A listing is never changed but replaced as a whole: readers need no lock, and see it before a change or
    after. Writers take turns. Listeners are told once per change, on the thread that made it, when readers
    can see it already; they must not raise.
    """

    def __init__(self) -> None:
        self._lock: Final = threading.Lock()
        self._listeners: tuple[Listener, ...] = ()
        self.tools: Listing[ToolEntry] = Listing("tool")
        self.resources: Listing[ResourceEntry] = Listing("resource")
        self.templates: Listing[TemplateEntry] = Listing("resource template")
        self.prompts: Listing[PromptEntry] = Listing("prompt")
        self.completions: Listing[CompletionEntry] = Listing("completion of")

    # Tools.

    def add_tool(self, entry: ToolEntry, *, replace: bool = False) -> None:
        """Offer a tool. Raises ``ValueError`` if there is one of that name and not to be replaced."""
        with self._lock:
            self.tools = self.tools.adding(entry, replacing=replace)
        self._tell("tools")

    def remove_tool(self, name: str) -> ToolEntry:
        """Offer it no more. Raises ``LookupError`` if nobody did."""
        with self._lock:
            self.tools, removed = self.tools.removing(name)
        self._tell("tools")
        return removed

    def get_tool(self, name: str) -> ToolEntry | None:
        """The tool of that name."""
        return self.tools.get(name)

    # Resources.

    def add_resource(self, entry: ResourceEntry, *, replace: bool = False) -> None:
        """Offer a resource. Raises ``ValueError`` if there is one of that URI and not to be replaced."""
        with self._lock:
            self.resources = self.resources.adding(entry, replacing=replace)
        self._tell("resources")

    def remove_resource(self, uri: str) -> ResourceEntry:
        """Offer it no more. Raises ``LookupError`` if nobody did."""
        with self._lock:
            self.resources, removed = self.resources.removing(uri)
        self._tell("resources")
        return removed

    def get_resource(self, uri: str) -> ResourceEntry | None:
        """The resource of exactly that URI."""
        return self.resources.get(uri)

    def add_template(self, entry: TemplateEntry, *, replace: bool = False) -> None:
        """Offer a template. Raises ``ValueError`` if there is one of that text and not to be replaced."""
        with self._lock:
            self.templates = self.templates.adding(entry, replacing=replace)
        self._tell("resources")

    def remove_template(self, uri_template: str) -> TemplateEntry:
        """Offer it no more. Raises ``LookupError`` if nobody did."""
        with self._lock:
            self.templates, removed = self.templates.removing(uri_template)
        self._tell("resources")
        return removed

    def get_template(self, uri_template: str) -> TemplateEntry | None:
        """The template of exactly that text."""
        return self.templates.get(uri_template)

    def add_source(self, source: Source, *, replace: bool = False) -> None:
        """Offer all that a source has, or nothing of it. Raises ``ValueError`` as the others do."""
        with self._lock:
            resources, templates = self.resources, self.templates
            for entry in source.entries():
                if isinstance(entry, ResourceEntry):
                    resources = resources.adding(entry, replacing=replace)
                else:
                    templates = templates.adding(entry, replacing=replace)
            self.resources, self.templates = resources, templates
        self._tell("resources")

    def resource_for(self, uri: str) -> Found | None:
        """Who reads a URI, and the values in it: the resource of that URI, or a template that fits."""
        exact = self.resources.get(uri)
        if exact is not None:
            return exact, {}
        for entry in self.templates.entries:
            values = entry.template.match(uri)
            if values is not None:
                return entry, values
        return None

    # Prompts.

    def add_prompt(self, entry: PromptEntry, *, replace: bool = False) -> None:
        """Offer a prompt. Raises ``ValueError`` if there is one of that name and not to be replaced."""
        with self._lock:
            self.prompts = self.prompts.adding(entry, replacing=replace)
        self._tell("prompts")

    def remove_prompt(self, name: str) -> PromptEntry:
        """Offer it no more. Raises ``LookupError`` if nobody did."""
        with self._lock:
            self.prompts, removed = self.prompts.removing(name)
        self._tell("prompts")
        return removed

    def get_prompt(self, name: str) -> PromptEntry | None:
        """The prompt of that name."""
        return self.prompts.get(name)

    # Completions.

    def add_completion(self, entry: CompletionEntry, *, replace: bool = False) -> None:
        """Offer suggestions for a prompt or template that is there or will be.

        Raises:
            ValueError: somebody does so already and is not to be replaced, or it has no such argument.
        """
        with self._lock:
            self._check_argument(entry)
            self.completions = self.completions.adding(entry, replacing=replace)

    def remove_completion(self, reference: types.Reference, argument: str) -> CompletionEntry:
        """Offer them no more. Raises ``LookupError`` if nobody did."""
        with self._lock:
            self.completions, removed = self.completions.removing(key_of(reference, argument))
        return removed

    def get_completion(self, reference: types.Reference, argument: str) -> CompletionEntry | None:
        """Who suggests values for an argument: the function that was added, else the argument's type."""
        added = self.completions.get(key_of(reference, argument))
        if added is not None:
            return added
        values = self._choices(reference).get(argument)
        if values is None:
            return None
        return CompletionEntry.of(reference, argument, Choices(values))

    # News, and what there is at all.

    def on_change(self, listener: Listener) -> Callable[[], None]:
        """Be told of every change; the answer ends it."""
        with self._lock:
            self._listeners = (*self._listeners, listener)

        def detach() -> None:
            with self._lock:
                self._listeners = tuple(one for one in self._listeners if one is not listener)

        return detach

    def capabilities(self) -> frozenset[Capability]:
        """Of which kinds there is anything."""
        found: dict[Capability, bool] = {
            "tools": bool(self.tools),
            "resources": bool(self.resources) or bool(self.templates),
            "prompts": bool(self.prompts),
            "completions": bool(self.completions) or self._any_choices(),
        }
        return frozenset(name for name, there in found.items() if there)

    def _tell(self, kind: Kind) -> None:
        for listener in self._listeners:
            listener(kind)

    def _choices(self, reference: types.Reference) -> Mapping[str, tuple[str, ...]]:
        if isinstance(reference, types.PromptReference):
            prompt = self.prompts.get(reference.name)
            return {} if prompt is None else prompt.signature.choices
        template = self.templates.get(reference.uri)
        signature = None if template is None else template.signature
        return {} if signature is None else signature.choices

    def _any_choices(self) -> bool:
        signatures = [entry.signature for entry in self.prompts.entries]
        signatures += [entry.signature for entry in self.templates.entries if entry.signature is not None]
        return any(signature.choices for signature in signatures)

    def _check_argument(self, entry: CompletionEntry) -> None:
        known = self._arguments(entry.reference)
        if known is not None and entry.argument not in known:
            kind, name, argument = entry.key
            raise ValueError(
                f"{full_name_of(entry.function)} cannot complete {argument!r}: the {kind} {name!r} has "
                f"{', '.join(map(repr, known)) or 'no arguments'}"
            )

    def _arguments(self, reference: types.Reference) -> tuple[str, ...] | None:
        """What can be completed; None if there is no such prompt or template (yet)."""
        if isinstance(reference, types.PromptReference):
            prompt = self.prompts.get(reference.name)
            return None if prompt is None else tuple(one.name for one in prompt.definition.arguments or ())
        template = self.templates.get(reference.uri)
        return None if template is None else template.template.variables
