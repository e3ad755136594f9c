"""Supervisor: every test reads the log of starts and stops."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import pytest

from mcp_actors.runtime.actor import StartFailure, start_actor
from mcp_actors.runtime.directory import Directory, Restart
from mcp_actors.runtime.ref import Normal, Reason, Ref
from mcp_actors.runtime.supervision import ChildSpec, Intensity, one_for_all, one_for_one
from mcp_actors.runtime.supervisor import ChildInfo, RestartLimit, Supervisor, WhichChildren
from tests.runtime.probes import BOUND, Bang, FakeClock, Probe, block_until, error_of, soon, stop


class Child(Probe):
    """Writes its starts and ends into the family's log."""

    def __init__(self, log: SimpleQueue[str], **keywords: Any) -> None:
        super().__init__(**keywords)
        self._log = log

    def init(self) -> None:
        super().init()
        self._log.put(f"+{self.ref.name}")

    def terminate(self, reason: Reason) -> None:
        sign = "-" if isinstance(reason, Normal) else "!"
        self._log.put(f"{sign}{self.ref.name}")


class Family:
    """A supervisor of three children, its log, and its clock."""

    def __init__(self, **options: Any) -> None:
        self.log: SimpleQueue[str] = SimpleQueue()
        self.clock = FakeClock()
        self.directory = Directory()
        self.failing: dict[str, list[BaseException]] = {}
        self.hooks: dict[str, Callable[[Probe], object]] = {}
        specs = [ChildSpec(name, self.starter(name), stop_timeout=BOUND) for name in "abc"]
        specs[1] = ChildSpec("b", self.starter("b"), stop_timeout=options.pop("patience", BOUND))
        self.ref = start_actor(
            Supervisor,
            "family",
            options.pop("specs", specs),
            directory=self.directory,
            clock=self.clock,
            deadline=soon(),
            **options,
        )

    def starter(self, name: str) -> Callable[[Ref, Directory], Ref]:
        def start(parent: Ref, directory: Directory) -> Ref:
            assert directory is self.directory
            if self.failing.get(name):
                self.log.put(f"?{name}")
                raise self.failing[name].pop()
            hook = self.hooks.get(name)
            return start_actor(Child, self.log, on_init=hook, parent=parent, name=name, deadline=soon())

        return start

    def child(self, name: str) -> Ref:
        ref = self.directory.get(name)
        assert ref is not None
        return ref

    def events(self, count: int) -> str:
        return " ".join(self.log.get(timeout=BOUND) for _ in range(count))

    def crash(self, name: str, events: int) -> str:
        self.child(name).tell(Bang(name))
        return self.events(events)

    def children(self) -> tuple[ChildInfo, ...]:
        children: tuple[ChildInfo, ...] = self.ref.ask(WhichChildren(), soon())
        return children

    def end(self) -> str:
        stop(self.ref)
        return self.events(self.log.qsize())


@pytest.mark.requirement("runtime:supervisor:order")
def test_children_start_in_order_and_stop_in_reverse() -> None:
    family = Family()
    assert family.events(3) == "+a +b +c"
    assert [(child.name, child.restarts, child.alive) for child in family.children()] == [
        ("a", 0, True),
        ("b", 0, True),
        ("c", 0, True),
    ]
    assert family.end() == "-c -b -a"
    assert family.directory.get("a") is None
    assert family.ref.reason == Normal()


@pytest.mark.requirement("runtime:supervisor:rest-for-one")
@pytest.mark.parametrize(
    ("failed", "log"),
    [("a", "!a -c -b +a +b +c"), ("b", "!b -c +b +c"), ("c", "!c +c")],
)
def test_the_failed_child_and_those_after_it_restart_and_those_before_live_on(failed: str, log: str) -> None:
    family = Family()
    family.events(3)
    before = {name: family.child(name) for name in "abc"}
    assert family.crash(failed, len(log.split())) == log
    after = {child.name: child.ref for child in family.children()}
    kept = [name for name in "abc" if after[name] is before[name]]
    assert kept == [name for name in "abc" if name < failed]
    assert [child.restarts for child in family.children()] == [int(name >= failed) for name in "abc"]
    assert family.end() == "-c -b -a"


