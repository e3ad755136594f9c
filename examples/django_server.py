"""Tools beside a Django application, with its settings and its database connections.

In a project the first lines are those of `wsgi.py`. As a program it checks itself.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any
from urllib.request import urlopen

import django  # type: ignore[import-untyped]
from django.conf import settings  # type: ignore[import-untyped]
from django.core.wsgi import get_wsgi_application  # type: ignore[import-untyped]
from django.http import HttpRequest, HttpResponse  # type: ignore[import-untyped]
from django.urls import path  # type: ignore[import-untyped]
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.serving import make_server

from mcp_actors import Client, Context, Server

settings.configure(
    ROOT_URLCONF=__name__,
    ALLOWED_HOSTS=["127.0.0.1"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    GREETING="Servus",
)
django.setup()

# Django wants its settings first.
from django.db import close_old_connections, connection  # type: ignore[import-untyped]  # noqa: E402

server = Server("site", version="1.0")


def home(_request: HttpRequest) -> HttpResponse:
    return HttpResponse("the site")


urlpatterns = [path("", home)]


@server.middleware
def fresh_connections(_context: Context, _params: dict[str, Any], proceed: Callable[[], Any]) -> Any:
    """What Django does around its own requests: it keeps a connection for each thread."""
    close_old_connections()
    try:
        return proceed()
    finally:
        close_old_connections()


@server.tool()
def greet(name: str) -> str:
    """Greet somebody, as the settings say."""
    return f"{settings.GREETING}, {name}!"


@server.tool()
def add(a: int, b: int) -> int:
    """Have the database add two numbers."""
    with connection.cursor() as cursor:
        cursor.execute("select %s + %s", [a, b])
        return int(cursor.fetchone()[0])


application = DispatcherMiddleware(get_wsgi_application(), {"/mcp": server.wsgi()})


def main() -> None:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    web = make_server("127.0.0.1", 0, application, threaded=True)
    serving = threading.Thread(target=web.serve_forever)
    serving.start()
    try:
        address = f"http://127.0.0.1:{web.server_port}"
        with urlopen(address) as page:
            print("beside it:", page.read().decode())
        with server, Client.http(f"{address}/mcp") as client:
            print(client.tools.greet("Ada").text)
            print("2 + 40 =", client.tools.add(2, b=40).text)
    finally:
        web.shutdown()
        serving.join()
        web.server_close()


if __name__ == "__main__":
    main()
