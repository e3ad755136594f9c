"""What a user of the command line did wrong, told in one plain sentence."""

from __future__ import annotations


class Mistake(Exception):
    """Shown without a traceback; the command ends with exit code 2. ``details`` go below the sentence."""

    def __init__(self, message: str, details: str = "") -> None:
        super().__init__(message)
        self.details = details
