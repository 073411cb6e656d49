"""Entry point of the command line.

Only ``argparse`` is imported here: a command's module, and with it torch and scikit-learn, is imported when the command
is the one asked for.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from rkhs import __version__

__all__ = ["main"]

# command -> (module with add_arguments(parser) and run(args) -> exit status, one line of help)
_COMMANDS = {
    "versions": ("rkhs.cli.versions", "print the versions of rkhs, Python and everything rkhs can use"),
}


def _parser(chosen: str | None) -> argparse.ArgumentParser:
    """Build the parser; only the chosen command's module is imported, for its arguments."""
    parser = argparse.ArgumentParser(prog="rkhs", description="Representations with kernels in Hilbert spaces.")
    parser.add_argument("--version", action="version", version=f"rkhs {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (module, line) in _COMMANDS.items():
        command = commands.add_parser(name, help=line, description=line[0].upper() + line[1:] + ".")
        if name == chosen:
            importlib.import_module(module).add_arguments(command)
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
        0 when the command succeeded.

    Raises
    ------
    SystemExit
        For ``--help``, ``--version``, and arguments that do not parse (status 2).
    """
    words = list(sys.argv[1:] if argv is None else argv)
    chosen = next((word for word in words if not word.startswith("-")), None)
    args = _parser(chosen).parse_args(words)
    return importlib.import_module(_COMMANDS[args.command][0]).run(args)
