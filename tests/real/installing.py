"""Programs of others, installed by name and version into a cache that several test runs may share."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NoReturn

import pytest

#: Seconds that one installation may take.
PATIENCE: Final = 180.0
_UNFINISHED: Final = ".unfinished-"
_A_DAY: Final = 86400.0


def npm_packages(*pins: str) -> Path:
    """The folder in which ``node_modules`` holds these packages, each given as ``name@version``."""
    npm = shutil.which("npm")
    if npm is None:
        unavailable("npm is not installed")
    words = [npm, "install", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"]
    # Without a network it would try for a minute.
    words += ["--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=2000"]
    names = [pin.rpartition("@")[0] for pin in pins]

    def install(place: Path) -> None:
        _run([*words, "--prefix", str(place), *pins])

    return _cached(
        "npm", pins, install, lambda place: all((place / "node_modules" / name).is_dir() for name in names)
    )


def python_packages(*pins: str) -> Path:
    """The interpreter of a virtual environment that holds these packages, each given as ``name==version``.

    Scripts of the environment name the folder in which they were installed, which is another one by now:
    run modules with this interpreter instead.
    """

    def install(place: Path) -> None:
        _run([sys.executable, "-m", "venv", "--without-pip", str(place)])
        pip = [sys.executable, "-m", "pip", "--python", str(place / "bin" / "python"), "install"]
        _run([*pip, "--quiet", "--no-input", "--disable-pip-version-check", "--retries", "1", *pins])

    def whole(place: Path) -> bool:
        found = {
            path.name.partition("-")[0].lower() for path in place.glob("lib/*/site-packages/*.dist-info")
        }
        return (place / "bin" / "python").exists() and found >= {_project(pin) for pin in pins}

    # An environment is bound to the Python that it was made with.
    return _cached("python", (*pins, sys.version, sys.base_prefix), install, whole) / "bin" / "python"


def unavailable(reason: str) -> NoReturn:
    """Skip the test, or fail it where the programs of others are required to be there."""
    if os.environ.get("CI_REQUIRE_REAL") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def _project(pin: str) -> str:
    """The name as the folder of an installed project has it."""
    return re.split(r"[\[=]", pin)[0].replace("-", "_").lower()


def _cached(
    kind: str, key: Sequence[str], install: Callable[[Path], None], whole: Callable[[Path], bool]
) -> Path:
    """The folder of this key. It gets its name when it is complete, and never changes afterwards."""
    shelf = _shelf()
    place = shelf / f"{kind}-{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}"
    if whole(place):
        return place
    _forget_unfinished(shelf)
    fresh = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=shelf))
    try:
        install(fresh)
        if not whole(fresh):
            unavailable(f"the installation of {', '.join(key)} is not complete")
        _publish(fresh, place, whole)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return place


def _publish(fresh: Path, place: Path, whole: Callable[[Path], bool]) -> None:
    """Give the folder its name in one step; another run may have been quicker."""
    try:
        fresh.rename(place)
    except OSError:
        if whole(place):
            return
        # What is there lost a part, for instance to somebody who tidied up.
        place.rename(Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=place.parent)) / "broken")
        fresh.rename(place)


def _shelf() -> Path:
    """The folder of all installations, made if need be."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    for parent in (home, Path(tempfile.gettempdir()) / f"cache-of-{os.getuid()}"):
        shelf = parent / "mcp-actors-tests"
        try:
            shelf.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(shelf, os.W_OK) and shelf.stat().st_uid == os.getuid():
            return shelf
    unavailable("there is no folder to install into")


def _forget_unfinished(shelf: Path) -> None:
    """Remove what killed runs left; what is younger may belong to a run that goes on."""
    for left in shelf.glob(f"{_UNFINISHED}*"):
        if left.stat().st_mtime < time.time() - _A_DAY:
            shutil.rmtree(left, ignore_errors=True)


def _run(command: Sequence[str]) -> None:
    """Run an installer; without success nobody can test with what it should have installed."""
    what = f"{Path(command[0]).name} {' '.join(command[1:])}"
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        unavailable(f"this took longer than {PATIENCE:g} s: {what}")
    if done.returncode != 0:
        said = " ".join(done.stderr.split())
        # The cause comes first with npm, and last with pip.
        unavailable(f"{said if len(said) < 300 else f'{said[:140]} … {said[-140:]}'} (from: {what})")
