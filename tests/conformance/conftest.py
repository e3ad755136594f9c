"""The suite, installed when the first test asks for it."""

from __future__ import annotations

import pytest

from tests.conformance.suite import Suite, installed_suite


@pytest.fixture(scope="session")
def suite() -> Suite:
    """The conformance suite of the protocol's authors."""
    return installed_suite()
