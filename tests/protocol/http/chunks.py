"""The pieces in which bytes may arrive."""

from __future__ import annotations

from hypothesis import strategies as st


@st.composite
def cuts(draw: st.DrawFn, data: bytes) -> list[bytes]:
    """The data in pieces, empty ones among them."""
    if draw(st.booleans()):
        return [data[place : place + 1] for place in range(len(data))]
    places = sorted(draw(st.lists(st.integers(0, len(data)))))
    return [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]
