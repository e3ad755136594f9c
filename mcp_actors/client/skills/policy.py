"""SkillPolicy: how much of a skill a client takes, and whether it takes what cannot be verified."""

from __future__ import annotations

from msgspec import Struct, structs

from mcp_actors.skills.limits import MOST_BYTES, MOST_FILES, MOST_HEAD_BYTES


class SkillPolicy(Struct, frozen=True, kw_only=True):
    """The defaults are what SEP-2640 makes every host accept; lower ones refuse skills that are in order."""

    #: Read skills that publish no digests. Their content may be a different one at each reading.
    allow_dynamic: bool = False
    max_files: int = MOST_FILES
    max_total_bytes: int = MOST_BYTES
    max_file_bytes: int = MOST_BYTES
    max_front_matter_bytes: int = MOST_HEAD_BYTES

    def __post_init__(self) -> None:
        for name, value in structs.asdict(self).items():
            if name == "allow_dynamic":
                continue
            if not isinstance(value, int) or isinstance(value, bool):
                raise TypeError(f"{name} must be an integer, not {type(value).__name__}")
            if value < 1:
                raise ValueError(f"{name} must be at least 1, not {value}")
