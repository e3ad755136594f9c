"""A Flask application whose threads share one client; what goes wrong becomes 502, 503 or 504.

Run it by `flask --app examples/flask_app.py run`, or by gunicorn. As a program it checks itself.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from flask import Flask, Response

from mcp_actors import Client, errors
from mcp_actors.cli.demo_server import COMMAND

app = Flask(__name__)

# Made at import: nothing runs until the first request, each forked worker gets a server of its own, and it
# ends with the process.
client = Client.stdio(COMMAND, name="demo", backoff_min=0.5)


@app.get("/add/<int:a>/<int:b>")
def add(a: int, b: int) -> str:
    return client.call_tool("add", {"a": a, "b": b}, timeout=5.0).text


@app.get("/count/<int:to>")
def count(to: int) -> str:
    return client.call_tool("slow_count", {"to": to}, timeout=0.3).text


@app.post("/crash")
def crash() -> str:
    return client.call_tool("crash", timeout=5.0).text


@app.errorhandler(errors.McpError)
def failed(error: errors.McpError) -> Response:
    """One place for all routes. The crash report goes to the log, not to the visitor."""
    app.logger.warning("%s", error)
    if isinstance(error, errors.StartFailed):
        client.start()  # it was never there, and is given up: the next visitor may find it
    if error.retryable:
        seconds = getattr(error, "retry_after", None) or 1.0
        return Response("try again later", 503, {"Retry-After": f"{seconds:.0f}"})
    if isinstance(error, errors.RequestTimeout):
        return Response("no answer in time", 504)
    return Response("the server failed", 502)


def main() -> None:
    app.logger.disabled = True

    def get(path: str) -> str:
        answer = app.test_client().get(path)
        return f"{answer.status_code} {answer.text}"

    with client, ThreadPoolExecutor(8) as visitors:
        print(list(visitors.map(get, (f"/add/{number}/{number}" for number in range(5)))))
        print("too slow:", get("/count/100"))
        print("it crashes:", app.test_client().post("/crash").status)
        away = app.test_client().get("/add/1/1")
        print("meanwhile:", away.status, "Retry-After" in away.headers)
        client.wait_ready(timeout=10.0)
        print("afterwards:", get("/add/20/22"))


if __name__ == "__main__":
    main()
