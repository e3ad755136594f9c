"""What surrounds the functions: middleware, lifespan, notifications, methods of extensions."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from mcp_actors import Client, Refusal, Server, errors
from mcp_actors.server.context import Context
from tests.client.features.ear import Ear
from tests.client.waiting import BOUND, in_thread
from tests.server.conftest import Connect, MakeServer, MakeTalk
from tests.server.talk import HANDSHAKE, STATELESS


@pytest.fixture
def shop(server: Server) -> Server:
    @server.tool(structured_output=False)
    def greet(name: str = "you") -> str:
        return f"Hello, {name}"

    return server


# Middleware.


def test_middleware_wraps_every_request_the_first_outermost(shop: Server, connect: Connect, era: str) -> None:
    order: list[str] = []

    @shop.middleware
    def outer(context: Context, params: dict[str, Any], proceed: Any) -> Any:
        order.append(f"outer {context.method} {params.get('name')}")
        result = proceed()
        order.append("outer ends")
        return result

    @shop.middleware
    def inner(_context: Context, _params: dict[str, Any], proceed: Any) -> Any:
        order.append("inner")
        return proceed()

    client = connect(shop, era)
    assert client.call_tool("greet").text == "Hello, you"
    assert order == ["outer tools/call greet", "inner", "outer ends"]
    order.clear()
    client.list_tools()
    assert order == ["outer tools/list None", "inner", "outer ends"]


def test_middleware_may_answer_itself_or_change_the_answer(shop: Server, connect: Connect, era: str) -> None:
    @shop.middleware
    def change(_context: Context, params: dict[str, Any], proceed: Any) -> Any:
        if params.get("arguments") == {"name": "nobody"}:
            return {"content": [{"type": "text", "text": "Who?"}]}
        result = proceed()
        return result | {"_meta": {"com.example/seen": True}}

    client = connect(shop, era)
    assert client.call_tool("greet", {"name": "nobody"}).text == "Who?"
    greeted = client.call_tool("greet")
    assert greeted.text == "Hello, you"
    assert (greeted.meta or {})["com.example/seen"] is True


@pytest.mark.requirement("error:translate")
@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (Refusal(4711, "not you"), 4711, "not you"),
        (Refusal(4711, "not you", object()), -32603, "the server failed"),
        (Refusal(4711, "not you", {"nan": float("nan")}), -32603, "the server failed"),
        (LookupError("secret"), -32603, "the server failed"),
        (SystemExit(3), -32603, "the server failed"),
        (KeyboardInterrupt(), -32603, "the server failed"),
    ],
)
def test_middleware_that_raises_is_an_error_of_that_request(
    shop: Server, connect: Connect, era: str, error: BaseException, code: int, words: str
) -> None:
    @shop.middleware
    def guard(context: Context, _params: dict[str, Any], proceed: Any) -> Any:
        if context.method == "tools/call":
            raise error
        return proceed()

    client = connect(shop, era)
    with pytest.raises(errors.RemoteError, match=words) as refused:
        client.call_tool("greet")
    assert refused.value.code == code
    assert "secret" not in str(refused.value)
    assert client.list_tools()


class Moody(dict[str, Any]):
    """An answer that cannot even be looked at."""

    def get(self, *_: Any) -> Any:
        raise LookupError("planted")

    keys = __iter__ = items = get


@pytest.mark.requirement("error:translate")
@pytest.mark.parametrize(
    "answer", [None, "text", 7, [1], {"x": object()}, {"_meta": "x"}, {1: 2}, Moody({"content": []})]
)
def test_an_answer_that_is_none_is_an_internal_error(shop: Server, connect: Connect, answer: Any) -> None:
    @shop.middleware
    def spoil(context: Context, _params: dict[str, Any], proceed: Any) -> Any:
        return answer if context.method == "tools/call" else proceed()

    client = connect(shop, STATELESS)
    with pytest.raises(errors.RemoteError, match="the server failed") as failed:
        client.call_tool("greet")
    assert failed.value.code == -32603
    assert client.list_tools()


@pytest.mark.parametrize("options", [{"experimental": {"x": object()}}, {"extensions": {"a/b": {1, 2}}}])
def test_what_cannot_be_declared_is_refused_where_it_is_written(
    make_server: MakeServer, options: dict[str, Any]
) -> None:
    with pytest.raises(TypeError):
        make_server(**options)


# Lifespan.


class Life:
    """A lifespan that counts."""

    def __init__(self) -> None:
        self.entered = 0
        self.left = 0

    @contextmanager
    def __call__(self, server: Server) -> Iterator[dict[str, Any]]:
        self.entered += 1
        yield {"server": server.name}
        self.left += 1


def test_a_lifespan_is_entered_once_and_left_at_the_end(
    make_server: MakeServer, connect: Connect, era: str
) -> None:
    life = Life()
    server = make_server(lifespan=life)

    @server.tool(structured_output=False)
    def look(ctx: Context) -> str:
        return str(ctx.lifespan["server"])

    assert life.entered == 0
    clients = [connect(server, era) for _ in range(3)]
    assert [client.call_tool("look").text for client in clients] == ["demo"] * 3
    assert (life.entered, life.left) == (1, 0)
    server.close()
    server.close()
    assert (life.entered, life.left) == (1, 1)


def test_a_lifespan_outlives_the_handlers(make_server: MakeServer, connect: Connect) -> None:
    life = Life()
    server, begun, seen = make_server(lifespan=life), threading.Event(), Ear()

    @server.tool()
    def work(ctx: Context) -> None:
        begun.set()
        ctx._call.cancellation.wait(0.05)
        seen(life.left)

    client = connect(server)
    client.submit_tool("work")
    assert begun.wait(BOUND)
    server.close()
    assert seen.wait_for(1) == [0]
    assert life.left == 1


@pytest.mark.parametrize("way", ["start", "with"])
def test_a_lifespan_that_fails_is_told_and_leaves_nothing(make_server: MakeServer, way: str) -> None:
    @contextmanager
    def fail(server: Server) -> Iterator[None]:
        if not server.name.isupper():
            raise ConnectionError("no database")
        yield

    server = make_server(lifespan=fail)
    with pytest.raises(ConnectionError, match="no database"):
        _ = server.start() if way == "start" else server.__enter__()
    assert server._hosts.value is None


def test_a_client_of_a_server_that_cannot_start_is_told(make_server: MakeServer) -> None:
    @contextmanager
    def fail(server: Server) -> Iterator[None]:
        if not server.name.isupper():
            raise ConnectionError("secret")
        yield

    server = make_server(lifespan=fail)
    client = Client.memory(server, max_failed_starts=1)
    with pytest.raises(errors.StartFailed, match="cannot be started: ConnectionError") as told:
        client.wait_ready(BOUND)
    assert "secret" not in str(told.value)
    client.close()


# Notifications and methods.


def test_what_clients_tell_is_heard(shop: Server, connect: Connect, talk: MakeTalk) -> None:
    changed, own = Ear(), Ear()
    shop.on_notification("notifications/roots/list_changed")(lambda params: changed(params))
    shop.on_notification("notifications/com.example/hello")(lambda _: 1 / 0)
    shop.on_notification("notifications/com.example/hello")(own)
    client = connect(shop, HANDSHAKE, roots=["/tmp"])
    client.send_roots_changed()
    changed.wait_for(1)
    one = talk(shop, STATELESS)
    one.tell("notifications/com.example/hello", words="hi")
    assert own.wait_for(1) == [{"words": "hi"}]
    assert "result" in one.tool("greet")


def test_an_extension_may_add_methods(make_server: MakeServer, connect: Connect, talk: MakeTalk) -> None:
    server = make_server(extensions={"com.example/other": {"level": 2}})

    @server.method("example/sum", extension="com.example/sums")
    def total(ctx: Context, params: dict[str, Any]) -> dict[str, Any]:
        if not params.get("numbers"):
            raise Refusal(-32602, "numbers are missing")
        return {"sum": sum(params["numbers"]), "method": ctx.method}

    @server.method("example/nothing", extension="com.example/sums")
    def nothing(_ctx: Context, _params: dict[str, Any]) -> Any:
        return None

    client = connect(server, STATELESS)
    assert client.server_capabilities.extensions == {
        "com.example/sums": {},
        "com.example/other": {"level": 2},
    }
    one = talk(server, STATELESS)
    result = one.call("example/sum", numbers=[1, 2])["result"]
    assert (result["sum"], result["method"]) == (3, "example/sum")
    assert one.call("example/sum")["error"]["code"] == -32602
    assert one.call("example/nothing")["error"]["code"] == -32603
    assert talk(server, HANDSHAKE).call("example/sum")["error"]["code"] == -32601


def test_a_method_that_nobody_answers_does_not_exist(shop: Server, talk: MakeTalk, era: str) -> None:
    assert talk(shop, era).call("example/none")["error"]["code"] == -32601


def test_a_method_that_is_declared_and_not_there_does_not_exist(server: Server, talk: MakeTalk) -> None:
    server.method("example/sum", extension="com.example/sums")(lambda *_: {})
    server._methods.clear()
    answer = talk(server, STATELESS).call("example/sum")
    assert answer["error"] == {"code": -32601, "message": "method example/sum does not exist here"}


def test_handlers_of_several_clients_run_side_by_side(shop: Server, connect: Connect, era: str) -> None:
    barrier = threading.Barrier(3)

    @shop.tool(structured_output=False)
    def meet() -> str:
        barrier.wait(BOUND)
        return "met"

    calls = [in_thread(lambda: connect(shop, era).call_tool("meet").text) for _ in range(3)]
    assert [call.result(BOUND) for call in calls] == ["met"] * 3


def test_what_was_opened_for_a_server_that_cannot_be_started_is_closed(
    make_server: MakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    life = Life()
    server = make_server(lifespan=life)

    def refuse(*_args: Any, **_options: Any) -> Any:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr("mcp_actors.server.server.Host", refuse)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            server.start()
    assert (life.entered, life.left) == (1, 1)
    server.start()
    server.close()
    assert (life.entered, life.left) == (2, 2)
