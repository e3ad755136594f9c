"""Serves the site with one of the WSGI servers that live in the serving process; prints the port."""

from __future__ import annotations

import sys
from typing import Any

from tests.server.http.programs.site import app, mounted


def waitress(served: Any = app) -> None:
    from waitress.server import create_server

    server: Any = create_server(served, host="127.0.0.1", port=0, threads=8, channel_request_lookahead=1)
    say(server.effective_port)
    server.run()


def django() -> None:
    from tests.server.http.programs.django_site import site

    waitress(site)


def cheroot() -> None:
    from cheroot.wsgi import Server

    server = Server(("127.0.0.1", 0), app, numthreads=8)
    server.prepare()
    say(server.bind_addr[1])
    server.serve()


def werkzeug() -> None:
    from werkzeug.serving import make_server

    server = make_server("127.0.0.1", 0, mounted, threaded=True)
    say(server.server_port)
    server.serve_forever()


def say(port: int) -> None:
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    {"waitress": waitress, "cheroot": cheroot, "django": django, "werkzeug": werkzeug}[sys.argv[1]]()
