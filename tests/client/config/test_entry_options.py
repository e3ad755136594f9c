"""The options of a client in an entry: ours, and the timeouts of other hosts."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_actors.client.config import ConfigError, ConfigWarning, load_config
from mcp_actors.client.options import CommonOptions


def options(**given: Any) -> dict[str, Any]:
    entry = given if "url" in given else {"command": "x", **given}
    return load_config({"one": entry}).entry("one").options


def test_options_under_our_own_key_are_taken_as_they_are() -> None:
    own = {
        "request_timeout": 5,
        "frames_per_permit": None,
        "inherit_env": True,
        "framing": "line",
        "name": "a",
    }
    assert options(**{"x-mcp-actors": own}) == own
    assert options(**{"x-mcp-actors": None}) == {}
    assert options() == {}


def test_every_common_option_is_known() -> None:
    own = dict.fromkeys(CommonOptions.__annotations__)
    assert options(**{"x-mcp-actors": own}) == own
    assert options(url="http://x", **{"x-mcp-actors": own}) == own


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"x-mcp-actors": {"request_timeut": 1}},
            "request_timeut: no option .*did you mean 'request_timeout'",
        ),
        ({"x-mcp-actors": {"requestTimeout": 1}}, "no option .*did you mean 'request_timeout'"),
        ({"x-mcp-actors": {"colour": "s3cret"}}, "colour: no option of a client for servers of type stdio$"),
        ({"x-mcp-actors": []}, "x-mcp-actors: must be an object, not a list"),
        (
            {"url": "http://x", "x-mcp-actors": {"inherit_env": True}},
            "no option of a client for servers of type http",
        ),
        ({"timeout": "30"}, "timeout: must be a number, not a string"),
        ({"timeout": True}, "timeout: must be a number, not true or false"),
        ({"timeout": 0}, "timeout: must be a number above 0"),
        ({"startup_timeout": float("nan")}, "startup_timeout: must be a number above 0"),
        ({"timeout_seconds": float("inf")}, "timeout_seconds: must be a number above 0"),
    ],
)
def test_a_wrong_option_is_named(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=f"^configuration: server 'one', .*{words}") as caught:
        options(**given)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "read", "reading"),
    [
        ({"timeout": 30}, {"request_timeout": 30}, "30 is read as seconds: request_timeout is 30 s"),
        ({"timeout": 0.5}, {"request_timeout": 0.5}, "0.5 is read as seconds: request_timeout is 0.5 s"),
        ({"timeout": 999}, {"request_timeout": 999}, "999 is read as seconds"),
        (
            {"timeout": 1000},
            {"request_timeout": 1.0},
            "1000 is read as milliseconds: request_timeout is 1.0 s",
        ),
        ({"timeout": 30000}, {"request_timeout": 30.0}, '"x-mcp-actors": {"request_timeout": 30.0}'),
        ({"startup_timeout": 20}, {"init_timeout": 20}, '"x-mcp-actors": {"init_timeout": 20}'),
        ({"startup_timeout": 20000}, {"init_timeout": 20.0}, "20000 is read as milliseconds"),
    ],
)
def test_a_timeout_without_a_unit_is_read_and_warned_of(
    given: dict[str, Any], read: dict[str, Any], reading: str
) -> None:
    with pytest.warns(ConfigWarning) as caught:
        assert options(**given) == read
    (text,) = [str(one.message) for one in caught]
    (key,) = given
    assert text.startswith(f"configuration: server 'one', {key}: ")
    assert reading in text


def test_a_timeout_that_names_its_unit_is_certain() -> None:
    assert options(timeout_seconds=2000) == {"request_timeout": 2000}
    assert options(timeout_seconds=20, timeout=30000) == {"request_timeout": 20}


def test_our_own_key_silences_the_guess() -> None:
    own = {"request_timeout": 5, "init_timeout": 6}
    assert options(timeout=30000, timeout_seconds=1, startup_timeout=9, **{"x-mcp-actors": own}) == own
