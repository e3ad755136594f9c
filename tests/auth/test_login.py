"""The login of a person at this machine: the listener, many callers, interrupts and deadlines."""

from __future__ import annotations

import contextvars
import http.client
import multiprocessing
import os
import signal
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from mcp_actors.auth import MemoryStorage, OAuth, RegisteredClient
from mcp_actors.auth.flights import Flights
from mcp_actors.auth.listener import Listener, listener_for
from mcp_actors.auth.login import open_browser
from mcp_actors.errors import AuthorizationFailed, McpError, RequestTimeout
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.slot import Slot
from mcp_actors.transports.http.authorizer import Authorizer
from tests.auth.authorization_server import AuthorizationServer, Fault, browse, silent
from tests.auth.calling import Person, call
from tests.auth.conftest import Start
from tests.auth.test_flow import clean
from tests.conftest import BOUND

who: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")


def visit(url: str) -> tuple[int, bytes]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=BOUND)
    try:
        connection.request("GET", f"{parts.path}?{parts.query}")
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


class Browser:
    """A browser at this machine, driven by somebody who agrees."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.visits: list[tuple[int, bytes]] = []
        self.pages: list[str] = []

    def open(self, url: str) -> None:
        self.pages.append(url)
        self.visits.append(visit(browse(url)))
        self.opened.set()


class Waiting(Browser):
    """A browser whose person takes their time."""

    def open(self, url: str) -> None:
        self.pages.append(url)
        self.opened.set()

    def agree(self) -> None:
        self.visits.append(visit(browse(self.pages[-1])))


@pytest.mark.requirement("security:oauth")
def test_the_browser_brings_the_answer_to_a_free_port_of_this_machine(serve: Start) -> None:
    server, browser = serve(), Browser()
    assert call(OAuth(open_url=browser.open).bind(server.resource_url), server) == 200
    redirect_uri = dict(parse_qsl(urlsplit(browser.pages[0]).query))["redirect_uri"]
    assert redirect_uri.startswith("http://127.0.0.1:")
    assert browser.opened.wait(BOUND)
    assert browser.visits[0][0] == 200
    with pytest.raises(ConnectionError):
        visit(redirect_uri)
    clean(server)


def test_the_next_login_listens_where_the_client_was_registered_for(serve: Start) -> None:
    server, browser, storage = serve(), Browser(), MemoryStorage()
    for _ in range(2):
        server.revoke_tokens("all")
        assert call(OAuth(open_url=browser.open, storage=storage).bind(server.resource_url), server) == 200
    assert (server.count("register"), len(browser.pages)) == (1, 2)
    clean(server)


def test_a_client_registers_anew_where_its_old_address_is_taken(serve: Start) -> None:
    server, browser, storage = serve(), Browser(), MemoryStorage()
    assert call(OAuth(open_url=browser.open, storage=storage).bind(server.resource_url), server) == 200
    taken = listener_for(None, dict(parse_qsl(urlsplit(browser.pages[0]).query))["redirect_uri"])
    try:
        server.revoke_tokens("all")
        assert call(OAuth(open_url=browser.open, storage=storage).bind(server.resource_url), server) == 200
    finally:
        taken.close()
    assert server.count("register") == 2


def test_a_token_is_refreshed_by_the_client_it_was_given_to_though_another_was_registered_since(
    serve: Start,
) -> None:
    authority, servers, browser = serve(), (serve(), serve()), Browser()
    for server in servers:
        server.delegate_to(authority)
    oauth = OAuth(open_url=browser.open)
    first, second = (oauth.bind(server.resource_url) for server in servers)
    assert call(first, servers[0]) == 200
    taken = listener_for(None, dict(parse_qsl(urlsplit(browser.pages[0]).query))["redirect_uri"])
    try:
        assert call(second, servers[1]) == 200
    finally:
        taken.close()
    for _ in range(2):
        authority.revoke_tokens("access")
        assert [call(first, servers[0]), call(second, servers[1])] == [200, 200]
    assert (authority.count("register"), len(browser.pages)) == (2, 2)
    clean(authority, *servers)


def test_a_registration_for_an_address_elsewhere_is_not_listened_for_here(serve: Start) -> None:
    server, browser, storage = serve(), Browser(), MemoryStorage()
    elsewhere = RegisteredClient("of-a-web-page", redirect_uri="https://app.example/callback")
    storage.save_client(server.issuer, elsewhere)
    mine = OAuth(open_url=browser.open, storage=storage, timeout=BOUND).bind(server.resource_url)
    assert call(mine, server) == 200
    assert server.count("register") == 1
    clean(server)


def test_an_address_that_is_taken_is_named(serve: Start) -> None:
    server, taken = serve(), Listener()
    try:
        mine = OAuth(open_url=print, redirect_uri=taken.redirect_uri).bind(server.resource_url)
        with pytest.raises(AuthorizationFailed, match="nothing can listen at"):
            call(mine, server)
    finally:
        taken.close()


def test_a_stranger_cannot_end_the_login() -> None:
    listener, answer = Listener(), Slot[Any]()
    try:
        listener.listen("the state", answer)
        for strange in (
            "?state=wrong&code=evil",
            "?code=evil",
            "",
            "?state=the+state&state=the+state",
            "/x?a=b",
        ):
            assert visit(listener.redirect_uri + strange)[0] == 404
        assert not answer.is_set
        assert visit(listener.redirect_uri + "?state=the+state&code=good")[0] == 200
        assert "code=good" in answer.wait(Deadline.after(BOUND))
    finally:
        listener.close()
        listener.close()


def test_the_address_of_a_login_is_free_afterwards_though_a_child_was_forked_meanwhile() -> None:
    listener, done = Listener(), multiprocessing.get_context("fork").Event()
    listener.listen("state", Slot[Any]())
    child = multiprocessing.get_context("fork").Process(target=done.wait, args=(4 * BOUND,))
    child.start()
    try:
        listener.close()
        Listener(listener.redirect_uri).close()
    finally:
        done.set()
        child.join(BOUND)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "[::1]", "[0:0:0:0:0:0:0:1]", "localhost"])
def test_it_listens_at_the_very_address_that_the_browser_is_sent_to(host: str) -> None:
    bound = host.strip("[]").replace("localhost", "127.0.0.1")
    family = socket.AF_INET6 if ":" in bound else socket.AF_INET
    with socket.socket(family) as free:
        try:
            free.bind((bound, 0))
        except OSError as error:
            pytest.skip(f"{bound} is not there: {error}")
        port = free.getsockname()[1]
    listener, answer = Listener(f"http://{host}:{port}/callback"), Slot[Any]()
    try:
        listener.listen("state", answer)
        assert visit(f"{listener.redirect_uri}?state=state&code=good")[0] == 200
        assert "code=good" in answer.wait(Deadline.after(BOUND))
    finally:
        listener.close()


def test_a_page_never_repeats_what_the_visitor_said() -> None:
    listener = Listener()
    try:
        listener.listen("state", Slot[Any]())
        assert b"script" not in visit(listener.redirect_uri + "?error=<script>")[1]
    finally:
        listener.close()


def test_silent_and_countless_connections_do_not_stop_the_browser() -> None:
    listener, answer = Listener(), Slot[Any]()
    parts = urlsplit(listener.redirect_uri)
    silent_ones = []
    try:
        listener.listen("state", answer)
        silent_ones = [socket.create_connection((parts.hostname, parts.port or 0)) for _ in range(8)]
        assert visit(listener.redirect_uri + "?state=state&code=good")[0] == 200
    finally:
        listener.close()
        for connection in silent_ones:
            connection.close()


def test_many_threads_cause_one_login_and_all_get_its_token(serve: Start) -> None:
    server, browser = serve(), Waiting()
    mine = OAuth(open_url=browser.open).bind(server.resource_url)
    with ThreadPoolExecutor(8) as pool:
        calls = [pool.submit(call, mine, server) for _ in range(8)]
        assert browser.opened.wait(BOUND)
        assert server.wait_for("resource", 8)
        browser.agree()
        assert [done.result(BOUND) for done in calls] == [200] * 8
    assert (len(browser.pages), server.count("register"), server.count("token")) == (1, 1, 1)
    clean(server)


def test_many_threads_hear_of_the_one_login_that_failed(serve: Start) -> None:
    server, browser = serve(authorize_error="access_denied"), Browser()

    def open_when_all_wait(url: str) -> None:
        assert server.wait_for("resource", 4)
        browser.open(url)

    authorizer = OAuth(open_url=open_when_all_wait).bind(server.resource_url)
    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(call, authorizer, server) for _ in range(4)]
        failures = [done.exception(BOUND) for done in calls]
    assert all(isinstance(failure, AuthorizationFailed) for failure in failures)
    assert len({id(failure) for failure in failures}) == len(failures)


def test_two_clients_of_one_configuration_share_one_login(serve: Start) -> None:
    server, browser = serve(), Browser()
    oauth = OAuth(open_url=browser.open)
    assert [call(oauth.bind(server.resource_url), server) for _ in range(2)] == [200, 200]
    assert len(browser.pages) == 1


def test_a_login_outlives_the_call_that_began_it_and_the_next_call_joins_it(serve: Start) -> None:
    server, browser = serve(), Waiting()
    mine = OAuth(open_url=browser.open).bind(server.resource_url)
    with pytest.raises(AuthorizationFailed, match="waits for a person") as raised:
        call(mine, server, seconds=0.3)
    assert raised.value.retryable
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(call, mine, server)
        assert server.wait_for("resource", 2)
        browser.agree()
        assert second.result(BOUND) == 200
    assert len(browser.pages) == 1


def test_how_a_login_ended_that_nobody_waited_for_is_told_to_the_next_and_to_no_other(
    serve: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, browser, ended = serve(authorize_error="access_denied"), Waiting(), threading.Event()
    mine = OAuth(open_url=browser.open).bind(server.resource_url)
    landed = Flights._land

    def land(*given: Any) -> None:
        landed(*given)
        ended.set()

    monkeypatch.setattr(Flights, "_land", land)

    def end_unheard() -> None:
        ended.clear()
        browser.opened.clear()
        with pytest.raises(AuthorizationFailed, match="waits for a person"):
            call(mine, server, seconds=0.3)
        assert browser.opened.wait(BOUND)
        browser.agree()
        assert ended.wait(BOUND)

    end_unheard()
    with pytest.raises(AuthorizationFailed, match="access_denied"):
        call(mine, server)
    assert len(browser.pages) == 1
    # What is long past is told to nobody.
    monkeypatch.setattr("mcp_actors.auth.flights._STALE", 0.0)
    end_unheard()
    end_unheard()
    assert len(browser.pages) == 3


def test_a_login_that_nobody_finishes_ends(serve: Start) -> None:
    server, browser = serve(), Waiting()
    mine = OAuth(open_url=browser.open, timeout=0.2).bind(server.resource_url)
    with pytest.raises(AuthorizationFailed, match="nobody finished the login"):
        call(mine, server)


def test_a_callback_that_never_returns_ends_with_the_time_for_the_login(serve: Start) -> None:
    server, person, never = serve(), Person(), threading.Event()

    def callback() -> str:
        never.wait(BOUND)
        return ""

    mine = OAuth(open_url=person.open_url, callback=callback, timeout=0.2).bind(server.resource_url)
    try:
        with pytest.raises(AuthorizationFailed, match="nobody finished the login"):
            call(mine, server)
    finally:
        never.set()


@pytest.mark.parametrize(("broken", "words"), [(lambda: 1 / 0, "ZeroDivisionError"), (lambda: 5, "as text")])
def test_a_callback_that_fails_ends_the_login(serve: Start, broken: Any, words: str) -> None:
    server, person = serve(), Person()
    mine = OAuth(open_url=person.open_url, callback=broken).bind(server.resource_url)
    with pytest.raises(AuthorizationFailed, match=words):
        call(mine, server)


def test_a_page_that_cannot_be_opened_ends_the_login(serve: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve()
    mine = OAuth(open_url=lambda _url: 1 / 0).bind(server.resource_url)
    with pytest.raises(AuthorizationFailed, match="open_url raised ZeroDivisionError"):
        call(mine, server)
    monkeypatch.setattr("webbrowser.open", lambda _url: False)
    with pytest.raises(AuthorizationFailed, match="no browser can be opened"):
        open_browser("https://login.example")


def test_a_browser_that_returns_when_it_is_closed_holds_nobody_up(serve: Start) -> None:
    server, browser, closed = serve(), Browser(), threading.Event()

    def open_and_stay(url: str) -> None:
        browser.open(url)
        closed.wait(4 * BOUND)

    mine = OAuth(open_url=open_and_stay).bind(server.resource_url)
    try:
        assert call(mine, server) == 200
    finally:
        closed.set()


def test_a_browser_that_never_returns_is_given_up_with_the_login(serve: Start) -> None:
    server, opened, closed = serve(), threading.Event(), threading.Event()

    def stay(_url: str) -> None:
        opened.set()
        closed.wait(4 * BOUND)

    mine = OAuth(open_url=stay, timeout=0.2).bind(server.resource_url)
    try:
        with pytest.raises(AuthorizationFailed, match="nobody finished the login"):
            call(mine, server)
        assert opened.is_set()
    finally:
        closed.set()


def test_open_url_and_callback_see_the_context_of_the_call(serve: Start) -> None:
    server, person = serve(), Person()
    seen: list[str] = []
    who.set("somebody")

    def open_url(url: str) -> None:
        seen.append(who.get())
        person.open_url(url)

    def callback() -> str:
        seen.append(who.get())
        return person.callback()

    assert call(OAuth(open_url=open_url, callback=callback).bind(server.resource_url), server) == 200
    assert seen == ["somebody", "somebody"]


@pytest.mark.parametrize(
    "endpoint",
    [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "http://login.example/authorize",
        "https://user:password@login.example/authorize",
        "https://login.example/authorize\r\nx",
        "https://login.example/a b",
        "https://login.example/$(touch x)`",
        "-https://login.example",
        "https://",
    ],
)
def test_only_a_plain_https_page_is_ever_opened(serve: Start, endpoint: str) -> None:
    server, browser = serve(metadata_changes={"authorization_endpoint": endpoint}), Browser()
    with pytest.raises(AuthorizationFailed, match="authorization endpoint is refused"):
        call(OAuth(open_url=browser.open).bind(server.resource_url), server)
    assert browser.pages == []


def test_an_interrupt_of_the_waiting_thread_ends_the_login(serve: Start) -> None:
    server, browser = serve(), Waiting()

    def open_and_interrupt(url: str) -> None:
        browser.open(url)
        os.kill(os.getpid(), signal.SIGINT)

    mine = OAuth(open_url=open_and_interrupt).bind(server.resource_url)
    with pytest.raises(KeyboardInterrupt):
        call(mine, server)
    redirect_uri = dict(parse_qsl(urlsplit(browser.pages[0]).query))["redirect_uri"]
    gone = threading.Event()
    for _ in range(int(BOUND / 0.05)):
        try:
            visit(redirect_uri)
        except (ConnectionError, http.client.HTTPException):
            gone.set()
            break
        gone.wait(0.05)
    assert gone.is_set()


def test_a_fork_leaves_the_login_to_the_parent_and_the_child_begins_its_own(serve: Start) -> None:
    server, browser, parent = serve(), Waiting(), os.getpid()

    def open_url(url: str) -> None:
        if os.getpid() == parent:
            browser.open(url)
        else:
            visit(browse(url))

    mine = OAuth(open_url=open_url).bind(server.resource_url)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(call, mine, server)
        assert browser.opened.wait(BOUND)
        child = multiprocessing.get_context("fork").Process(target=_exit_with_status, args=(mine, server))
        child.start()
        child.join(2 * BOUND)
        assert child.exitcode == 200
        browser.agree()
        assert waiting.result(BOUND) == 200
    assert (len(browser.pages), server.count("authorize"), server.count("token")) == (1, 2, 2)
    clean(server)


def _exit_with_status(authorizer: Authorizer, server: AuthorizationServer) -> None:
    raise SystemExit(call(authorizer, server))


def test_closing_the_authorizer_ends_its_login(serve: Start) -> None:
    server, browser = serve(), Waiting()
    mine = OAuth(open_url=browser.open).bind(server.resource_url)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(call, mine, server)
        assert browser.opened.wait(BOUND)
        mine.close()  # type: ignore[attr-defined]
        failure = waiting.exception(BOUND)
    assert isinstance(failure, AuthorizationFailed)
    assert "interrupted" in str(failure)


def test_closing_another_client_of_the_configuration_ends_the_login_too(serve: Start) -> None:
    server, browser = serve(), Waiting()
    oauth = OAuth(open_url=browser.open)
    mine, other = (oauth.bind(server.resource_url) for _ in range(2))
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(call, mine, server)
        assert browser.opened.wait(BOUND)
        other.close()  # type: ignore[attr-defined]
        failure = waiting.exception(BOUND)
    assert isinstance(failure, AuthorizationFailed)
    assert "interrupted" in str(failure)


def test_closing_cuts_a_request_that_hangs(serve: Start) -> None:
    server = serve(faults={"token": Fault(silent())})
    browser = Browser()
    mine = OAuth(open_url=browser.open).bind(server.resource_url)
    with pytest.raises(RequestTimeout, match="still exchanging the code"):
        call(mine, server, seconds=0.5)
    mine.close()  # type: ignore[attr-defined]
    assert [
        thread.name for thread in threading.enumerate() if thread.name == "mcp-actors-authorization"
    ] == []


def test_every_failure_is_an_error_of_this_package(serve: Start) -> None:
    class Broken(MemoryStorage):
        def load_tokens(self, issuer: str, resource: str) -> Any:
            raise LookupError(issuer, resource)

    server: AuthorizationServer = serve()
    with pytest.raises(McpError, match="LookupError"):
        call(OAuth(storage=Broken()).bind(server.resource_url), server)
