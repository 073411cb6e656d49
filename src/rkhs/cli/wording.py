"""Messages of the library in the words of the command line: flags in place of Python arguments."""

from __future__ import annotations

import re
import shlex
import sys
from functools import cache

from rkhs.cli.options import ENGINE, INPUT, KERNEL, MODEL

_SHARED = re.findall(r"^--([\w-]+) (?:{(\S+)}|(\S+))", KERNEL + ENGINE + MODEL + INPUT, re.MULTILINE)
FLAGS = {
    **{name.replace("-", "_"): (f"--{name}", choices.replace(",", "|") or shape) for name, choices, shape in _SHARED},
    "address": ("--scheduler", "ADDRESS"),
    "by": ("--by", "codes|features"),
    "column": ("--columns", "NAME"),
    "diag": ("--diag", "VALUE"),
    "expected_sha256": ("--sha256", "DIGITS"),
    "gram": ("--gram", ""),
    "groups": ("--groups", "COLUMN"),
    "layer": ("--layer", "L"),
    "n_best": ("--n-best", "K"),
    "n_components": ("--n-components", "P"),
    "n_jobs": ("--jobs", "N"),
    "random_state": ("--seed", "N"),
    "smiles_column": ("--smiles", "COLUMN"),
    "target": ("--predict", "COLUMN"),
}
"""Flag and placeholder of each argument that has a flag of its own; other parameters are set by ``--set``."""

_PHRASES = {
    "columns='raw'": "--scale-columns no",
    "columns='scaled'": "--scale-columns yes",
    "(fit_robust)": "(rkhs fit --robust, without --predict of a class)",
    "kernel='precomputed'": "--gram",
    "model.set_params(refine=False)": "--plain",
    'on_error="skip"': "--fingerprint 'morgan(on_error=skip)'",
    "`encoding`": "--read encoding",
    "key= chooses": "--read key=NAME chooses",
    "`path`": "the path",
}
_LONGEST = 1200
_WITHOUT_QUOTES = str.maketrans("", "", "'\"")

_QUOTED = r"""(?<![\w=])(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""  # what the user wrote: repeated as it is
_CALL = r"[A-Za-z_][\w.]*\((?:[^()]|\([^()]*\))*\)"  # Gaussian(gamma=1.0) reads the same on the command line
_VALUE = rf"""\[[^\]]*\]|'[^']*'|"[^"]*"|{_CALL}|[\w.+-]*\w"""
_PATTERN = re.compile(
    rf"(?<![\w-])(?P<phrase>{'|'.join(map(re.escape, _PHRASES))})|(?P<left>{_QUOTED}|--(?:set|read) \S+)"
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
    return _option(name, _in_words((match["value"] or "").strip("[]")))


def _in_words(value: str) -> str:
    """The value of an argument without the marks of Python."""
    return re.sub(r",\s+", ",", value).translate(_WITHOUT_QUOTES)


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


def message_line(text: str) -> str:
    """A message as one line of bounded length, in flags."""
    return in_flags(_one_line(text))


def _one_line(text: str) -> str:
    words = " ".join(text.split())
    if len(words) > _LONGEST:
        words = f"{words[: _LONGEST // 2]} ... {words[-_LONGEST // 2 :]}"
    return words
