"""How large a skill may be."""

from __future__ import annotations

from typing import Final

#: SEP-2640 fixes both: every host takes skills up to these limits, and no server should go beyond.
MOST_FILES: Final = 512
MOST_BYTES: Final = 16 * 1024 * 1024
#: Of our own: a longer head would keep the reader of YAML busy.
MOST_HEAD_BYTES: Final = 64 * 1024
