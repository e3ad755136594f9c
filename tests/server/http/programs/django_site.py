"""The same server inside a view of Django, which comes without types."""

from __future__ import annotations

from typing import Any

import django  # type: ignore[import-untyped]
from django.conf import settings  # type: ignore[import-untyped]
from django.core.wsgi import get_wsgi_application  # type: ignore[import-untyped]
from django.http import HttpRequest, StreamingHttpResponse  # type: ignore[import-untyped]
from django.urls import path  # type: ignore[import-untyped]
from django.views.decorators.csrf import csrf_exempt  # type: ignore[import-untyped]

from tests.server.http.programs.site import app

settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], SECRET_KEY="of the tests", MIDDLEWARE=[])
django.setup()


@csrf_exempt  # type: ignore[untyped-decorator]
def inside(request: HttpRequest) -> StreamingHttpResponse:
    """A view whose address is where the app is mounted."""
    started: list[tuple[str, list[tuple[str, str]]]] = []

    def start_response(status: str, fields: list[tuple[str, str]], *_info: Any) -> None:
        started.append((status, fields))

    body = app({**request.META, "SCRIPT_NAME": "/inside", "PATH_INFO": ""}, start_response)
    ((status, fields),) = started
    return StreamingHttpResponse(body, status=int(status.split()[0]), headers=dict(fields))


urlpatterns = [path("inside", inside)]
site = get_wsgi_application()
