"""Parsers whose errors say the nearest name that is known."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterable, Sequence
from typing import Any


def nearest(name: str, known: Iterable[str]) -> str:
    """Say the known name that is nearest to another."""
    plain = {each.lower().replace("_", "-"): each for each in known}
    near = difflib.get_close_matches(name.lower().replace("_", "-"), plain, 1)
    return f"; did you mean {plain[near[0]]!r}?" if near else ""


def all_flags(parser: argparse.ArgumentParser) -> list[str]:
    """The flags of a parser."""
    return [flag for action in parser._actions for flag in action.option_strings]


class CommandParser(argparse.ArgumentParser):
    """A parser that names the nearest flag, command or choice when it meets an unknown one."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse, and refuse flags that are not known: the parser of a command knows its own, that of rkhs does not."""
        found, extra = super().parse_known_args(args, namespace)
        if extra:
            flag = next((word.partition("=")[0] for word in extra if word.startswith("-")), "")
            self.error(f"unrecognized arguments: {' '.join(extra)}{nearest(flag, all_flags(self)) if flag else ''}")
        return found, extra

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        choices: Sequence[Any] | None = None if action.choices is None else list(action.choices)
        if choices is not None and value not in choices:
            hint = nearest(str(value), [str(choice) for choice in choices])
            listed = ", ".join(repr(choice) for choice in choices)
            raise argparse.ArgumentError(action, f"invalid choice: {value!r} (choose from {listed}){hint}")
