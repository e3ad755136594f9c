"""The version of this package: read by the build, sent to servers."""

from __future__ import annotations

from typing import Final

VERSION: Final = "0.1.0"
