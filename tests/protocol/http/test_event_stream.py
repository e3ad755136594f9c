"""Event streams: the same events however the bytes are cut, and never more memory than the limit allows."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_actors.protocol.http.event_stream import (
    MAX_NAME_BYTES,
    MAX_RETRY,
    EventStream,
    EventTooLarge,
    ServerEvent,
)
from tests.protocol.http.chunks import cuts

BOM = b"\xef\xbb\xbf"
LIMIT = 12

# Few lines, so that fields and line ends meet often; blank ones are frequent, as in life.
BLANK = [b"", b"", b"", b"", b"", b""]
DATA = [b"data: a", b"data:b", b"data:  c", b"data"]
FIELDS = [b"id: 7", b"id:  8", b"id", b"id: a\0", b"event: x", b"event", b"event:\xff"]
TIMES = [b"retry: 30", b"retry:  30", b"retry: 30 ", b"retry"]
OTHERS = [b": note", b"unknown: 1", b" data: a", b"dat", b"data:\x0b\x0c\x1c\x85", b"data:\xe2\x80\xa8", BOM]
#: At their limits and beyond.
LARGE = [b"data: xxxxxx", b"data: " + b"y" * LIMIT, b"data:" + b"z" * (LIMIT + 1), b":" + b"w" * (LIMIT + 5)]
LARGER = [b":" + b"w" * (LIMIT + 6), b"unknown: " + b"w" * LIMIT]


def streams_of(*lines: list[bytes]) -> st.SearchStrategy[bytes]:
    line = st.sampled_from(sum(lines, []))
    end = st.sampled_from([b"\n", b"\r", b"\r\n"])
    opening = st.sampled_from([b"", b"", BOM, BOM[:1], BOM[:2]])
    whole_lines = st.lists(st.tuples(line, end).map(b"".join)).map(b"".join)
    return st.tuples(opening, whole_lines, line).map(b"".join)


small_streams = streams_of(BLANK, DATA, FIELDS, TIMES, OTHERS)
large_streams = streams_of(BLANK, DATA, OTHERS, LARGE, LARGER)


def fed(stream: EventStream, chunks: list[bytes]) -> tuple[list[ServerEvent], bool]:
    """All events that come out, and whether the stream was given up."""
    events: list[ServerEvent] = []
    for chunk in chunks:
        try:
            events += stream.feed(chunk)
        except EventTooLarge as fault:
            return events + fault.events, True
    return events, False


class Naive:
    """The rules read aloud, one line after the other, on the whole stream."""

    def __init__(self, data: bytes) -> None:
        self.events: list[ServerEvent] = []
        self.too_large = False
        self.last_id = ""
        *lines, rest = re.split(rb"\r\n|\r|\n", data.removeprefix(BOM))
        fields: list[tuple[bytes, bytes]] = []
        for line in lines:
            if not line:
                self.dispatch(fields)
                fields = []
                continue
            fields += self.field(line)
            if self.too_large or len(joined(fields)) > LIMIT:
                self.too_large = True
                return
        self.too_large = len(rest) > LIMIT + len("data: ")

    def field(self, line: bytes) -> list[tuple[bytes, bytes]]:
        self.too_large = len(line) > LIMIT + len("data: ")
        name, value = line.split(b":", 1) if b":" in line else (line, b"")
        value = value[1:] if value[:1] == b" " else value
        if name not in (b"data", b"event", b"id", b"retry"):
            return []
        if (name == b"id" and b"\0" in value) or (name == b"retry" and not re.fullmatch(rb"[0-9]+", value)):
            return []
        return [(name, value)]

    def dispatch(self, fields: list[tuple[bytes, bytes]]) -> None:
        if not fields:
            return
        last = {name: value.decode("utf-8", "replace") for name, value in fields}
        retry = min(int(last[b"retry"]), MAX_RETRY) if b"retry" in last else None
        self.last_id = last.get(b"id", self.last_id)
        name = last.get(b"event") or "message"
        self.events.append(ServerEvent(name, joined(fields), last.get(b"id"), retry))


def joined(fields: list[tuple[bytes, bytes]]) -> bytes:
    return b"\n".join(value for name, value in fields if name == b"data")


@pytest.mark.requirement("transport:http")
@settings(max_examples=400)
@given(data=st.data(), stream=small_streams | large_streams)
def test_any_cut_of_the_bytes_gives_the_events_of_the_rules(data: st.DataObject, stream: bytes) -> None:
    naive, parser = Naive(stream), EventStream(LIMIT)
    assert fed(parser, data.draw(cuts(stream))) == (naive.events, naive.too_large)
    assert parser.last_event_id == naive.last_id


@given(stream=st.binary(max_size=100) | st.lists(st.sampled_from(b"\r\n:id \0")).map(bytes))
def test_any_bytes_give_the_same_events_whole_and_one_by_one(stream: bytes) -> None:
    whole, single = EventStream(LIMIT), EventStream(LIMIT)
    assert fed(whole, [stream]) == fed(single, [bytes([byte]) for byte in stream])
    assert whole.last_event_id == single.last_event_id


@pytest.mark.requirement("security:limits")
@given(data=st.data(), stream=large_streams)
def test_no_more_is_held_than_one_event_and_one_line(data: st.DataObject, stream: bytes) -> None:
    parser = EventStream(LIMIT)
    for chunk in data.draw(cuts(stream)):
        fed(parser, [chunk])
        assert parser.buffered <= LIMIT + (LIMIT + len("data: "))


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: {}\n\n", [ServerEvent(data=b"{}")]),
        (b"data:{}\r\r", [ServerEvent(data=b"{}")]),
        (b"data:  two\r\n\r\n", [ServerEvent(data=b" two")]),
        (b"id:  two\n\n", [ServerEvent(id=" two")]),
        (b"data: 1\ndata: 2\n\ndata: 3\ndata: 4\n\n", [ServerEvent(data=b"1\n2"), ServerEvent(data=b"3\n4")]),
        (b"data: a\ndata\ndata: b\n\n", [ServerEvent(data=b"a\n\nb")]),
        (b"event: endpoint\ndata: /messages\n\n", [ServerEvent("endpoint", b"/messages")]),
        (b"event:\ndata: 1\n\n", [ServerEvent(data=b"1")]),
        (b"id: 1\ndata:\n\n", [ServerEvent(id="1")]),
        (b"id: 1\nretry: 500\n\n", [ServerEvent(id="1", retry=500)]),
        (b"retry: 0\n\n", [ServerEvent(retry=0)]),
        (b"event: ping\n\n", [ServerEvent("ping")]),
        (b"retry: soon\nretry:\nretry: -1\nretry: 1.5\nretry:  1\nretry: 1 \n\n", []),
        (b"retry: \xd9\xa3\n\n", []),
        (b"retry: 9999999999999999999999\n\n", [ServerEvent(retry=MAX_RETRY)]),
        (b": keep-alive\n\n:\n\n\n\n", []),
        (b"unknown: 1\nDATA: 2\n\n", []),
        (b"id: a\0b\n\n", []),
        (b"id: \xc3\xbc\xff\n\n", [ServerEvent(id="ü\ufffd")]),
        (b"data: cut", []),
        (b"data: \x0b\x0c\x1c\x85\r\n\r\n", [ServerEvent(data=b"\x0b\x0c\x1c\x85")]),
        (b"data: \xe2\x80\xa8\x0b\x0c\x85\n\n", [ServerEvent(data=b"\xe2\x80\xa8\x0b\x0c\x85")]),
        (BOM + b"data: 1\n\n" + BOM + b"data: 2\n\n", [ServerEvent(data=b"1")]),
    ],
)
def test_a_stream_is_read_by_the_rules(stream: bytes, events: list[ServerEvent]) -> None:
    assert EventStream(1000).feed(stream) == events


def test_the_two_halves_of_a_line_end_are_one_even_if_nothing_comes_between_them() -> None:
    parser = EventStream(1000)
    assert parser.feed(b"data: 1\r") == []
    assert parser.feed(b"") == []
    assert parser.feed(b"\n") == []
    assert parser.feed(b"\r") == [ServerEvent(data=b"1")]
    assert parser.feed(b"\ndata: 2\n\n") == [ServerEvent(data=b"2")]


def test_the_last_id_stays_until_another_complete_event_names_one() -> None:
    parser = EventStream(1000)
    parser.feed(b"id: 1\n\ndata: no id\n\nid: 2\ndata: half")
    assert parser.last_event_id == "1"
    parser.feed(b"\n\n")
    assert parser.last_event_id == "2"
    parser.feed(b"id\n\n")
    assert parser.last_event_id == ""


@pytest.mark.requirement("security:limits")
def test_an_event_without_end_is_refused_at_the_limit_and_not_kept() -> None:
    parser = EventStream(1000)
    parser.feed(b"data: first\n\ndata: ")
    for _ in range(10):
        assert parser.feed(b"x" * 100) == []
    with pytest.raises(EventTooLarge, match="a line of at least 1007 bytes is above the limit of 1006 bytes"):
        parser.feed(b"x")
    assert parser.buffered == 0
    with pytest.raises(EventTooLarge) as fault:
        parser.feed(b"\n\ndata: next\n\n")
    assert fault.value.events == []


@pytest.mark.requirement("security:limits")
@pytest.mark.parametrize("line", [b":", b"unknown: ", b"retry: 1", b"id: a\0"])
def test_a_line_that_means_nothing_has_a_limit_all_the_same(line: bytes) -> None:
    assert EventStream(100).feed(line.ljust(106, b"x") + b"\n") == []
    with pytest.raises(EventTooLarge, match="a line of at least 107 bytes"):
        EventStream(100).feed(line.ljust(107, b"x") + b"\n")


@pytest.mark.requirement("security:limits")
def test_data_in_many_lines_is_refused_at_the_limit() -> None:
    parser = EventStream(10)
    with pytest.raises(EventTooLarge, match="an event of at least 11 bytes") as fault:
        parser.feed(b"data: 1\n\n" + b"data\n" * 12)
    assert fault.value.events == [ServerEvent(data=b"1")]
    assert (fault.value.seen, fault.value.limit) == (11, 10)
    assert EventStream(10).feed(b"data\n" * 11 + b"\n") == [ServerEvent(data=b"\n" * 10)]


@pytest.mark.requirement("security:limits")
@pytest.mark.parametrize("field", [b"id", b"event"])
def test_ids_and_names_have_their_own_limit(field: bytes) -> None:
    parser = EventStream(10**6)
    assert len(parser.feed(field + b":" + b"x" * MAX_NAME_BYTES + b"\n\n")) == 1
    with pytest.raises(EventTooLarge, match="of an event of at least 4097 bytes"):
        parser.feed(field + b":" + b"x" * (MAX_NAME_BYTES + 1) + b"\n\n")


def test_comments_without_end_do_not_count_as_an_event() -> None:
    parser = EventStream(10)
    assert parser.feed(b"data: 1\n" + b": still here\n" * 1000 + b"\n") == [ServerEvent(data=b"1")]
