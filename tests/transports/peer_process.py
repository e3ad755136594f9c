"""A server process that does only what it is told over its control socket. Not a test."""

from __future__ import annotations

import base64
import json
import os
import select
import socket
import sys


def main() -> None:
    address, framing = sys.argv[1:]
    control = socket.socket(socket.AF_UNIX)
    try:
        control.connect(address)
    except OSError:
        return
    while order := next_order(control):
        if order["do"] == "exit":
            return
        if order["do"] == "receive":
            control.sendall(base64.b64encode(receive(framing)) + b"\n")
        else:
            send(base64.b64decode(order["frame"]), framing)
            control.sendall(b"\n")


def next_order(control: socket.socket) -> dict[str, str]:
    """The next order; empty when the control socket or stdin ends. Stdin is watched, not read."""
    poller = select.poll()
    poller.register(control, select.POLLIN)
    poller.register(0, 0)
    line = bytearray()
    while not line.endswith(b"\n"):
        if any(fd == 0 for fd, _ in poller.poll()):
            return {}
        part = control.recv(1 << 20)
        if not part:
            return {}
        line += part
    order: dict[str, str] = json.loads(line)
    return order


def receive(framing: str) -> bytes:
    if framing == "line":
        return sys.stdin.buffer.readline().removesuffix(b"\n")
    length = int(sys.stdin.buffer.readline().partition(b":")[2])
    sys.stdin.buffer.readline()
    return sys.stdin.buffer.read(length)


def send(frame: bytes, framing: str) -> None:
    data = (
        frame + b"\n"
        if framing == "line"
        else b"content-length:%d\r\nX-Other: 1\r\n\r\n%b" % (len(frame), frame)
    )
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


if __name__ == "__main__":
    main()
