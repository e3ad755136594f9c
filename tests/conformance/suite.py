"""The conformance suite of the protocol's authors: its scenarios, each played with a program under test."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from tests.conftest import FACTOR
from tests.real.installing import npm_packages
from tests.real.node import node_program

PACKAGE: Final = "@modelcontextprotocol/conformance"
# The tag `latest` is an older line, which does not know the newest revision.
VERSION: Final = "0.2.0-alpha.12"

Role = Literal["client", "server"]

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

    def scenarios(self, revision: str | None, role: Role = "client") -> list[str]:
        """Names of the scenarios for clients or servers: those of a revision, or all."""
        shown = subprocess.run(
            self._words("list", f"--{role}", *_at(revision)),
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
        words = ["client", "--command", command, "--scenario", scenario, *_at(revision)]
        return self._run([*words, "--output-dir", str(place)], place, env, PATIENCE + MARGIN)

    def examine(self, url: str, revision: str | None, place: Path, env: Mapping[str, str]) -> int | None:
        """Play all scenarios with a server that is running, one after the other; returns the same."""
        words = ["server", "--url", url, "--suite", "all", *_at(revision), "--output-dir", str(place)]
        return self._run(words, place, env, 4 * PATIENCE)

    def _run(self, words: Sequence[str], place: Path, env: Mapping[str, str], seconds: float) -> int | None:
        limit = ["--timeout", str(int(PATIENCE * 1000))]
        with open(place / "suite.log", "wb") as log:
            process = subprocess.Popen(
                self._words(*words, *limit),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=env,
                start_new_session=True,
            )
        return _awaited(process, seconds)

    def _words(self, *words: str) -> Sequence[str]:
        return [self.node, "--no-deprecation", str(self.entry), *words]


def installed_suite() -> Suite:
    """The suite and a Node that can run it; skips the test if one of them cannot be had."""
    place = npm_packages(f"{PACKAGE}@{VERSION}") / "node_modules" / PACKAGE
    return Suite(node_program(), place / "dist" / "index.js")


def _at(revision: str | None) -> list[str]:
    return [] if revision is None else ["--spec-version", revision]


def _awaited(process: subprocess.Popen[bytes], seconds: float) -> int | None:
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        # Whatever the end was: the program under test belongs to the group, and must not outlive it.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
