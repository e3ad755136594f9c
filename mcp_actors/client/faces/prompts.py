"""Prompts, and completion of what is being typed for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp_actors.client.faces.face import Face
from mcp_actors.client.outgoing import check_mapping, check_text, outgoing, prompt_wanted
from mcp_actors.client.pages import Pages
from mcp_actors.client.results import parse
from mcp_actors.protocol import types


class PromptFace(Face):
    """What a server suggests to say to a model."""

    def list_prompts(
        self, *, timeout: float | None = None, wait: bool = False, fresh: bool = False
    ) -> list[types.Prompt]:
        """All prompts of the server; pages are followed. ``fresh=True`` asks anew."""
        pages = self.prompt_pages(timeout=timeout, wait=wait, fresh=fresh)
        return [prompt for page in pages.collect() for prompt in page.prompts]

    def prompt_pages(
        self,
        *,
        cursor: str | None = None,
        timeout: float | None = None,
        wait: bool = False,
        fresh: bool = False,
    ) -> Pages[types.ListPromptsResult]:
        """The list of prompts page by page, from ``cursor`` on."""
        manner = self._manner(timeout, wait=wait)
        return self._pages("prompts/list", types.ListPromptsResult, manner, cursor=cursor, fresh=fresh)

    def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        *,
        timeout: float | None = None,
        wait: bool = False,
        meta: Mapping[str, Any] | None = None,
    ) -> types.GetPromptResult:
        """A prompt, filled in with ``arguments``, which are strings."""
        for key, value in ({} if arguments is None else check_mapping("arguments", arguments)).items():
            check_text(f"argument {key!r} of a prompt", value)
        request = self._enclose(prompt_wanted(name, arguments), meta)
        return self._rounds.complete(types.GetPromptResult, request, self._manner(timeout, wait=wait))

    def complete(
        self,
        ref: types.Reference | str,
        argument: str,
        value: str,
        *,
        context: Mapping[str, str] | None = None,
        timeout: float | None = None,
        wait: bool = False,
    ) -> types.CompleteResult:
        """Suggestions for an argument that is being typed: ``value`` is its text so far.

        ``ref`` is a `PromptReference`, a `ResourceTemplateReference`, or simply the name of a prompt or the
        URI template of a resource. ``context`` are the arguments that were filled in before.
        """
        params: dict[str, Any] = {
            "ref": _reference(ref).to_wire(),
            "argument": {"name": check_text("argument", argument), "value": check_text("value", value)},
        }
        if context is not None:
            params["context"] = {"arguments": check_mapping("context", context)}
        request = self._enclose(outgoing("completion/complete", params), None)
        result = self._calls.run(request, self._manner(timeout, wait=wait))
        return parse(types.CompleteResult, result, request.what)


def _reference(ref: types.Reference | str) -> types.Reference:
    if isinstance(ref, str):
        # RFC 6570 expressions and URI schemes are no part of any sensible name of a prompt.
        template = "{" in ref or "://" in ref
        return types.ResourceTemplateReference(uri=ref) if template else types.PromptReference(name=ref)
    if not isinstance(ref, types.PromptReference | types.ResourceTemplateReference):
        raise TypeError(f"ref must be a reference or a string, not {type(ref).__name__}")
    return ref
