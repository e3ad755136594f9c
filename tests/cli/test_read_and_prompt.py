"""mcp-actors read and prompt: resources come out as they are, prompts with their roles."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Invoke
from tests.cli.odd_server import PIXEL
from tests.cli.running import ODD, on_a_terminal

BYTES = base64.b64decode(PIXEL)


def test_text_comes_out_exactly(invoke: Invoke) -> None:
    assert invoke("read", "odd://text").raw == b"line\ttab\r\nend without a line end"


def test_bytes_come_out_exactly(invoke: Invoke) -> None:
    assert invoke("read", "odd://bytes").raw == BYTES


def test_parts_are_parted_by_line_ends(invoke: Invoke) -> None:
    assert invoke("read", "odd://parts").out == "one\ntwo\n"


def test_a_terminal_gets_lines_but_no_bytes() -> None:
    with on_a_terminal("read", "odd://text", server=ODD) as screen:
        assert screen.end() == 0
        assert screen.shown == b"line    tab\r\nend without a line end\r\n"
    with on_a_terminal("read", "odd://bytes", server=ODD) as screen:
        assert screen.end() == 2
        assert b"is no text; give --output FILE, or redirect it" in screen.shown


@pytest.mark.parametrize(
    ("name", "data"), [("bytes", BYTES), ("text", b"line\ttab\r\nend without a line end")]
)
def test_a_resource_is_saved_to_a_file(invoke: Invoke, tmp_path: Path, name: str, data: bytes) -> None:
    file = tmp_path / "file.dat"
    done = invoke("read", f"odd://{name}", "--output", str(file))
    assert (done.code, done.out, done.err) == (0, "", f"saved {file}\n")
    assert file.read_bytes() == data


def test_the_whole_result_is_json_when_it_is_asked_for(invoke: Invoke) -> None:
    assert json.loads(invoke("read", "odd://bytes", "--raw").out)["contents"][0]["blob"] == PIXEL
    value = json.loads(invoke("prompt", "lecture", "topic=owls", "--raw").out)
    assert value["messages"][0]["content"]["text"] == "Tell me about owls."


def test_a_prompt_is_shown_message_by_message(invoke: Invoke, tmp_path: Path) -> None:
    topic = tmp_path / "topic.txt"
    topic.write_text("owls")
    done = invoke("prompt", "lecture", f"topic=@{topic}")
    assert done.out.splitlines() == [
        "[user]",
        "Tell me about owls.",
        "",
        "[assistant]",
        f"(an image (image/png, {len(BYTES)} bytes))",
    ]


def test_the_arguments_of_a_prompt_are_text(invoke: Invoke) -> None:
    done = invoke("prompt", "lecture", "topic:=5")
    assert done.code == 2
    assert "are text" in done.err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("lecture", "tone=kind"), "  topic must be given: lecture topic=text [tone=text]"),
        (("lectur", "topic=owls"), "  the server lists no prompt 'lectur'; it lists lecture"),
    ],
)
def test_what_was_wrong_with_a_prompt_is_named_below_the_error(
    invoke: Invoke, words: tuple[str, ...], hint: str
) -> None:
    done = invoke("prompt", *words)
    assert (done.code, done.out) == (5, "")
    assert done.err.splitlines()[1:] == [hint]
