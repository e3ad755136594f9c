"""A whole client whose login takes its time: deadlines that pass meanwhile, Ctrl-C, and others who wait."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from mcp_actors import Client, errors
from mcp_actors.auth import ClientCredentials, OAuth
from tests.auth.conftest import Start
from tests.auth.test_client import RESULTS
from tests.auth.test_login import Waiting, visit
from tests.auth.test_sharing import Claimed
from tests.client.conftest import quick
from tests.client.test_interrupts import (  # noqa: F401 - a fixture that every test here uses
    _one_interrupt_for_each_test,
    interrupt_when,
)
from tests.client.waiting import BOUND, in_thread, until

pytestmark = [pytest.mark.requirement("security:oauth"), pytest.mark.requirement("transport:http")]

#: Of calls that are to end before the login does, and of whatever leads to the login.
SOON = BOUND / 10


class Slow(Waiting):
    """A browser whose person takes their time, but for the first logins of a test that needs some."""

    def __init__(self) -> None:
        super().__init__()
        self.at_once = False

    def open(self, url: str) -> None:
        super().open(url)
        if self.at_once:
            self.agree()

    def await_page(self, number: int = 1) -> None:
        until(lambda: len(self.pages) >= number)

    @property
    def listening(self) -> bool:
        redirect_uri = dict(parse_qsl(urlsplit(self.pages[-1]).query))["redirect_uri"]
        try:
            return bool(visit(redirect_uri))
        except ConnectionError:
            return False


@pytest.fixture
def browser() -> Slow:
    return Slow()


class Stage:
    """A client whose login waits for a person: from its first request on, or in mid-use."""

    def __init__(self, client: Client, browser: Slow, pages: int) -> None:
        self.client = client
        self.browser = browser
        self.pages = pages

    def call(self, seconds: float = 2 * BOUND) -> str:
        return self.client.call_tool("add", {}, timeout=seconds).text

    def begin(self) -> Future[Any]:
        """A call that leads to the login, and waits for it."""
        begun = in_thread(self.call)
        self.browser.await_page(self.pages + 1)
        return begun


@pytest.fixture(params=["first", "ready"])
def stage(request: pytest.FixtureRequest, serve: Start, browser: Slow) -> Iterator[Stage]:
    server = serve(results=RESULTS)
    oauth = OAuth(open_url=browser.open)
    client = Client.http(server.resource_url, auth=oauth, proxies={}, name="notes", **quick({}))
    with_login = request.param == "ready"
    if with_login:
        browser.at_once = True
        client.wait_ready()
        server.revoke_tokens("all")
        browser.at_once = False
    yield Stage(client, browser, int(with_login))
    client.close()


Wait = Callable[[Client, float], object]


@pytest.mark.parametrize(
    "wait",
    [
        lambda client, seconds: client.call_tool("add", {}, timeout=seconds),
        lambda client, seconds: client.call_tool("add", {}, timeout=seconds, wait=True),
        lambda client, seconds: client.call_tool("add", {}, timeout=seconds, on_progress=print),
        lambda client, seconds: client.submit_tool("add", {}, timeout=seconds).result(BOUND),
        lambda client, seconds: client.ping(timeout=seconds),
    ],
    ids=["call", "wait", "progress", "future", "ping"],
)
def test_a_deadline_that_passes_during_a_login_says_that_a_person_has_to_act(
    stage: Stage, wait: Wait
) -> None:
    begun = stage.begin()
    with pytest.raises(errors.AuthorizationFailed) as caught:
        wait(stage.client, SOON)
    error = caught.value
    login_url = stage.browser.pages[-1].partition("?")[0]
    first_line = str(error).splitlines()[0]
    assert f"not authorized within {SOON:g} s" in first_line
    assert f"waits for a person: the login at {login_url} is open; finish it, then call again" in first_line
    assert error.retryable
    assert (error.details["waits_for"], error.details["login_url"]) == ("person", login_url)
    assert (
        dict(parse_qsl(urlsplit(stage.browser.pages[-1]).query))["state"] not in f"{error!r}{error.details}"
    )
    stage.browser.agree()
    assert begun.result(2 * BOUND) == "3"
    assert stage.call() == "3"
    assert len(stage.browser.pages) == stage.pages + 1


def test_a_later_call_joins_the_login_that_an_earlier_one_began(stage: Stage) -> None:
    early = in_thread(lambda: stage.call(3 * SOON))
    stage.browser.await_page(stage.pages + 1)
    assert isinstance(early.exception(BOUND), errors.AuthorizationFailed)
    later = in_thread(stage.call)
    stage.browser.agree()
    assert later.result(2 * BOUND) == "3"
    assert len(stage.browser.pages) == stage.pages + 1


def test_whoever_waits_until_the_client_is_ready_hears_of_the_login(serve: Start, browser: Slow) -> None:
    server = serve(results=RESULTS)
    client = Client.http(server.resource_url, auth=OAuth(open_url=browser.open), name="notes", proxies={})
    try:
        with pytest.raises(
            errors.AuthorizationFailed, match=r"notes was not ready within .* waits for a person"
        ):
            client.wait_ready(2 * SOON)
    finally:
        client.close()


@pytest.mark.parametrize("init_timeout", [None, SOON / 4], ids=["as long as a login", "shorter"])
def test_a_login_that_nobody_finishes_is_not_begun_anew_by_itself(
    serve: Start, browser: Slow, init_timeout: float | None
) -> None:
    server = serve(results=RESULTS)
    auth = OAuth(open_url=browser.open, timeout=SOON)
    options = quick({"init_timeout": init_timeout, "backoff_min": SOON, "backoff_max": SOON})
    client = Client.http(server.resource_url, auth=auth, proxies={}, **options)
    try:
        with pytest.raises(errors.AuthorizationFailed, match="nobody finished the login") as caught:
            client.call_tool("add", {}, timeout=BOUND)
        assert not caught.value.retryable
        assert client.stats().parked
    finally:
        client.close()
    assert len(browser.pages) == 1


def test_a_login_that_outlasts_the_handshake_parks_nobody(serve: Start, browser: Slow) -> None:
    server = serve(results=RESULTS)
    options = quick({"init_timeout": SOON, "max_failed_starts": 1})
    client = Client.http(server.resource_url, auth=OAuth(open_url=browser.open), proxies={}, **options)
    try:
        client.start()
        browser.await_page()
        # Try after try ends, and each finds the login open.
        assert server.wait_for("resource", 3)
        assert not client.stats().parked
        browser.agree()
        assert client.call_tool("add", {}, timeout=2 * BOUND).text == "3"
    finally:
        client.close()
    assert len(browser.pages) == 1


@pytest.mark.requirement("request:cancel-caller")
def test_ctrl_c_ends_the_login_for_everybody_and_the_client_stays_usable(stage: Stage) -> None:
    browser = stage.browser
    others = [stage.begin(), in_thread(stage.call), stage.client.submit_tool("add", {}, timeout=2 * BOUND)]
    interrupt_when(lambda: threading.Event().wait(SOON))
    with pytest.raises(KeyboardInterrupt):
        stage.call()
    for other in others:
        failure = other.exception(BOUND)
        assert isinstance(failure, errors.AuthorizationFailed)
        assert failure.retryable
        assert "the authorization was interrupted; call again to start anew" in str(failure)
    until(lambda: not browser.listening)
    until(lambda: not [one for one in threading.enumerate() if one.name.startswith("mcp-actors-auth")])
    # Nobody is asked again but for somebody who calls.
    assert len(browser.pages) == stage.pages + 1
    browser.at_once = True
    assert stage.call() == "3"
    assert len(browser.pages) == stage.pages + 2


@pytest.mark.requirement("request:cancel-caller")
def test_whoever_calls_right_after_ctrl_c_gets_a_login_of_their_own(stage: Stage) -> None:
    interrupt_when(lambda: stage.browser.await_page(stage.pages + 1))
    with pytest.raises(KeyboardInterrupt):
        stage.call()
    stage.browser.at_once = True
    assert stage.call() == "3"
    assert len(stage.browser.pages) == stage.pages + 2


def test_a_future_that_is_cancelled_leaves_the_login_to_the_others(stage: Stage) -> None:
    begun = stage.begin()
    future = stage.client.submit_tool("add", {}, timeout=BOUND)
    future.cancel()
    stage.browser.agree()
    assert begun.result(2 * BOUND) == "3"


def test_a_deadline_that_passes_while_nobody_has_to_act_says_what_was_waited_for(serve: Start) -> None:
    server, storage = serve(results=RESULTS), Claimed()
    server.add_client("robot", secret="the secret of the robot")
    auth = ClientCredentials("robot", "the secret of the robot", issuer=server.issuer, storage=storage)
    client = Client.http(server.resource_url, auth=auth, proxies={}, **quick({}))
    try:
        with pytest.raises(errors.RequestTimeout) as caught:
            client.call_tool("add", {}, timeout=SOON)
        assert "is not done yet: waiting for another process that authorizes" in str(caught.value)
        storage.busy = False
        client.wait_ready()
        storage.busy = True
        server.revoke_tokens("all")
        with pytest.raises(errors.RequestTimeout) as caught:
            client.call_tool("add", {}, timeout=SOON)
        assert f"within {SOON:g} s (state: ready): the authorization for" in str(caught.value)
        assert "is not done yet: waiting for another process that authorizes" in str(caught.value)
        storage.busy = False
        assert client.call_tool("add", {}).text == "3"
    finally:
        storage.busy = False
        client.close()
