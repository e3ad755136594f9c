"""The life of a task: its states, its record, and the changes there are. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

from msgspec import Raw, Struct, structs

from mcp_actors.protocol.serving.questions import Answered, Declined, Verdict

__all__ = [
    "ARROWS",
    "Dialect",
    "KeyUsed",
    "Status",
    "TaskRecord",
    "answered",
    "asked",
    "cancelled",
    "completed",
    "described",
    "failed",
]

Status: TypeAlias = Literal["working", "input_required", "completed", "failed", "cancelled"]
#: Whose tasks: the core's of 2025-11-25, or those of the extension ``io.modelcontextprotocol/tasks``.
Dialect: TypeAlias = Literal["core", "extension"]

_GOING_ON: Final[frozenset[Status]] = frozenset(
    {"working", "input_required", "completed", "failed", "cancelled"}
)
#: Where a task can go from where it is. The last three are final.
ARROWS: Final[Mapping[Status, frozenset[Status]]] = {
    "working": _GOING_ON,
    "input_required": _GOING_ON,
    "completed": frozenset(),
    "failed": frozenset(),
    "cancelled": frozenset(),
}


class KeyUsed(ValueError):
    """A task asked two questions under one key; a key is used once in its life."""


class TaskRecord(Struct, frozen=True, kw_only=True):
    """All that is known about a task at one moment. ``ttl`` and ``poll_interval`` are milliseconds."""

    id: str
    #: To whom it exists: what its principal is bound by; None where nobody has a name.
    owner: str | None
    dialect: Dialect
    method: str
    created_at: str
    updated_at: str
    ttl: int
    #: When it is gone, in seconds of the board's clock.
    expires_at: float
    poll_interval: int
    status: Status = "working"
    status_message: str | None = None
    #: Encoded results and error objects; at most one of the two, and only at the end.
    result: bytes | None = None
    error: bytes | None = None
    #: Open questions, encoded, by key.
    input_requests: Mapping[str, bytes] = {}
    #: What became of the others. Forgotten, like the open ones, when the task ends.
    answers: Mapping[str, Verdict] = {}
    #: How many changes there were; tells the later one of two records.
    revision: int = 0

    @property
    def ended(self) -> bool:
        """Whether nothing can change any more."""
        return not ARROWS[self.status]

    @property
    def size(self) -> int:
        """About how many bytes it holds."""
        open_questions = sum(len(key) + len(request) for key, request in self.input_requests.items())
        closed = sum(len(key) + _weight(verdict) for key, verdict in self.answers.items())
        ends = len(self.result or b"") + len(self.error or b"") + len(self.status_message or "")
        return open_questions + closed + ends


def described(record: TaskRecord, message: str, *, at: str) -> TaskRecord:
    """It says what it is doing."""
    return _moved(record, record.status, at, status_message=message)


def asked(record: TaskRecord, key: str, request: bytes, *, at: str) -> TaskRecord:
    """It waits for an answer.

    Raises:
        KeyUsed: there was a question of that key.
    """
    # MCP tasks extension: a key is unique over the lifetime of a task.
    if key in record.input_requests or key in record.answers:
        raise KeyUsed(f"task {record.id!r} has asked {key!r} before")
    return _moved(record, "input_required", at, input_requests={**record.input_requests, key: request})


def answered(record: TaskRecord, verdicts: Mapping[str, Verdict], *, at: str) -> TaskRecord:
    """It got answers. Those to questions that are not open are ignored."""
    known = {key: verdict for key, verdict in verdicts.items() if key in record.input_requests}
    if not known:
        return record
    still = {key: request for key, request in record.input_requests.items() if key not in known}
    status: Status = "input_required" if still else "working"
    return _moved(record, status, at, input_requests=still, answers={**record.answers, **known})


def completed(record: TaskRecord, result: bytes, *, is_error: bool, at: str) -> TaskRecord:
    """It has a result."""
    # MCP 2025-11-25, tasks: a tool result with isError is a failure. The extension keeps "failed" for errors
    # of JSON-RPC.
    status: Status = "failed" if is_error and record.dialect == "core" else "completed"
    return _ended(record, status, at, result=result, status_message=None)


def failed(record: TaskRecord, error: bytes, message: str, *, at: str) -> TaskRecord:
    """It ended with an error of JSON-RPC."""
    return _ended(record, "failed", at, error=error, status_message=message)


def cancelled(record: TaskRecord, reason: str, *, at: str) -> TaskRecord:
    """Nobody wants it any more."""
    return _ended(record, "cancelled", at, status_message=reason)


# Any: the fields of a record.
def _ended(record: TaskRecord, status: Status, at: str, **changes: Any) -> TaskRecord:
    return _moved(record, status, at, input_requests={}, answers={}, **changes)


def _moved(record: TaskRecord, status: Status, at: str, **changes: Any) -> TaskRecord:
    """The changed record; the very same one if it has ended: then nothing changes any more."""
    if record.ended:
        return record
    assert status in ARROWS[record.status], (record.status, status)
    revision = record.revision + 1
    return structs.replace(record, status=status, updated_at=at, revision=revision, **changes)


def _weight(verdict: Verdict) -> int:
    match verdict:
        case Answered(Raw() as body) | Declined(Raw() as body):
            return len(body)
        case _:
            return len(verdict.reason)
