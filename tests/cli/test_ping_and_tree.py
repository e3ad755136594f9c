"""mcp-actors ping and tree: whether a server answers, and what runs behind a connection to it."""

from __future__ import annotations

import io
import re
import signal
import subprocess

from rich.console import Console

from mcp_actors import Client
from mcp_actors.cli.commands.ping import _shown
from mcp_actors.cli.demo_server import COMMAND
from mcp_actors.cli.supervision import _bytes, supervision_tree
from tests.cli.conftest import Invoke
from tests.cli.running import PROGRAM, ROOT, environment, on_a_terminal
from tests.client.toy_host import ToyHost

DEMO = list(COMMAND)


def test_a_ping_counts_and_measures(invoke: Invoke) -> None:
    done = invoke("ping", "--count", "2", "--interval", "0", server=DEMO)
    assert done.code == 0
    first, *answers, summary = done.out.splitlines()
    assert re.fullmatch(r"demo 1\.0, MCP 2026-07-28, ready after .* m?s", first)
    assert [re.fullmatch(r"answer \d after .* m?s", line) is not None for line in answers] == [True, True]
    assert re.fullmatch(r"2 answers: min .* m?s, avg .* m?s, max .* m?s", summary)
    assert invoke("ping", "-n", "1", server=DEMO).out.splitlines()[-1].startswith("1 answer: ")


def test_a_server_that_does_not_answer_has_no_summary(invoke: Invoke) -> None:
    done = invoke("ping", server=["false"])
    assert (done.code, done.out) == (3, "")


def test_durations_and_sizes_are_shown_in_units_for_people() -> None:
    assert [_shown(seconds) for seconds in (0.00042, 0.25, 1.5)] == ["0.42 ms", "250.00 ms", "1.50 s"]
    assert [_bytes(size) for size in (0, 9_999, 25_000, 71_000_000)] == ["0 B", "9,999 B", "25 kB", "71 MB"]


def test_the_tree_names_actors_threads_queues_and_the_process(invoke: Invoke) -> None:
    done = invoke("tree", server=DEMO)
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0].startswith("demo 1.0, MCP 2026-07-28, up for ")
    assert max(map(len, lines)) <= 80
    for actor in ("supervisor", "transport", "pool", "connection"):
        assert re.search(rf"{actor} +thread \d+ +mailbox 0 \(most \d+\)", done.out), actor
    assert re.search(r"server +pid \d+, .+B, \d+ threads?", done.out)
    assert re.search(r"wire +in \d+ B \(1 frame\), out \d+ B \(1 frame\), 0 B unsent", done.out)
    assert re.search(r"connection .* ready", done.out)


def test_a_connection_without_a_process_has_a_tree_too() -> None:
    with Client.memory(ToyHost()) as client:
        screen = Console(file=io.StringIO(), width=80)
        screen.print(supervision_tree(client))
    assert isinstance(screen.file, io.StringIO)
    assert re.search(r"server +no process", screen.file.getvalue())


def test_watching_into_a_pipe_shows_one_tree_after_the_other() -> None:
    command = [*PROGRAM, "tree", "--watch", "--interval", "0.1", "--", *DEMO]
    with subprocess.Popen(command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        titles = 0
        while titles < 3:
            titles += process.stdout.readline().startswith(b"demo 1.0, MCP")
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        assert process.wait(30) == 130


def test_watching_on_a_terminal_goes_on_in_place() -> None:
    with on_a_terminal("tree", "--watch", "--interval", "0.1", server=DEMO) as screen:
        screen.read_until(b"up for 0.3 s")
        assert screen.interrupt() == 130
        # The cursor goes up again instead of down for ever.
        assert b"\x1b[1A" in screen.shown
