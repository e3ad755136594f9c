"""The pages are true: their Python prints what they say, their links lead somewhere, nothing is stale."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from mcp_actors import errors
from tests.run_page import blocks, matches

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    [ROOT / "README.md", *(page for page in (ROOT / "docs").rglob("*.md") if "adr" not in page.parts)]
)
WITH_CODE = [page for page in PAGES if any(blocks(page.read_text()))]
LINK = re.compile(r"\[[^\]]+\]\(([^)#:]+)(?:#[^)]*)?\)")


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", WITH_CODE, ids=name)
def test_the_python_of_a_page_runs_and_prints_what_the_page_says(page: Path, tmp_path: Path) -> None:
    # Pages say `uvx some-server`; here the installed one is run, so that no test downloads anything.
    uvx = tmp_path / "uvx"
    uvx.write_text(f'#!/bin/sh\nprogram=$(printf %s "$1" | tr - _)\nexec {sys.executable} -m "$program"\n')
    uvx.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, ROOT / "tests" / "run_page.py", page],
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_of_a_page_leads_to_a_file(page: Path) -> None:
    targets = LINK.findall(page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_what_is_generated_is_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_every_page_is_reachable_from_the_index() -> None:
    index = ROOT / "docs" / "index.md"
    linked = {(index.parent / target).resolve() for target in LINK.findall(index.read_text())}
    assert {page for page in PAGES if page.parent != ROOT} - linked == {index}


class Row(NamedTuple):
    """One row of the table of outcomes, as its cells."""

    number: str
    happens: str
    raises: str
    kind: str
    outcome: str
    retryable: str
    server: str
    advice: str
    proof: str

    @property
    def error(self) -> type[errors.McpError] | None:
        """The class that it names first, if it is one of ours."""
        named = re.match(r"`(\w+)`", self.raises)
        return getattr(errors, named[1], None) if named else None


OUTCOMES = (ROOT / "docs" / "outcomes.md").read_text()
ROWS = [Row(*map(str.strip, cells.split("|"))) for cells in re.findall(r"^\| (\d+ \|.*) \|$", OUTCOMES, re.M)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.number)
def test_a_row_of_the_outcomes_is_proven(row: Row) -> None:
    assert row.error is None or row.error.type in row.kind
    printed = [words for words in _printed() if words[0] == row.number]
    if row.proof != "below":
        assert printed == []
        assert _exists(row.proof)
        return
    assert printed
    for _, raised, *more in printed:
        assert raised in row.raises or row.raises == "what it raised"
        if row.error is not None:
            assert more == [row.kind, row.outcome or "-", {"yes": "True", "no": "False"}[row.retryable]]


def test_the_rows_of_the_outcomes_are_numbered() -> None:
    assert [row.number for row in ROWS] == [str(number) for number in range(1, len(ROWS) + 1)]
    assert {words[0] for words in _printed() if words[0].isdigit()} <= {row.number for row in ROWS}


def _printed() -> list[list[str]]:
    outputs = [block.output for block in blocks(OUTCOMES) if block.output is not None]
    return [line.split() for output in outputs for line in output.splitlines()]


def _exists(proof: str) -> bool:
    """Whether a link to a test leads to a file that has it."""
    linked = re.fullmatch(r"\[`(test_\w+)`\]\((.+)\)", proof)
    assert linked is not None
    return f"\ndef {linked[1]}(" in (ROOT / "docs" / linked[2]).read_text()


def test_an_output_that_differs_is_found() -> None:
    assert matches("a ... c\n", "a bb c \n")
    assert not matches("a\n", "b\n")
