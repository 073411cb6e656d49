"""Messages of the library in the words of the command line: flags in place of Python arguments."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from functools import cache
from typing import Any

from rkhs._core.errors import quote
from rkhs.cli.options import (
    DROP,
    ENGINE,
    INPUT,
    KERNEL,
    MODEL,
    as_command,
    quoted_cells as quoted_cells,
    taken,
    with_advice,
)

_SHARED = re.findall(r"^--([\w-]+) (?:{(\S+)}|(\S+))", KERNEL + DROP + ENGINE + MODEL + INPUT, re.MULTILINE)
FLAGS = {
    **{name.replace("-", "_"): (f"--{name}", choices.replace(",", "|") or shape) for name, choices, shape in _SHARED},
    "at_most": ("--at-most", "N"),
    "address": ("--scheduler", "ADDRESS"),
    "by": ("--by", "codes|features"),
    "column": ("--columns", "NAME"),
    "diag": ("--diag", "VALUE"),
    "expected_sha256": ("--sha256", "DIGITS"),
    "gram": ("--gram", ""),
    "groups": ("--groups", "COLUMN"),
    "layer": ("--layer", "L"),
    "n_best": ("--n-best", "K"),
    "n_bits": ("--bits", "N"),
    "n_labels": ("--few-labels", "N"),
    "n_components": ("--n-components", "P"),
    "n_jobs": ("--jobs", "N"),
    "n_splits": ("--splits", "N"),
    "on_error": ("--skip-bad-smiles", ""),
    "random_state": ("--seed", "N"),
    "rows": ("--chunk-rows", "N"),
    "smiles_column": ("--smiles", "COLUMN"),
    "space": ("--space", "SPACE"),
    "target": ("--predict", "COLUMN"),
}
"""Flag and placeholder of each argument that has a flag of its own; other parameters are set by ``--set``."""

_PHRASES = {
    "keep texts and gaps with read_mixed and kernel='mixed_table'": "fit with --mixed, which keeps texts and gaps",
    "columns='raw'": "--scale-columns no",
    "columns='scaled'": "--scale-columns yes",
    'gram="cross"': "rkhs transform with a model",
    "(fit_robust)": "(rkhs fit --robust, without --predict of a class)",
    "gram=False": "no --gram",
    "gram=True": "--gram",
    "header=False": "--header no",
    "header=True": "--header yes",
    "kernel='precomputed'": "--gram",
    "model.set_params(refine=False)": "--plain",
    "X.transpose(0, 2, 1)": "--transpose, or leave it out",
    "on_error='skip'": "--skip-bad-smiles",
    'on_error="skip"': "--skip-bad-smiles",
    "`path`": "the path",
}
# What options do that messages about something else add to a command.
_DOES = {
    "columns": "reads {} alone (--columns)",
    "drop_columns": "leaves {} out (--drop-columns)",
    "index_column": "names the rows by {} (--index-column)",
    "missing": "takes {} as gaps, which are no numbers in the unit of their column (--missing)",
    "mixed": "keeps texts and gaps (--mixed)",
    "skip_bad_smiles": "leaves out SMILES that cannot be read (--skip-bad-smiles)",
}
_LONGEST = 1200
_WITHOUT_QUOTES = str.maketrans("", "", "'\"")

_QUOTED = r"""(?<![\w=])(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""  # what the user wrote: repeated as it is
_CALL = r"[A-Za-z_][\w.]*\((?:[^()]|\([^()]*\))*\)"  # Gaussian(gamma=1.0) reads the same on the command line
_VALUE = rf"""\[[^\]]*\]|'[^']*'|"[^"]*"|{_CALL}|[\w.+-]*\w"""
_PATTERN = re.compile(
    rf"(?<![\w-])(?P<phrase>{'|'.join(map(re.escape, _PHRASES))})|(?P<left>{_QUOTED}|--set \S+)"
    rf"|`(?P<ticked>\w+)`|(?<![\w.-])(?P<name>[a-z]\w*)=(?P<value>{_VALUE})?|(?P<call>{_CALL})"
    rf"|(?<![\w.-])(?P<bare>{'|'.join(name for name in FLAGS if '_' in name)}|groups(?= must))(?!\w)"
)


def in_flags(text: str) -> str:
    """Reword what a message says of Python arguments; what it quotes stays as it is."""
    return _PATTERN.sub(_reword, text)


def _reword(match: re.Match[str]) -> str:
    whole = match.group()
    if match["phrase"] is not None:
        return _PHRASES[whole]
    if match["left"] is not None or match["call"] is not None:
        return whole
    name = match["name"] or match["ticked"] or match["bare"]
    if match["name"] is None:
        return FLAGS.get(name, (whole,))[0]
    if name not in FLAGS and name not in parameters():
        return whole
    return _option(name, _in_words(name, (match["value"] or "").strip("[]")))


def _in_words(name: str, value: str) -> str:
    """The value of an argument without the marks of Python."""
    cells = re.findall(r"'([^']*)'", value) if name == "missing" else []
    return quoted_cells(cells) if cells else re.sub(r",\s+", ",", value).translate(_WITHOUT_QUOTES)


def _option(name: str, value: str) -> str:
    """An argument and its value, as an option."""
    if name in FLAGS:
        flag, placeholder = FLAGS[name]
        quoted = "','" if value == "," else shlex.quote(value)
        given = quoted if value.strip(".") or value == "." else placeholder
        return f"{flag}{'=' if value.startswith('-') else ' '}{given}".strip()
    return f"--set {name}={value}" if value and "(" not in value else f"--set '{name}={value or '...'}'"


@cache
def parameters() -> frozenset[str]:
    """Parameters of all estimators; they are loaded wherever one of them raises."""
    found = sys.modules.get("rkhs.estimators")
    classes = [getattr(found, name) for name in getattr(found, "__all__", ())]
    return frozenset(p for cls in classes if hasattr(cls, "get_params") for p in cls._get_param_names())


def message_lines(text: str) -> str:
    """A message as one line of bounded length, reworded, and a command to copy in a line of its own."""
    words, mark, command = text.partition("\n\n  ")
    return f"{in_flags(_one_line(words))}{mark}{command}"


def _one_line(text: str) -> str:
    words = " ".join(text.split())
    if len(words) > _LONGEST:
        words = f"{words[: _LONGEST // 2]} ... {words[-_LONGEST // 2 :]}"
    return words


def with_command(message: Exception, args: argparse.Namespace) -> str:
    """The message of an error, and one command that does what it, or its cause, and earlier warnings advise."""
    found: Any = next((one for one in (message, message.__cause__) if hasattr(one, "options")), None)
    does = [found.does] if (options := taken(found, args)) else []
    if args.advice:
        does.append(f"does what the {'warning above advises' if len(args.advice) == 1 else 'warnings above advise'}")
    commands = _commands(args, [options, *filter(None, [getattr(found, "otherwise", None)])])
    does += _unnamed(args, " ".join([str(message), *does]), options, known=does[:1] not in ([], ["reads it"]))
    return f"{message}; this command {', and '.join(does)}:{commands}" if does and commands else str(message)


def _commands(args: argparse.Namespace, ways: list[dict[str, Any]]) -> str:
    """The command with each of some options, but for one that was run just now."""
    words = (with_advice(args, way) for way in ways)
    return "".join(as_command(one) for one in words if sorted(one) != sorted(args.words))


def _unnamed(args: argparse.Namespace, text: str, options: dict[str, Any], *, known: bool) -> list[str]:
    """What options of a command do that neither the user, warnings nor a message name; known: all but their values."""
    from rkhs.data.dataset import listed

    found, text = [], in_flags(" ".join(map(str, [text, *args.advice, *args.words])))
    for name, value in options.items():
        cells = [str(cell) for cell in (value if isinstance(value, list) else [value])]
        flag = f"--{name.replace('_', '-')}"
        if known or flag in text:
            new = (cell for cell in cells if re.search(rf"(?<!\w){re.escape(cell)}(?!\w)", text) is None)
            cells = [*new] if isinstance(value, list) else []
        if cells:
            found.append(_DOES.get(name, f"reads it by {flag} {{}}").format(listed([*map(quote, cells)], 3)))
    return found
