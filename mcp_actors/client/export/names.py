"""Names that an API accepts, made of names that it does not, and the way back."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, Protocol, TypeVar

_HASH_LENGTH: Final = 8
#: The shortest limit of the three APIs, so that a tool has one name for all of them.
LIMIT: Final = 64


class Named(Protocol):
    """Anything with a name, such as a tool."""

    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=Named)


class Rule(NamedTuple):
    """What a name may look like: the characters that it may not contain, how it begins, how long it gets."""

    forbidden: re.Pattern[str]
    beginning: re.Pattern[str]
    limit: int

    def allows(self, name: str) -> bool:
        """Whether a name may stay as it is."""
        return (
            len(name) <= self.limit
            and self.beginning.match(name) is not None
            and self.forbidden.search(name) is None
        )

    def bend(self, name: str) -> str:
        """A legal name that looks like ``name``. Others may get the same one."""
        bent = self.forbidden.sub("_", name)
        return (bent if self.beginning.match(bent) else f"_{bent}")[: self.limit]

    def sign(self, name: str, secret: str) -> str:
        """A legal name that looks like ``name``, and that nothing but ``secret`` leads to."""
        digest = hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_LENGTH]
        return f"{self.bend(name)[: self.limit - _HASH_LENGTH - 1]}_{digest}"


# Gemini alone wants a letter or underscore in front; the other two do not mind.
_LETTER: Final = re.compile(r"[A-Za-z_]")
_ANYTHING: Final = re.compile(r"[A-Za-z0-9_.-]")


def tool_rule(limit: int = LIMIT) -> Rule:
    """What the name of a tool may look like in all three APIs."""
    if limit < _HASH_LENGTH + 2:
        raise ValueError(f"limit must be at least {_HASH_LENGTH + 2}, not {limit}")
    return Rule(re.compile(r"[^A-Za-z0-9_-]"), _LETTER, limit)


#: What the name of a parameter may look like. OpenAI takes any.
ANTHROPIC_KEYS: Final = Rule(re.compile(r"[^A-Za-z0-9_.-]"), _ANYTHING, 64)
GEMINI_KEYS: Final = Rule(re.compile(r"[^A-Za-z0-9_]"), _LETTER, 64)


def legal_names(names: Sequence[str], rule: Rule) -> list[str]:
    """A legal name for each name, all different. A legal name stays as it is.

    Where a changed name would be ambiguous or cut, a hash of the original follows it: the result depends on
    the set of names, not on their order.
    """
    taken = {name for name in names if rule.allows(name)}
    shared = Counter(rule.bend(name) for name in set(names) - taken)
    seen: Counter[str] = Counter()
    legal = []
    for name in names:
        seen[name] += 1
        bent = rule.bend(name)
        if seen[name] == 1 and name in taken:
            legal.append(name)
            continue
        plain = seen[name] == 1 and len(bent) >= len(name) and shared[bent] == 1 and bent not in taken
        legal.append(bent if plain else _signed(name, seen[name], rule, taken))
        taken.add(legal[-1])
    return legal


def _signed(name: str, occurrence: int, rule: Rule, taken: set[str]) -> str:
    # The loop ends: every round signs something else, and only finitely many names are taken.
    secret = name if occurrence == 1 else f"{name}\n{occurrence}"
    while (signed := rule.sign(name, secret)) in taken:
        secret += "\n"
    return signed


def names_for(tools: Iterable[Named] | Named, limit: int = LIMIT) -> dict[str, str]:
    """The name under which each tool is exported, mapped to its own name.

    Exported names hold letters, digits, ``_`` and ``-``, begin with a letter or ``_``, have at most ``limit``
    characters and are all different, also where two servers have a tool of the same name.
    """
    names = [tool.name for tool in listed(tools)]
    return dict(zip(legal_names(names, tool_rule(limit)), names, strict=True))


def listed(tools: Iterable[T] | T) -> list[T]:
    """Several tools, or one, as a list."""
    return list(tools) if isinstance(tools, Iterable) else [tools]
