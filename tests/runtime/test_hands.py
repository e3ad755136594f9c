"""Hands: a queued job never waits for an idle worker, a burst wakes one at a time, and nothing is lost."""

from __future__ import annotations

import contextlib
import logging
import random
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from queue import SimpleQueue
from typing import Any

import pytest

from mcp_actors.runtime.actor import start_actor
from mcp_actors.runtime.directory import Directory
from mcp_actors.runtime.hands import Hands, HandsKeeper, HandsStats, Job, _Worker
from mcp_actors.runtime.ref import Ref
from mcp_actors.runtime.supervision import ChildSpec
from mcp_actors.runtime.supervisor import Supervisor
from tests.runtime.interruption import interrupted_at
from tests.runtime.probes import BOUND, Bang, at_once, block_until, error_of, run_script, soon, stop, stumbler

MakeHands = Callable[..., Hands]


@pytest.fixture
def make() -> Iterator[MakeHands]:
    """Makes hands that are closed at the end."""
    made: list[Hands] = []

    def make(*limits: int, **options: Any) -> Hands:
        made.append(Hands(*limits, name="hands", **options))
        return made[-1]

    yield make
    for hands in made:
        hands.close(soon())


def occupy(hands: Hands, gate: threading.Event) -> None:
    """Have one more worker that is busy until the gate opens."""
    begun = threading.Event()
    wait = block_until(gate)

    def block() -> None:
        begun.set()
        wait()

    assert hands.submit(block)
    assert begun.wait(BOUND)


class Desk:
    """Jobs that can be waited for."""

    def __init__(self, hands: Hands) -> None:
        self.hands = hands
        self.done: SimpleQueue[Any] = SimpleQueue()
        self.gate = threading.Event()

    def run(self, name: object = None) -> str:
        """Run one job; the thread it ran on."""
        assert self.hands.submit(lambda: self.done.put((name, threading.current_thread().name)))
        got, thread = self.done.get(timeout=BOUND)
        assert got == name
        assert isinstance(thread, str)
        return thread

    def occupy(self, count: int = 1) -> None:
        """Have workers that are busy until the gate opens."""
        for _ in range(count):
            occupy(self.hands, self.gate)


def settled(hands: Hands, **expected: int) -> bool:
    """Whether the numbers come true in time."""
    deadline = soon()
    while any(getattr(hands.stats(), name) != value for name, value in expected.items()):
        if deadline.expired:
            return False
        time.sleep(0.001)
    return True


# -- one job after the other


def test_a_job_runs_on_a_daemon_thread_of_its_own_name(make: MakeHands) -> None:
    hands = make()
    seen: SimpleQueue[threading.Thread] = SimpleQueue()
    assert hands.stats() == HandsStats(0, 0, 0, 0, 0, 0)
    assert hands.submit(lambda: seen.put(threading.current_thread()))
    thread = seen.get(timeout=BOUND)
    assert (thread.name, thread.daemon) == ("hands-1", True)
    assert settled(hands, workers=1, idle=1, running=0)


def test_an_idle_worker_is_used_again_the_last_idle_one_first(make: MakeHands) -> None:
    hands = make()
    gates = [threading.Event() for _ in range(3)]
    for gate in gates:
        occupy(hands, gate)
    for count, number in enumerate((2, 0, 1), 1):
        gates[number].set()
        assert settled(hands, idle=count)
    assert [Desk(hands).run() for _ in range(3)] == ["hands-2"] * 3
    assert hands.stats().workers == 3


def test_limits_below_one_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Hands(0)
    with pytest.raises(ValueError, match="at least 1"):
        Hands(1, 0)


def test_a_timeout_that_is_too_long_for_a_lock_is_none(make: MakeHands) -> None:
    assert Desk(make(idle_timeout=float("inf"))).run() == "hands-1"


