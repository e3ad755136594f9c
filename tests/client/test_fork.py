"""Forks, with real programs: the child gets its own connection, and the parent does not notice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.client.faulty_client import FAULTY
from tests.client.waiting import BOUND

ROOT = Path(__file__).parents[2]
SERVER = [sys.executable, "-S", "-E", FAULTY]

pytestmark = pytest.mark.requirement("runtime:fork")


def run(scenario: str, mode: str = "silence") -> Any:
    """What the program found out; it must end well, soon, and without a word of complaint."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-m", "tests.client.programs.forking", scenario]
        + [*SERVER, mode],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=12 * BOUND,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_the_child_starts_its_own_server_on_first_use_and_the_parent_keeps_its_own() -> None:
    found = run("uses")
    assert found["child"]["state"] == "starting"
    assert found["child"]["server"] != found["before"]
    assert found["after"] == found["before"]


@pytest.mark.parametrize(("scenario", "answer"), [("idles", "idle"), ("closes", None)])
def test_a_child_that_exits_or_closes_does_not_end_the_parents_server(scenario: str, answer: Any) -> None:
    found = run(scenario)
    assert found["child"] == answer
    assert found["after"] == found["before"]


def test_a_child_that_forgets_to_close_exits_at_once() -> None:
    found = run("forgets")
    assert isinstance(found["child"], int)
    assert found["child"] != found["before"]
    assert found["after"] == found["before"]


def test_a_client_that_was_not_used_before_the_fork_works_in_both() -> None:
    found = run("unused")
    assert isinstance(found["child"], int)
    assert found["after"] != found["child"]


def test_a_future_from_before_the_fork_is_refused_in_the_child() -> None:
    found = run("holds_a_future")
    for refusal in found["child"]["refusals"]:
        assert refusal.startswith("ForkedClient: this future was made in process ")
    assert isinstance(found["child"]["server"], int)
    assert found["cancelled"] is True
    assert found["after"] != found["child"]["server"]


def test_a_fork_inside_on_progress_fails_the_childs_copy_of_the_call_alone() -> None:
    found = run("in_progress", "progress-then-wait")
    assert found["child"]["call"].startswith("ForkedClient: tools/call 'fault' was made before a fork")
    assert isinstance(found["child"]["server"], int)
    assert found["call"] == "waited for"
    assert found["after"] != found["child"]["server"]


def test_a_fork_in_the_middle_of_other_threads_calls() -> None:
    found = run("busily")
    assert found["failures"] == []
    assert all(isinstance(one, int) for one in found["children"]), found["children"]
    assert len({*found["children"], found["before"]}) == 9
    assert found["after"] == found["before"]


def test_a_child_keeps_descriptors_that_bear_the_numbers_of_a_closed_wire() -> None:
    assert run("while_closing") == {"closed": []}


def test_a_fork_in_the_middle_of_other_clients_starts_and_ends() -> None:
    found = run("amid_starts")
    assert found["failures"] == []
    assert all(isinstance(one, int) for one in found["children"]), found["children"]


def test_a_fork_while_another_thread_starts_the_very_client() -> None:
    found = run("while_starting")
    assert isinstance(found["child"], int), found["child"]
    assert found["after"] != found["child"]


def test_a_fork_while_another_thread_starts_the_reaper() -> None:
    found = run("amid_reaping")
    assert isinstance(found["child"], int), found["child"]
    assert found["after"] != found["child"]


def test_a_child_may_fork_again() -> None:
    found = run("generations")
    child = found["child"]
    assert child["own"] == child["again"]
    assert len({found["before"], child["own"], child["grandchild"]}) == 3
    assert found["after"] == found["before"]


def test_multiprocessing_with_fork() -> None:
    found = run("with_a_pool")
    servers = {
        worker: {server for one, server in found["workers"] if one == worker}
        for worker, _ in found["workers"]
    }
    assert all(len(own) == 1 for own in servers.values())
    assert found["before"] not in set().union(*servers.values())
    assert found["after"] == found["before"]
