"""Parsers whose errors say the nearest name that is known."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from rkhs._core.errors import nearest
from rkhs.cli.commands import COMMANDS
from rkhs.cli.options import flags_in


def hint(name: str, known: Iterable[str]) -> str:
    """Say which known name may be meant by another."""
    near = nearest(name, known)
    return f"; did you mean {near!r}?" if near else ""


class CommandParser(argparse.ArgumentParser):
    """A parser that names the nearest flag, command or choice when it meets an unknown one."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, then how the command is used."""
        sys.stderr.write(f"{self.prog}: error: {message}\n")
        self.print_usage(sys.stderr)
        self.exit(2)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse, and refuse flags that are not known: the parser of a command knows its own, that of rkhs does not."""
        found, extra = super().parse_known_args(args, namespace)
        if extra:
            flag = next((word.partition("=")[0] for word in extra if word.startswith("-")), "")
            self.error(f"unrecognized arguments: {' '.join(extra)}{self._hint(flag) if flag else ''}")
        return found, extra

    def _hint(self, flag: str) -> str:
        """Say which flag of the command may be meant, or else which other commands have this one."""
        near = hint(flag, [name for action in self._actions for name in action.option_strings])
        having = [name for name, command in COMMANDS.items() if flag[2:].replace("-", "_") in flags_in(command.options)]
        return f"; it is a flag of rkhs {', '.join(having)}" if having else near

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        choices: Sequence[Any] | None = None if action.choices is None else list(action.choices)
        if choices is not None and value not in choices:
            listed = ", ".join(repr(choice) for choice in choices)
            advice = hint(str(value), [str(choice) for choice in choices])
            raise argparse.ArgumentError(action, f"invalid choice: {value!r} (choose from {listed}){advice}")
