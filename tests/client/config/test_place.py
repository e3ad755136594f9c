"""Places and what is said about them."""

from __future__ import annotations

import pickle
import warnings

import pytest

from mcp_actors.client.config import ConfigError, ConfigWarning, load_config
from mcp_actors.client.config.place import Place, suggestion


def test_a_place_names_as_much_as_is_known() -> None:
    file = Place("mcp.json")
    server = file.of_server("time")
    assert str(file) == "mcp.json"
    assert str(file.of_key("servers")) == "mcp.json: servers"
    assert str(server) == "mcp.json: server 'time'"
    assert str(server.of_key("env").of_key("TZ")) == "mcp.json: server 'time', env.TZ"
    assert str(server.of_key("args").of_item(2)) == "mcp.json: server 'time', args[2]"


def test_an_error_is_a_value_error_and_travels_between_processes() -> None:
    error = Place("mcp.json").of_server("time").error("wrong")
    copy = pickle.loads(pickle.dumps(error))
    assert isinstance(copy, ConfigError)
    assert isinstance(copy, ValueError)
    assert str(copy) == "mcp.json: server 'time': wrong"


def test_a_warning_points_at_the_line_that_called_the_package() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load_config({"mcpServers": {"time": {"command": "uvx", "colour": "red"}}}).entry("time")
    assert [(one.category, one.filename) for one in caught] == [(ConfigWarning, __file__)]
    assert issubclass(ConfigWarning, UserWarning)


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [("mcpservers", "mcpServers"), ("server", "servers"), ("mcp_servers", "mcpServers"), ("colour", None)],
)
def test_a_name_that_is_almost_right_gets_a_suggestion(wrong: str, meant: str | None) -> None:
    expected = "" if meant is None else f" (did you mean {meant!r}?)"
    assert suggestion(wrong, ("mcpServers", "servers")) == expected
