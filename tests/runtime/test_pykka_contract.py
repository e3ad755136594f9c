"""What the runtime relies on, or guards against, in pykka: an upgrade fails here, one fact at a time."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any

import pykka
import pytest
from pykka._envelope import Envelope
from pykka.messages import _ActorStop

from tests.runtime.probes import BOUND, Bang, block_until, run_script


class Plain(pykka.ThreadingActor):
    """An actor as pykka makes it, which remembers its hooks."""

    use_daemon_thread = True

    def __init__(self) -> None:
        super().__init__()
        self.events: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.made_in = threading.current_thread()

    def on_receive(self, message: Any) -> Any:
        if isinstance(message, BaseException):
            raise message
        return message(self) if callable(message) else message

    def on_stop(self) -> None:
        self.events.put("on_stop")

    def on_failure(self, *_exc_info: object) -> None:
        self.events.put("on_failure")


@pytest.fixture(autouse=True)
def _stop_all() -> Iterator[None]:
    yield
    pykka.ActorRegistry.stop_all(timeout=BOUND)


def events_of(ref: pykka.ActorRef[Plain]) -> queue.SimpleQueue[str]:
    events = ref.ask(lambda actor: actor.events, timeout=BOUND)
    assert isinstance(events, queue.SimpleQueue)
    return events


def test_start_makes_the_actor_in_the_callers_thread_and_registers_it() -> None:
    ref = Plain.start()
    assert ref.ask(lambda actor: actor.made_in, timeout=BOUND) is threading.current_thread()
    assert pykka.ActorRegistry.get_all() == [ref]


def test_start_registers_before_it_starts_the_loop() -> None:
    class Watching(Plain):
        def _start_actor_loop(self) -> None:
            assert pykka.ActorRegistry.get_all() == [self.actor_ref]
            super()._start_actor_loop()

    Watching.start()


def test_the_inbox_comes_from_a_static_method_and_needs_put_get_and_empty() -> None:
    class Simple(Plain):
        @staticmethod
        def _create_actor_inbox() -> Any:
            return queue.SimpleQueue()

    ref = Simple.start()
    assert ref.ask("works", timeout=BOUND) == "works"
    ref.stop(timeout=BOUND)


def test_a_ref_puts_envelopes_into_an_inbox_that_can_be_replaced() -> None:
    ref = Plain.start()
    real, seen = ref.actor_inbox, []

    class Spy:
        get, empty = real.get, real.empty

        def put(self, envelope: Envelope[Any]) -> None:
            seen.append((type(envelope), envelope.message, envelope.reply_to is None))
            real.put(envelope)

    ref.actor_inbox = Spy()
    ref.tell("told")
    ref.ask("asked", timeout=BOUND)
    ref.stop(timeout=BOUND)
    assert seen == [(Envelope, "told", True), (Envelope, "asked", False), (Envelope, _ActorStop(), False)]


def test_the_loop_is_setup_then_running_then_teardown() -> None:
    order: queue.SimpleQueue[str] = queue.SimpleQueue()

    class Phases(Plain):
        def _actor_loop_setup(self) -> None:
            order.put("setup")

        def _actor_loop_running(self) -> None:
            order.put("running")

        def _actor_loop_teardown(self) -> None:
            order.put("teardown")
            pykka.ActorRegistry.unregister(self.actor_ref)

    Phases.start()
    assert [order.get(timeout=BOUND) for _ in range(3)] == ["setup", "running", "teardown"]


def test_an_error_in_on_start_is_not_told_to_whoever_started_the_actor() -> None:
    class Stillborn(Plain):
        def on_start(self) -> None:
            raise Bang

    ref = Stillborn.start()
    assert ref.actor_stopped.wait(BOUND)


def test_an_actor_survives_an_error_while_it_answers_an_ask() -> None:
    ref = Plain.start()
    with pytest.raises(Bang):
        ref.ask(Bang(), timeout=BOUND)
    assert ref.ask("still there", timeout=BOUND) == "still there"


def test_an_error_in_a_told_message_runs_on_failure_but_not_on_stop() -> None:
    ref = Plain.start()
    events = events_of(ref)
    ref.tell(Bang())
    assert events.get(timeout=BOUND) == "on_failure"
    assert not ref.is_alive()
    assert events.empty()


def test_a_system_exit_in_one_actor_stops_all_actors() -> None:
    bystander = Plain.start()
    Plain.start().tell(SystemExit())
    assert bystander.actor_stopped.wait(BOUND)


def test_a_stop_is_an_ordinary_message_at_the_end_of_the_queue() -> None:
    ref = Plain.start()
    gate = threading.Event()
    ref.tell(block_until(gate))
    before = ref.ask("before", block=False)
    ref.stop(block=False)
    gate.set()
    assert before.get(timeout=BOUND) == "before"


def test_neither_is_alive_nor_stopped_means_cleaned_up() -> None:
    seen: queue.SimpleQueue[tuple[bool, bool]] = queue.SimpleQueue()

    class Slow(Plain):
        def on_stop(self) -> None:
            seen.put((self.actor_ref.is_alive(), self.actor_stopped.is_set()))

    Slow.start().stop(timeout=BOUND)
    assert seen.get(timeout=BOUND) == (False, True)


def test_an_inbox_that_refuses_makes_ask_and_stop_raise() -> None:
    ref = Plain.start()
    real = ref.actor_inbox

    class Closed:
        get, empty = real.get, real.empty

        def put(self, _envelope: Envelope[Any]) -> None:
            raise Bang

    ref.actor_inbox = Closed()
    with pytest.raises(Bang):
        ref.ask("late", block=False)
    with pytest.raises(Bang):
        ref.stop(block=False)
    ref.actor_inbox = real


def test_asks_left_in_the_queue_are_answered_and_told_messages_dropped_in_silence() -> None:
    ref = Plain.start()
    events = events_of(ref)
    gate = threading.Event()
    ref.tell(block_until(gate))
    ref.stop(block=False)
    ref.tell(lambda actor: actor.events.put("handled"))
    asked = ref.ask("left", block=False)
    gate.set()
    with pytest.raises(pykka.ActorDeadError):
        asked.get(timeout=BOUND)
    assert [events.get(timeout=BOUND), events.empty()] == ["on_stop", True]


def test_a_future_cannot_be_set_twice() -> None:
    future: pykka.ThreadingFuture[int] = pykka.ThreadingFuture()
    future.set(1)
    with pytest.raises(queue.Full):
        future.set(2)


def test_pykkas_timeout_is_no_timeout_error() -> None:
    future: pykka.ThreadingFuture[int] = pykka.ThreadingFuture()
    with pytest.raises(pykka.Timeout):
        future.get(timeout=0)
    assert not issubclass(pykka.Timeout, TimeoutError)


def test_an_exception_can_be_set_without_being_raised() -> None:
    future: pykka.ThreadingFuture[int] = pykka.ThreadingFuture()
    error = pykka.ActorDeadError("dead")
    future.set_exception((pykka.ActorDeadError, error, None))
    with pytest.raises(pykka.ActorDeadError) as caught:
        future.get(timeout=0)
    assert caught.value is error


def test_threads_are_no_daemons_unless_one_asks() -> None:
    assert not pykka.ThreadingActor.use_daemon_thread


def test_stop_all_stops_the_youngest_first() -> None:
    order: queue.SimpleQueue[str] = queue.SimpleQueue()

    class Named(Plain):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

        def on_stop(self) -> None:
            order.put(self.name)

    Named.start("elder")
    Named.start("younger")
    assert pykka.ActorRegistry.stop_all(timeout=BOUND) == [True, True]
    assert [order.get(timeout=BOUND) for _ in range(2)] == ["younger", "elder"]


def test_the_registry_tolerates_unknown_actors_and_guards_itself_with_a_lock_of_this_name() -> None:
    ref = Plain.start()
    ref.stop(timeout=BOUND)
    pykka.ActorRegistry.unregister(ref)
    assert type(pykka.ActorRegistry._actor_refs_lock) is type(threading.RLock())


def test_after_a_fork_the_refs_say_alive_although_no_thread_exists() -> None:
    script = """
import os, sys, threading, pykka
class Daemon(pykka.ThreadingActor):
    use_daemon_thread = True
ref = Daemon.start()
child = os.fork()
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(ref.is_alive(), threading.active_count())
"""
    assert run_script(script) == "True 1\n"
