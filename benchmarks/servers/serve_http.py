"""An echo tool over HTTP, as one of several servers: ``python -m benchmarks.servers.serve_http KIND 20``.

The number is that of its threads. The port goes to stdout; it serves until stdin, which must be a pipe, ends.
"""

from __future__ import annotations

import importlib
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any, Final

import orjson

HOST: Final = "127.0.0.1"
#: As many as there are connections, and some for what else there may be.
THREADS: Final = 20


def bare(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """What a WSGI app cannot do without: read the body, decode it, answer."""
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    message = orjson.loads(body)
    if "id" not in message:
        start_response("202 Accepted", [("Content-Length", "0")])
        return [b""]
    text = message["params"].get("arguments", {}).get("text", "")
    result = {"content": [{"type": "text", "text": text}], "resultType": "complete"}
    answer = orjson.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result})
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(answer)))])
    return [answer]


def _ours(threads: int) -> Any:
    from benchmarks.servers.serve_mcp_actors import server

    return server.wsgi(threads=threads)


def serve_waitress(app: Any, port: int, threads: int) -> None:
    """waitress as `Server.run_http` sets it up, for any app."""
    from mcp_actors.server.web import bound

    bound(app, HOST, port, threads, max_body_bytes=4 * 1024 * 1024).run()


def serve_plain_waitress(app: Any, port: int, threads: int) -> None:
    """waitress as it comes, but for what our streams need of it."""
    import waitress

    waitress.serve(
        app,
        host=HOST,
        port=port,
        threads=threads,
        connection_limit=4 * threads,
        channel_request_lookahead=1,
        _quiet=True,
    )


def serve_cheroot(app: Any, port: int, threads: int) -> None:
    """The other pure server that could have been chosen."""
    from cheroot import wsgi

    server = wsgi.Server((HOST, port), app, numthreads=threads)
    # By default it closes kept connections beyond the tenth.
    server.keep_alive_conn_limit = 2 * threads
    server.start()


def serve_gunicorn(app: Any, port: int, threads: int) -> None:
    """One worker with threads."""
    base: Any = importlib.import_module("gunicorn.app.base")  # which has no types

    class Application(base.BaseApplication):  # type: ignore[misc]
        def load_config(self) -> None:
            for name, value in {
                "bind": f"{HOST}:{port}",
                "worker_class": "gthread",
                "threads": threads,
                "loglevel": "error",
                "keepalive": 60,
            }.items():
                self.cfg.set(name, value)

        def load(self) -> Any:
            return app

    Application().run()


def serve_official(port: int, _threads: int) -> None:
    """The official MCPServer, stateless, with JSON answers: its quickest way."""
    from benchmarks.servers.serve_official import server

    server.run("streamable-http", host=HOST, port=port, json_response=True, stateless_http=True)


def serve_fastmcp(port: int, _threads: int) -> None:
    """FastMCP, the same way."""
    from benchmarks.servers.serve_fastmcp import server

    server.run(
        "http",
        host=HOST,
        port=port,
        json_response=True,
        stateless_http=True,
        show_banner=False,
        log_level="error",
    )


#: What serves at a port with so many threads.
KINDS: Final[dict[str, Callable[[int, int], None]]] = {
    "bare-waitress": lambda port, threads: serve_waitress(bare, port, threads),
    "bare-plain-waitress": lambda port, threads: serve_plain_waitress(bare, port, threads),
    "bare-cheroot": lambda port, threads: serve_cheroot(bare, port, threads),
    "bare-gunicorn": lambda port, threads: serve_gunicorn(bare, port, threads),
    "mcp_actors": lambda port, threads: serve_waitress(_ours(threads), port, threads),
    "mcp_actors-plain-waitress": lambda port, threads: serve_plain_waitress(_ours(threads), port, threads),
    "mcp_actors-cheroot": lambda port, threads: serve_cheroot(_ours(threads), port, threads),
    "mcp_actors-gunicorn": lambda port, threads: serve_gunicorn(_ours(threads), port, threads),
    "official-server": serve_official,
    "fastmcp-server": serve_fastmcp,
}


def main(kind: str, threads: int = THREADS) -> None:
    """Tell the port and serve."""
    with socket.create_server((HOST, 0)) as probe:
        port = probe.getsockname()[1]
    threading.Thread(target=_end_with_input, daemon=True).start()
    print(port, flush=True)
    KINDS[kind](port, threads)


def _end_with_input() -> None:
    sys.stdin.buffer.read()
    # Not exit: a server that does not want to end would outlive its benchmark.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