@pytest.mark.requirement("runtime:pool:bounded")
@pytest.mark.parametrize("error", [Bang("no"), SystemExit(1), KeyboardInterrupt()])
def test_whatever_a_job_raises_is_logged_and_harms_nobody(
    make: MakeHands, error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    def explode() -> None:
        raise error

    hands = make(1)
    assert hands.submit(partial(explode))
    assert Desk(hands).run("next") == "hands-1"
    [record] = caplog.records
    assert record.getMessage().startswith("hands-1: job test_whatever_a_job_raises")
    assert record.getMessage().endswith("explode failed")
    assert record.exc_info is not None
    assert record.exc_info[1] is error


def test_a_filter_of_the_log_that_raises_costs_no_worker(make: MakeHands) -> None:
    def refuse(_record: logging.LogRecord) -> bool:
        raise Bang("filter")

    def explode() -> None:
        raise Bang("job")

    logger = logging.getLogger("mcp_actors.runtime")
    logger.addFilter(refuse)
    try:
        hands = make(1)
        assert hands.submit(explode)
        assert Desk(hands).run() == "hands-1"
    finally:
        logger.removeFilter(refuse)


def test_an_idle_worker_keeps_no_job_alive(make: MakeHands) -> None:
    class Errand:
        def __call__(self) -> None:
            return

    hands = make()
    errand = Errand()
    gone = weakref.ref(errand)
    assert hands.submit(errand)
    del errand
    assert settled(hands, running=0, queued=0)
    assert gone() is None


def test_workers_that_are_idle_for_long_end(make: MakeHands) -> None:
    hands = make(idle_timeout=0.01)
    assert Desk(hands).run() == "hands-1"
    assert settled(hands, workers=0, idle=0)
    assert Desk(hands).run() == "hands-2"


def test_a_worker_that_is_woken_in_the_moment_it_gives_up_stays(make: MakeHands) -> None:
    hands = make()
    worker = _Worker("hands-x", lambda _worker: None)
    worker.ring()
    assert not hands._dismiss(worker)


# -- bounds


@pytest.mark.requirement("runtime:pool:bounded")
def test_above_the_limits_jobs_are_refused_and_counted(make: MakeHands) -> None:
    hands = make(2, 3)
    desk = Desk(hands)
    desk.occupy(2)
    assert [hands.submit(lambda: desk.done.put(1)) for _ in range(5)] == [True] * 3 + [False] * 2
    assert hands.stats() == HandsStats(workers=2, idle=0, queued=3, running=2, refused=2, abandoned=0)
    desk.gate.set()
    assert [desk.done.get(timeout=BOUND) for _ in range(3)] == [1, 1, 1]


def test_of_a_burst_the_first_are_taken(make: MakeHands) -> None:
    hands = make(1, 3)
    desk = Desk(hands)
    jobs = [partial(desk.done.put, number) for number in range(5)]
    assert hands.submit_all([]) == 0
    assert hands.stats().workers == 0
    desk.occupy()
    assert hands.submit_all(jobs) == 3
    assert hands.submit_all(jobs) == 0
    assert hands.stats().refused == 7
    desk.gate.set()
    assert [desk.done.get(timeout=BOUND) for _ in range(3)] == [0, 1, 2]


def refuse_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)


def test_without_any_thread_nothing_is_taken(make: MakeHands, monkeypatch: pytest.MonkeyPatch) -> None:
    hands = make()
    with monkeypatch.context() as patch:
        refuse_threads(patch)
        assert not hands.submit(lambda: None)
        assert hands.submit_all([lambda: None] * 3) == 0
        assert hands.stats() == HandsStats(0, 0, 0, 0, refused=4, abandoned=0)
    assert Desk(hands).run() == "hands-3"


