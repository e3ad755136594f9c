"""The command line as a whole: takes off the server's command, and is where all errors end."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any, Final, cast

import typer
from typer.core import TyperGroup

from mcp_actors import errors
from mcp_actors.cli import exit_codes
from mcp_actors.cli.mistake import Mistake
from mcp_actors.cli.target import split

PROGRAM: Final = "mcp-actors"
DEBUG: Final = "MCP_ACTORS_DEBUG"
# Some versions of typer import click, others bring their own: this is UsageError of whichever it is.
_UsageError: Final = cast(type[Exception], typer.BadParameter.__mro__[1])


class CommandLine(TyperGroup):
    """All commands. Every failure ends here, as one line on stderr and an exit code."""

    def main(  # type: ignore[override]  # what else typer would take is passed on
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> Any:
        """Run and exit."""
        _be_lenient()
        own, command = split(sys.argv[1:] if args is None else args)
        extra |= {"standalone_mode": False, "obj": command}
        try:
            code = super().main(own, prog_name or PROGRAM, **extra)
        except typer.Abort:
            code = exit_codes.INTERRUPTED
        except _UsageError as error:
            _show_usage(error)
            code = exit_codes.USAGE
        sys.exit(code or exit_codes.OK)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named."""
        try:
            done = super().invoke(ctx)
            sys.stdout.flush()
        except (Mistake, errors.McpError, KeyboardInterrupt, OSError) as error:
            raise typer.Exit(_ended_by(error)) from error
        return done


def _ended_by(error: BaseException) -> int:
    from mcp_actors.cli.output import complain, remark

    if os.environ.get(DEBUG):
        traceback.print_exception(error)
    match error:
        case Mistake():
            complain(str(error), error.details)
            return exit_codes.USAGE
        case errors.McpError():
            code = exit_codes.exit_code(error)
            complain(*_told(error, code))
            return code
        case KeyboardInterrupt():
            remark("interrupted")
            return exit_codes.INTERRUPTED
        case BrokenPipeError():
            _let_go_of_stdout()
            return exit_codes.PIPE_CLOSED
        case _:
            # Such as a disk that is full.
            _let_go_of_stdout()
            complain(f"the result cannot be written: {error}")
            return exit_codes.USAGE


def _told(error: errors.McpError, code: int) -> tuple[str, str]:
    """What to say about a failure: the sentence, and what is known about a server that is not there."""
    report = error.crash_report
    if code == exit_codes.UNREACHABLE and report is not None:
        return error.message, report.summary()
    if code == exit_codes.TIMED_OUT:
        hint = "  --timeout SECONDS gives it longer, --verbose shows what it does"
        # What it wrote before it fell silent may be the reason.
        wrote = report is not None and (report.stderr_tail or report.strays)
        words = f"{report.summary()}\n" if report is not None and wrote else ""
        return error.message, words + hint
    if isinstance(error, errors.AuthorizationFailed):
        return (
            error.message,
            "  --header 'Authorization: Bearer TOKEN' shows it a token, or headers in a file",
        )
    return error.message, "\n".join(f"  {note}" for note in getattr(error, "__notes__", ()) if note)


def _show_usage(error: Any) -> None:
    from mcp_actors.cli.output import complain

    if type(error).__name__ == "NoArgsIsHelpError":
        # Its message is the help itself, unless typer has printed it already.
        sys.stdout.write(f"{error.format_message()}\n".lstrip("\n"))
        return
    context = error.ctx
    complain(error.format_message(), f"  {context.command_path} --help tells more" if context else "")


def _be_lenient() -> None:
    """A stream that is closed, and a character that the encoding of one lacks, must not end a command."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r+", encoding="utf-8"))  # noqa: SIM115 - for good
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def _let_go_of_stdout() -> None:
    """Python flushes stdout once more when it ends, and would complain about the same pipe again."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
