"""Forks, with a real program: the child gets its own connections, and the parent does not notice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.client.waiting import BOUND
from tests.transports.http.conftest import ERAS

ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.requirement("runtime:fork")


@pytest.mark.parametrize("version", ERAS)
def test_a_child_has_none_of_the_parents_connections_and_makes_its_own(version: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-m", "tests.transports.http.forking", version],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=12 * BOUND,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found["before"] >= 1
    assert found["child"] == {"sockets": 0, "answer": '{"who": "child"}'}
    assert found["answer"] == '{"who": "parent"}'
    assert found["introductions"] == 2
    assert found["left"] == 0
