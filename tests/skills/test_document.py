"""A file taken apart: text, head and body, or the reason why it cannot be."""

from __future__ import annotations

import pytest

from mcp_actors.skills.document import HeadRefused, read
from mcp_actors.skills.yaml_tree import Scalar

pytestmark = pytest.mark.requirement("feature:skills")


def test_a_file_has_a_head_and_a_body() -> None:
    document = read(b"---\na: b\n---\nbody")
    assert (document.text, document.body) == ("---\na: b\n---\nbody", "body")
    assert document.head == {"a": Scalar("b", plain=True)}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"---\na: \xff\n---\n", r"it is not UTF-8 \(invalid start byte at byte 7\)"),
        (b"a: b\n", "it has none"),
        (b"---\na: bcdef\n---\n", "it has more than 8 bytes"),
        (b"---\na: [\n---\n", "it has .* in line"),
    ],
)
def test_a_head_that_cannot_be_read_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(HeadRefused, match=reason):
        read(data, 8)
