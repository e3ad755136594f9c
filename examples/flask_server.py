"""A Flask application with a database, and the same database as tools, at /mcp of the same process.

Run it by `flask --app examples/flask_server.py run --with-threads`, or by gunicorn. As a program it checks
itself.
"""

from __future__ import annotations

import logging
import sqlite3
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from flask import Flask, current_app
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.serving import make_server

from mcp_actors import Client, Server, ToolError, types

app = Flask(__name__)
app.config["DATABASE"] = "shop.db"
server = Server("shop", version="1.0", instructions="The stock of a small shop.")


@contextmanager
def database() -> Iterator[sqlite3.Connection]:
    """A connection for one request: committed if nothing was raised, closed in any case."""
    with closing(sqlite3.connect(current_app.config["DATABASE"])) as connection, connection:
        yield connection


def create_tables() -> None:
    with app.app_context(), database() as connection:
        connection.execute("create table stock (product text primary key, pieces integer not null)")
        connection.execute("insert into stock values ('apple', 12), ('pear', 3)")


@app.get("/stock/<product>")
def show(product: str) -> str:
    return str(pieces_of(product))


@app.errorhandler(ToolError)
def not_there(error: ToolError) -> tuple[str, int]:
    """What a tool tells a model, a page tells its visitor."""
    return str(error), 404


@server.tool(annotations=types.ToolAnnotations(read_only_hint=True))
def pieces_of(product: str) -> int:
    """How many pieces of a product there are."""
    with app.app_context(), database() as connection:
        row = connection.execute("select pieces from stock where product = ?", (product,)).fetchone()
    if row is None:
        raise ToolError(f"there is no product {product!r}")
    return int(row[0])


@server.tool()
def take(product: str, pieces: int) -> int:
    """Take some pieces out of the stock. Returns how many are left."""
    with app.app_context(), database() as connection:
        change = "update stock set pieces = pieces - ? where product = ? and pieces >= ?"
        if connection.execute(change, (pieces, product, pieces)).rowcount == 0:
            raise ToolError(f"there are not {pieces} pieces of {product!r}")
    server.resource_updated(f"stock://{product}")
    return pieces_of(product)


@server.resource("stock://{product}")
def stock(product: str) -> str:
    """The stock of one product."""
    return f"{product}: {pieces_of(product)}"


# The application and its tests go on as before; /mcp is the server's.
app.wsgi_app = DispatcherMiddleware(app.wsgi_app, {"/mcp": server.wsgi()})  # type: ignore[method-assign]


def main() -> None:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder, server:
        app.config["DATABASE"] = str(Path(folder, "shop.db"))
        create_tables()
        web = make_server("127.0.0.1", 0, app, threaded=True)
        serving = threading.Thread(target=web.serve_forever)
        serving.start()
        try:
            use(f"http://127.0.0.1:{web.server_port}/mcp")
        finally:
            web.shutdown()
            serving.join()
            web.server_close()


def use(url: str) -> None:
    print("the page says:", app.test_client().get("/stock/apple").text)
    print("and of plums:", app.test_client().get("/stock/plum").status)
    with Client.http(url) as client:
        print("a tool takes 5:", client.tools.take("apple", pieces=5).data)
        print("the page says:", app.test_client().get("/stock/apple").text)
        print("too many:", client.tools.take("pear", pieces=50).text)
        print(client.read_resource("stock://pear").text)


if __name__ == "__main__":
    main()
