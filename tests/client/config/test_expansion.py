"""Variables in a configuration: what is replaced, what is not, and what is said when it cannot be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mcp_actors.client.config import ConfigError
from mcp_actors.client.config.expansion import Expansion, workspace_folder
from mcp_actors.client.config.place import Place

PLACE = Place("mcp.json", "github", "env.TOKEN")
ENVIRON = {"HOME": "/home/ann", "USER": "ann", "EMPTY": "", "NESTED": "${USER}", "TILDE": "~/x", "a1_": "low"}
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
# Pieces that are almost a reference, so that a careless pattern meets one.
PIECES = st.sampled_from(["$", "$$", "{", "}", "{HOME}", "$HOME", "%USER%", "~", ":-", "env:USER", "\\"])
VALUES = st.text() | st.sampled_from(["~", "~/x", "${HOME}", "$${", "${", "$HOME"])
PLAIN = st.lists(PIECES | st.text(max_size=3), max_size=6).map("".join).filter(lambda text: "${" not in text)
PREDEFINED = {"userHome", "pathSeparator", "workspaceFolder", "workspaceFolderBasename"}


def expand(text: str, folder: str | None = "/work/shop") -> str:
    return Expansion(ENVIRON, folder).expand(text, PLACE)


def expand_path(text: str, environ: dict[str, str] | None = None) -> str:
    return Expansion(ENVIRON if environ is None else environ).expand_path(text, PLACE)


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("${USER}", "ann"),
        ("${env:USER}", "ann"),
        ("<${USER}-${a1_}>", "<ann-low>"),
        ("${EMPTY}", ""),
        ("${EMPTY:-x}", "x"),
        ("${UNSET:-x}", "x"),
        ("${UNSET:-}", ""),
        ("${env:UNSET:-a:-b\nc}", "a:-b\nc"),
        ("${USER:-x}", "ann"),
        ("${input:-x}", "x"),
        ("$USER ${USER} $ {USER} %USER% $$", "$USER ann $ {USER} %USER% $$"),
        ("$${USER}", "${USER}"),
        ("$$${USER}", "$${USER}"),
        ("$USER${USER}", "$USERann"),
        ("${workspaceFolder}/.env", "/work/shop/.env"),
        ("${workspaceFolderBasename}", "shop"),
        ("${userHome}${pathSeparator}x${/}y", f"/home/ann{os.sep}x{os.sep}y"),
    ],
)
def test_references_are_replaced(text: str, expanded: str) -> None:
    assert expand(text) == expanded


@given(PLAIN)
def test_text_without_a_reference_is_left_as_it_is(text: str) -> None:
    assert expand(text) == text


@given(NAMES, VALUES, PLAIN, PLAIN)
def test_a_value_is_put_in_as_it_is_and_never_looked_at_again(
    name: str, value: str, before: str, after: str
) -> None:
    # A text that ends in "$" would make the reference behind it an escaped one.
    assume(name not in PREDEFINED and not before.endswith("$"))
    expansion = Expansion({name: value})
    for reference in (f"${{{name}}}", f"${{env:{name}}}"):
        assert expansion.expand(before + reference + after, PLACE) == before + value + after
    tilde = expansion.expand_path(f"${{{name}}}", PLACE)
    assert tilde == value


@given(NAMES, st.text(alphabet=st.characters(exclude_characters="{}")))
def test_a_default_is_taken_for_what_is_unset_or_empty(name: str, default: str) -> None:
    reference = f"${{{name}:-{default}}}"
    assert Expansion({}).expand(reference, PLACE) == default
    assert Expansion({name: ""}).expand(reference, PLACE) == default
    assert Expansion({name: "set"}).expand(reference, PLACE) == "set"


@pytest.mark.parametrize("reference", ["${UNSET}", "${env:UNSET}"])
def test_an_unset_variable_raises_and_names_variable_server_and_key(reference: str) -> None:
    with pytest.raises(ConfigError) as caught:
        expand(reference)
    assert str(caught.value) == (
        "mcp.json: server 'github', env.TOKEN: the environment variable UNSET is not set; "
        "set it, or write ${UNSET:-default}"
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("${", "literal"),
        ("${s3cret", "literal"),
        ("a ${UNSET:-${s3cret}} b", "literal"),
        ("${UNSET:-{s3cret}}", "literal"),
        ("${}", "not understood"),
        ("${1s3cret}", "not understood"),
        ("${USER-s3cret}", "not understood"),
        ("${USER:+s3cret}", "not understood"),
        ("${config:s3cret}", "not understood"),
        ("${ USER }", "not understood"),
        ("${env:}", "not understood"),
        ("${input:s3cret}", "asked for by VS Code.*environment variable"),
    ],
)
def test_what_is_not_understood_raises_and_is_not_shown(text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        expand(text)
    assert str(caught.value).startswith("mcp.json: server 'github', env.TOKEN: ")
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("name", ["workspaceFolder", "workspaceFolderBasename"])
def test_there_is_no_workspace_without_a_file(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name}.*read from a file"):
        expand(f"${{{name}}}", folder=None)


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("~", "/home/ann"),
        ("~/bin/${USER}", "/home/ann/bin/ann"),
        ("a~", "a~"),
        ("/~/x", "/~/x"),
        ("${TILDE}", "~/x"),
        ("${NESTED}", "${USER}"),
        ("${UNSET:-~/x}", "~/x"),
        ("~nobody-of-this-name/x", "~nobody-of-this-name/x"),
    ],
)
def test_a_leading_tilde_of_a_path_is_the_home_folder(text: str, expanded: str) -> None:
    assert expand_path(text) == expanded


def test_home_is_found_without_the_variable_and_may_be_the_root() -> None:
    assert expand_path("~/x", {}) == os.path.expanduser("~/x")
    assert expand_path("~/x", {"HOME": "/"}) == "/x"
    assert expand_path("~", {"HOME": "/"}) == "/"


@pytest.mark.parametrize(
    ("file", "folder"),
    [
        (".vscode/mcp.json", "."),
        (".cursor/mcp.json", "."),
        ("mcp.json", "."),
        ("conf/mcp.json", "conf"),
        (".vscode/deeper/mcp.json", ".vscode/deeper"),
    ],
)
def test_the_workspace_is_the_folder_around_the_settings(file: str, folder: str, tmp_path: Path) -> None:
    assert workspace_folder(str(tmp_path / file)) == str((tmp_path / folder).resolve())
