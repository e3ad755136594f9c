"""mcp-actors list: everything a server offers, within the screen, names whole, nothing that acts on it."""

from __future__ import annotations

import json
import sys

import pytest

from mcp_actors.cli.demo_server import COMMAND
from tests.cli.conftest import Invoke
from tests.cli.odd_server import LONG_NAME, TOOLS
from tests.cli.running import ODD, on_a_terminal


def test_tools_are_listed_with_what_they_take(invoke: Invoke) -> None:
    done = invoke("list", server=list(COMMAND))
    assert done.code == 0
    assert done.out.splitlines() == [
        "add         Add two numbers",
        "            a=number b=number",
        "slow_count  Count, with progress",
        "            to=integer [delay=number]",
        "crash       Exit with code 7",
        "            [last_words=string]",
    ]
    assert done.err == ""


def test_a_long_name_stays_whole_and_the_lines_keep_to_the_screen(invoke: Invoke) -> None:
    lines = invoke("list").out.splitlines()
    assert LONG_NAME in lines
    assert max(map(len, lines)) <= 80
    assert all(name in lines for name in TOOLS)


@pytest.mark.parametrize("width", ["20", "40", "120"])
def test_any_width_will_do(invoke: Invoke, monkeypatch: pytest.MonkeyPatch, width: str) -> None:
    monkeypatch.setenv("COLUMNS", width)
    whole = "".join(line.strip() for line in invoke("list").out.splitlines())
    assert LONG_NAME in whole
    lines = invoke("list", "--schema").out.splitlines()
    assert "report" in lines


def test_of_a_long_description_the_first_paragraph_is_shown(invoke: Invoke) -> None:
    short, whole = invoke("list").out, invoke("list", "--schema").out
    assert "of a paragraph. …" in short
    assert "The second paragraph." not in short
    assert "The second paragraph." in whole
    assert '"type": "integer"' in whole


def test_what_acts_on_a_terminal_is_spelled_out(invoke: Invoke) -> None:
    for words in (("list",), ("list", "--schema"), ("list", "--json")):
        out = invoke(*words).out
        assert "\x1b" not in out
        assert "\x08" not in out


def test_everything_is_listed_in_sections(invoke: Invoke) -> None:
    lines = invoke("list", "--all").out.splitlines()
    titles = [line for line in lines if line in ("Tools", "Resources", "Resource templates", "Prompts")]
    assert titles == ["Tools", "Resources", "Resource templates", "Prompts"]
    assert "odd://text  text" in lines
    assert "odd://{name}  any" in lines
    assert "lecture  topic=text [tone=text]" in lines


@pytest.mark.parametrize(
    ("option", "shown"),
    [("--resources", "odd://text"), ("--templates", "odd://{name}"), ("--prompts", "lecture")],
)
def test_one_kind_needs_no_title(invoke: Invoke, option: str, shown: str) -> None:
    done = invoke("list", option)
    assert done.out.startswith(shown)
    assert invoke("list", option, "--schema").out.startswith(shown)


def test_json_is_what_the_server_sent_by_kind(invoke: Invoke) -> None:
    value = json.loads(invoke("list", "--resources", "--prompts", "--json").out)
    assert value["resources"] == [{"uri": "odd://text", "name": "text", "size": 3}]
    assert [prompt["name"] for prompt in value["prompts"]] == ["lecture"]
    assert set(value) == {"resources", "prompts"}


def test_what_a_server_does_not_have_is_a_remark_and_no_failure(invoke: Invoke) -> None:
    # The demo server has resources, but does not know the method that lists templates of them.
    done = invoke("list", "--templates", server=list(COMMAND))
    assert (done.code, done.out) == (0, "")
    assert done.err == "demo offers no resource templates\n"


def test_a_server_without_the_capability_is_not_even_asked(invoke: Invoke) -> None:
    program = (
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)\n"
        "    if asked.get('method') == 'initialize':\n"
        "        result = {'protocolVersion': '2025-11-25', 'capabilities': {}, 'serverInfo': {}}\n"
        "        print(json.dumps({'jsonrpc': '2.0', 'id': asked['id'], 'result': result}), flush=True)\n"
        "    elif 'id' in asked:\n"
        "        error = {'code': -32603, 'message': 'asked all the same'}\n"
        "        print(json.dumps({'jsonrpc': '2.0', 'id': asked['id'], 'error': error}), flush=True)\n"
    )
    command = [sys.executable, "-c", program]
    done = invoke("list", "--all", "--protocol", "2025-11-25", server=command)
    assert (done.code, done.out) == (0, "")
    assert len(done.err.splitlines()) == 4


def test_colours_are_for_terminals_and_can_be_switched_off() -> None:
    with on_a_terminal("list", server=ODD) as screen:
        assert screen.end() == 0
        assert b"\x1b[1;36m" in screen.shown
        assert b"\x1b[31m" not in screen.shown
    with on_a_terminal("list", server=ODD, env={"NO_COLOR": "1"}) as screen:
        assert screen.end() == 0
        assert b"\x1b[1;36m" not in screen.shown
        assert b"36m" not in screen.shown
