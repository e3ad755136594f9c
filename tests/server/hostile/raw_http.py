"""RawConnection: HTTP written byte by byte, for what no library would send."""

from __future__ import annotations

import json
import socket
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

from tests.client.waiting import BOUND
from tests.server.hostile.messages import encoded

BOTH: Final = "application/json, text/event-stream"


@dataclass(frozen=True)
class Response:
    """What came back. ``body`` is empty for a stream, which goes on."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def streams(self) -> bool:
        return self.headers.get("content-type") == "text/event-stream"


class RawConnection:
    """One connection to a server on this machine."""

    def __init__(self, port: int, timeout: float = 2 * BOUND, receive_buffer: int | None = None) -> None:
        self.line = socket.socket()
        if receive_buffer is not None:
            self.line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.line.settimeout(timeout)
        self.line.connect(("127.0.0.1", port))
        self._port = port
        self._rest = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.line.close()

    def send(self, data: bytes) -> None:
        self.line.sendall(data)

    def write(self, method: str, headers: dict[str, str] | None = None, body: bytes = b"") -> None:
        """Send a request with these headers and what every request needs."""
        usual = {"Host": f"127.0.0.1:{self._port}", "Accept": BOTH}
        if body:
            usual |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
        lines = [f"{name}: {value}" for name, value in (usual | (headers or {})).items()]
        self.send("\r\n".join([f"{method} /mcp HTTP/1.1", *lines, "", ""]).encode("latin-1") + body)

    def post(self, message: Any, **headers: str) -> Response:
        """Send a message; its answer. Names of headers have underscores here."""
        spelled = {name.replace("_", "-"): value for name, value in headers.items()}
        self.write("POST", spelled, encoded(message))
        return self.response()

    def response(self) -> Response:
        """The next response; of a stream only its head."""
        head = self.until(b"\r\n\r\n")
        status, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = self._exactly(int(headers.get("content-length", "0")))
        return Response(int(status.split()[1]), headers, body)

    def until(self, mark: bytes) -> bytes:
        """What comes before a mark, which is taken, too."""
        while mark not in self._rest:
            self._receive()
        found, _, self._rest = self._rest.partition(mark)
        return found

    def event(self) -> Any:
        """The next message on a stream."""
        while True:
            # Chunks may come between the lines; data is one line.
            line = self.until(b"\n").strip()
            if line.startswith(b"data:") and len(line) > len(b"data:"):
                return json.loads(line[len(b"data:") :])

    def at_end(self) -> bool:
        """Whether the server closed it, whatever it still said."""
        try:
            while self.line.recv(65536):
                pass
        except ConnectionError:
            return True
        except TimeoutError:
            return False
        return True

    def _exactly(self, size: int) -> bytes:
        while len(self._rest) < size:
            self._receive()
        found, self._rest = self._rest[:size], self._rest[size:]
        return found

    def _receive(self) -> None:
        data = self.line.recv(65536)
        if not data:
            raise EOFError(f"the server closed the connection after {self._rest[-200:]!r}")
        self._rest += data
