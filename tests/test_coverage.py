"""The gate of the whole run: when it measures, and when it is not satisfied."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from tests.whole_run import LEAST, PACKAGE, ROOT, is_whole, too_low


@dataclass
class CommandLine:
    """What the gate asks of pytest's configuration."""

    args: list[str]
    options: dict[str, Any] = field(default_factory=dict)

    def getoption(self, name: str, default: Any = None) -> Any:
        return self.options.get(name, default)


def whole(*args: str, **options: Any) -> bool:
    return is_whole(cast(pytest.Config, CommandLine(list(args), options)))


def test_a_run_of_everything_is_whole() -> None:
    assert whole("tests")
    assert whole(str(ROOT))
    assert whole(str(ROOT / "tests"), keyword="", markexpr="")


def test_a_run_of_a_part_is_not_whole() -> None:
    assert not whole("tests/cli")
    assert not whole("tests", "tests/test_docs.py::test_what_is_generated_is_up_to_date")
    assert not whole("tests", keyword="demo")
    assert not whole("tests", markexpr="not real")
    assert not whole("tests", deselect=["tests/cli"])


def test_almost_everything_is_not_enough() -> None:
    satisfied = dict(LEAST)
    assert too_low(satisfied) == []
    assert too_low(satisfied | {"protocol": 99.99}) == ["protocol"]
    assert too_low(satisfied | {"": 94.9}) == [""]


def test_what_is_gated_exists() -> None:
    assert [folder for folder in LEAST if not (PACKAGE / folder / "__init__.py").exists()] == []
