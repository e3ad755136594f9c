"""Framing: the same frames however the bytes are cut, and never more memory than the limit allows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.protocol.framing import (
    ContentLengthFramer,
    FrameOverflow,
    Framer,
    FramingError,
    LineFramer,
    make_framer,
)

BOM = b"\xef\xbb\xbf"
LIMIT = 12

# Few letters, so that line ends, BOMs and blanks meet often.
streams = st.lists(
    st.sampled_from(
        [b"\n", b"\r", b"\r\n", b" ", BOM, BOM[:1], b"a", b"\xe2\x80\xa8", b"{}", b"x" * 5, b"y" * LIMIT]
    )
).map(b"".join)


@st.composite
def cuts(draw: st.DrawFn, data: bytes) -> list[bytes]:
    places = sorted(draw(st.sets(st.integers(0, len(data)))))
    return [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]


def fed(framer: Framer, chunks: list[bytes]) -> tuple[list[bytes], bool]:
    """All frames that come out, and whether the framer gave up."""
    try:
        for chunk in chunks:
            framer.feed(chunk)
    except FramingError:
        return framer.frames(None), True
    rest = framer.rest()
    return framer.frames(None) + ([rest] if rest else []), False


def lines_of(data: bytes, limit: int) -> tuple[list[bytes], bool]:
    """The naive model of line framing."""
    frames: list[bytes] = []
    *lines, last = data.removeprefix(BOM).split(b"\n")
    for line in lines:
        frame = line.removesuffix(b"\r")
        if len(frame) > limit:
            return frames, True
        if frame.strip(b" \t\r\n\v\f"):
            frames.append(frame)
    if len(last.removesuffix(b"\r")) > limit:
        return frames, True
    return frames + ([last.removesuffix(b"\r")] if last.strip(b" \t\r\n\v\f") else []), False


@pytest.mark.requirement("flow:frame-limit")
@given(data=st.data(), stream=streams)
def test_any_cut_of_the_bytes_gives_the_same_lines(data: st.DataObject, stream: bytes) -> None:
    assert fed(LineFramer(LIMIT), data.draw(cuts(stream))) == lines_of(stream, LIMIT)


@given(data=st.data(), frames=st.lists(st.binary(min_size=1, max_size=LIMIT)))
def test_any_cut_of_the_bytes_gives_the_same_content_length_frames(
    data: st.DataObject, frames: list[bytes]
) -> None:
    framer = ContentLengthFramer(LIMIT)
    stream = b"".join(map(framer.wrap, frames))
    assert fed(framer, data.draw(cuts(stream))) == (frames, False)


@given(data=st.data(), stream=st.binary(max_size=200))
def test_any_bytes_end_the_same_way_however_they_are_cut(data: st.DataObject, stream: bytes) -> None:
    whole = fed(ContentLengthFramer(LIMIT), [stream])
    assert fed(ContentLengthFramer(LIMIT), data.draw(cuts(stream))) == whole


@given(frames=st.lists(st.binary(min_size=1, max_size=LIMIT)), limits=st.lists(st.integers(1, 4)))
def test_frames_come_out_in_order_and_no_more_than_asked_for(frames: list[bytes], limits: list[int]) -> None:
    framer = ContentLengthFramer(LIMIT)
    framer.feed(b"".join(map(framer.wrap, frames)))
    taken = []
    for limit in limits:
        part = framer.frames(limit)
        assert len(part) <= limit
        taken += part
        assert framer.ready == (len(taken) < len(frames))
        assert framer.buffered == sum(map(len, frames[len(taken) :]))
    assert taken + framer.frames(None) == frames


@pytest.mark.requirement("flow:frame-limit")
def test_a_line_above_the_limit_is_refused_before_its_end_and_not_kept() -> None:
    framer = LineFramer(1000)
    framer.feed(b"first\n")
    for _ in range(10):
        framer.feed(b"x" * 100)
        assert framer.buffered <= len(b"first") + 1000
    with pytest.raises(FrameOverflow) as overflow:
        framer.feed(b"x" * 100)
    assert framer.ready
    assert (overflow.value.limit, overflow.value.seen) == (1000, 1100)
    assert framer.frames(None) == [b"first"]
    assert framer.buffered == 0
    with pytest.raises(FrameOverflow, match="limit of 1000 bytes"):
        framer.feed(b"\nnext\n")
    assert framer.rest() == b""


@pytest.mark.requirement("flow:frame-limit")
def test_a_declared_length_above_the_limit_is_refused_before_the_body_comes() -> None:
    framer = ContentLengthFramer(10)
    with pytest.raises(FrameOverflow, match="11 bytes"):
        framer.feed(b"Content-Length: 11\r\n\r\n")
    with pytest.raises(FrameOverflow):
        framer.feed(b"Content-Length: 1\r\n\r\n1")
    assert framer.frames(None) == []


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\u0085", "\x1c", "\x0b", "\x0c", "\r"])
def test_only_the_newline_byte_ends_a_line(separator: str) -> None:
    framer = LineFramer(100)
    text = f'"a{separator}b"'.encode()
    framer.feed(text + b"\n")
    assert framer.frames(None) == [text]


def test_a_byte_order_mark_is_dropped_at_the_start_only() -> None:
    framer = LineFramer(100)
    framer.feed(BOM + b"1\n" + BOM + b"2\n")
    assert framer.frames(None) == [b"1", BOM + b"2"]


def test_a_stream_that_ends_inside_a_possible_byte_order_mark_is_not_lost() -> None:
    framer = LineFramer(100)
    framer.feed(BOM[:2])
    assert framer.buffered == 2
    assert framer.rest() == BOM[:2]


def test_headers_may_be_spelled_in_any_case_and_stand_beside_others() -> None:
    framer = ContentLengthFramer(100)
    framer.feed(b"content-TYPE: x\r\ncontent-length:2\r\n\r\n{}\r\n\r\nCONTENT-LENGTH : 1\n\n1")
    assert framer.frames(None) == [b"{}", b"1"]


def test_a_frame_of_no_bytes_is_skipped() -> None:
    framer = ContentLengthFramer(100)
    framer.feed(b"Content-Length: 0\r\n\r\nContent-Length: 1\r\n\r\n1")
    assert framer.frames(None) == [b"1"]


@pytest.mark.parametrize(
    "header",
    [
        b"rubbish\r\n",
        b"Content-Length: -1\r\n",
        b"Content-Length: 1x\r\n",
        b"Content-Length: 1" + b"0" * 5000 + b"\r\n",
        b"Content-Length: 1\r\nContent-Length: 2\r\n",
        b"Content-Type: x\r\n\r\n",
        b"X: " + b"y" * 9000,
        b"X: y\r\n" * 3000,
        b"\n" * 9000,
    ],
)
def test_a_header_that_is_none_ends_the_stream(header: bytes) -> None:
    framer = ContentLengthFramer(100)
    framer.feed(framer.wrap(b"before"))
    with pytest.raises(FramingError):
        framer.feed(header)
    with pytest.raises(FramingError):
        framer.feed(b"")
    assert framer.frames(None) == [b"before"]


def test_a_body_that_is_cut_short_is_no_frame() -> None:
    framer = ContentLengthFramer(100)
    framer.feed(b"Content-Length: 5\r\n\r\n123")
    assert framer.buffered == 3
    assert not framer.ready
    assert framer.rest() == b""


def test_a_frame_with_a_newline_cannot_be_sent_as_a_line() -> None:
    with pytest.raises(ValueError, match="newline"):
        LineFramer(100).wrap(b"1\n2")
    assert LineFramer(100).wrap(b"1") == b"1\n"


def test_a_framer_is_made_by_its_name() -> None:
    assert isinstance(make_framer("line", 1), LineFramer)
    assert isinstance(make_framer("content-length", 1), ContentLengthFramer)