@pytest.mark.parametrize(
    ("strategy", "log"),
    [(one_for_one, "!b +b"), (one_for_all, "!b -c -a +a +b +c")],
)
def test_other_strategies_do_as_they_say(strategy: Any, log: str) -> None:
    family = Family(strategy=strategy)
    family.events(3)
    assert family.crash("b", len(log.split())) == log
    assert family.end() == "-c -b -a"


def test_a_child_that_ends_by_itself_is_restarted_and_counted() -> None:
    family = Family()
    family.events(3)
    family.child("c").stop()
    assert family.events(2) == "-c +c"
    family.children()
    assert family.directory.history == (
        Restart(family.clock.now, "c", "EndedUnasked: ended, though not asked to"),
    )
    family.end()


@pytest.mark.requirement("runtime:supervisor:intensity")
def test_one_failure_too_many_ends_the_supervisor_after_its_children(
    caplog: pytest.LogCaptureFixture,
) -> None:
    family = Family(intensity=Intensity(limit=2, period=5.0))
    family.events(3)
    assert family.crash("c", 2) == "!c +c"
    family.children()
    assert family.crash("c", 2) == "!c +c"
    family.children()
    assert family.crash("c", 3) == "!c -b -a"
    error = error_of(family.ref)
    assert isinstance(error, RestartLimit)
    assert (error.child, str(error)) == ("c", "more than 2 failures in 5 s, the last one of c: Bang: c")
    assert isinstance(error.error, Bang)
    assert error.__cause__ is error.error
    assert [restart.child for restart in family.directory.history] == ["c", "c", "c"]
    assert "family crashed" in caplog.text


@pytest.mark.requirement("runtime:supervisor:intensity")
def test_failures_that_are_far_apart_do_not_add_up() -> None:
    family = Family(intensity=Intensity(limit=1, period=5.0))
    family.events(3)
    for _ in range(4):
        assert family.crash("c", 2) == "!c +c"
        family.children()
        family.clock.advance(5.1)
    assert family.end() == "-c -b -a"


@pytest.mark.requirement("runtime:actor:start-acknowledged")
def test_a_family_of_which_one_cannot_start_does_not_start() -> None:
    log: SimpleQueue[str] = SimpleQueue()

    def start(parent: Ref, _directory: Directory) -> Ref:
        return start_actor(Child, log, parent=parent, name="a", deadline=soon())

    def fail(_parent: Ref, _directory: Directory) -> Ref:
        raise Bang("cannot")

    with pytest.raises(StartFailure, match="Bang: cannot"):
        start_actor(Supervisor, "family", [ChildSpec("a", start), ChildSpec("b", fail)], deadline=soon())
    assert [log.get(timeout=BOUND) for _ in range(2)] == ["+a", "-a"]


def test_a_restart_that_fails_is_tried_again_and_counted() -> None:
    family = Family()
    family.events(3)
    family.failing["b"] = [Bang("not yet")]
    assert family.crash("b", 5) == "!b -c ?b +b +c"
    family.children()
    assert [restart.error for restart in family.directory.history] == ["Bang: b", "Bang: not yet"]
    assert family.end() == "-c -b -a"


def test_a_failed_init_in_a_restart_is_tried_again_too() -> None:
    family = Family()
    family.events(3)
    attempts: list[Probe] = []

    def fail_once(probe: Probe) -> None:
        attempts.append(probe)
        if len(attempts) == 1:
            raise Bang("init")

    family.hooks["c"] = fail_once
    assert family.crash("c", 2) == "!c +c"
    family.children()
    assert [restart.error for restart in family.directory.history] == ["Bang: c", "Bang: init"]
    family.end()


@pytest.mark.requirement("runtime:supervisor:intensity")
def test_restarts_that_keep_failing_end_the_supervisor() -> None:
    family = Family()
    family.events(3)
    family.failing["b"] = [Bang("never")] * 9
    assert family.crash("b", 6) == "!b -c ?b ?b ?b -a"
    error = error_of(family.ref)
    assert isinstance(error, RestartLimit)
    assert str(error.error) == "never"


def test_a_stop_overtakes_a_restart_that_keeps_failing() -> None:
    family = Family(intensity=Intensity(limit=10**9))
    family.events(3)
    family.failing["b"] = [Bang("never")] * 10**6
    family.child("b").tell(Bang("b"))
    stop(family.ref)
    assert family.ref.reason == Normal()
    assert family.directory.get("b") is None


