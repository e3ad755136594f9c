"""The process of a server that runs elsewhere: passes everything on, and dies when that hangs up.

Usage: python -S -E relayed.py PORT. It needs the standard library alone.
"""

from __future__ import annotations

import os
import socket
import sys
import threading


def main(port: int) -> None:
    link = socket.create_connection(("127.0.0.1", port))

    def speak() -> None:
        while data := link.recv(65536):
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        sys.stderr.write("FATAL: no database\n")
        sys.stderr.flush()
        os._exit(7)

    threading.Thread(target=speak, daemon=True).start()
    while data := os.read(0, 65536):
        link.sendall(data)
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]))
