"""Which media types an Accept header takes."""

from __future__ import annotations

import pytest

from mcp_actors.protocol.http.acceptance import accepts
from mcp_actors.protocol.http.media_types import EVENT_STREAM, JSON


@pytest.mark.parametrize(
    ("accept", "taken"),
    [
        ("application/json, text/event-stream", True),
        ("text/event-stream,application/json", True),
        ("Application/JSON;q=0.9 , TEXT/event-stream; charset=utf-8", True),
        ("*/*", True),
        ("application/*, text/*", True),
        ("application/json", False),
        ("text/event-stream", False),
        ("text/html, application/xhtml+xml", False),
        ("", False),
        (",,", False),
    ],
)
def test_a_header_takes_both_types_or_not(accept: str, taken: bool) -> None:
    assert all(accepts(accept, kind) for kind in (JSON, EVENT_STREAM)) is taken


@pytest.mark.parametrize("refusal", ["q=0", "Q = 0.000", "charset=x; q=0.0", "q=0;x=y"])
def test_a_weight_of_zero_refuses_and_no_wildcard_brings_the_type_back(refusal: str) -> None:
    assert not accepts(f"application/json;{refusal}, */*", JSON)
    assert accepts(f"application/json;{refusal}, */*", EVENT_STREAM)


def test_a_small_weight_is_no_refusal() -> None:
    assert accepts("application/json;q=0.001", JSON)
