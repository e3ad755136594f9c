"""Takes secrets and terminal tricks out of text before people or files see it.

Pure, and linear in the length of the text: every pattern either has a bounded repetition, is possessive,
or consumes what it has looked at.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final, TypeAlias
from urllib.parse import quote, quote_plus

__all__ = [
    "HIDDEN",
    "hide",
    "looks_secret",
    "presentable",
    "printable",
    "redact",
    "redact_command",
    "redact_environment_names",
    "secret_values",
]

HIDDEN: Final = "***"
MIN_LITERAL: Final = 6  # shorter values would tear holes into ordinary words

Span: TypeAlias = tuple[int, int]


def redact(text: str, secrets: Collection[str] = ()) -> str:
    """The text with every secret replaced by ``***`` and nothing else changed.

    Hidden are values whose name looks secret (JSON members, ``key=value``, ``--flag value``, headers), known
    shapes of tokens, user and password in URLs, and the literal ``secrets`` of at least six characters.
    """
    return _hide_named(_hide_shapes(hide(text, secrets)))


# -- names ------------------------------------------------------------------------------------------------

_LONGEST_NAME: Final = 128
_WITHOUT_JOINTS: Final = str.maketrans("", "", "_- ")
_SECRET_NAME: Final = re.compile(
    r"passw(?:or)?d|passphrase|pwd|secret|token|credential|cookie|authorization|bearer|sessionid|signature"
    r"|(?:api|access|private|sign|signing|encryption|account|subscription|auth|master|ssh|service)key"
    r"|(?:shared|session)key"
)
# They hold one of the words above but no secret: MCP's progressToken, counts of tokens, places of secrets.
_HARMLESS_NAME: Final = re.compile(
    r"progresstoken"
    r"|(?:max|min|num|input|output|total|prompt|completion|cached?|reasoning|context|used|remaining)?tokens"
    r"|.*(?:file|path|dir|url|uri|endpoint|type|count|limit|name|budget|usage|expiry|expires(?:in|at)?|length)"
    r"|.*(?:policy|enabled|required|supported|methods?)"
)


def looks_secret(name: str) -> bool:
    """Whether the value under this name (member, flag, header, variable) is to be hidden."""
    name = name[-_LONGEST_NAME:]
    if name.isupper() and name.endswith("_KEY"):
        return True
    bare = name.lower().translate(_WITHOUT_JOINTS)
    return _SECRET_NAME.search(bare) is not None and _HARMLESS_NAME.fullmatch(bare) is None


# -- literal values ---------------------------------------------------------------------------------------


def hide(text: str, secrets: Collection[str]) -> str:
    """The text with these secrets replaced, where they have at least six characters, and nothing else."""
    # Longest first: a secret that is part of another must not leave the other's rest behind.
    for spelling in sorted(_spellings(secrets), key=len, reverse=True):
        text = text.replace(spelling, HIDDEN)
    return text


def _spellings(secrets: Collection[str]) -> set[str]:
    """Each secret as it is, as it looks inside JSON, and as it looks inside a URL and a form."""
    found: set[str] = set()
    for secret in secrets:
        if len(secret) >= MIN_LITERAL:
            found.add(secret)
            found.add(json.dumps(secret)[1:-1])
            found.add(json.dumps(secret, ensure_ascii=False)[1:-1])
            found.add(quote(secret, safe="", errors="backslashreplace"))
            found.add(quote_plus(secret, errors="backslashreplace"))
    return found


# -- known shapes -----------------------------------------------------------------------------------------

# A token starts where no word goes on; inside JSON the letter of an escaped line end is no part of a word.
_START: Final = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
_TOKEN: Final = re.compile(
    _START + r"(?:(?:sk|pk|rk)[-_][A-Za-z0-9_\-]{16,}+"  # OpenAI, Anthropic, Stripe
    r"|gh[pousr]_[A-Za-z0-9]{16,}+|github_pat_[A-Za-z0-9_]{16,}+|glpat-[A-Za-z0-9_\-]{16,}+"
    r"|xox[a-z]-[A-Za-z0-9\-]{8,}+|xapp-[A-Za-z0-9\-]{8,}+"  # Slack
    r"|(?:AKIA|ASIA)[A-Z0-9]{12,}+|AIza[A-Za-z0-9_\-]{30,}+"  # AWS, Google
    r"|npm_[A-Za-z0-9]{20,}+|pypi-[A-Za-z0-9_\-]{16,}+|hf_[A-Za-z0-9]{16,}+"
    r"|eyJ[A-Za-z0-9_\-]{8,}+(?:\.[A-Za-z0-9_\-]*+){0,4})"  # JWT, also one that was cut
)
_PRIVATE_KEY: Final = re.compile(r"(-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----).*?(?=-----END|\Z)", re.DOTALL)
_SCHEME: Final = re.compile(
    r"(bearer[ \t]{1,8})(?!(?:tokens?|auth|authentication|authorization)(?![A-Za-z0-9._~+/=\-]))"
    r"[A-Za-z0-9._~+/=\-]+"
    r"|((?<![a-z])basic[ \t]{1,8})[A-Za-z0-9+/=]{16,}",
    re.IGNORECASE,
)
# Names that are harmless elsewhere, but hold credentials in addresses.
_QUERY: Final = re.compile(r"([?&](?:key|sig|auth)=)[^\s&#\"'<>\\]+", re.IGNORECASE)
_USERINFO: Final = re.compile(r"://[^\s/?#\"'<>\\]*@")


def _hide_shapes(text: str) -> str:
    text = _PRIVATE_KEY.sub(rf"\1{HIDDEN}", text)
    text = _USERINFO.sub(f"://{HIDDEN}@", text)
    text = _QUERY.sub(rf"\1{HIDDEN}", text)
    text = _SCHEME.sub(lambda found: (found[1] or found[2]) + HIDDEN, text)
    return _TOKEN.sub(HIDDEN, text)


# -- named values -----------------------------------------------------------------------------------------

_WORD: Final = re.compile(r"[A-Za-z0-9_\-]++(?: (?:[Kk]ey|KEY|[Ii]d|ID)(?![A-Za-z0-9_\-]))?")
_SEPARATOR: Final = re.compile(r"""(?:\\{0,7}["'])?[ \t]{0,8}(?:=>|:=|==?|:(?!:))[ \t]{0,8}""")
# A flag's value may also be the next word, or the next string of a list: --token abc, ['--token', 'abc'].
_FLAG_SEPARATOR: Final = re.compile(
    r"""[ \t]{1,8}(?![\-\s])|\\{0,7}["'][ \t]{0,8},[ \t]{0,8}(?=\\{0,7}["'](?!-))"""
)
_OPENING: Final = re.compile(r"""(\\*+)(["'])""")
_LINE: Final = re.compile(r"(?:[^\r\n\\]|\\(?![nr]))*+")
# One word, over escaped characters that do not end it, and up to the next parameter of a query.
_BARE: Final = re.compile(r"""(?:[^\s"'&\\]|\\\\|\\(?![nrt"'])|&(?![\w.\-]{1,64}=))++""")
_MARK: Final = re.compile(r"""(\\*+)(["'\r\n])|\\++""")
_BRACKET: Final = re.compile(r"""(\\*+)(")|\\++|[{}\[\]]""")
_NO_SECRETS: Final = frozenset({"null", "true", "false", "None", "True", "False"})


def _hide_named(text: str) -> str:
    pieces: list[str] = []
    kept = position = 0
    while word := _WORD.search(text, position):
        position = word.end()
        if not looks_secret(word[0]):
            continue
        start, end = _value_span(text, word)
        if start < end and text[start:end] not in _NO_SECRETS:
            pieces += text[kept:start], HIDDEN
            kept = position = end
    pieces.append(text[kept:])
    return "".join(pieces)


def _value_span(text: str, word: re.Match[str]) -> Span:
    """Where the value that belongs to the name ``word`` stands; an empty span when there is none."""
    separator = _SEPARATOR.match(text, word.end())
    if separator is None and word[0].startswith("-"):
        separator = _FLAG_SEPARATOR.match(text, word.end())
    if separator is None:
        return (0, 0)
    start = separator.end()
    opening = _OPENING.match(text, start)
    if opening is not None:
        return opening.end(), _closing_quote(text, opening)
    if text.startswith(("{", "["), start):
        return start, _closing_bracket(text, start)
    if "cookie" in word[0].lower() or "authorization" in word[0].lower():
        return _header_span(text, word, start)
    bare = _BARE.match(text, start)
    return (0, 0) if bare is None else (start, start + len(bare[0].rstrip(",;)]}")))


def _header_span(text: str, word: re.Match[str], start: int) -> Span:
    """The value of a header that goes on to the end of its line, or of the string that holds the header."""
    opening = _OPENING.match(text, word.start() - 1) if word.start() else None
    if opening is not None:
        return start, _closing_quote(text, opening)
    line = _LINE.match(text, start)
    return start, start if line is None else line.end()


def _closing_quote(text: str, opening: re.Match[str]) -> int:
    """Where the quoted text ends: at the matching quote, else with its line.

    In JSON inside JSON a quote is written with 1, 3, 7 … backslashes; with ``depth`` of them before the
    opening quote, a run of backslashes closes when it is ``depth`` more than a multiple of ``2 * depth + 2``.
    """
    depth, sign = len(opening[1]), opening[2]
    for mark in _MARK.finditer(text, opening.end()):
        if mark[2] in ("\r", "\n"):
            return mark.end() - 1
        if mark[2] == sign and len(mark[1]) % (2 * depth + 2) == depth:
            return mark.end() - 1 - depth
    return len(text)


def _closing_bracket(text: str, start: int) -> int:
    """The end of the JSON object or array that begins at ``start``, or of the text if it was cut."""
    level, position = 0, start
    while mark := _BRACKET.search(text, position):
        position = mark.end()
        if mark[2]:
            # Over the closing quote and the backslashes before it; at a line's end just over that.
            position = min(_closing_quote(text, mark) + len(mark[1]) + 1, len(text))
        elif mark[0] in ("{", "["):
            level += 1
        elif mark[0] in ("}", "]"):
            level -= 1
            if level == 0:
                return position
    return len(text)


# -- commands and environments ----------------------------------------------------------------------------


def redact_command(argv: Sequence[str], secrets: Collection[str] = ()) -> tuple[str, ...]:
    """A command with its secret arguments hidden, argument by argument."""
    hidden: list[str] = []
    expecting = False
    for argument in argv:
        if expecting and not argument.startswith("--"):
            hidden.append(HIDDEN)
            expecting = False
            continue
        name, equals, value = argument.partition("=")
        names_secret = _WORD.fullmatch(name) is not None and looks_secret(name)
        expecting = names_secret and not equals and name.startswith("-")
        hidden.append(f"{name}={HIDDEN}" if names_secret and value else redact(argument, secrets))
    return tuple(hidden)


def redact_environment_names(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment that may be shown: values under secret names are hidden, the rest is redacted."""
    return {name: HIDDEN if looks_secret(name) else redact(value) for name, value in environment.items()}


def secret_values(environment: Mapping[str, str]) -> frozenset[str]:
    """The values to pass as ``secrets``: under a name that looks secret, and long enough to search for."""
    return frozenset(
        value for name, value in environment.items() if looks_secret(name) and len(value) >= MIN_LITERAL
    )


# -- terminal safety --------------------------------------------------------------------------------------

_TERMINAL_SEQUENCE: Final = re.compile(
    r"\x1b\[[0-?]*+[ -/]*+[@-~]|\x9b[0-?]*+[ -/]*+[@-~]|\x1b\][^\x07\x1b]*+(?:\x07|\x1b\\)?"
)
_CUT_MARK: Final = 20  # room for the mark and a number of ten digits
_SPACES: Final = {"\t": "    ", "\xa0": " "}


def printable(text: str, limit: int) -> str:
    """One line, safe on a terminal: colours removed, control characters spelled out, cut at ``limit``."""
    if not text.isprintable():
        text = "".join(map(_visible, _TERMINAL_SEQUENCE.sub("", text)))
    if len(text) <= limit:
        return text
    # The mark fits into the limit, so that a text cut once is not cut again.
    kept = max(0, limit - _CUT_MARK)
    return f"{text[:kept]}… (+{len(text) - kept} more)"


def presentable(text: str, limit: int, secrets: Collection[str] = ()) -> str:
    """Redacted and printable. Colours go first: they would stand between a name and its secret."""
    return printable(redact(_TERMINAL_SEQUENCE.sub("", text), secrets), limit)


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    return _SPACES.get(character) or character.encode("unicode_escape", "backslashreplace").decode("ascii")
