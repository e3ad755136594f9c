"""mcp-actors call: arguments arrive as the schema wants them, answers are shown as what they are."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Invoke
from tests.cli.odd_server import PIXEL, TRICK
from tests.cli.running import ODD, on_a_terminal

IMAGE = base64.b64decode(PIXEL)


def arrived(invoke: Invoke, *words: str, **more: Any) -> Any:
    """The arguments that reached the tool."""
    done = invoke("call", "report", *words, **more)
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out)


def test_values_are_converted_by_the_schema(invoke: Invoke) -> None:
    words = ("count=5", "ratio=0.5", "flag=true", "tags=a", "tags=b", 'options={"x": 1}', "name=5", "other=5")
    assert arrived(invoke, *words) == {
        "count": 5,
        "ratio": 0.5,
        "flag": True,
        "tags": ["a", "b"],
        "options": {"x": 1},
        "name": "5",
        "other": "5",
    }


def test_json_values_and_files(invoke: Invoke, tmp_path: Path) -> None:
    notes, data = tmp_path / "notes.txt", tmp_path / "data.json"
    notes.write_text("grüß\ngott")
    data.write_text("[1, 2]")
    words = ('name:="Ada"', "count:=null", f"other=@{notes}", f"options:=@{data}")
    assert arrived(invoke, *words) == {
        "name": "Ada",
        "count": None,
        "other": "grüß\ngott",
        "options": [1, 2],
    }


def test_one_object_for_all_and_words_that_win(invoke: Invoke, tmp_path: Path) -> None:
    file = tmp_path / "arguments.json"
    file.write_text('{"count": 1}')
    assert arrived(invoke, "--json", '{"count": 1, "name": "a"}', "name=b") == {"count": 1, "name": "b"}
    assert arrived(invoke, "--json", f"@{file}") == {"count": 1}
    assert arrived(invoke, "--json", "-", stdin='{"count": 2}') == {"count": 2}
    assert arrived(invoke) == {}


def test_a_file_that_is_no_text_is_a_mistake(invoke: Invoke, tmp_path: Path) -> None:
    file = tmp_path / "image.png"
    file.write_bytes(IMAGE)
    done = invoke("call", "report", f"name=@{file}")
    assert done.code == 2
    assert "is no text in UTF-8" in done.err


def test_what_is_too_long_to_be_sent_is_a_mistake(invoke: Invoke, tmp_path: Path) -> None:
    file = tmp_path / "long.txt"
    file.write_text("x" * 17_000_000)
    long = invoke("call", "report", f"name=@{file}")
    assert (long.code, long.out) == (2, "")
    assert "max_frame_bytes" in long.err


def test_the_whole_result_is_json_when_it_is_asked_for(invoke: Invoke) -> None:
    done = invoke("call", "picture", "--raw")
    assert json.loads(done.out)["content"][1]["mimeType"] == "image/png"
    assert done.err == ""
    failed = invoke("call", "fail", "--raw")
    assert failed.code == 1
    assert json.loads(failed.out)["isError"] is True


def test_structured_content_stands_in_for_missing_text(invoke: Invoke) -> None:
    assert json.loads(invoke("call", "structured").out) == {"answer": 42}


def test_every_kind_of_content_has_its_text(invoke: Invoke) -> None:
    done = invoke("call", "mixed")
    assert done.out.startswith("embedded\na link: odd://linked\n{")
    assert '"type": "hologram"' in done.out


def test_an_image_is_a_remark_unless_it_is_saved(invoke: Invoke, tmp_path: Path) -> None:
    done = invoke("call", "picture")
    assert done.out == "here it is\n"
    assert done.err == f"an image (image/png, {len(IMAGE)} bytes) is not shown; --output FILE saves it\n"
    file = tmp_path / "shot.png"
    file.write_bytes(b"an older one")
    done = invoke("call", "picture", "--output", str(file))
    assert (done.code, done.out, done.err) == (0, "here it is\n", f"saved {file}\n")
    assert file.read_bytes() == IMAGE


def test_several_go_into_a_directory_and_replace_nothing_there(invoke: Invoke, tmp_path: Path) -> None:
    directory = tmp_path / "shots"
    done = invoke("call", "pictures", "-o", str(directory))
    assert (done.code, done.out) == (0, "")
    assert len(list(directory.iterdir())) == 4
    assert all(file.read_bytes() == IMAGE for file in directory.iterdir())
    again = invoke("call", "pictures", "-o", str(directory))
    assert again.code == 2
    assert "is there already; name a file, or another directory" in again.err
    file = tmp_path / "file"
    file.touch()
    assert "there are 4 to save; name a directory" in invoke("call", "pictures", "-o", str(file)).err


def test_whatever_is_not_shown_is_named(invoke: Invoke) -> None:
    done = invoke("call", "pictures")
    assert [line.split(" (")[0] for line in done.err.splitlines()] == [
        "an image",
        "an image",
        "a sound",
        "odd://bytes",
    ]
    damaged = invoke("call", "damaged")
    assert (damaged.code, damaged.out) == (0, "")
    assert damaged.err.startswith("an image (image/png, damaged on the way) is not shown")
    assert invoke("call", "damaged", "-o", "x.png").code == 5


def test_a_server_may_have_tools_that_it_does_not_list(invoke: Invoke) -> None:
    hidden = [*ODD, "--no-listing"]
    assert invoke("call", "report", "count=5", server=hidden).out == '{"count": "5"}\n'
    failed = invoke("call", "nonsense", server=hidden)
    assert failed.code == 5
    assert len(failed.err.splitlines()) == 1
    assert invoke("list", server=hidden).code == 5


def test_json_on_a_terminal_is_coloured_and_still_json() -> None:
    with on_a_terminal("call", "report", 'name="long ' + "x" * 200, "--raw", server=ODD) as screen:
        assert screen.end() == 0
        assert b"\x1b[" in screen.shown
    plain = re.sub(rb"\x1b\[[0-9;]*m", b"", screen.shown)
    assert json.loads(plain)["content"][0]["type"] == "text"


def test_a_place_that_ends_with_a_slash_is_a_directory(invoke: Invoke, tmp_path: Path) -> None:
    done = invoke("call", "picture", "-o", f"{tmp_path}/new/shots/")
    assert done.err == f"saved {tmp_path}/new/shots/image.png\n"
    bare = invoke("call", "picture", "-o", f"{tmp_path}/shot")
    assert bare.err == f"saved {tmp_path}/shot.png\n"


def test_a_place_that_cannot_be_written_is_a_mistake(invoke: Invoke, tmp_path: Path) -> None:
    done = invoke("call", "picture", "-o", str(tmp_path / "no" / "such" / "place.png"))
    assert done.code == 2
    assert done.out == "here it is\n"
    assert "cannot be written: No such file or directory" in done.err


def test_a_device_is_written_and_not_replaced(invoke: Invoke) -> None:
    assert invoke("call", "picture", "-o", "/dev/null").code == 0
    assert Path("/dev/null").is_char_device()


def test_text_is_exact_in_a_pipe_and_harmless_on_a_terminal(invoke: Invoke) -> None:
    assert invoke("call", "trick").out == f"{TRICK}\n"
    with on_a_terminal("call", "trick", server=ODD) as screen:
        assert screen.end() == 0
        assert screen.shown == b"red text and \\x08bell\r\n"


def test_the_errors_of_a_server_are_harmless_too(invoke: Invoke) -> None:
    done = invoke("call", "nonsense")
    assert done.code == 5
    assert "\x1b" not in done.err
    assert done.err.startswith("mcp-actors: tools/call 'nonsense' failed: not here: red ")


def test_progress_is_a_bar_on_the_terminal_and_nothing_in_the_result(tmp_path: Path) -> None:
    gate, result = tmp_path / "gate", tmp_path / "result"
    with (
        result.open("wb") as stdout,
        on_a_terminal("call", "steps", f"until={gate}", server=ODD, stdout=stdout.fileno()) as screen,
    ):
        screen.read_until(b"3/8")
        assert b"half way" in screen.shown
        assert b"\x1b[2J way" not in screen.shown
        gate.touch()
        assert screen.end() == 0
    assert result.read_text() == "done\n"


def test_without_a_terminal_there_is_no_bar(invoke: Invoke, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    gate.touch()
    done = invoke("call", "steps", f"until={gate}")
    assert (done.code, done.out, done.err) == (0, "done\n", "")


def test_a_question_of_the_server_is_asked_on_the_terminal_and_answered(tmp_path: Path) -> None:
    result = tmp_path / "result"
    with (
        result.open("wb") as stdout,
        on_a_terminal("call", "ask", server=ODD, stdout=stdout.fileno()) as screen,
    ):
        screen.read_until(b"city: ")
        assert b"Where do you live?" in screen.shown
        screen.type("Wien\n")
        screen.read_until(b"Send them?")
        screen.type("\n")
        assert screen.end() == 0
    assert json.loads(result.read_text()) == {"action": "accept", "content": {"city": "Wien"}}


def test_ctrl_d_cancels_the_question_and_ctrl_c_the_call() -> None:
    with on_a_terminal("call", "ask", server=ODD) as screen:
        screen.read_until(b"city: ")
        screen.type("\x04")
        assert screen.end() == 0
        assert b'{"action": "cancel"}' in screen.shown
    with on_a_terminal("call", "ask", server=ODD) as screen:
        screen.read_until(b"city: ")
        assert screen.interrupt() == 130
        assert b"Fatal" not in screen.shown
        assert b"Traceback" not in screen.shown


@pytest.mark.parametrize("option", ["-v", "-vv"])
def test_verbose_shows_the_servers_words_and_ours_on_stderr(invoke: Invoke, option: str) -> None:
    done = invoke("call", "chatter", option)
    assert done.out == "said\n"
    lines = done.err.splitlines()
    assert any(line.endswith("= initializing -> ready") for line in lines)
    assert any(line.endswith(" | words on stderr") for line in lines)
    assert 'warning: {"low": "battery"}' in lines
    assert any("tools/call" in line for line in lines) == (option == "-vv")
