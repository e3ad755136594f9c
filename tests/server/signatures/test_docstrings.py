"""Docstrings in three styles."""

from __future__ import annotations

from inspect import cleandoc

import pytest

from mcp_actors.server.signatures.docstrings import Documentation, documentation_of

GOOGLE = """Add two numbers.

    The sum is exact.

    Args:
        first (int, optional): The one
            and only.
        second: Of these: the other.
        **more: Ignored.

    Returns:
        The sum.

    Raises:
        ValueError: never.
    """
NUMPY = """Add two numbers.

    Parameters
    ----------
    first, second : int
        The two
        numbers.
    third
        Another.

    Returns
    -------
    int
        The sum.

    Notes
    -----
    The sum is exact.
    """
FIELDS = """Add two numbers.

    :param int first: The one
        and only.
    :param second: The other.
    :type second: dict[str, int]
    :returns: The sum.
    :rtype: int

    The sum is exact.
    """


def test_google_style() -> None:
    found = documentation_of(cleandoc(GOOGLE))
    assert found.text == "Add two numbers.\n\nThe sum is exact.\n\nRaises:\n    ValueError: never."
    assert found.parameters == {
        "first": "The one and only.",
        "second": "Of these: the other.",
        "more": "Ignored.",
    }


def test_numpy_style() -> None:
    found = documentation_of(cleandoc(NUMPY))
    assert found.text == "Add two numbers.\n\nNotes\n-----\nThe sum is exact."
    assert found.parameters == {
        "first": "The two numbers.",
        "second": "The two numbers.",
        "third": "Another.",
    }


def test_restructured_text() -> None:
    found = documentation_of(cleandoc(FIELDS))
    assert found.text == "Add two numbers.\n\nThe sum is exact."
    assert found.parameters == {"first": "The one and only.", "second": "The other."}


@pytest.mark.parametrize("nothing", [None, "", "   \n  "])
def test_no_docstring_says_nothing(nothing: str | None) -> None:
    assert documentation_of(nothing) == Documentation()


def test_a_docstring_of_nothing_but_arguments_has_no_text() -> None:
    assert documentation_of("Args:\n    x: It.") == Documentation(None, {"x": "It."})


def test_a_section_without_items_and_lines_that_are_no_items_are_left_out() -> None:
    found = documentation_of("Do.\n\nArgs:\n    see below\n    x:\n\nDone.")
    assert found == Documentation("Do.\n\nDone.", {})


def test_a_line_between_rules_is_text_unless_it_names_a_section() -> None:
    assert documentation_of("Title\n-----\nBody.").text == "Title\n-----\nBody."
    assert documentation_of("Do.\n\nReturns: it.").text == "Do.\n\nReturns: it."
