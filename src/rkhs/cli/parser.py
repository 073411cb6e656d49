"""Parsers whose errors say the nearest name that is known."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, NoReturn

from rkhs._core.errors import nearest
from rkhs.cli.commands import COMMANDS
from rkhs.cli.options import flags_in

_RENAMED = {"evaluate": "compare"}


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
        """Say which commands have the flag, which one may be meant, or which parameter ``--set`` takes."""
        flags = [flag for action in self._actions for flag in action.option_strings]
        others = {name: [f"--{one.replace('_', '-')}" for one in flags_in(c.options)] for name, c in COMMANDS.items()}
        having = [name for name, known in others.items() if flag in known]
        if having:
            return f"; rkhs {', '.join(having)} {'has' if len(having) == 1 else 'have'} it"
        near = nearest(flag, chain(flags, *others.values()))
        if near in flags:
            return f"; did you mean {near!r}?"
        if "--set" not in flags:
            return ""
        import rkhs.estimators  # noqa: F401
        from rkhs.cli.wording import parameters

        near = nearest(flag, parameters())
        return f"; did you mean '--set {near}=...'?" if near else ""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        choices: Sequence[Any] | None = None if action.choices is None else list(action.choices)
        if choices is not None and value not in choices:
            new = _RENAMED.get(str(value))
            advice = f"; it became {new!r}" if new in choices else hint(str(value), [str(choice) for choice in choices])
            listed = ", ".join(repr(choice) for choice in choices)
            raise argparse.ArgumentError(action, f"invalid choice: {value!r} (choose from {listed}){advice}")