def test_without_another_thread_a_job_waits_until_there_is_one(
    make: MakeHands, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    hands = make()
    desk = Desk(hands)
    desk.occupy()
    with monkeypatch.context() as patch:
        refuse_threads(patch)
        assert hands.submit(partial(desk.done.put, 1))
        assert hands.submit(partial(desk.done.put, 2))
    assert [record.getMessage() for record in caplog.records] == [
        "hands could not start another worker: can't start new thread"
    ]
    # The next submission tries again, for those that wait, too.
    assert hands.submit(partial(desk.done.put, 3))
    assert [desk.done.get(timeout=BOUND) for _ in range(3)] == [1, 2, 3]
    desk.gate.set()


# -- who is woken


def test_a_burst_wakes_one_worker_however_many_are_idle(
    make: MakeHands, monkeypatch: pytest.MonkeyPatch
) -> None:
    hands = make()
    desk = Desk(hands)
    desk.occupy(4)
    desk.gate.set()
    assert settled(hands, idle=4)
    rings: list[_Worker] = []
    ring = _Worker.ring

    def note(worker: _Worker) -> None:
        rings.append(worker)
        ring(worker)

    monkeypatch.setattr(_Worker, "ring", note)
    # Nobody who was woken gets further than to the lock.
    with hands._lock:
        assert hands.submit_all([partial(desk.done.put, number) for number in range(50)]) == 50
        for number in range(50, 60):
            assert hands.submit(partial(desk.done.put, number))
        assert rings == [hands._idle[-1]]
    assert sorted(desk.done.get(timeout=BOUND) for _ in range(60)) == list(range(60))


def test_a_worker_that_begins_while_more_is_queued_wakes_the_next(make: MakeHands) -> None:
    hands = make(8)
    all_inside = threading.Barrier(6)
    assert hands.submit_all([partial(all_inside.wait, BOUND)] * 5) == 5
    all_inside.wait(BOUND)
    assert settled(hands, idle=5)
    # The same with threads that are there already.
    assert hands.submit_all([partial(all_inside.wait, BOUND)] * 5) == 5
    all_inside.wait(BOUND)
    assert hands.stats().workers == 5


def test_jobs_that_wait_for_other_jobs_go_on_as_long_as_there_may_be_workers(make: MakeHands) -> None:
    hands = make(10)

    def dive(depth: int, surfaced: threading.Event) -> None:
        if depth:
            deeper = threading.Event()
            assert hands.submit(partial(dive, depth - 1, deeper))
            assert deeper.wait(BOUND)
        surfaced.set()

    for _ in range(20):
        surfaced = threading.Event()
        assert hands.submit(partial(dive, 9, surfaced))
        assert surfaced.wait(BOUND)
    assert hands.stats().workers <= 10


@pytest.mark.parametrize("young", [False, True])
def test_a_worker_that_dies_all_the_same_leaves_no_job_behind(
    make: MakeHands, monkeypatch: pytest.MonkeyPatch, young: bool
) -> None:
    deaths: SimpleQueue[Any] = SimpleQueue()
    monkeypatch.setattr(threading, "excepthook", deaths.put)
    hands = make(1)
    desk = Desk(hands)
    left = partial(desk.done.put, "left")
    if not young:
        desk.occupy()
        assert hands.submit(left)
    fetch = Hands._fetch

    def die(_hands: Hands, worker: _Worker) -> bool:
        # As an exception does that somebody sends to the thread.
        monkeypatch.setattr(Hands, "_fetch", fetch)
        raise Bang(worker.thread.name)

    monkeypatch.setattr(Hands, "_fetch", die)
    desk.gate.set()
    if young:
        assert hands.submit(left)
    assert str(deaths.get(timeout=BOUND).exc_value) == "hands-1"
    assert desk.done.get(timeout=BOUND) == "left"
    assert desk.run("next") == "hands-2"


# -- closing


def test_closing_waits_for_what_runs_and_gives_back_what_was_not_begun(make: MakeHands) -> None:
    hands = make(1)
    desk = Desk(hands)
    desk.occupy()
    jobs = [partial(desk.done.put, number) for number in range(3)]
    hands.submit_all(jobs)
    closing = threading.Thread(target=lambda: desk.done.put(hands.close(soon())), daemon=True)
    closing.start()
    deadline = soon()
    while hands.submit(lambda: None) and not deadline.expired:
        time.sleep(0.001)
    desk.gate.set()
    left = desk.done.get(timeout=BOUND)
    closing.join(BOUND)
    assert left[:3] == jobs
    assert hands.close(soon()) == []
    assert hands.submit_all(jobs) == 0
    assert hands.stats().workers == 0


def test_closing_ends_idle_workers(make: MakeHands) -> None:
    hands = make()
    desk = Desk(hands)
    desk.occupy(3)
    desk.gate.set()
    assert settled(hands, idle=3)
    assert hands.close(soon()) == []
    assert [thread for thread in threading.enumerate() if thread.name.startswith("hands-")] == []
    assert hands.stats() == HandsStats(0, 0, 0, 0, 0, 0)


def test_a_job_that_does_not_end_is_abandoned_by_name_and_ends_its_thread_later(
    make: MakeHands, caplog: pytest.LogCaptureFixture
) -> None:
    class Errand:
        def __init__(self, gate: threading.Event) -> None:
            self.begun = threading.Event()
            self._gate = gate

        def __call__(self) -> None:
            self.begun.set()
            assert self._gate.wait(BOUND)

        def __repr__(self) -> str:
            return "tools/call 17"

    hands = make()
    desk = Desk(hands)
    errand = Errand(desk.gate)
    assert hands.submit(errand)
    assert errand.begun.wait(BOUND)
    assert hands.close(at_once()) == []
    assert hands.close(at_once()) == []
    assert [record.getMessage() for record in caplog.records] == [
        "hands-1 is abandoned: job tools/call 17 does not end"
    ]
    assert hands.stats() == HandsStats(1, 0, 0, running=1, refused=0, abandoned=1)
    desk.gate.set()
    assert settled(hands, workers=0)


def test_a_worker_that_just_has_no_job_is_not_abandoned(make: MakeHands) -> None:
    hands = make()
    hands._abandon(_Worker("hands-x", lambda _worker: None))
    assert hands.stats().abandoned == 0


def test_a_job_may_close_the_hands_that_run_it(make: MakeHands) -> None:
    hands = make()
    desk = Desk(hands)
    assert hands.submit(lambda: desk.done.put(hands.close(soon())))
    assert desk.done.get(timeout=BOUND) == []
    assert settled(hands, workers=0)


def test_a_job_that_waits_for_the_end_of_the_keeper_does_not_delay_it() -> None:
    published: list[Hands | None] = []
    keeper = start_keeper(published)
    hands = published[0]
    assert hands is not None
    ended: SimpleQueue[bool] = SimpleQueue()

    def end() -> None:
        keeper.stop()
        ended.put(keeper.join(soon()))

    assert hands.submit(end)
    assert ended.get(timeout=BOUND)


# -- interrupts


@pytest.mark.parametrize("state", ["fresh", "idle", "busy", "full"])
@pytest.mark.parametrize("way", ["one", "all"])
def test_an_interrupt_at_any_step_of_a_submission_loses_nothing(state: str, way: str) -> None:
    steps = 0
    hit = True
    while hit:
        hands = Hands(1 if state == "full" else 3, name="hands")
        desk = Desk(hands)
        if state == "idle":
            desk.run()
            assert settled(hands, idle=1)
        elif state in ("busy", "full"):
            desk.occupy()
        ran: list[int] = []
        job = partial(ran.append, 1)
        submit: Job = partial(hands.submit, job) if way == "one" else partial(hands.submit_all, [job])
        hit = interrupted_at(steps, "hands", submit)
        if state == "full":
            desk.gate.set()
        # It was taken or not, but if it was, it is done without anybody's help.
        assert settled(hands, queued=0)
        desk.run("next")
        desk.gate.set()
        assert hands.close(soon()) == []
        assert hands.stats().workers == 0
        assert ran in ([1], [] if hit else [1])
        steps += 1
    assert steps > 5


def test_an_interrupt_while_a_thread_is_started_leaves_no_worker_uncounted(
    make: MakeHands, monkeypatch: pytest.MonkeyPatch
) -> None:
    hands = make(1)
    start = threading.Thread.start
    started: list[threading.Thread] = []

    def interrupted(thread: threading.Thread) -> None:
        started.append(thread)
        start(thread)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            hands.submit(lambda: None)
    started[0].join(BOUND)
    assert not started[0].is_alive()
    assert hands.stats().workers == 0
    assert Desk(hands).run() == "hands-2"


# -- fork and exit


@pytest.mark.requirement("runtime:fork")
def test_once_forgotten_they_take_nothing(make: MakeHands) -> None:
    hands = make()
    hands._queue.append(lambda: None)
    threading.Thread(target=hands._lock.acquire).start()
    hands.forget()
    assert not hands.submit(lambda: None)
    assert hands.close(soon()) == []
    assert hands.stats() == HandsStats(0, 0, 0, 0, refused=1, abandoned=0)


@pytest.mark.requirement("runtime:fork")
def test_in_a_forked_child_they_are_unusable_and_new_ones_can_be_made() -> None:
    source = """
import os, threading
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.hands import Hands
hands = Hands()
gate, begun = threading.Event(), threading.Event()
hands.submit(lambda: (begun.set(), gate.wait(5)))
begun.wait(5)
hands._lock.acquire()
pid = os.fork()
if pid == 0:
    hands.forget()
    fresh = Hands()
    done = threading.Event()
    assert fresh.submit(done.set) and done.wait(5)
    print(hands.submit(done.set), hands.close(Deadline.after(5)), hands.stats().workers, flush=True)
    os._exit(0)
os.waitpid(pid, 0)
hands._lock.release()
gate.set()
print(len(hands.close(Deadline.after(5))), flush=True)
"""
    assert run_script(source).splitlines() == ["False [] 0", "0"]


@pytest.mark.requirement("runtime:exit")
def test_a_program_that_forgets_its_hands_still_ends() -> None:
    source = """
import threading
from mcp_actors.runtime.hands import Hands
hands = Hands()
begun = threading.Event()
hands.submit(lambda: None)
hands.submit(lambda: (begun.set(), threading.Event().wait()))
begun.wait(5)
print("end")
"""
    assert run_script(source) == "end\n"


# -- the keeper


def start_keeper(published: list[Hands | None], **options: Any) -> Ref:
    make = partial(Hands, name="kept")
    return start_actor(HandsKeeper, make, published.append, name="keeper", deadline=soon(), **options)


def test_a_keeper_publishes_its_hands_and_takes_them_back_at_its_end() -> None:
    published: list[Hands | None] = []
    never_begun: list[list[Job]] = []
    keeper = start_keeper(published, drain=0.01, never_begun=never_begun.append)
    [hands] = published
    assert hands is not None
    desk = Desk(hands)
    desk.occupy(32)
    job = partial(desk.done.put, 1)
    assert hands.submit(job)
    stop(keeper)
    assert published == [hands, None]
    assert never_begun == [[job]]
    assert not hands.submit(job)
    desk.gate.set()


def test_a_keeper_closes_its_hands_even_if_that_cannot_be_published() -> None:
    kept: list[Hands] = []

    def publish(hands: Hands | None) -> None:
        if hands is None:
            raise Bang("no")
        kept.append(hands)

    keeper = start_actor(HandsKeeper, Hands, publish, deadline=soon())
    keeper.stop()
    assert isinstance(error_of(keeper), Bang)
    assert not kept[0].submit(lambda: None)


@pytest.mark.requirement("runtime:supervisor:rest-for-one")
def test_a_supervisor_starts_restarts_and_stops_a_keeper() -> None:
    published: SimpleQueue[Hands | None] = SimpleQueue()

    def start(parent: Ref, _directory: object) -> Ref:
        return start_actor(HandsKeeper, Hands, published.put, parent=parent, name="keeper", deadline=soon())

    directory = Directory()
    specs = [ChildSpec("hands", start)]
    supervisor = start_actor(Supervisor, "tree", specs, directory=directory, deadline=soon())
    first = published.get(timeout=BOUND)
    assert first is not None
    keeper = directory.get("hands")
    assert keeper is not None
    # It knows no messages: this one ends it.
    keeper.tell("a bug")
    assert isinstance(error_of(keeper), NotImplementedError)
    assert published.get(timeout=BOUND) is None
    second = published.get(timeout=BOUND)
    assert second is not None
    assert not first.submit(lambda: None)
    assert Desk(second).run()
    stop(supervisor)
    assert published.get(timeout=BOUND) is None
    assert not second.submit(lambda: None)


# -- many threads


class WatchedLock:
    """The lock of some hands, which checks their invariant whenever it becomes free."""

    def __init__(self, hands: Hands) -> None:
        self.broken = 0
        self.freed = 0
        self._hands = hands
        self._lock = threading.RLock()
        self._depth = 0

    def __enter__(self) -> None:
        self._lock.acquire()
        self._depth += 1

    def __exit__(self, *_error: object) -> None:
        self._depth -= 1
        if not self._depth:
            self.freed += 1
            self.broken += not self._holds()
        self._lock.release()

    def _holds(self) -> bool:
        hands = self._hands
        hopeless = not hands._idle and len(hands._workers) >= hands._max_workers
        return not hands._queue or hands._waking is not None or hopeless or hands._closed


@contextlib.contextmanager
def watched(*limits: int, **options: Any) -> Iterator[tuple[Hands, WatchedLock]]:
    hands = Hands(*limits, name="hands", **options)
    lock = WatchedLock(hands)
    hands._lock = lock  # type: ignore[assignment]
    yield hands, lock
    hands.close(soon())
    assert lock.broken == 0
    assert lock.freed > 0


def plain(target: Callable[..., object], *args: object) -> threading.Thread:
    return threading.Thread(target=target, args=args, daemon=True)


@pytest.mark.stress
@pytest.mark.parametrize(("make_thread", "each"), [(plain, 150), (stumbler, 15)])
@pytest.mark.usefixtures("hasty_switching")
def test_among_many_threads_every_job_runs_once_and_none_waits_for_an_idle_worker(
    make_thread: Callable[..., threading.Thread], each: int
) -> None:
    for idle_timeout in (30.0, 1e-4):
        with watched(4, 10_000, idle_timeout=idle_timeout) as (hands, _lock):
            ran: SimpleQueue[tuple[int, int]] = SimpleQueue()

            def job(name: tuple[int, int], ran: SimpleQueue[tuple[int, int]] = ran) -> None:
                time.sleep(random.choice((0.0, 0.0, 0.0, 1e-5, 1e-4)))
                ran.put(name)

            def submit(number: int, hands: Hands = hands, job: Callable[..., None] = job) -> None:
                for count in range(each):
                    if count % 5:
                        assert hands.submit(partial(job, (number, count)))
                        time.sleep(random.choice((0.0, 1e-5, 5e-4)))
                    else:
                        assert hands.submit_all([partial(job, (number, count))]) == 1

            crowd = [make_thread(submit, number) for number in range(4)]
            for thread in crowd:
                thread.start()
            for thread in crowd:
                thread.join(BOUND)
            seen = Counter(ran.get(timeout=BOUND) for _ in range(4 * each))
            assert seen == Counter((number, count) for number in range(4) for count in range(each))
            assert ran.empty()


@pytest.mark.stress
@pytest.mark.usefixtures("hasty_switching")
def test_among_many_threads_jobs_that_wait_for_jobs_always_go_on() -> None:
    with watched(12, 1000, idle_timeout=1e-3) as (hands, _lock):
        for _ in range(30):
            ends = [threading.Event() for _ in range(3)]

            def dive(depth: int, surfaced: threading.Event, hands: Hands = hands) -> None:
                if depth:
                    deeper = threading.Event()
                    assert hands.submit(partial(dive, depth - 1, deeper))
                    assert deeper.wait(BOUND)
                surfaced.set()

            # Three times four that wait for one another: just as many as there may be.
            assert hands.submit_all([partial(dive, 3, end) for end in ends]) == 3
            assert all(end.wait(BOUND) for end in ends)


@pytest.mark.stress
@pytest.mark.usefixtures("hasty_switching")
def test_among_many_threads_closing_accounts_for_every_job() -> None:
    for _ in range(40):
        with watched(3, 1000, idle_timeout=1e-3) as (hands, _lock):
            ran: SimpleQueue[None] = SimpleQueue()
            taken: SimpleQueue[None] = SimpleQueue()

            def submit(hands: Hands = hands, ran: Any = ran, taken: Any = taken) -> None:
                while hands.submit(partial(ran.put, None)):
                    taken.put(None)

            crowd = [plain(submit) for _ in range(3)]
            for thread in crowd:
                thread.start()
            left = hands.close(soon())
            for thread in crowd:
                thread.join(BOUND)
                assert not thread.is_alive()
            assert taken.qsize() == ran.qsize() + len(left)
