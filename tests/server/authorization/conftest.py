"""An issuer that is stopped when the test is over."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server.authorization.issuer import Issuer


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with Issuer() as started:
        yield started
