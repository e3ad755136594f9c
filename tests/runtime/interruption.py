"""An interrupt at a chosen step: KeyboardInterrupt where the interpreter itself could raise it."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

# The interpreter looks for signals after a call, when a function begins, and when a loop starts over.
_LOOKS: Final = {"CALL", "CALL_KW", "CALL_FUNCTION_EX", "RESUME", "JUMP_BACKWARD"}


def interrupted_at(step: int, module: str, call: Callable[[], object]) -> bool:
    """Call, with a KeyboardInterrupt at that step of the module's code; False if the call has fewer steps."""
    left = step
    latest: dict[FrameType, int] = {}

    def watch(frame: FrameType, _event: str, _argument: object) -> Any:
        if not frame.f_code.co_filename.endswith(f"/{module}.py"):
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        return count

    def count(frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal left
        if event == "opcode":
            before = latest.get(frame)
            latest[frame] = frame.f_lasti
            if before is not None and dis.opname[frame.f_code.co_code[before]] in _LOOKS:
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
