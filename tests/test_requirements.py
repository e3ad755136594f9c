"""The list of requirements and the tests that carry them agree, both ways."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.requirements import REQUIREMENTS
from tests.whole_run import carried_key, is_whole

ROOT = Path(__file__).parent.parent
DESIGN = ROOT.parent / "shared" / "design" / "requirements.md"
IDS = {requirement.id for requirement in REQUIREMENTS}


def test_every_id_is_listed_once() -> None:
    assert len(IDS) == len(REQUIREMENTS)


def test_no_test_carries_an_id_that_does_not_exist(pytestconfig: pytest.Config) -> None:
    carried = pytestconfig.stash[carried_key]
    assert {id_: tests for id_, tests in carried.items() if id_ not in IDS} == {}


def test_every_requirement_has_a_test_or_a_reason_why_not_yet(pytestconfig: pytest.Config) -> None:
    if not is_whole(pytestconfig):
        pytest.skip("only a run of the whole suite knows all tests")
    carried = pytestconfig.stash[carried_key]
    forgotten = [one.id for one in REQUIREMENTS if not one.deferred and one.id not in carried]
    assert not forgotten, f"no test carries {', '.join(forgotten)}"


@pytest.mark.skipif(not DESIGN.exists(), reason="the design documents are not part of this repository")
def test_the_list_is_the_one_of_the_design_documents() -> None:
    items = [line for line in DESIGN.read_text().splitlines() if line.startswith("- `")]
    assert {id_ for line in items for id_ in re.findall(r"`([a-z-]+(?::[a-z-]+)+)`", line)} == IDS
