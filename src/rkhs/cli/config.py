"""Flags in a TOML file: ``--config FILE`` reads them, ``--print-config`` writes them."""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Sequence
from typing import Any

from rkhs._core.errors import InputError
from rkhs.cli.parser import nearest

_NOT_KEYS = ("help", "config", "print-config", "traceback")


def config_words(
    parser: argparse.ArgumentParser, command: str, words: Sequence[str], commands: Collection[str]
) -> list[str]:
    """The flags of the file of ``--config``, to stand before those of the command line."""
    asks = argparse.ArgumentParser(prog=parser.prog, add_help=False)
    asks.add_argument("--config")
    path = asks.parse_known_args(list(words))[0].config
    if path is None:
        return []
    known = _actions(parser)
    found: list[str] = []
    for key, value in _settings(path, command, commands).items():
        if key not in known:
            raise InputError(f"{path}: {key!r} is no flag of rkhs {command}{nearest(key, known)}; see --help")
        found += _as_words(key, value, known[key], path)
    return found


def _actions(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """The options by their long flags without dashes."""
    found = {action.option_strings[-1].lstrip("-"): action for action in parser._actions if action.option_strings}
    return {key: action for key, action in found.items() if key not in _NOT_KEYS}


def _settings(path: str, command: str, commands: Collection[str]) -> dict[str, Any]:
    """Keys of the file for one command: those of no section, then those of its section."""
    table = _table(path)
    sections = {key: value for key, value in table.items() if isinstance(value, dict) and key != "set"}
    for key in sections:
        if key not in commands:
            raise InputError(f"{path}: the section [{key}] is no command of rkhs{nearest(key, [*commands, 'set'])}")
    flat = {key: value for key, value in table.items() if key not in sections}
    return {key.replace("_", "-"): value for key, value in [*flat.items(), *sections.get(command, {}).items()]}


def _table(path: str) -> dict[str, Any]:
    import tomllib

    from rkhs._core.files import check_readable  # which takes 10 ms, also of rkhs --help

    try:
        check_readable(path)
        with open(path, "rb") as handle:
            return tomllib.load(handle)
    except OSError as error:
        raise InputError(f"--config must name a file that can be read; got {path!r} ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"--config {path} must be a TOML file; got one that does not parse ({error})") from error


def _as_words(key: str, value: Any, action: argparse.Action, path: str) -> list[str]:
    if action.nargs == 0:
        if not isinstance(value, bool):
            raise InputError(f"{path}: {key} must be true or false; got {value!r}")
        return [f"--{key}"] if value else []
    if key == "set" and isinstance(value, dict):
        value = [f"{name}={part}" for name, part in value.items()]
    parts = value if isinstance(value, list) else [value]
    if not set(map(type, parts)) <= {str, int, float}:
        raise InputError(f"{path}: {key} must be a text, a number or a list of such; got {value!r}")
    texts = list(map(str, parts))
    return [f"--{key}={text}" for text in (texts if isinstance(action, argparse._AppendAction) else [",".join(texts)])]


def as_toml(parser: argparse.ArgumentParser, command: str, args: argparse.Namespace) -> str:
    """The flags that are not at their defaults, as a section of a TOML file."""
    lines = [f"[{command}]"]
    for key, action in _actions(parser).items():
        value = getattr(args, action.dest, action.default)
        if value != action.default:
            # Strings and numbers of JSON are those of TOML, but for one control character.
            text = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
            lines.append(f"{key} = {text}")
    return "\n".join(lines)
