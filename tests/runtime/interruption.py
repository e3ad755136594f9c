"""An interrupt at a chosen step: KeyboardInterrupt where the interpreter itself could raise it."""

from __future__ import annotations

import contextlib
import dis
import re
import sys
import threading
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any, Final

# The interpreter looks for signals after a call, when a function begins, and when a loop starts over.
_LOOKS: Final = {"CALL", "CALL_KW", "CALL_FUNCTION_EX", "RESUME", "JUMP_BACKWARD"}


def interrupted_at(step: int, where: str | re.Pattern[str], call: Callable[[], object]) -> bool:
    """Call, with a KeyboardInterrupt at that step of a module's code; False if the call has fewer steps.

    ``where`` is the name of the module, or matches the paths of several.
    """
    steps = _Steps(step, re.compile(f"/{where}[.]py$") if isinstance(where, str) else where)
    with _watched(steps):
        try:
            call()
        except KeyboardInterrupt:
            return True
    assert steps.left >= 0, "the interrupt was swallowed"
    return False


class _Steps:
    """Counts the instructions after which the interpreter looks for signals, in some files."""

    def __init__(self, step: int, path: re.Pattern[str]) -> None:
        self.left = step
        self._path = path
        self._latest: dict[FrameType, int] = {}

    def concern(self, code: CodeType) -> bool:
        return self.left >= 0 and self._path.search(code.co_filename) is not None

    def before(self, frame: FrameType, instruction: int) -> None:
        if self.left < 0:
            return
        previous = self._latest.get(frame)
        self._latest[frame] = instruction
        # Before the first that is told of, there was the beginning of the function.
        if previous is None or dis.opname[frame.f_code.co_code[previous]] in _LOOKS:
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt


if sys.version_info >= (3, 12):
    # Since then a function that is traced for the first time may keep its instructions to itself.

    @contextlib.contextmanager
    def _watched(steps: _Steps) -> Iterator[None]:
        thread, monitoring = threading.get_ident(), sys.monitoring
        tool, instruction = monitoring.DEBUGGER_ID, monitoring.events.INSTRUCTION

        def count(code: CodeType, offset: int) -> object:
            if not steps.concern(code):
                return monitoring.DISABLE
            if threading.get_ident() == thread:
                steps.before(sys._getframe(1), offset)
            return None

        monitoring.use_tool_id(tool, "interruption")
        monitoring.register_callback(tool, instruction, count)
        monitoring.restart_events()
        monitoring.set_events(tool, instruction)
        try:
            yield
        finally:
            monitoring.set_events(tool, 0)
            monitoring.register_callback(tool, instruction, None)
            monitoring.free_tool_id(tool)

else:

    @contextlib.contextmanager
    def _watched(steps: _Steps) -> Iterator[None]:
        def watch(frame: FrameType, _event: str, _argument: object) -> Any:
            if not steps.concern(frame.f_code):
                return None
            frame.f_trace_opcodes = True
            frame.f_trace_lines = False
            return count

        def count(frame: FrameType, event: str, _argument: object) -> Any:
            if event == "opcode":
                steps.before(frame, frame.f_lasti)
            return count

        usual = sys.gettrace()
        sys.settrace(watch)
        try:
            yield
        finally:
            sys.settrace(usual)
