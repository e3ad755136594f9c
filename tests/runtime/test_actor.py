"""Actor: it crashes whole, ends in order, and its parent hears of it exactly once."""

from __future__ import annotations

import logging
import threading
from queue import SimpleQueue
from typing import Any

import pykka
import pytest

from mcp_actors.runtime.actor import Actor, StartFailure, _bury_the_parents_actors, start_actor
from mcp_actors.runtime.mailbox import TimerFired
from mcp_actors.runtime.ref import ActorDead, Crashed, Exited, Normal, Ref
from mcp_actors.runtime.slot import SlotTimeout
from tests.runtime.probes import (
    BOUND,
    Bang,
    Probe,
    at_once,
    block_until,
    error_of,
    everything_in,
    run_script,
    soon,
    start_probe,
    stop,
    stumbler,
)


def crash_logs(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.exc_info]


def test_everything_but_construction_runs_on_the_actors_own_daemon_thread() -> None:
    probe, ref = start_probe(name="worker-bee")
    assert ref.ask("hello", soon()) == "hello"
    stop(ref)
    (thread,) = probe.threads
    assert (thread.name, thread.daemon) == ("worker-bee", True)
    assert thread is not threading.current_thread()


def test_an_actor_without_a_name_bears_that_of_its_class() -> None:
    _probe, ref = start_probe()
    assert ref.name == "Probe"
    stop(ref)


@pytest.mark.requirement("runtime:actor:start-acknowledged")
def test_start_returns_only_after_init() -> None:
    order: list[str] = []
    _probe, ref = start_probe(on_init=lambda _probe: order.append("init"))
    order.append("started")
    assert order == ["init", "started"]
    stop(ref)


def test_start_waits_for_init_but_not_for_what_init_put_into_the_mailbox() -> None:
    gate = threading.Event()
    _probe, ref = start_probe(on_init=lambda probe: probe.ref.tell(block_until(gate)))
    gate.set()
    stop(ref)


@pytest.mark.requirement("runtime:actor:start-acknowledged")
@pytest.mark.parametrize("error", [Bang("no"), SystemExit(1), KeyboardInterrupt()])
def test_a_failed_init_is_a_failed_start_and_told_to_the_parent(error: BaseException) -> None:
    parent, parent_ref = start_probe()

    def fail(_probe: Probe) -> None:
        raise error

    with pytest.raises(StartFailure) as caught:
        start_actor(Probe, on_init=fail, parent=parent_ref, deadline=soon())
    assert caught.value.error is error
    news = parent.seen.get(timeout=BOUND)
    assert (type(news), news.reason) == (Exited, Crashed(error))
    stop(parent_ref)


def test_terminate_is_not_called_when_init_failed() -> None:
    probes: list[Probe] = []

    def fail(probe: Probe) -> None:
        probes.append(probe)
        raise Bang

    with pytest.raises(StartFailure, match="Bang"):
        start_actor(Probe, on_init=fail, deadline=soon())
    assert probes[0].reasons == []
    assert probes[0].ref.reason is not None


def test_a_start_that_takes_too_long_fails_and_the_actor_stops_when_it_can() -> None:
    gate = threading.Event()
    probes: list[Probe] = []

    def dawdle(probe: Probe) -> None:
        probes.append(probe)
        assert gate.wait(BOUND)

    with pytest.raises(StartFailure) as caught:
        start_actor(Probe, on_init=dawdle, deadline=at_once())
    assert isinstance(caught.value.error, SlotTimeout)
    gate.set()
    assert probes[0].ref.join(soon())
    assert probes[0].reasons == [Normal()]


def test_an_interrupted_start_leaves_no_actor_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_slot: object, _deadline: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("mcp_actors.runtime.slot.Slot.wait", interrupt)
        with pytest.raises(KeyboardInterrupt):
            start_actor(Probe, deadline=soon())


def test_without_a_thread_to_be_had_the_start_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(StartFailure, match="can't start new thread"):
            start_actor(Probe, deadline=soon())


def test_a_mistake_in_the_constructors_arguments_comes_as_it_is() -> None:
    with pytest.raises(TypeError):
        start_actor(Probe, nonsense=1, deadline=soon())


