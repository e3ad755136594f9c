"""What others did meanwhile: other clients, processes and threads with the same storage."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from msgspec.structs import replace

from mcp_actors import Client
from mcp_actors.auth import BearerToken, ClientCredentials, MemoryStorage, OAuth, SigningKey, Tokens
from mcp_actors.auth.authorization_server import AuthorizationServer as Authority
from mcp_actors.auth.discovery import Site
from mcp_actors.auth.flights import Flight, Flights
from mcp_actors.auth.grants.grant import IssuerPin
from mcp_actors.auth.ledger import Ledger
from mcp_actors.errors import AuthorizationFailed, RequestTimeout
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.transports.http.authorizer import Attempt, Authorizer, Identifies, Refusal
from tests.auth.authorization_server import AuthorizationServer, Fault, Recorded, Reply, failing
from tests.auth.calling import Person, call
from tests.auth.conftest import Start
from tests.auth.test_flow import METADATA_URL, authorizer, clean, let_pass
from tests.conftest import BOUND

SECRET = "the secret of the robot"


class Claimed(MemoryStorage):
    """A storage in which somebody else is busy, until told otherwise."""

    def __init__(self) -> None:
        super().__init__()
        self.busy = True
        self.asked = threading.Event()

    def claim(self, issuer: str, resource: str) -> Any:
        self.asked.set()
        return None if self.busy else super().claim(issuer, resource)


def kept_in(storage: MemoryStorage, server: AuthorizationServer) -> Tokens:
    tokens = storage.load_tokens(server.issuer, server.resource_url)
    assert tokens is not None
    return tokens


def test_a_token_that_another_has_refreshed_is_used_instead_of_refreshing(
    serve: Start, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, storage = serve(), MemoryStorage()
    one, other = (authorizer(server, person, storage=storage) for _ in range(2))
    assert [call(one, server), call(other, server)] == [200, 200]
    let_pass(monkeypatch, 3600)
    assert [call(one, server), call(other, server)] == [200, 200]
    assert [request.form["grant_type"] for request in server.at("token")] == [
        "authorization_code", "refresh_token",
    ]  # fmt: skip
    clean(server)


def test_tokens_are_told_apart_by_what_nobody_can_use(
    serve: Start, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, storage = serve(), MemoryStorage()
    one, other = (authorizer(server, person, storage=storage) for _ in range(2))
    assert isinstance(one, Identifies)
    assert isinstance(other, Identifies)
    assert one.principal() == ""
    assert [call(one, server), call(other, server)] == [200, 200]
    first = one.principal()
    assert first is not None
    assert first == other.principal()
    assert kept_in(storage, server).access_token not in first
    let_pass(monkeypatch, 3600)
    call(one, server)
    assert one.principal() not in ("", first)
    clean(server)


def test_a_token_at_its_end_is_not_sent_while_another_client_renews_it(
    serve: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve()
    server.add_client("robot", secret=SECRET)
    shared = ClientCredentials("robot", SECRET)
    one, other = (shared.bind(server.resource_url) for _ in range(2))
    assert [call(one, server), call(other, server)] == [200, 200]
    let_pass(monkeypatch, 3600)
    begun, joined, answer = threading.Event(), threading.Event(), server.answer

    def after_both(request: Recorded) -> Reply:
        return answer(request) if joined.wait(BOUND) else failing(500)

    def shown(mine: Authorizer, waits: threading.Event) -> str:
        attempt = Attempt("POST", server.resource_url, Deadline.after(BOUND), lambda _: waits.set())
        return mine.headers(attempt)["Authorization"]

    monkeypatch.setattr(server, "answer", after_both)
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(shown, one, begun)
        assert begun.wait(BOUND)
        assert shown(other, joined) == first.result() == f"Bearer {server.issued('access_token')[-1]}"
    assert server.count("token") == 2


def test_clients_of_two_names_that_share_a_storage_use_no_token_of_each_other(serve: Start) -> None:
    server, storage = serve(), MemoryStorage()

    def bound(name: str) -> Authorizer:
        server.add_client(name, secret=f"the secret of {name}")
        return ClientCredentials(name, f"the secret of {name}", storage=storage).bind(server.resource_url)

    one, other = bound("one"), bound("other")
    for _ in range(2):
        assert (call(one, server), call(other, server)) == (200, 200)
    taken = [
        request.headers["authorization"] for request in server.at("resource")[1:] if request.status == 200
    ]
    assert [server._access[token.partition(" ")[2]].client_id for token in taken] == ["one", "other"] * 2
    assert server.count("token") == 2


@pytest.mark.parametrize("program_first", [False, True])
def test_a_person_and_a_program_of_one_name_use_no_token_of_each_other(
    serve: Start, person: Person, program_first: bool
) -> None:
    server, storage = serve(), MemoryStorage()
    server.add_client("mine", secret=SECRET)
    program = ClientCredentials("mine", SECRET, storage=storage).bind(server.resource_url)
    somebody = authorizer(server, person, client_id="mine", client_secret=SECRET, storage=storage)
    for mine in (program, somebody) if program_first else (somebody, program):
        assert call(mine, server) == 200
    assert server.count("token") == 2


def test_scopes_that_another_has_got_are_not_asked_for_again(serve: Start, person: Person) -> None:
    server, storage = serve(required_scopes={"tools/call": "write"}, challenge_scope="read"), MemoryStorage()
    one, other = (authorizer(server, person, storage=storage) for _ in range(2))
    assert [call(mine, server, "tools/list") for mine in (one, other)] == [200, 200]
    assert [call(mine, server, "tools/call") for mine in (one, other)] == [200, 200]
    assert person.scopes == ["read", "read write"]


def test_who_waits_for_another_process_gets_what_it_left(serve: Start, person: Person) -> None:
    server, storage = serve(), Claimed()
    mine = authorizer(server, person, storage=storage)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(call, mine, server)
        assert storage.asked.wait(BOUND)
        assert person.pages == []
        storage.busy = False
        assert waiting.result(BOUND) == 200


def test_waiting_for_another_process_can_be_interrupted(serve: Start, person: Person) -> None:
    server, storage = serve(), Claimed()
    mine = authorizer(server, person, storage=storage)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(call, mine, server)
        assert storage.asked.wait(BOUND)
        mine.close()  # type: ignore[attr-defined]
        assert isinstance(waiting.exception(BOUND), AuthorizationFailed)


def test_a_process_that_never_lets_go_is_not_waited_for_for_ever(
    serve: Start, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_actors.auth.authorizer._PATIENCE", 0.1)
    server = serve()
    with pytest.raises(AuthorizationFailed, match="held up by another process") as raised:
        call(authorizer(server, person, storage=Claimed()), server)
    assert raised.value.retryable


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (failing(503), "HTTP 503"),
        (failing(429), "HTTP 429"),
        (Reply(429, (), b'{"error": "too_many_requests"}'), "HTTP 429"),
        (Reply(400, (), b'{"error": "temporarily_unavailable"}'), "temporarily_unavailable"),
        (Reply(400, (), b'{"error": "slow_down"}'), "slow_down"),
    ],
)
def test_a_refresh_while_the_server_is_down_is_an_error_and_no_new_login(
    serve: Start, person: Person, reply: Reply, words: str
) -> None:
    server = serve()
    mine = authorizer(server, person)
    assert call(mine, server) == 200
    server.revoke_tokens("access")
    server.settings.faults["token"] = Fault(reply)
    with pytest.raises(AuthorizationFailed, match=words) as raised:
        call(mine, server)
    assert raised.value.retryable
    server.settings.faults.clear()
    assert call(mine, server) == 200
    assert len(person.pages) == 1


@pytest.mark.parametrize("error", ["invalid_client", "invalid_dpop_proof", "use_dpop_nonce"])
def test_a_refresh_token_that_the_server_did_not_look_at_is_kept(
    serve: Start, person: Person, error: str
) -> None:
    server, storage = serve(), MemoryStorage()
    server.add_client("mine", secret=SECRET)
    mine = authorizer(server, person, client_id="mine", client_secret=SECRET, storage=storage)
    assert call(mine, server) == 200
    server.revoke_tokens("access")
    server.settings.faults["token"] = Fault(Reply(400, (), f'{{"error": "{error}"}}'.encode()), times=1)
    with pytest.raises(AuthorizationFailed, match=f"the token endpoint .* refused: {error}"):
        call(mine, server)
    assert kept_in(storage, server).refresh_token == server.issued("refresh_token")[-1]
    assert call(mine, server) == 200
    assert len(person.pages) == 1


@pytest.mark.parametrize("kind", ["given", "metadata"])
def test_clients_of_every_kind_refresh(serve: Start, person: Person, kind: str) -> None:
    server = serve(cimd=True)
    server.add_client("mine", secret=SECRET)
    options: dict[str, Any] = (
        {"client_id": "mine", "client_secret": SECRET, "issuer": server.issuer}
        if kind == "given"
        else {"client_metadata_url": METADATA_URL}
    )
    mine = authorizer(server, person, **options)
    assert call(mine, server) == 200
    server.revoke_tokens("access")
    assert call(mine, server) == 200
    assert (len(person.pages), server.count("register")) == (1, 0)
    clean(server)


def test_a_client_may_prove_itself_by_signing(serve: Start, person: Person) -> None:
    server, key = serve(), SigningKey.generate()
    server.add_client("mine", public_key=key.public_jwk)
    assert call(authorizer(server, person, client_id="mine", private_key=key), server) == 200
    clean(server)


def test_a_spent_refresh_token_is_not_tried_twice(
    serve: Start, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, storage = serve(challenge_scope="read"), MemoryStorage()
    mine = authorizer(server, person, storage=storage)
    assert call(mine, server) == 200
    server.revoke_tokens("all")
    let_pass(monkeypatch, 3600)
    assert call(mine, server) == 200
    assert [request.form["grant_type"] for request in server.at("token")] == [
        "authorization_code", "refresh_token", "authorization_code",
    ]  # fmt: skip
    assert kept_in(storage, server).requested == ("read",)


def test_a_challenge_without_scopes_after_a_403_is_explained(serve: Start, person: Person) -> None:
    server = serve(always_insufficient=True)
    with pytest.raises(AuthorizationFailed, match="does not say which"):
        call(authorizer(server, person), server)
    assert len(person.pages) == 1


def test_a_request_is_given_up_after_some_refusals_whoever_renews_the_token(serve: Start) -> None:
    server = serve()
    server.add_client("robot", secret=SECRET)
    mine: Any = ClientCredentials("robot", SECRET).bind(server.resource_url)
    attempt = Attempt("POST", server.resource_url, Deadline.after(BOUND))

    def refuse(times: int) -> None:
        for _ in range(times):
            mine.headers(attempt)
            # As if another thread had renewed it meanwhile.
            mine._held = object()
            assert mine.refused(attempt, Refusal(401, (), {}))
            mine._held = None

    with pytest.raises(AuthorizationFailed, match="times in a row"):
        refuse(10)


def test_credentials_met_by_two_servers_at_once_belong_to_the_first() -> None:
    pin = IssuerPin(None)
    sites = [Site("https://s.example", Authority(f"https://{name}.example", "")) for name in ("one", "two")]
    pin.hold(sites[0])
    with pytest.raises(AuthorizationFailed, match=r"belong to https://one\.example and are not shown to"):
        pin.hold(sites[1])
    pin.hold(sites[0])


def test_a_server_without_any_authorization_is_explained(serve: Start, person: Person) -> None:
    server = serve(prm=(), announce=None, metadata=(), registration=False)
    with pytest.raises(AuthorizationFailed, match="pass a token as auth="):
        call(authorizer(server, person), server)


def test_a_pinned_issuer_rules_out_a_server_of_2025_03_26(serve: Start, person: Person) -> None:
    server = serve(prm=(), announce=None)
    with pytest.raises(AuthorizationFailed, match="publishes no resource metadata"):
        call(authorizer(server, person, client_id="mine", issuer="https://login.example"), server)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"authorization_endpoint": None}, "has no authorization endpoint"),
        ({"token_endpoint": None}, "name no token endpoint"),
        ({"token_endpoint": "http://login.example/token"}, "token endpoint is refused"),
    ],
)
def test_metadata_without_what_is_needed_are_explained(
    serve: Start, person: Person, changes: dict[str, Any], words: str
) -> None:
    server = serve(metadata_changes=changes)
    with pytest.raises(AuthorizationFailed, match=words):
        call(authorizer(server, person), server)


def test_a_flight_that_was_interrupted_before_it_began_leaves_nobody_waiting() -> None:
    flights, begun = Flights(), threading.Event()

    class Failing(Flight):
        def start(self, *_args: Any) -> None:
            raise KeyboardInterrupt

    flight = Failing()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("mcp_actors.auth.flights.Flight", lambda: flight)
        with pytest.raises(KeyboardInterrupt):
            flights.join("key", lambda _flight: begun.set(), Deadline.after(BOUND), "it")
    assert flight.landed.is_set
    flights.join("key", lambda _flight: begun.set(), Deadline.after(BOUND), "it")
    assert begun.is_set()


def test_whoever_waits_notices_that_nobody_wants_the_answer_any_more() -> None:
    flights, flying, over, cut = Flights(), threading.Event(), threading.Event(), threading.Event()

    def job(_flight: Flight) -> None:
        flying.set()
        over.wait(BOUND)

    def join() -> None:
        # As the clock of a request that can be cut: then every deadline has passed.
        deadline = Deadline(3600.0, lambda: 7200.0 if cut.is_set() else 0.0)
        flights.join("key", job, deadline, "it")

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(join)
        assert flying.wait(BOUND)
        cut.set()
        try:
            assert isinstance(waiting.exception(BOUND), RequestTimeout)
        finally:
            over.set()
    flights.join("key", lambda _flight: None, Deadline.after(BOUND), "it")


def test_a_callback_may_use_what_is_being_authorized_without_a_deadlock(serve: Start) -> None:
    server = serve()
    failures: list[Exception] = []

    def open_url(_url: str) -> None:
        try:
            call(mine, server, seconds=0.2)
        except AuthorizationFailed as error:
            failures.append(error)
        raise ValueError

    mine = OAuth(open_url=open_url).bind(server.resource_url)
    with pytest.raises(AuthorizationFailed, match="open_url raised ValueError"):
        call(mine, server)
    assert len(failures) == 1


def test_the_ledger_keeps_a_bounded_number_of_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_actors.auth.ledger._MOST_PAGES", 10)
    ledger = Ledger()
    attempts = [Attempt("GET", "https://s.example", Deadline.after(1.0)) for _ in range(50)]
    for attempt in attempts:
        ledger.page(attempt)
    assert len(ledger._pages) == 10
    assert ledger.close(attempts[0]) is None
    page = ledger.page(attempts[-1])
    assert ledger.close(attempts[-1]) is page


def test_an_end_that_a_stored_token_had_long_ago_does_not_matter_if_it_can_be_refreshed(
    serve: Start, person: Person
) -> None:
    server, storage = serve(), MemoryStorage()
    assert call(authorizer(server, person, storage=storage), server) == 200
    ended = replace(kept_in(storage, server), renew_at=0.0)
    storage.save_tokens(server.issuer, server.resource_url, ended)
    assert call(authorizer(server, person, storage=storage), server) == 200
    assert server.at("token")[-1].form["grant_type"] == "refresh_token"


def test_closing_the_client_ends_what_its_authorizer_has_under_way() -> None:
    class Recording(BearerToken):
        closed = 0

        def close(self) -> None:
            self.closed += 1

    auth = Recording("a-token", "http://127.0.0.1:1/mcp")
    client = Client.http("http://127.0.0.1:1/mcp", auth=auth)
    client.close()
    client.close()
    assert auth.closed >= 1


class Interrupting(dict[Any, Any]):
    """A table in which somebody presses Ctrl-C right after the flight was entered, and before it began."""

    def setdefault(self, key: Any, default: Any = None) -> Any:
        super().setdefault(key, default)
        raise KeyboardInterrupt


def test_an_interrupt_right_after_a_flight_was_entered_leaves_the_way_free_for_the_next() -> None:
    flights, begun = Flights(), threading.Event()
    flights._flying = Interrupting()
    with pytest.raises(KeyboardInterrupt):
        flights.join("key", lambda _flight: None, Deadline.after(BOUND), "it")
    left = dict(flights._flying)
    flights._flying = left
    flights.join("key", lambda _flight: begun.set(), Deadline.after(BOUND), "it")
    assert begun.is_set()


def test_an_interrupt_before_boarding_ends_the_flight_of_others_and_lets_it_land() -> None:
    """As any other of who waits: the errand ends for all, and only its own thread clears the way."""
    flights, flying, over = Flights(), threading.Event(), threading.Event()

    def job(flight: Flight) -> None:
        flying.set()
        flight.cancelled.wait(Deadline.after(BOUND))
        over.wait(BOUND)

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(flights.join, "key", job, Deadline.after(BOUND), "it")
        assert flying.wait(BOUND)
        with pytest.raises(KeyboardInterrupt):
            flights.join("key", job, Deadline.after(BOUND), "it", _interrupt)
        # It is on its way out and still there: nobody flies beside it.
        assert len(flights._flying) == 1
        over.set()
        assert waiting.exception(BOUND) is None
    assert not flights._flying


def _interrupt(_hindrance: object) -> None:
    raise KeyboardInterrupt


class Full(MemoryStorage):
    """A storage on a disk that may be full."""

    full = False

    def save_tokens(self, issuer: str, resource: str, tokens: Tokens | None) -> None:
        if self.full:
            raise AuthorizationFailed("no space left on device")
        super().save_tokens(issuer, resource, tokens)


def test_tokens_that_could_not_be_saved_are_newer_than_those_that_lie_there(
    serve: Start, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, storage = serve(), Full()
    mine = authorizer(server, person, storage=storage)
    assert call(mine, server) == 200
    let_pass(monkeypatch, 3600)
    storage.full = True
    with pytest.raises(AuthorizationFailed, match="no space left"):
        call(mine, server)
    assert call(mine, server) == 200
    storage.full = False
    let_pass(monkeypatch, 2 * 3600)
    assert call(mine, server) == 200
    # The last one used is the last but one issued: none was used twice.
    assert server.at("token")[-1].form["refresh_token"] == server.issued("refresh_token")[-2]
    assert kept_in(storage, server).refresh_token == server.issued("refresh_token")[-1]
    assert len(person.pages) == 1


@pytest.mark.parametrize(("heard", "retryable"), [(True, False), (False, True)])
def test_a_failure_that_was_heard_or_may_be_over_by_now_is_not_told_again(
    heard: bool, retryable: bool
) -> None:
    flights, over, landed, begun = Flights(), threading.Event(), threading.Event(), threading.Event()

    def fail(flight: Flight) -> None:
        over.wait(BOUND)
        flight.landed.on_set(lambda _: landed.set())
        raise AuthorizationFailed("no", retryable=retryable)

    if heard:
        over.set()
    with pytest.raises(AuthorizationFailed if heard else RequestTimeout):
        flights.join("key", fail, Deadline.after(BOUND if heard else 0.05), "it")
    over.set()
    assert landed.wait(BOUND)
    flights.join("key", lambda _flight: begun.set(), Deadline.after(BOUND), "it")
    assert begun.is_set()
