"""The tests of the two machines catch every planted bug, and pass without one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest

import mcp_actors.protocol
from tests.protocol.mutation import Mutation
from tests.protocol.mutations import MUTATIONS

PROTOCOL = Path(mcp_actors.protocol.__file__).parent
TESTS = Path(__file__).parent
PROJECT = TESTS.parent.parent
EXAMPLES = 600
# A mutant that is only slow is not caught by that, and nobody reads the shrunk form of what catches it.
CONFTEST = """import hypothesis
phases = [hypothesis.Phase.explicit, hypothesis.Phase.generate]
hypothesis.settings.register_profile("mutants", deadline=None, database=None, phases=phases)
hypothesis.settings.load_profile("mutants")
"""
CLEAN = Mutation("no bug", "connection.py", "", "")
Verdict = subprocess.CompletedProcess[str]

#: Most take two seconds, but they share the machine with other tests and with whatever else it does.
_PATIENCE: Final = 240.0

pytestmark = pytest.mark.timeout(_PATIENCE + 60.0)


def build(root: Path, mutation: Mutation) -> None:
    """A tree with the mutated package and the errors below it: nothing else of the project is imported."""
    (root / "tests").mkdir(parents=True)
    (root / "mcp_actors").mkdir()
    for package in ("tests", "mcp_actors"):
        (root / package / "__init__.py").touch()
    # With the compiled files: what is not mutated need not be compiled a hundred times.
    ignored = shutil.ignore_patterns("conftest.py")
    shutil.copytree(PROTOCOL, root / "mcp_actors" / "protocol", ignore=ignored)
    shutil.copytree(TESTS, root / "tests" / "protocol", ignore=ignored)
    shutil.copy(PROTOCOL.parent / "errors.py", root / "mcp_actors")
    shutil.copy(PROJECT / "pyproject.toml", root)
    (root / "tests" / "conftest.py").write_text(CONFTEST)
    if mutation is not CLEAN:
        module = root / "mcp_actors" / "protocol" / mutation.module
        module.write_text(module.read_text().replace(mutation.old, mutation.new))


def run(root: Path, mutation: Mutation) -> Verdict:
    build(root, mutation)
    files = sorted({name for each in MUTATIONS for name in each.caught_by})
    chosen = files if mutation is CLEAN else mutation.caught_by
    # Neither the coverage of the run that started us nor its settings are the mutants' business.
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    # Half of the time would be the import of what some other plugin needs.
    plugins = ["no:cacheprovider", "pytest_timeout", "_hypothesis_pytestplugin"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-x", "-q", "--hypothesis-seed=1", "--override-ini=addopts="]
        + [word for name in plugins for word in ("-p", name)]
        + [f"tests/protocol/{name}" for name in chosen],
        cwd=root,
        env=kept
        | {"PYTHONPATH": str(root), "MACHINE_EXAMPLES": str(EXAMPLES)}
        | {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
    )


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future[Verdict]]]:
    """Every mutant is run, two at a time; a test waits for its own."""
    root = tmp_path_factory.mktemp("mutants")
    with ThreadPoolExecutor(2) as pool:
        yield {
            mutation.name: pool.submit(run, root / f"m{n}", mutation)
            for n, mutation in enumerate((CLEAN, *MUTATIONS))
        }


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_the_place_of_a_planted_bug_is_found_exactly_once(mutation: Mutation) -> None:
    assert (PROTOCOL / mutation.module).read_text().count(mutation.old) == 1
    assert mutation.new != mutation.old


def test_names_of_planted_bugs_are_unique() -> None:
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS)


def test_without_a_planted_bug_the_tests_pass(verdicts: dict[str, Future[Verdict]]) -> None:
    verdict = verdicts[CLEAN.name].result(_PATIENCE)
    assert verdict.returncode == 0, verdict.stdout + verdict.stderr


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_planted_bug_is_caught(mutation: Mutation, verdicts: dict[str, Future[Verdict]]) -> None:
    verdict = verdicts[mutation.name].result(_PATIENCE)
    # 1 means that tests ran and failed; anything else means that they did not run.
    assert verdict.returncode == 1, verdict.stdout + verdict.stderr
    assert " failed" in verdict.stdout
    assert " error" not in verdict.stdout.splitlines()[-1]