@pytest.mark.requirement("runtime:actor:exit-once")
def test_a_normal_end_is_told_once_after_terminate() -> None:
    parent, parent_ref = start_probe()
    probe, ref = start_probe(parent=parent_ref)
    ref.stop()
    ref.stop()
    assert parent.seen.get(timeout=BOUND) == Exited(ref, Normal())
    assert probe.reasons == [Normal()]
    assert ref.reason == Normal()
    assert ref.join(soon())
    stop(parent_ref)
    assert everything_in(parent.seen) == []


@pytest.mark.requirement("runtime:actor:exit-once")
@pytest.mark.parametrize("error", [Bang("no"), SystemExit(1), KeyboardInterrupt(), GeneratorExit()])
def test_any_exception_in_handle_ends_this_actor_alone(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    parent, parent_ref = start_probe()
    probe, ref = start_probe(parent=parent_ref, name="doomed")
    ref.tell(error)
    assert parent.seen.get(timeout=BOUND) == Exited(ref, Crashed(error))
    assert probe.reasons == [Crashed(error)]
    assert error_of(ref) is error
    assert crash_logs(caplog) == ["doomed crashed"]
    assert parent_ref.is_alive
    stop(parent_ref)


def test_an_exception_while_handling_an_ask_is_a_crash_too(caplog: pytest.LogCaptureFixture) -> None:
    _probe, ref = start_probe(name="doomed")
    with pytest.raises(ActorDead, match="doomed ended before it answered Bang"):
        ref.ask(Bang(), soon())
    assert isinstance(error_of(ref), Bang)
    assert crash_logs(caplog) == ["doomed crashed"]


def test_logging_that_fails_keeps_nobody_from_the_news_of_a_crash() -> None:
    def refuse(_record: object) -> bool:
        raise Bang("in the logging of the host")

    class Careless(Probe):
        def undelivered(self, message: object) -> None:
            super().undelivered(message)
            raise ValueError

    logger = logging.getLogger("mcp_actors.runtime")
    logger.addFilter(refuse)
    try:
        parent, parent_ref = start_probe()
        ref = start_actor(Careless, parent=parent_ref, deadline=soon())
        error = Bang("the cause")
        ref.tell(lambda probe: (probe.ref.tell("late"), probe.ref.tell("later"), _raise(error)))
        assert parent.seen.get(timeout=BOUND) == Exited(ref, Crashed(error))
        assert not ref.is_alive
        stop(parent_ref)
    finally:
        logger.removeFilter(refuse)


def _raise(error: Exception) -> object:
    raise error


def test_an_exception_in_terminate_is_a_crash() -> None:
    parent, parent_ref = start_probe()

    class Careless(Probe):
        def terminate(self, _reason: object) -> None:
            raise Bang

    ref = start_actor(Careless, parent=parent_ref, deadline=soon())
    stop(ref)
    assert isinstance(error_of(ref), Bang)
    assert isinstance(parent.seen.get(timeout=BOUND).reason, Crashed)
    stop(parent_ref)


def test_an_exception_in_terminate_does_not_hide_the_first_one() -> None:
    class Careless(Probe):
        def terminate(self, _reason: object) -> None:
            raise ValueError

    ref = start_actor(Careless, deadline=soon())
    ref.tell(Bang())
    assert isinstance(error_of(ref), Bang)


def test_an_actor_that_handles_nothing_crashes_on_the_first_message() -> None:
    ref = start_actor(Actor, deadline=soon())
    ref.tell("hello")
    assert "does not handle 'hello'" in str(error_of(ref))


def test_an_actor_needs_no_hooks_to_live_and_end() -> None:
    ref = start_actor(Actor, deadline=soon())
    stop(ref)
    assert ref.reason == Normal()


@pytest.mark.requirement("runtime:mailbox:closable")
def test_what_was_told_before_the_stop_is_handled_and_what_came_after_is_returned() -> None:
    gate = threading.Event()
    probe, ref = start_probe()
    ref.tell(block_until(gate))
    ref.tell("before")
    ref.stop()
    ref.tell("after")
    ref.stop()
    gate.set()
    assert ref.join(soon())
    assert everything_in(probe.seen) == ["before"]
    assert everything_in(probe.returned) == ["after"]


@pytest.mark.requirement("runtime:mailbox:closable")
def test_asks_left_in_the_mailbox_hear_that_the_actor_is_dead() -> None:
    gate = threading.Event()
    _probe, ref = start_probe()
    ref.tell(block_until(gate))
    ref.tell(Bang())
    opener = threading.Timer(0.05, gate.set)
    opener.start()
    with pytest.raises(ActorDead):
        ref.ask("too late", soon())
    assert ref.join(soon())


def test_actors_that_do_not_care_may_ignore_what_is_left() -> None:
    gate = threading.Event()

    class Blocked(Actor):
        def handle(self, _message: object) -> None:
            assert gate.wait(BOUND)

    ref = start_actor(Blocked, deadline=soon())
    ref.tell("first")
    ref.stop()
    ref.tell("left")
    gate.set()
    assert ref.join(soon())


@pytest.mark.parametrize("error", [Bang, SystemExit])
def test_a_failing_undelivered_harms_neither_the_others_nor_the_parent(
    error: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    returned: list[str] = []

    class Careless(Probe):
        def undelivered(self, message: str) -> None:
            if message == "bad":
                raise error
            returned.append(message)

    parent, parent_ref = start_probe()
    gate = threading.Event()
    ref = start_actor(Careless, parent=parent_ref, name="careless", deadline=soon())
    ref.tell(block_until(gate))
    ref.stop()
    ref.tell("bad")
    ref.tell("good")
    gate.set()
    assert parent.seen.get(timeout=BOUND) == Exited(ref, Normal())
    assert returned == ["good"]
    assert crash_logs(caplog) == ["careless could not return str"]
    stop(parent_ref)


def test_timers_arrive_as_messages_unless_cancelled() -> None:
    def arm(probe: Probe) -> None:
        probe.set_timer("cancelled", 0.0)
        probe.set_timer("kept", 0.01)
        assert probe.cancel_timer("cancelled")

    probe, ref = start_probe(on_init=arm)
    assert probe.seen.get(timeout=BOUND) == TimerFired("kept")
    stop(ref)
    assert everything_in(probe.seen) == []


def test_an_actor_can_stop_itself() -> None:
    probe, ref = start_probe()
    ref.tell(lambda probe: probe.stop())
    assert ref.join(soon())
    assert probe.reasons == [Normal()]


def ask_until_it_dies(ref: Ref, answered: threading.Barrier, unanswered: SimpleQueue[BaseException]) -> None:
    try:
        ref.ask("ping", soon())
        answered.wait(BOUND)
        while True:
            ref.ask("ping", soon())
    except ActorDead:
        return
    except TimeoutError as error:
        unanswered.put(error)


@pytest.mark.stress
@pytest.mark.requirement("runtime:mailbox:closable")
@pytest.mark.usefixtures("hasty_switching")
def test_no_ask_is_ever_left_without_an_answer() -> None:
    for round_number in range(100):
        _probe, ref = start_probe()
        answered = threading.Barrier(4)
        unanswered: SimpleQueue[BaseException] = SimpleQueue()
        askers = [stumbler(ask_until_it_dies, ref, answered, unanswered) for _ in range(3)]
        for asker in askers:
            asker.start()
        answered.wait(BOUND)
        # The stop comes now sooner, now later.
        for _ in range(round_number % 20):
            ref.ask("ping", soon())
        ref.stop()
        for asker in askers:
            asker.join(2 * BOUND)
        assert unanswered.empty()


@pytest.mark.stress
@pytest.mark.requirement("runtime:mailbox:closable")
@pytest.mark.usefixtures("hasty_switching")
def test_every_told_message_is_handled_returned_or_refused_exactly_once() -> None:
    for _ in range(40):
        probe, ref = start_probe()
        refused: SimpleQueue[int] = SimpleQueue()

        def tell(first: int, ref: Any = ref, refused: SimpleQueue[int] = refused) -> None:
            for number in range(first, first + 50):
                if not ref.tell(number):
                    refused.put(number)

        tellers = [stumbler(tell, first) for first in (0, 50, 100)]
        for teller in tellers:
            teller.start()
        ref.stop()
        for teller in tellers:
            teller.join(BOUND)
        assert ref.join(soon())
        fates = [*everything_in(probe.seen), *everything_in(probe.returned), *everything_in(refused)]
        assert sorted(fates) == list(range(150))


# -- what pykka's own machinery sees


def test_pykkas_registry_shows_the_actor_until_it_ends() -> None:
    _probe, ref = start_probe()
    (seen,) = pykka.ActorRegistry.get_by_class(Probe)
    assert seen.is_alive()
    stop(ref)
    assert not seen.is_alive()
    assert pykka.ActorRegistry.get_all() == []


def test_pykkas_stop_all_stops_the_actor_and_returns_after_its_terminate() -> None:
    probe, ref = start_probe()
    assert pykka.ActorRegistry.stop_all(timeout=BOUND) == [True]
    assert probe.reasons == [Normal()]
    assert ref.join(soon())


def test_pykkas_own_start_refs_and_proxies_work() -> None:
    pykka_ref = Probe.start(name="plain")
    proxy = pykka_ref.proxy()
    assert pykka_ref.ask("hello", timeout=BOUND) == "hello"
    assert proxy.parent.get(timeout=BOUND) is None
    pykka_ref.tell("told")
    seen = proxy.seen.get(timeout=BOUND)
    assert [seen.get(timeout=BOUND), seen.get(timeout=BOUND)] == ["hello", "told"]
    assert pykka_ref.stop(timeout=BOUND)


def test_a_message_of_pykkas_refs_that_crashes_the_actor_is_not_returned_as_well() -> None:
    probe, ref = start_probe()
    pykka.ActorRegistry.get_all()[0].tell(Bang())
    assert isinstance(error_of(ref), Bang)
    assert everything_in(probe.returned) == []


def test_pykkas_asks_and_stops_that_come_too_late_are_answered_rather_than_raise() -> None:
    probe, ref = start_probe()
    (pykka_ref,) = pykka.ActorRegistry.get_all()
    stop(ref)
    # As if is_alive() had been asked just before the end.
    pykka_ref.actor_stopped.clear()
    with pytest.raises(pykka.ActorDeadError):
        pykka_ref.ask("late", block=False).get(timeout=BOUND)
    assert pykka_ref.stop(timeout=BOUND)
    pykka_ref.tell("late")
    assert everything_in(probe.returned) == ["late"]


def test_pykkas_second_stop_is_answered_too() -> None:
    gate = threading.Event()
    _probe, ref = start_probe()
    (pykka_ref,) = pykka.ActorRegistry.get_all()
    ref.tell(block_until(gate))
    stops = [pykka_ref.stop(block=False) for _ in range(2)]
    gate.set()
    assert [future.get(timeout=BOUND) for future in stops] == [True, True]


def test_a_thousand_messages_cost_no_envelope() -> None:
    probe, ref = start_probe()
    gate = threading.Event()
    ref.tell(block_until(gate))
    for number in range(1000):
        ref.tell(number)
    assert ref.mailbox_depth >= 1000
    gate.set()
    stop(ref)
    assert everything_in(probe.seen) == list(range(1000))
    assert ref.greatest_mailbox_depth >= 1000


# -- fork


@pytest.mark.requirement("runtime:fork")
def test_in_a_forked_child_the_parents_actors_are_dead_at_once_and_new_ones_work() -> None:
    script = """
import os, sys, pykka
from mcp_actors.runtime import Actor, ActorDead, Deadline, start_actor
class Echo(Actor):
    def handle(self, message):
        return message
def soon():
    return Deadline.after(5.0)
old = start_actor(Echo, deadline=soon())
pykka.ActorRegistry._actor_refs_lock.acquire()
child = os.fork()
pykka.ActorRegistry._actor_refs_lock.release() if child else None
if child:
    assert old.ask("parent", soon()) == "parent"
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
assert not old.is_alive and not old.tell("lost") and old.join(soon())
assert pykka.ActorRegistry.get_all() == []
try:
    old.ask("lost", soon())
except ActorDead:
    print(start_actor(Echo, deadline=soon()).ask("works", soon()))
"""
    assert run_script(script) == "works\n"


def test_burying_leaves_the_actors_of_other_libraries_alone(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    probe, ref = start_probe()
    other = pykka.ThreadingActor.start()
    _bury_the_parents_actors()
    assert pykka.ActorRegistry.get_all() == [other]
    assert not ref.tell("lost")
    other.stop(timeout=BOUND)
    # Its thread lives, for this is no child: let it go.
    probe.mailbox.closed = False
    stop(ref)
