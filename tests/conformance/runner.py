"""Runs client and server through the conformance suite, judged more strictly than the suite judges.

A scenario is passed if at least one check of its own succeeded, none failed or warned, and a client came to
an end in time, without an error unless the scenario wants one. Nothing is expected to fail, nothing skipped.

    python -m tests.conformance.runner [--spec-version 2026-07-28] [--scenario auth/dpop]
    python -m tests.conformance.runner [--spec-version 2026-07-28] --url http://localhost:8000/mcp
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from tests.conformance.suite import Role, Suite, installed_suite

ROOT: Final = Path(__file__).parents[2]
#: The suite starts it through a shell; with ``exec`` that shell becomes the client, and no process is lost.
CLIENT: Final = f"exec {shlex.join([sys.executable, str(Path(__file__).with_name('client.py'))])}"

#: What the suite does not check in any server: it skips each check of these, without a look.
UNCHECKED: Final = frozenset({"tasks-status-notifications"})
#: Checks that the suite adds by itself, whatever the client did.
_SYNTHETIC: Final = frozenset({"wire-schema-valid", "wire-schema-harness-error"})
_BAD: Final = frozenset({"FAILURE", "WARNING"})
_LONGEST_WORDS: Final = 300
_COLUMNS: Final = ("SUCCESS", "FAILURE", "WARNING", "SKIPPED")
#: The folder of a server's scenario: its name and the time.
_FOLDER: Final = re.compile(r"server-(.+)-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z")


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a scenario ended. ``why`` is empty if it was passed. ``seconds`` are known of clients alone."""

    scenario: str
    why: str
    counts: Counter[str]
    seconds: float | None = None

    @property
    def passed(self) -> bool:
        return not self.why


def run_all(
    suite: Suite, scenarios: Sequence[str], revision: str | None = None, *, command: str = CLIENT
) -> list[Verdict]:
    """Play scenarios at the wire of a revision, or each at its own; as many at once as there are cores."""
    with ThreadPoolExecutor(os.cpu_count() or 1) as crew:
        return list(crew.map(lambda one: run_one(suite, one, revision, command), scenarios))


def run_one(suite: Suite, scenario: str, revision: str | None, command: str) -> Verdict:
    """Play one scenario and judge it."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        place = Path(folder)
        code = suite.play(scenario, revision, command, place, environment())
        checks = _read_checks(place)
        why = judge(checks, code)
        if why:
            source = "suite.log" if checks is None else "stderr.txt"
            why = " ".join(f"{why} {_last_words(place, source)}".split())[:_LONGEST_WORDS]
    counts = Counter(check["status"] for check in checks or ())
    return Verdict(scenario, why, counts, time.monotonic() - began)


def run_server(
    suite: Suite, scenarios: Sequence[str], url: str, revision: str | None = None
) -> list[Verdict]:
    """Play scenarios with the server at this address, at the wire of a revision, or each at its own."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        place = Path(folder)
        code = suite.examine(url, revision, place, environment())
        found = {match[1]: path for path in place.iterdir() if (match := _FOLDER.fullmatch(path.name))}
        # The suite's own word on failures and warnings is looser: its exit code says nothing more.
        return [_examined(one, found.get(one), None if code is None else 0) for one in scenarios]


def _examined(scenario: str, place: Path | None, code: int | None) -> Verdict:
    checks = None if place is None else _read_checks(place)
    counts = Counter(check["status"] for check in checks or ())
    return Verdict(scenario, judge(checks, code)[:_LONGEST_WORDS], counts)


def judge(checks: Sequence[dict[str, Any]] | None, code: int | None) -> str:
    """Why a scenario was not passed; empty if it was."""
    if code is None:
        return "the suite did not come to an end"
    if checks is None:
        return "the scenario did not come to an end"
    for check in checks:
        if check["status"] in _BAD:
            return f"{check['id']}: {check.get('errorMessage') or check['description']}"
    if not any(check["status"] == "SUCCESS" and check["id"] not in _SYNTHETIC for check in checks):
        return "nothing was checked"
    # The suite knows in which scenarios a client may give up with an error.
    return "" if code == 0 else "no check failed, but the client did not end well"


def table(verdicts: Sequence[Verdict], role: Role = "client") -> str:
    """The verdicts for people."""
    width = max((len(one.scenario) for one in verdicts), default=0)
    lines = [f"result  {'scenario':{width}}   ok fail warn skip    secs"]
    for one in verdicts:
        numbers = " ".join(f"{one.counts[status]:4}" for status in _COLUMNS)
        result = "PASS" if one.passed else "FAIL"
        seconds = "-" if one.seconds is None else f"{one.seconds:.1f}"
        lines.append(f"{result:7} {one.scenario:{width}} {numbers} {seconds:>7}")
        if one.why:
            lines.append(f"{'':8}{one.why}")
    lines.append(f"conformance: {role} {sum(one.passed for one in verdicts)}/{len(verdicts)} scenarios")
    return "\n".join(lines)


def environment() -> dict[str, str]:
    """Ours, so that programs find this package, and each other without a proxy."""
    # Measuring the program under test would only make it slow.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    path = os.pathsep.join(filter(None, (str(ROOT), kept.get("PYTHONPATH"))))
    return kept | {"PYTHONPATH": path, "NO_PROXY": "localhost,127.0.0.1", "no_proxy": "localhost,127.0.0.1"}


def _read_checks(place: Path) -> list[dict[str, Any]] | None:
    for found in place.rglob("checks.json"):
        checks: list[dict[str, Any]] = json.loads(found.read_text(encoding="utf-8"))
        return checks
    return None


def _last_words(place: Path, name: str) -> str:
    """What the client or the suite said in the end."""
    for found in place.rglob(name):
        lines = found.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        if lines:
            return f"({name}: {lines[-1]})"
    return ""


def main() -> None:
    """The command line; exit code 1 if a scenario was not passed."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--spec-version", help="the revision; by default each scenario's own")
    options.add_argument("--scenario", help="one scenario instead of all")
    options.add_argument("--command", default=CLIENT, help="the client under test; the URL is appended")
    options.add_argument("--url", help="the server under test, which is running, instead of a client")
    chosen = options.parse_args()
    try:
        suite = installed_suite()
    except (pytest.skip.Exception, pytest.fail.Exception) as reason:
        sys.exit(str(reason))
    revision, role = chosen.spec_version, _role(chosen.url)
    scenarios = [chosen.scenario] if chosen.scenario else suite.scenarios(revision, role)
    if role == "server":
        verdicts = run_server(suite, scenarios, chosen.url, revision)
    else:
        verdicts = run_all(suite, scenarios, revision, command=chosen.command)
    sys.stdout.write(f"{table(verdicts, role)}\n")
    sys.exit(0 if verdicts and all(one.passed for one in verdicts) else 1)


def _role(url: str | None) -> Role:
    return "client" if url is None else "server"


if __name__ == "__main__":
    main()
