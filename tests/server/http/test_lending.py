"""The thread that serves a request runs a short tool itself; everything else is left to the workers."""

from __future__ import annotations

import math
import threading
from typing import Any

import pytest

from mcp_actors import Server
from mcp_actors.server import brevity
from mcp_actors.server.brevity import HABIT
from mcp_actors.server.context import Context
from mcp_actors.server.http.app import WsgiApp
from mcp_actors.server.loan import Loan, loan_of_this_thread
from tests.conftest import BOUND
from tests.server.http.driver import Answer, Driver
from tests.server.http.fake_peer import NEWEST, described, initialize, request

ERAS = ("modern", "session")


@pytest.fixture(autouse=True)
def _any_time_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """What counts as short is tested elsewhere; here a busy machine must not decide."""
    monkeypatch.setattr(brevity, "BRIEF_SECONDS", math.inf)


class Caller:
    """Calls tools over HTTP, each call on a thread of its own that stands for one of the WSGI server's."""

    def __init__(self, app: WsgiApp, era: str) -> None:
        self._driver = Driver(app)
        self._era = era
        self._headers: dict[str, str] = {}
        if era == "session":
            opened = self._driver.post(initialize())
            self._headers = {
                "Mcp-Session-Id": opened.session,
                "MCP-Protocol-Version": NEWEST,
            }

    def call(self, tool: str, id: int = 1) -> str:
        """What the tool said: each tool here says on which thread it ran."""
        return str(self.answer(tool, id).json()["result"]["content"][0]["text"])

    def answer(self, tool: str, id: int = 1) -> Answer:
        if self._era == "modern":
            message, headers = described("tools/call", id, {"name": tool})
            headers["Mcp-Name"] = tool
        else:
            message, headers = request("tools/call", id, {"name": tool}), self._headers
        return self._driver.post(message, headers=headers)


def on_thread(work: Any, name: str = "wsgi") -> Any:
    """What ``work()`` returns on a thread that is not the main one."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()), name=name)
    thread.start()
    thread.join(BOUND)
    assert found, "the call did not end"
    return found[0]


def thread_name() -> str:
    return threading.current_thread().name


@pytest.fixture
def where(server: Server) -> Server:
    """Tools that say where they run."""

    @server.tool(structured_output=False)
    def brief() -> str:
        return thread_name()

    @server.tool(structured_output=False)
    def talkative(ctx: Context) -> str:
        del ctx
        return thread_name()

    @server.tool(structured_output=False, timeout=60.0)
    def timed() -> str:
        return thread_name()

    return server


def after_practice(caller: Caller, tool: str) -> str:
    for number in range(HABIT):
        assert caller.call(tool, number).startswith("demo worker"), "a tool that proved nothing yet"
    return str(on_thread(lambda: caller.call(tool)))


@pytest.mark.requirement("transport:wsgi")
@pytest.mark.parametrize("era", ERAS)
def test_a_tool_that_has_shown_to_be_short_runs_on_the_thread_that_waits_for_it(
    where: Server, era: str
) -> None:
    assert after_practice(Caller(where.wsgi(), era), "brief") == "wsgi"


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("tool", ["talkative", "timed"])
def test_a_tool_that_talks_or_has_a_time_runs_on_a_worker(where: Server, era: str, tool: str) -> None:
    assert after_practice(Caller(where.wsgi(), era), tool).startswith("demo worker")


@pytest.mark.parametrize("era", ERAS)
def test_nothing_is_lent_where_that_is_not_wanted(where: Server, era: str) -> None:
    assert after_practice(Caller(where.wsgi(lend_threads=False), era), "brief").startswith("demo worker")


def test_the_main_thread_is_not_lent(where: Server) -> None:
    caller = Caller(where.wsgi(), "modern")
    after_practice(caller, "brief")
    # Tests run on it.
    assert caller.call("brief").startswith("demo worker")


def test_with_middleware_nothing_is_known_about_how_long_it_takes(where: Server) -> None:
    @where.middleware
    def pass_on(context: Context, params: Any, proceed: Any) -> Any:
        del context, params
        return proceed()

    assert after_practice(Caller(where.wsgi(), "modern"), "brief").startswith("demo worker")


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("error", [ValueError, SystemExit, KeyboardInterrupt])
def test_what_a_lent_thread_raises_is_the_error_of_that_call_alone(
    server: Server, era: str, error: type[BaseException]
) -> None:
    fails = False

    @server.tool(structured_output=False)
    def moody() -> str:
        if fails:
            raise error("a secret")
        return thread_name()

    caller = Caller(server.wsgi(), era)
    assert after_practice(caller, "moody") == "wsgi"
    fails = True
    answer = on_thread(lambda: caller.answer("moody"))
    assert answer.status == 200
    result = answer.json()["result"]
    assert result["isError"] is True
    assert "secret" not in str(result)
    fails = False
    assert on_thread(lambda: caller.call("moody")) == "wsgi"


def test_a_loan_is_taken_once_and_on_its_own_thread_only() -> None:
    done: list[str] = []
    loan = Loan()
    assert on_thread(lambda: loan.take(lambda: done.append("elsewhere"))) is False
    assert loan.take(lambda: done.append("here"))
    assert not loan.take(lambda: done.append("again"))
    loan.work()
    loan.work()
    assert done == ["here"]


def test_this_very_thread_is_the_main_one_and_lends_nothing() -> None:
    assert loan_of_this_thread() is None
    assert on_thread(loan_of_this_thread) is not None
