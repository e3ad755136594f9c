"""The URI template itself."""

from __future__ import annotations

from collections.abc import Mapping

from mcp_actors.protocol.uri_template import matching
from mcp_actors.protocol.uri_template.expansion import TemplateValue, expand
from mcp_actors.protocol.uri_template.expression import Expression, parse


class UriTemplate:
    """A URI with blanks, such as ``file:///{+path}``. Immutable.

    ``variables`` are its names in order, each once. ``unmatchable`` says why no URI can be led back to the
    values it was made of, and is None if one can.
    """

    __slots__ = ("_match_parts", "_parts", "text", "unmatchable", "variables")

    def __init__(self, text: str) -> None:
        """Raises `TemplateError` if the text is no template."""
        self.text = text
        self._parts = parse(text)
        expressions = [part for part in self._parts if isinstance(part, Expression)]
        names = [variable.name for expression in expressions for variable in expression.variables]
        self.variables = tuple(dict.fromkeys(names))
        self.unmatchable: str | None = None
        self._match_parts: tuple[matching.MatchPart, ...] = ()
        try:
            self._match_parts = matching.compiled(self._parts)
        except matching.Unmatchable as reason:
            self.unmatchable = str(reason)

    def expand(self, values: Mapping[str, TemplateValue]) -> str:
        """The URI with these values in its blanks; a blank without a value is left out.

        Raises:
            TypeError: a value that is no text, list or mapping of text.
            ValueError: a prefix of a list or mapping was asked for, or text that has no UTF-8 form.
        """
        return expand(self._parts, values)

    def match(self, uri: str) -> dict[str, str] | None:
        """The values that make this URI, decoded; None if none do, or if they are not safe to use.

        ``{x}`` and ``{+x}`` must have a value. Expressions with another operator may be left out, and then
        their names are missing. ``{x}`` never holds a slash, not even an encoded one; no value holds NUL or
        a step ``..``, in whatever spelling. Where several values would do, those on the left are longest.
        An exploded ``{/x*}`` gives its steps as one text. A query may come in any order, with no other names.
        """
        return None if self.unmatchable is not None else matching.match(self._match_parts, uri)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UriTemplate) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"UriTemplate({self.text!r})"
