"""Case: one measurement that several contestants make, and the values that travel between the processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self, TypeAlias

import orjson

from benchmarks.placement import Pin

Figures: TypeAlias = dict[str, float]
Scale: TypeAlias = Literal["full", "quick", "smoke"]


@dataclass(frozen=True, slots=True)
class Job:
    """What one process has to do: one contestant, one round of one case of the module ``bench``."""

    bench: str
    case: str
    contestant: str
    sizes: Mapping[str, int]
    pin: Pin = "free"

    def to_json(self) -> str:
        """As an argument of a command."""
        return orjson.dumps(asdict(self)).decode()

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Undo `to_json`."""
        value: dict[str, Any] = orjson.loads(text)
        return cls(**value)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a job measured. A note is for people: something that a number does not say."""

    figures: Figures
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Column:
    """A figure as the table shows it."""

    figure: str
    heading: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """The sizes are those of a real run, of a quick look, and of a test that only wants to see it work.

    ``limit`` is the contestant that no library can beat, ``peer`` the one a user would pick instead. They are
    compared by the first column.
    """

    id: str
    workload: str
    bench: str
    what: str
    run: Callable[[Job], Outcome]
    sizes: Mapping[str, int]
    quick: Mapping[str, int]
    smoke: Mapping[str, int]
    contestants: tuple[str, ...]
    columns: tuple[Column, ...]
    limit: str | None = None
    peer: str | None = None
    pin: Pin = "free"
    rounds: int = 5
    seconds: float = 180.0

    def sized(self, scale: Scale) -> Mapping[str, int]:
        """The sizes of this scale."""
        return {"full": self.sizes, "quick": self.quick, "smoke": self.smoke}[scale]

    def job(self, contestant: str, scale: Scale, pin: Pin | None = None) -> Job:
        """One round of one contestant; placed as the case wants it unless told otherwise."""
        return Job(self.bench, self.id, contestant, dict(self.sized(scale)), pin or self.pin)
