"""The pages are true: their Python prints what they say, their links lead somewhere, nothing is stale."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

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


def test_an_output_that_differs_is_found() -> None:
    assert matches("a ... c\n", "a bb c \n")
    assert not matches("a\n", "b\n")
