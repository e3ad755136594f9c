"""Worker and Task: the first to settle a task wins."""

from __future__ import annotations

from mcp_actors.runtime.ref import Ref
from mcp_actors.runtime.worker import Done, Failed, Finished, Freed, Refused, Task, Worker
from tests.runtime.probes import BOUND, Bang, everything_in, start_probe, stop


def fail() -> None:
    raise Bang


def test_a_task_is_settled_once() -> None:
    client, ref = start_probe()
    task = Task("id", lambda: None, ref)
    task.settle(Done(1))
    task.settle(Refused())
    stop(ref)
    assert everything_in(client.seen) == [Finished("id", Done(1))]


def test_running_a_task_gives_its_outcome() -> None:
    _client, ref = start_probe()
    assert Task("id", lambda: 42, None).run() == Done(42)
    outcome = Task("id", fail, ref).run()
    assert isinstance(outcome, Failed)
    assert isinstance(outcome.error, Bang)
    stop(ref)


def test_a_worker_reports_itself_free_before_it_tells_the_outcome() -> None:
    pool, ref = start_probe()
    worker = started_worker(ref)
    worker.give(Task("id", lambda: "value", ref))
    assert pool.seen.get(timeout=BOUND) == Freed(worker)
    assert pool.seen.get(timeout=BOUND) == Finished("id", Done("value"))
    assert worker.task is None
    worker.dismiss()
    worker.join(BOUND)
    assert not worker.is_worth_waiting_for
    stop(ref)


def started_worker(pool: Ref) -> Worker:
    worker = Worker("bee", pool)
    worker.start()
    assert worker.name == "bee"
    assert worker.is_worth_waiting_for
    return worker
