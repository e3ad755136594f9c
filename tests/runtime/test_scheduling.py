"""Scheduling: a hint that must never hurt."""

from __future__ import annotations

import os
import threading

import pytest

from mcp_actors.runtime.actor import Actor, start_actor
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.scheduling import wake_patiently
from tests.runtime.probes import BOUND

linux = pytest.mark.skipif(not hasattr(os, "SCHED_BATCH"), reason="only Linux has SCHED_BATCH")


def _on_a_thread(work: object) -> list[object]:
    seen: list[object] = []
    thread = threading.Thread(target=lambda: seen.append(work()))  # type: ignore[operator]
    thread.start()
    thread.join(BOUND)
    return seen


@linux
def test_the_thread_is_patient_and_the_others_stay_as_they_are() -> None:
    def patient() -> int:
        wake_patiently()
        return os.sched_getscheduler(0)

    before = os.sched_getscheduler(0)
    assert _on_a_thread(patient) == [os.SCHED_BATCH]
    assert os.sched_getscheduler(0) == before


@linux
@pytest.mark.parametrize("patient", [True, False])
def test_only_actors_that_say_so_are_patient(patient: bool) -> None:
    class Quiet(Actor):
        def handle(self, message: object) -> object:
            del message
            return os.sched_getscheduler(0)

    Quiet.patient = patient
    ref = start_actor(Quiet, deadline=Deadline.after(BOUND))
    assert ref.ask("which policy?", Deadline.after(BOUND)) == (os.SCHED_BATCH if patient else os.SCHED_OTHER)
    ref.stop()
    assert ref.join(Deadline.after(BOUND))


def test_a_host_with_a_policy_of_its_own_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getscheduler", lambda _pid: -1, raising=False)
    monkeypatch.delattr(os, "sched_setscheduler", raising=False)
    wake_patiently()


def test_a_system_that_forbids_it_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbid(_pid: int) -> int:
        raise PermissionError

    monkeypatch.setattr(os, "sched_getscheduler", forbid, raising=False)
    wake_patiently()
