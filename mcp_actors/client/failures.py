"""From outcomes, which are values, to errors, which are raised: the one place where that happens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_never

from msgspec import Raw

from mcp_actors import errors
from mcp_actors.protocol import codec, outcomes
from mcp_actors.protocol.attempts import waits_for_person
from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.telemetry.crash_report import CrashReport
from mcp_actors.telemetry.redaction import hide, printable

_LONGEST_QUOTE = 500

_TYPES: dict[type, str] = {
    outcomes.Rejected: "jsonrpc",
    outcomes.BadAnswer: "protocol",
    outcomes.NotGranted: "capability",
    outcomes.NoCommonVersion: "protocol",
    outcomes.TimedOut: "timeout",
    outcomes.NotReady: "state",
    outcomes.Parked: "transport",
    outcomes.Crowded: "backpressure",
    outcomes.Withdrawn: "cancelled",
    outcomes.Stopped: "shutdown",
}
_REFUSALS = (EndKind.UNAUTHORIZED, EndKind.INTERRUPTED)
_LOSSES = {EndKind.OVERSIZED: "protocol"} | dict.fromkeys(_REFUSALS, "authorization")


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What an error needs to know beside the outcome. ``what`` is the call, as a reader would name it, or
    empty if somebody only waited until the server is ready; ``secrets`` are not repeated to anybody."""

    what: str
    server: str
    state: str
    retry_after: float | None = None
    crash_report: CrashReport | None = None
    secrets: tuple[str, ...] = ()

    @property
    def unsent(self) -> str:
        """The opening of an error about a call that was not made; empty if somebody only waited."""
        return f"{self.what} was not sent: " if self.what else ""

    def told(self, cause: outcomes.Cause | None) -> str:
        """A cause in one plain line, which may quote the server."""
        return hide(describe(cause), self.secrets)


def error_type(outcome: outcomes.CallOutcome | outcomes.WaitOutcome) -> str:
    """The ``.type`` of the error that this outcome becomes."""
    if isinstance(outcome, outcomes.TimedOut) and waits_for_person(outcome) is not None:
        return "authorization"
    if isinstance(outcome, outcomes.Lost):
        return _LOSSES.get(outcome.ending.kind, "transport")
    return _TYPES[type(outcome)]


def error_from(  # noqa: C901 - one case for each outcome
    outcome: outcomes.CallOutcome | outcomes.WaitOutcome | outcomes.NoCommonVersion, about: Circumstances
) -> errors.McpError:
    """A fresh error for an outcome that is not a success."""
    match outcome:
        case outcomes.Rejected(error):
            return _remote(error, about)
        case outcomes.BadAnswer(reason):
            return errors.InvalidResponse(
                f"{about.what} got an answer that breaks the protocol: {hide(reason, about.secrets)}",
                crash_report=about.crash_report,
            )
        case outcomes.NotGranted(uri):
            return _not_granted(uri, about)
        case outcomes.NoCommonVersion(ours, theirs):
            return _no_common_version(ours, theirs, about)
        case outcomes.TimedOut():
            return _timed_out(outcome, about)
        case outcomes.Lost(ending, outcome_):
            return _lost(ending, outcome_, about)
        case outcomes.NotReady(state, cause):
            return _unavailable(state, cause, about)
        case outcomes.Parked(attempts, cause):
            return _parked(attempts, cause, about)
        case outcomes.Crowded(attempts):
            return _crowded(attempts, about)
        case outcomes.Withdrawn(by, reason):
            because = _because(_shown(reason))
            return errors.Cancelled(f"{about.what or 'the wait'} was cancelled by the {by}{because}")
        case outcomes.Stopped():
            return errors.ClientClosed(f"{about.what or 'the wait'} ended because the client was closed")
        case outcomes.Completed() | outcomes.Ready():
            raise AssertionError(f"{outcome} is no failure")
        case _:
            assert_never(outcome)


def late(outcome: outcomes.TimedOut, cause: outcomes.Cause | None, about: Circumstances) -> errors.McpError:
    """The server was not ready by the deadline; ``cause`` is why the last try failed."""
    if waits_for_person(outcome) is not None:
        return _timed_out(outcome, about)
    return errors.RequestTimeout(
        f"{about.unsent}{about.server} was not ready within {outcome.seconds:g} s (state: {about.state})"
        f"{_because(about.told(outcome.hindrance or cause))}",
        details={"seconds": outcome.seconds, "state": about.state},
        crash_report=about.crash_report,
    )


def broken_down(failure: BaseException, about: Circumstances) -> errors.Unavailable:
    """The connection's own actors failed until their supervisor gave up."""
    return errors.Unavailable(
        f"{about.unsent}this client broke down: {failure}; start() tries again",
        state=about.state,
        details={"failure": str(failure)},
        crash_report=about.crash_report,
    )


def describe(cause: outcomes.Cause | None) -> str:
    """A cause in one plain line."""
    match cause:
        case None:
            return ""
        case Ending():
            return cause.reason
        case outcomes.Rejected(error):
            code, message, _ = _read(error)
            number = "" if code is None else f" ({code})"
            return f"the server refused the handshake: {_shown(message)}{number}"
        case outcomes.BadAnswer(reason):
            return reason
        case outcomes.NoCommonVersion(ours, theirs):
            return f"no common protocol version (ours: {_list(ours)}; theirs: {_list(theirs)})"
        case outcomes.TimedOut(seconds, hindrance):
            return f"no handshake within {seconds:g} s{_because(describe(hindrance))}"
        case _:
            assert_never(cause)


