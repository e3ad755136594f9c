"""A plugin for runs of the whole suite: gathers the requirements that tests carry, and measures coverage."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import coverage
import pytest

ROOT: Final = Path(__file__).parent.parent
PACKAGE: Final = ROOT / "mcp_actors"
#: Least coverage in percent, branches included, by folder below the package; "" is all of it.
LEAST: Final = {"protocol": 100.0, "runtime": 100.0, "": 95.0}

#: More would only wait for each other's timeouts on a small machine.
_MOST_PROCESSES: Final = 4

carried_key: Final = pytest.StashKey[dict[str, list[str]]]()
measuring_key: Final = pytest.StashKey["Measuring"]()
percents_key: Final = pytest.StashKey[dict[str, float]]()


def is_whole(config: pytest.Config) -> bool:
    """Nothing was left out by the command line."""
    narrowing = ("keyword", "markexpr", "deselect", "lf", "ignore", "ignore_glob", "collectonly")
    chosen = any(config.getoption(name, default=None) for name in narrowing)
    everything = {ROOT, ROOT / "tests"}
    return not chosen and all((ROOT / argument).resolve() in everything for argument in config.args)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """A process for each core runs some of the whole suite; a part of it runs where it can be watched."""
    if not is_whole(config) or _to_be_measured():
        return 0
    return min(os.cpu_count() or 1, _MOST_PROCESSES)


class Measuring:
    """Branch coverage of the package in this process and in Python programs that it starts."""

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="mcp-actors-coverage-")
        data = Path(self._directory.name) / "data"
        self._coverage = coverage.Coverage(
            data_file=str(data), data_suffix=True, config_file=str(ROOT / "pyproject.toml")
        )
        self._coverage.start()

    def finish(self) -> dict[str, float]:
        """Percent by folder."""
        self._coverage.stop()
        self._coverage.save()
        self._coverage.combine([self._directory.name])
        percents = {folder: self._percent(folder) for folder in _folders()}
        percents[""] = self._percent("")
        return percents

    def missing(self, folder: str) -> str:
        """The table of the lines that were not run."""
        table = io.StringIO()
        self._coverage.report(
            file=table, include=[_pattern(folder)], show_missing=True, skip_covered=True, precision=1
        )
        return table.getvalue()

    def forget(self) -> None:
        self._directory.cleanup()

    def _percent(self, folder: str) -> float:
        return self._coverage.report(file=io.StringIO(), include=[_pattern(folder)])


def pytest_configure(config: pytest.Config) -> None:
    """Before the first test module, and with it the package, is imported.

    Only if asked to: measuring every branch takes the suite half as long again.
    """
    if not _to_be_measured():
        return
    if is_whole(config) and not config.getoption("cov_source", default=None):
        config.stash[measuring_key] = Measuring()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    carried: dict[str, list[str]] = {}
    for item in items:
        for marker in item.iter_markers("requirement"):
            for id_ in marker.args:
                carried.setdefault(id_, []).append(item.nodeid)
    config.stash[carried_key] = carried


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    measuring = config.stash.get(measuring_key, None)
    percents = config.stash.get(percents_key, None)
    if measuring is None or percents is None:
        return
    terminalreporter.section("branch coverage")
    for folder, percent in percents.items():
        least = LEAST.get(folder)
        wanted = "" if least is None else f"  (at least {least:g})"
        terminalreporter.line(f"{folder or 'everything':<12} {percent:6.2f} %{wanted}")
    # While tests fail, lines that were not run are no news.
    for folder in () if terminalreporter.stats.get("failed") else too_low(percents):
        terminalreporter.line("")
        terminalreporter.line(f"too little of {folder or 'the package'} was run:", red=True)
        terminalreporter.write(measuring.missing(folder))
    measuring.forget()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    measuring = session.config.stash.get(measuring_key, None)
    if measuring is None:
        return
    percents = measuring.finish()
    if exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        return  # interrupted, or not even collected: the numbers would mean nothing
    session.config.stash[percents_key] = percents
    if too_low(percents):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _to_be_measured() -> bool:
    return os.environ.get("MCP_ACTORS_COVERAGE") == "1"


def too_low(percents: dict[str, float]) -> list[str]:
    """The folders of which too little was run. A rounded 100 is not 100."""
    return [folder for folder, least in LEAST.items() if percents[folder] < least]


def _folders() -> Iterable[str]:
    return sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))


def _pattern(folder: str) -> str:
    return f"{PACKAGE / folder}/*" if folder else f"{PACKAGE}/*"
