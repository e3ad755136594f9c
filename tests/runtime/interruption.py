"""An interrupt at a chosen step: KeyboardInterrupt where the interpreter itself could raise it."""

from __future__ import annotations

import dis
import re
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

# The interpreter looks for signals after a call, when a function begins, and when a loop starts over.
_LOOKS: Final = {"CALL", "CALL_KW", "CALL_FUNCTION_EX", "RESUME", "JUMP_BACKWARD"}


def interrupted_at(step: int, where: str | re.Pattern[str], call: Callable[[], object]) -> bool:
    """Call, with a KeyboardInterrupt at that step of a module's code; False if the call has fewer steps.

    ``where`` is the name of the module, or matches the paths of several.
    """
    left = step
    latest: dict[FrameType, int] = {}
    path = re.compile(f"/{where}[.]py$") if isinstance(where, str) else where

    def watch(frame: FrameType, _event: str, _argument: object) -> Any:
        if left < 0 or path.search(frame.f_code.co_filename) is None:
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        return count

    def count(frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal left
        if event == "opcode" and left >= 0:
            before = latest.get(frame)
            latest[frame] = frame.f_lasti
            # Before the first that is told of, there was the beginning of the function.
            if before is None or dis.opname[frame.f_code.co_code[before]] in _LOOKS:
                left -= 1
                if left < 0:
                    raise KeyboardInterrupt
        return count

    usual = sys.gettrace()
    sys.settrace(watch)
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(usual)
        latest.clear()
    assert left >= 0, "the interrupt was swallowed"
    return False
