"""The options of a client that an entry holds: ours under ``x-mcp-actors``, and other hosts' timeouts."""

from __future__ import annotations

from typing import Any, Final

from mcp_actors.client.config.place import suggestion
from mcp_actors.client.config.section import Section
from mcp_actors.client.options import CommonOptions

OWN_KEY: Final = "x-mcp-actors"
#: Keys of other hosts, and the option that each one means. Only the first names its unit.
TIMEOUTS: Final = {
    "timeout_seconds": "request_timeout",
    "timeout": "request_timeout",
    "startup_timeout": "init_timeout",
}
_UNIT_NAMED: Final = "timeout_seconds"
#: Hosts differ in the unit. Nobody waits a quarter of an hour for an answer, or less than a second.
_FIRST_MILLISECONDS: Final = 1000
_COMMON: Final = CommonOptions.__optional_keys__ | CommonOptions.__required_keys__
_STDIO: Final = frozenset({"framing", "inherit_env"})


def read_options(section: Section, kind: str) -> dict[str, Any]:
    """Keyword arguments for the constructor of a client. Their values are checked there."""
    options = section.members(OWN_KEY)
    known = _COMMON | _STDIO if kind == "stdio" else _COMMON
    for name in options:
        if name not in known:
            place = section.place.of_key(OWN_KEY).of_key(name)
            raise place.error(f"no option of a client for servers of type {kind}{suggestion(name, known)}")
    for key, option in TIMEOUTS.items():
        # What stands under our own key is certain; so is a name with its unit, which comes first.
        if key in section and option not in options:
            options[option] = _seconds(section, key, option)
    return options


def _seconds(section: Section, key: str, option: str) -> float:
    number = section.number(key)
    if key == _UNIT_NAMED:
        return number
    milliseconds = number >= _FIRST_MILLISECONDS
    seconds = number / 1000 if milliseconds else number
    section.place.of_key(key).warn(
        f"{number} is read as {'milliseconds' if milliseconds else 'seconds'}: {option} is {seconds} s; "
        f'to be sure, write "{OWN_KEY}": {{"{option}": {seconds}}} instead'
    )
    return seconds
