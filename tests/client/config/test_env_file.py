"""The file of variables that an entry may name."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_actors.client.config import ConfigError
from mcp_actors.client.config.env_file import read_env_file
from mcp_actors.client.config.place import Place

PLACE = Place("mcp.json", "time", "envFile")


def read(tmp_path: Path, text: str) -> dict[str, str]:
    file = tmp_path / ".env"
    file.write_bytes(text.encode())
    return read_env_file(str(file), PLACE)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=1", "1"),
        ("  A = b c  ", "b c"),
        ("export A=1", "1"),
        ("A=", ""),
        ("A=b=c", "b=c"),
        ("A=b#c # comment", "b#c"),
        ("A= # comment", ""),
        ("A=#fff", ""),
        ("A='b # \\n ${c}' # comment", "b # \\n ${c}"),
        ('A="b # \\n\\t\\r \\" \\\\ \\x ${c}"#comment', 'b # \n\t\r " \\ x ${c}'),
        ("A=${HOME}", "${HOME}"),
        ("A=it's", "it's"),
        ("A=1\r", "1"),
        ("\ufeffA=1", "1"),
        ("A=0\nA=1", "1"),
    ],
)
def test_a_line_is_a_variable(line: str, value: str, tmp_path: Path) -> None:
    assert read(tmp_path, f"{line}\n") == {"A": value}


def test_empty_lines_and_comments_are_skipped(tmp_path: Path) -> None:
    assert read(tmp_path, "\n# A=1\n   \n\t# B=2\nC=3") == {"C": "3"}


@pytest.mark.parametrize(
    "line",
    [
        "s3cret",
        "=s3cret",
        "a b=s3cret",
        "1A=s3cret",
        "A='s3cret",
        'A="s3cret',
        "A='s3cret' more",
        "A=s3cret\0",
    ],
)
def test_a_line_that_is_no_variable_raises_with_its_number_and_is_not_shown(
    line: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match="server 'time', envFile: line 2 of .* is not NAME=value") as caught:
        read(tmp_path, f"A=1\n{line}\n")
    assert "s3cret" not in str(caught.value)


def test_a_file_that_cannot_be_read_raises_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="envFile: the file cannot be read: No such file"):
        read_env_file(str(tmp_path / "missing"), PLACE)
    with pytest.raises(ConfigError, match="envFile: the file cannot be read: Is a directory"):
        read_env_file(str(tmp_path), PLACE)
    with pytest.raises(ConfigError, match="envFile: the file cannot be read: .*NUL"):
        read_env_file("a\0b", PLACE)
    (tmp_path / "latin").write_bytes(b"A=\xe9")
    with pytest.raises(ConfigError, match="not UTF-8 at byte 2"):
        read_env_file(str(tmp_path / "latin"), PLACE)
