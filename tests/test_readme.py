"""The row of this package in the README's table of failures."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from mcp_actors import Client, errors
from mcp_actors.cli.demo_server import COMMAND
from tests.conftest import BOUND

BROKEN = "import sys; sys.stderr.write('ModuleNotFoundError: No module named psycopg\\n'); sys.exit(3)"


@pytest.mark.requirement("connection:park")
@pytest.mark.requirement("error:plain")
@pytest.mark.requirement("error:crash-report")
def test_a_server_that_cannot_start_is_reported_with_its_exit_code_and_last_words() -> None:
    with (
        pytest.raises(errors.StartFailed) as failed,
        Client.stdio([sys.executable, "-c", BROKEN], backoff_min=0.01),
    ):
        pytest.fail("the server cannot have started")
    first, *rest = str(failed.value).splitlines()
    assert first.endswith("could not be started in 3 attempts: the server exited with code 3")
    assert any("No module named psycopg" in line for line in rest)
    assert failed.value.crash_report is not None
    assert failed.value.crash_report.exit_code == 3


@pytest.mark.requirement("request:lost")
@pytest.mark.requirement("connection:recover")
@pytest.mark.requirement("error:crash-report")
def test_a_server_that_dies_in_a_call_is_reported_and_the_next_call_works() -> None:
    with Client.stdio(COMMAND, backoff_min=0.01) as client:
        with pytest.raises(errors.ConnectionLost) as lost:
            client.call_tool("crash", {"last_words": "FATAL: database password rejected"})
        assert lost.value.outcome == "unknown"
        assert lost.value.crash_report is not None
        assert lost.value.crash_report.exit_code == 7
        assert lost.value.crash_report.stderr_tail == ("FATAL: database password rejected",)
        assert client.call_tool("add", {"a": 1, "b": 2}, wait=True, timeout=BOUND).text == "3"


@pytest.mark.requirement("runtime:fork")
def test_a_client_that_was_used_before_a_fork_works_in_the_child_with_its_own_server() -> None:
    with Client.stdio(COMMAND) as client:
        before = client.read_resource("demo://pid").text
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(writer, client.read_resource("demo://pid", timeout=BOUND).text.encode())
                client.close()
            finally:
                os._exit(0)
        os.close(writer)
        os.waitpid(child, 0)
        with open(reader, encoding="utf-8") as answer:
            in_child = answer.read()
        assert in_child.isdigit()
        assert in_child != before
        assert client.read_resource("demo://pid").text == before


def test_threads_share_a_client() -> None:
    def double(number: int) -> str:
        return client.call_tool("add", {"a": number, "b": number}).text

    with Client.stdio(COMMAND) as client, ThreadPoolExecutor(3) as threads:
        assert list(threads.map(double, range(30))) == [str(2 * number) for number in range(30)]
