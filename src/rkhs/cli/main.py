"""Entry point of the command line.

Only ``argparse`` is imported here: what a command computes with, and with it torch and scikit-learn, is imported when
the command runs.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from rkhs import __version__

__all__ = ["main"]

# command -> (module with add_arguments(parser) and run(args) -> exit status, one line of help)
_COMMANDS = {
    "fit": ("rkhs.cli.fit", "fit a model to a table, molecules, graphs or other items, and write it to a file"),
    "transform": ("rkhs.cli.transform", "encode the rows of a file with a model"),
    "decode": ("rkhs.cli.decode", "turn codes back into vectors, or into the nearest known items"),
    "evaluate": (
        "rkhs.cli.evaluate",
        "measure how well a model rebuilds the rows of a file, or how well codes serve with few labels",
    ),
    "compare": ("rkhs.cli.compare", "say whether codes of a file are worth having, for a class or number known of it"),
    "export": ("rkhs.cli.export", "write the encoder or decoder of a model as an ONNX file"),
    "info": ("rkhs.cli.info", "say what a model file holds"),
    "versions": ("rkhs.cli.versions", "print the versions of rkhs, Python and everything rkhs can use"),
}
_USER_ERROR, _OWN_ERROR, _INTERRUPTED = 2, 1, 130


def _parser(chosen: str | None) -> argparse.ArgumentParser:
    """Build the parser; only the chosen command's module is imported, for its arguments."""
    parser = argparse.ArgumentParser(
        prog="rkhs",
        description="Representations with kernels in Hilbert spaces.",
        epilog="Exit status: 0 done, 2 wrong arguments or data, 1 an error of rkhs itself, 130 interrupted.",
    )
    parser.add_argument("--version", action="version", version=f"rkhs {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (module, line) in _COMMANDS.items():
        command = commands.add_parser(name, help=line, description=line[0].upper() + line[1:] + ".")
        if name == chosen:
            importlib.import_module(module).add_arguments(command)
            command.add_argument("--traceback", action="store_true", help="show where an error arose, for bug reports")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Parameters
    ----------
    argv : sequence of str, default=None
        The arguments after the program's name; None takes those of the process.

    Returns
    -------
    int
        0 when the command succeeded, 2 for arguments and data that cannot be used, 1 for an error of the library, 130
        after Ctrl-C; the reason stands in one line on standard error.

    Raises
    ------
    SystemExit
        For ``--help``, ``--version``, and arguments that do not parse (status 2).
    """
    words = list(sys.argv[1:] if argv is None else argv)
    chosen = next((word for word in words if not word.startswith("-")), None)
    args = _parser(chosen).parse_args(words)
    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = _show_warning
        return _guarded(importlib.import_module(_COMMANDS[args.command][0]).run, args)


def _guarded(run: Callable[[argparse.Namespace], int], args: argparse.Namespace) -> int:
    """Run a command; whatever goes wrong becomes one line and a status."""
    try:
        status = run(args)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        _say("interrupted; nothing was left half written")
        return _INTERRUPTED
    except BrokenPipeError:  # the reader of our output, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if args.traceback:
            import traceback

            traceback.print_exc()
        # Already imported if the error is one of ours: a plain import would cost a second for nothing.
        errors = sys.modules.get("rkhs._core.errors")
        if isinstance(error, OSError) or (errors is not None and isinstance(error, errors.RkhsError)):
            _say(f"error: {_one_line(str(error))}")
            return _USER_ERROR
        _say(f"unexpected error: {type(error).__name__}: {_one_line(str(error))} (--traceback shows where)")
        return _OWN_ERROR


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _say(text: str) -> None:
    sys.stderr.write(f"rkhs: {text}\n")


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    _say(f"warning: {_one_line(str(message))}")
