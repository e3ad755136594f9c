"""The cache of installed programs: complete or absent, also when runs are killed or overlap."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.client.waiting import BOUND, in_thread
from tests.real import installing

Install = Callable[[Path], None]


@pytest.fixture(autouse=True)
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of this test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("CI_REQUIRE_REAL", raising=False)
    return tmp_path / "cache" / "mcp-actors-tests"


def cached(install: Install, *key: str) -> Path:
    return installing._cached("test", key or ("one==1",), install, is_whole)


def is_whole(place: Path) -> bool:
    return (place / "program").exists()


def put_program(place: Path) -> None:
    (place / "program").write_text(str(threading.get_ident()))


def never(place: Path) -> None:
    pytest.fail(f"nothing had to be installed into {place}")


def test_what_is_installed_is_found_again() -> None:
    place = cached(put_program)
    assert cached(never) == place
    assert is_whole(place)


def test_other_versions_are_installed_elsewhere() -> None:
    assert cached(put_program, "one==1") != cached(put_program, "one==2")


def test_an_installation_that_fails_leaves_nothing(shelf: Path) -> None:
    def fail(place: Path) -> None:
        (place / "half").touch()
        installing.unavailable("no network")

    with pytest.raises(pytest.skip.Exception, match="no network"):
        cached(fail)
    assert list(shelf.iterdir()) == []


def test_an_installation_that_lacks_its_program_is_not_trusted(shelf: Path) -> None:
    with pytest.raises(pytest.skip.Exception, match="not complete"):
        cached(lambda place: (place / "half").touch())
    assert list(shelf.iterdir()) == []


def test_what_a_killed_run_left_is_not_trusted(shelf: Path) -> None:
    shelf.mkdir(parents=True)
    (shelf / f"{installing._UNFINISHED}1").mkdir()
    put_program(shelf / f"{installing._UNFINISHED}1")
    installed: list[Path] = []

    def install(fresh: Path) -> None:
        installed.append(fresh)
        put_program(fresh)

    assert is_whole(cached(install))
    assert len(installed) == 1


def test_what_was_left_long_ago_is_removed(shelf: Path) -> None:
    old = shelf / f"{installing._UNFINISHED}old"
    old.mkdir(parents=True)
    os.utime(old, (0, 0))
    cached(put_program)
    assert not old.exists()


def test_an_installation_that_lost_a_part_is_replaced() -> None:
    place = cached(put_program)
    (place / "program").unlink()
    (place / "rest").touch()
    assert cached(put_program) == place
    assert is_whole(place)
    assert not (place / "rest").exists()


def test_of_two_runs_at_once_both_get_the_same_complete_installation(shelf: Path) -> None:
    together = threading.Barrier(2)

    def install(place: Path) -> None:
        together.wait(BOUND)
        put_program(place)
        together.wait(BOUND)

    first, second = in_thread(lambda: cached(install)), in_thread(lambda: cached(install))
    place = first.result(BOUND)
    assert second.result(BOUND) == place
    assert is_whole(place)
    assert list(shelf.iterdir()) == [place]


def test_a_program_that_cannot_be_installed_skips_the_test_unless_it_is_required(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failing = [sys.executable, "-c", "import sys; sys.exit('no such package')"]
    with pytest.raises(pytest.skip.Exception, match="no such package"):
        installing._run(failing)
    monkeypatch.setenv("CI_REQUIRE_REAL", "1")
    with pytest.raises(pytest.fail.Exception, match="no such package"):
        installing._run(failing)


def test_an_installer_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installing, "PATIENCE", 0.05)
    with pytest.raises(pytest.skip.Exception, match=r"longer than 0\.05 s"):
        installing._run([sys.executable, "-c", "import time; time.sleep(60)"])