def test_a_retry_is_dropped_when_another_plan_has_started_the_child_meanwhile() -> None:
    family = Family()
    family.events(3)
    gate = threading.Event()
    failing = family.starter("b")

    def fail_while_a_dies(parent: Ref, directory: Directory) -> Ref:
        if gate.is_set():
            return failing(parent, directory)
        family.child("a").tell(Bang("a"))
        # Exited(a) is in the mailbox before the note to try b again.
        assert family.child("a").join(soon())
        gate.set()
        return failing(parent, directory)

    family.failing["b"] = [Bang("once")]
    spec = ChildSpec("b", fail_while_a_dies)
    supervisor_specs(family)["b"] = spec
    family.child("b").tell(Bang("b"))
    assert gate.wait(BOUND)
    log = family.events(7)
    assert log == "!b -c !a ?b +a +b +c"
    assert [restart.child for restart in family.directory.history] == ["b", "a"]
    family.children()
    assert [restart.child for restart in family.directory.history] == ["b", "a"]
    assert family.end() == "-c -b -a"


def supervisor_specs(family: Family) -> dict[str, ChildSpec]:
    """The specs, from inside: no other way to have two things happen in one order."""
    specs: dict[str, ChildSpec] = family.ref._mailbox.undelivered.__self__._specs  # type: ignore[attr-defined]
    return specs


@pytest.mark.requirement("runtime:supervisor:rest-for-one")
def test_late_news_of_children_that_were_replaced_costs_nothing() -> None:
    family = Family(intensity=Intensity(limit=1))
    family.events(3)
    # b and c are stopped by the supervisor: their Exited comes after their successors were started.
    assert family.crash("a", 6) == "!a -c -b +a +b +c"
    family.children()
    assert len(family.directory.history) == 1
    assert family.end() == "-c -b -a"


@pytest.mark.requirement("runtime:supervisor:order")
def test_a_child_that_does_not_stop_is_reported_and_abandoned(caplog: pytest.LogCaptureFixture) -> None:
    family = Family(patience=0.01)
    family.events(3)
    gate = threading.Event()
    stuck = family.child("b")
    stuck.tell(block_until(gate))
    assert family.end() == "-c -a"
    assert family.directory.abandoned == 1
    assert "b did not stop in 0.01 s and is abandoned" in caplog.text
    gate.set()
    assert stuck.join(soon())


def test_while_a_child_is_being_replaced_nobody_finds_it() -> None:
    family = Family()
    family.events(3)
    found: list[Ref | None] = []
    family.hooks["c"] = lambda _probe: found.append(family.directory.get("c"))
    assert family.crash("c", 2) == "!c +c"
    assert found == [None]
    assert family.end() == "-c -b -a"


def test_unknown_messages_are_ignored(caplog: pytest.LogCaptureFixture) -> None:
    family = Family()
    family.ref.tell("what?")
    family.children()
    assert "family ignores 'what?'" in caplog.text
    family.end()


def test_two_children_of_one_name_are_a_mistake() -> None:
    spec = ChildSpec("twin", lambda _parent, _directory: pytest.fail("started"))
    with pytest.raises(ValueError, match="same name"):
        start_actor(Supervisor, "family", [spec, spec], deadline=soon())


def test_a_supervisor_may_supervise_supervisors() -> None:
    inner = Directory()
    log: SimpleQueue[str] = SimpleQueue()

    def start_leaf(parent: Ref, _directory: Directory) -> Ref:
        return start_actor(Child, log, parent=parent, name="leaf", deadline=soon())

    def start_inner(parent: Ref, _directory: Directory) -> Ref:
        return start_actor(
            Supervisor,
            "inner",
            [ChildSpec("leaf", start_leaf)],
            intensity=Intensity(limit=0),
            directory=inner,
            parent=parent,
            deadline=soon(),
        )

    outer = start_actor(Supervisor, "outer", [ChildSpec("inner", start_inner)], deadline=soon())
    first = inner.get("leaf")
    assert first is not None
    first.tell(Bang("leaf"))
    assert [log.get(timeout=BOUND) for _ in range(3)] == ["+leaf", "!leaf", "+leaf"]
    (child,) = outer.ask(WhichChildren(), soon())
    assert (child.restarts, child.alive) == (1, True)
    stop(outer)
