"""A Django project with MCP tools beside its own pages, as one WSGI application."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable
from typing import Any

from mcp_actors import Context, Server, ToolError

# Named at run time: the package has no types.
conf: Any = importlib.import_module("django.conf")
conf.settings.configure(
    ALLOWED_HOSTS=["127.0.0.1"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.environ["DATABASE"]}},
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    INSTALLED_APPS=["django.contrib.sites"],
    ROOT_URLCONF=__name__,
    SHOP_CURRENCY="EUR",
)
importlib.import_module("django").setup()
db: Any = importlib.import_module("django.db")
http: Any = importlib.import_module("django.http")
urls: Any = importlib.import_module("django.urls")
wsgi: Any = importlib.import_module("django.core.wsgi")
Site: Any = importlib.import_module("django.contrib.sites.models").Site

server = Server("shop", version="1.0")


@server.middleware
def tidy(_context: Context, _params: Any, proceed: Callable[[], Any]) -> Any:
    """Tools run on threads of their own: what Django does around its requests is done here."""
    db.close_old_connections()
    try:
        return proceed()
    finally:
        db.close_old_connections()


@server.tool()
def currency() -> str:
    """A setting of the project."""
    return str(conf.settings.SHOP_CURRENCY)


@server.tool()
def open_shop(domain: str, name: str) -> int:
    """Write a row; how many there are."""
    with db.transaction.atomic():
        Site.objects.create(domain=domain, name=name)
    return int(Site.objects.count())


@server.tool()
def shop(domain: str) -> str:
    """Read a row."""
    try:
        return str(Site.objects.get(domain=domain).name)
    except Site.DoesNotExist:
        raise ToolError(f"there is no shop at {domain}") from None


@server.tool()
def broken() -> str:
    """Write a row, and fail before it is kept."""
    with db.transaction.atomic():
        Site.objects.create(domain="half.example", name="half")
        raise ToolError("nothing was opened")


def shops(_request: Any) -> Any:
    """A page of the project."""
    return http.HttpResponse(" ".join(Site.objects.order_by("name").values_list("name", flat=True)))


urlpatterns = [urls.path("shops", shops)]


def make_tables() -> None:
    """What migrations do elsewhere."""
    if Site._meta.db_table not in db.connection.introspection.table_names():
        with db.connection.schema_editor() as editor:
            editor.create_model(Site)
    db.connection.close()


make_tables()
site: Any = wsgi.get_wsgi_application()
tools = server.wsgi(threads=8)


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Tools at their address, the project everywhere else."""
    chosen = tools if environ["PATH_INFO"].rstrip("/") == "/mcp" else site
    found: Iterable[bytes] = chosen(environ, start_response)
    return found
