"""Entry point of the command line.

Only ``argparse`` is imported here: what a command computes with, and with it torch and scikit-learn, is imported when
the command runs.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from rkhs import __version__
from rkhs._core.errors import RkhsError
from rkhs.cli.commands import COMMANDS
from rkhs.cli.options import TRACEBACK, declare
from rkhs.cli.parser import CommandParser
from rkhs.cli.streams import Stream, Terminated, ended_by_signals, forgiving_streams
from rkhs.cli.wording import message_line

_AS_WRITTEN = argparse.RawDescriptionHelpFormatter  # examples keep their lines
_USER_ERROR, _OWN_ERROR, _INTERRUPTED = 2, 1, 130


def _parser(*chosen: str) -> argparse.ArgumentParser:
    """Build the parser; only the chosen commands have their arguments."""
    parser = CommandParser(
        prog="rkhs",
        description="Representations with kernels in Hilbert spaces.",
        epilog="Exit status: 0 done, 2 wrong arguments or data, 1 an error of rkhs itself, 130 interrupted, 143 ended "
        "by SIGTERM.",
    )
    parser.add_argument("--version", action="version", version=f"rkhs {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        text = f"{command.line[0].upper()}{command.line[1:]}."
        of_command = commands.add_parser(
            name, help=command.line, description=text, epilog=command.examples, formatter_class=_AS_WRITTEN
        )
        if name in chosen:
            declare(of_command, command.options + TRACEBACK)
    return parser


def whole_parser() -> argparse.ArgumentParser:
    """The parser with the arguments of all commands, for programs such as shtab."""
    return _parser(*COMMANDS)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    started, words = time.perf_counter(), list(sys.argv[1:] if argv is None else argv)
    chosen = next((word for word in words if not word.startswith("-")), None)
    with (
        forgiving_streams() as out,
        ended_by_signals(),
        warnings.catch_warnings(action="default", category=UserWarning),
    ):
        args = argparse.Namespace(words=words, started=started, notes=[])
        warnings.showwarning = _once(args)
        try:
            _parser(*filter(None, [chosen])).parse_args(words, args)
            importlib.import_module(f"rkhs.cli.{args.command}").run(args)
            return _status(out)
        except KeyboardInterrupt as interrupt:
            _print_line(f"{str(interrupt) or 'interrupted'}; nothing was left half written")
            return 128 + interrupt.number if isinstance(interrupt, Terminated) else _INTERRUPTED
        except Exception as error:
            return _failed(error, args)


def _status(out: Stream) -> int:
    """The status of a command that ended well: 0, unless what it printed was lost."""
    out.flush()
    if out.error is None or isinstance(out.error, BrokenPipeError):  # the reader, such as head, has seen enough
        return 0
    _print_line(f"error: cannot write to standard output ({out.error.strerror or out.error}); files are written")
    return _USER_ERROR


def _failed(error: Exception, args: argparse.Namespace) -> int:
    """Say what went wrong in one line, and whose fault it is."""
    if getattr(args, "traceback", False):
        import traceback

        traceback.print_exc()
    if isinstance(error, (OSError, RkhsError)):
        _print_line(f"error: {error}")
        return _USER_ERROR
    if isinstance(error, MemoryError):
        _print_line(
            f"error: there is not enough memory for this ({str(error) or 'none is left'}); read or fit fewer rows"
        )
        return _USER_ERROR
    _print_line(f"unexpected error: {type(error).__name__}: {error} (--traceback shows where)")
    return _OWN_ERROR


def _print_line(text: str) -> None:
    sys.stderr.write(f"rkhs: {message_line(text)}\n")


def _once(args: argparse.Namespace) -> Callable[..., None]:
    """A function that prints a warning of this command, and the same one no second time."""

    def show(message: Warning, *_: Any, **__: Any) -> None:
        if str(message) not in args.notes:
            args.notes.append(str(message))
            _print_line(f"warning: {message}")

    return show
