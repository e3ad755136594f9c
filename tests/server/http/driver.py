"""A driver for WSGI apps: requests in, responses out, streams event by event."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from typing import Any, Final, Generic, TypeVar

from mcp_actors.protocol.http.event_stream import EventStream, ServerEvent
from tests.conftest import BOUND

T = TypeVar("T")

BOTH: Final = "application/json, text/event-stream"


class Answer:
    """A response. Its stream is read on the thread of the test, one piece after the other."""

    def __init__(self, status: str, fields: list[tuple[str, str]], body: Any) -> None:
        self.status = int(status.split()[0])
        self.fields = [(name.lower(), value) for name, value in fields]
        self._body = body
        self._pieces: Iterator[bytes] = iter(body)
        self._stream = EventStream(10**8)
        self._events: list[ServerEvent] = []
        self.pieces: list[bytes] = []

    def header(self, name: str) -> str | None:
        found = [value for one, value in self.fields if one == name.lower()]
        assert len(found) < 2, found
        return found[0] if found else None

    @property
    def session(self) -> str:
        found = self.header("Mcp-Session-Id")
        assert found is not None
        return found

    @property
    def streams(self) -> bool:
        return self.header("Content-Type") == "text/event-stream"

    def read(self) -> bytes:
        """The rest of the body; the response is over then."""
        try:
            return b"".join(self._pieces)
        finally:
            self.close()

    def json(self) -> Any:
        assert self.header("Content-Type") == "application/json", (self.status, self.fields)
        body = self.read()
        assert self.header("Content-Length") == str(len(body))
        return json.loads(body)

    @property
    def code(self) -> int:
        """The code of the error in the body."""
        found: int = self.json()["error"]["code"]
        return found

    def piece(self) -> bytes:
        """The next piece of the body."""
        self.pieces.append(next(self._pieces))
        return self.pieces[-1]

    def event(self) -> ServerEvent:
        """The next event, whatever signs of life come before it."""
        end = time.monotonic() + BOUND
        while not self._events:
            self._events = self._stream.feed(self.piece())
            assert time.monotonic() < end, "no event comes"
        return self._events.pop(0)

    def message(self) -> Any:
        """The next event that is a message."""
        while not (event := self.event()).data:
            pass
        return json.loads(event.data)

    def rest(self) -> list[ServerEvent]:
        """All events until the stream ends, which it must soon."""
        events, self._events = self._events, []
        end = time.monotonic() + BOUND
        for piece in self._pieces:
            events += self._stream.feed(piece)
            assert time.monotonic() < end, f"the stream goes on after {events}"
        self.close()
        return events

    def close(self) -> None:
        close = getattr(self._body, "close", None)
        if close is not None:
            close()


class Driver:
    """Calls an app as a WSGI server would."""

    def __init__(self, app: Callable[..., Any], **environ: Any) -> None:
        self._app = app
        self._environ = environ

    def request(
        self,
        method: str,
        path: str = "/mcp",
        *,
        headers: Mapping[str, str | None] | None = None,
        body: bytes = b"",
        **environ: Any,
    ) -> Answer:
        """``headers`` whose value is None are left out."""
        given: dict[str, Any] = {
            "REQUEST_METHOD": method,
            "SCRIPT_NAME": "",
            "PATH_INFO": path,
            "QUERY_STRING": "",
            "SERVER_NAME": "localhost",
            "SERVER_PORT": "8000",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "HTTP_HOST": "localhost:8000",
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.input": BytesIO(body),
            "wsgi.errors": BytesIOErrors(),
            "wsgi.multithread": True,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
        }
        for name, value in (headers or {}).items():
            key = name.upper().replace("-", "_")
            given[key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"] = value
        given |= self._environ | environ
        started: list[Any] = []

        def start_response(status: str, fields: list[tuple[str, str]], _info: Any = None) -> Any:
            started.append((status, fields))
            return lambda _data: None

        present = {key: value for key, value in given.items() if value is not None}
        returned = self._app(present, start_response)
        ((status, fields),) = started
        return Answer(status, fields, returned)

    def post(self, message: Any, path: Any = "/mcp", **options: Any) -> Answer:
        """POST a message; with the headers that it needs, unless others are given."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        usual = {"Content-Type": "application/json", "Content-Length": str(len(body)), "Accept": BOTH}
        headers = usual | (options.pop("headers", None) or {})
        return self.request("POST", path, headers=headers, body=body, **options)

    def get(self, path: str = "/mcp", **options: Any) -> Answer:
        headers = {"Accept": "text/event-stream"} | (options.pop("headers", None) or {})
        return self.request("GET", path, headers=headers, **options)


class BytesIOErrors:
    """What WSGI wants as `wsgi.errors`; nothing is expected there."""

    def flush(self) -> None: ...

    def write(self, text: str) -> None:
        raise AssertionError(text)

    def writelines(self, lines: list[str]) -> None:
        raise AssertionError(lines)


class Elsewhere(Generic[T]):
    """Something that blocks, done on another thread."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._result: T
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._result = self._work()
        except BaseException as error:  # noqa: BLE001 - raised again by `result`
            self._error = error

    @property
    def done(self) -> bool:
        return not self._thread.is_alive()

    def result(self) -> T:
        self._thread.join(BOUND)
        assert self.done, "still at it"
        if self._error is not None:
            raise self._error
        return self._result