def _timed_out(outcome: outcomes.TimedOut, about: Circumstances) -> errors.McpError:
    """The deadline passed: while a person had yet to act, or while the server had."""
    seconds, hindrance = outcome.seconds, outcome.hindrance
    details = {"seconds": seconds, "state": about.state}
    if hindrance is not None and hindrance.person:
        what = f"{about.what} was not authorized" if about.what else f"{about.server} was not ready"
        return errors.AuthorizationFailed(
            f"{what} within {seconds:g} s: {hindrance.reason}",
            retryable=True,
            details={**details, **hindrance.details},
        )
    return errors.RequestTimeout(
        f"no answer to {about.what} within {seconds:g} s (state: {about.state})"
        f"{_because(describe(hindrance))}",
        details=details,
        crash_report=about.crash_report,
    )


def _remote(error: Raw, about: Circumstances) -> errors.McpError:
    code, message, data = _read(error)
    message = hide(message, about.secrets)
    if code is None:
        return errors.InvalidResponse(f"{about.what} got an error without a code: {_shown(message)}")
    return errors.RemoteError(
        f"{about.what} failed: {_shown(message)} (code {code})",
        code=code,
        data=data,
        details={"message": message},
    )


def _read(error: Raw) -> tuple[int | None, str, Any]:
    try:
        value = codec.decode(error)
    except codec.DecodeFailed as failure:
        return None, str(failure), None
    if not isinstance(value, dict):
        return None, "not an object", None
    code, message = value.get("code"), value.get("message")
    known = code if type(code) is int else None
    return known, message if isinstance(message, str) else "no message", value.get("data")


def _no_common_version(
    ours: tuple[str, ...], theirs: tuple[str, ...], about: Circumstances
) -> errors.UnsupportedVersion:
    return errors.UnsupportedVersion(
        f"{about.server} and this client share no protocol version "
        f"(ours: {_list(ours)}; theirs: {_list(theirs)})",
        details={"ours": list(ours), "theirs": list(theirs)},
        crash_report=about.crash_report,
    )


def _not_granted(uri: str, about: Circumstances) -> errors.CapabilityMissing:
    words = f"{about.what} failed: {about.server} did not grant the subscription"
    return errors.CapabilityMissing(words, details={"uri": uri})


def _crowded(attempts: int, about: Circumstances) -> errors.Backpressure:
    words = f"{about.what} was not sent: {about.server} did not read its input through {attempts} attempts"
    return errors.Backpressure(words, details={"attempts": attempts})


def _lost(ending: Ending, outcome: errors.Outcome, about: Circumstances) -> errors.McpError:
    if ending.kind is EndKind.OVERSIZED:
        return errors.FrameTooLarge(f"{about.what} failed: {ending.reason}", crash_report=about.crash_report)
    if ending.kind in _REFUSALS:
        return errors.AuthorizationFailed(
            f"{about.what} was not authorized: {ending.reason}",
            retryable=ending.passing,
            details=ending.details,
        )
    ran = "it was not sent" if outcome == "not_sent" else "it may or may not have run"
    return errors.ConnectionLost(
        f"{about.what} lost its connection: {ending.reason}; {ran}",
        outcome=outcome,
        details=ending.details,
        crash_report=about.crash_report,
    )


def _unavailable(state: str, cause: outcomes.Cause | None, about: Circumstances) -> errors.Unavailable:
    again = "" if about.retry_after is None else f"; next try in {about.retry_after:.1f} s"
    return errors.Unavailable(
        f"{about.unsent}{about.server} is not ready (state: {state}){again}{_because(about.told(cause))}",
        state=state,
        retry_after=about.retry_after,
        crash_report=about.crash_report,
    )


def _parked(attempts: int, cause: outcomes.Cause | None, about: Circumstances) -> errors.McpError:
    if isinstance(cause, outcomes.NoCommonVersion):
        return error_from(cause, about)
    if isinstance(cause, Ending) and cause.kind in _REFUSALS:
        # Nobody tries again by itself, but a call does where a person broke it off.
        return errors.AuthorizationFailed(
            f"{about.unsent}{about.server} was not reached: {cause.reason}",
            retryable=cause.kind is EndKind.INTERRUPTED,
            details=cause.details,
        )
    return errors.StartFailed(
        _not_started(attempts, about.told(cause) or "no reason was given", about),
        details={"attempts": attempts, **(cause.details if isinstance(cause, Ending) else {})},
        crash_report=about.crash_report,
    )


def _not_started(attempts: int, reason: str, about: Circumstances) -> str:
    tries = "" if attempts == 1 else f" in {attempts} attempts"
    # What runs elsewhere is not ours to start, and the wire says so in its own words.
    prefix = f"{about.server} could not be reached: "
    remote = about.crash_report is not None and about.crash_report.url is not None
    verb = "reached" if remote or reason.startswith(prefix) else "started"
    return f"{about.server} could not be {verb}{tries}: {reason.removeprefix(prefix)}"


def _because(reason: str) -> str:
    return f": {reason}" if reason else ""


def _list(versions: tuple[str, ...]) -> str:
    return _shown(", ".join(versions)) or "none"


def _shown(text: str) -> str:
    """What a server said is data: one line of bounded length, and nothing that acts on a terminal."""
    return printable(text, _LONGEST_QUOTE)
