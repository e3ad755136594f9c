"""Events as they are written, read again by the reader of the client."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.protocol import codec
from mcp_actors.protocol.http import event_writing
from mcp_actors.protocol.http.event_stream import EventStream, ServerEvent

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def read(text: bytes) -> list[ServerEvent]:
    return EventStream(10**6).feed(text)


@given(st.lists(st.tuples(JSON_VALUES, st.none() | st.just("3-7")), max_size=5))
def test_what_is_written_is_read_again(messages: list[tuple[object, str | None]]) -> None:
    frames = [(codec.encode(value), event_id) for value, event_id in messages]
    text = b"".join(event_writing.message(frame, event_id) for frame, event_id in frames)
    assert [(event.data, event.id) for event in read(text)] == frames


def test_line_breaks_between_the_tokens_of_json_do_not_end_the_event() -> None:
    (event,) = read(event_writing.message(b'{\r\n "a":\n1}', "1-1"))
    assert codec.decode(event.data) == {"a": 1}


def test_a_priming_event_has_an_id_a_delay_and_no_data() -> None:
    assert event_writing.priming("1-0", 500) == b"id: 1-0\nretry: 500\ndata: \n\n"
    assert read(event_writing.priming("1-0", 500)) == [ServerEvent(data=b"", id="1-0", retry=500)]


def test_a_delay_alone_is_an_event_without_data() -> None:
    assert read(event_writing.retry(2000)) == [ServerEvent(retry=2000)]


def test_the_endpoint_of_the_older_transport_is_an_event_of_that_name() -> None:
    assert read(event_writing.endpoint("/messages?session_id=a")) == [
        ServerEvent("endpoint", b"/messages?session_id=a")
    ]


def test_signs_of_life_are_no_events() -> None:
    assert read(event_writing.KEEP_ALIVE + event_writing.OPENED) == []
