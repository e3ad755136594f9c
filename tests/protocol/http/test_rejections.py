"""The bodies and statuses of what is not served."""

from __future__ import annotations

import json

import pytest

from mcp_actors.protocol.http.rejections import Rejected, quoted, status_of
from mcp_actors.protocol.revisions import Era


def test_an_error_about_a_request_bears_its_id_and_any_other_has_none() -> None:
    assert json.loads(Rejected(400, "no", code=-32020, id="a").body()) == {
        "jsonrpc": "2.0",
        "id": "a",
        "error": {"code": -32020, "message": "no"},
    }
    assert json.loads(Rejected(403, "no").body()) == {
        "jsonrpc": "2.0",
        "error": {"code": -32600, "message": "no"},
    }
    assert json.loads(Rejected(400, "no", id=0).body())["id"] == 0


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (None, 200),
        (-32700, 400),
        (-32600, 400),
        (-32602, 400),
        (-32020, 400),
        (-32021, 400),
        (-32022, 400),
        (-32601, 404),
        (-32603, 200),
        (7, 200),
    ],
)
def test_the_status_follows_the_code_since_2026(code: int | None, status: int) -> None:
    assert status_of(code, Era.STATELESS) == status
    assert status_of(code, Era.HANDSHAKE) == 200


def test_what_a_client_sent_is_shown_escaped_and_short() -> None:
    assert quoted("a\r\nb") == r"'a\r\nb'"
    assert quoted("x" * 81) == "'" + "x" * 80 + "'…"
    assert "\x1b" not in quoted("\x1b[31m")
