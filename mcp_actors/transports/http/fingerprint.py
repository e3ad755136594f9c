"""Fingerprints of whoever asks: they tell two principals apart, and nothing about either."""

from __future__ import annotations

import hashlib
import os
from typing import Final

# Of this process alone: what a log or a core dump shows of a fingerprint cannot be tried against guesses.
_KEY: Final = os.urandom(32)


def fingerprint(*parts: str) -> str:
    """The same for the same parts, in this process; another one for any others."""
    digest = hashlib.blake2b(key=_KEY, digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        # With its length, or two parts could be taken for one.
        digest.update(b"%d:%s" % (len(data), data))
    return digest.hexdigest()
