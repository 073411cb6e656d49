"""Arguments as ``--help`` prints them, and those that several commands have."""

from __future__ import annotations

import argparse
import ast
import csv
import math
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from rkhs._core.errors import InputError
from rkhs.data.formats import KINDS

FILE = "\nMODEL  model file made by rkhs fit or rkhs.save"
ROWS = "\nINPUT  rows like those of the fit; for a Gram model kernel values with the training rows"
KERNEL = "\n--kernel EXPRESSION  kernel on the rows; rkhs fit --help lists them"
SCALE = """
--scale-columns {yes,no,auto}  standardise the columns (default auto: those of a table whose spreads differ more than
    tenfold, unless they look like curves, images or spectra); the model file keeps it, and decoding undoes it"""
CLASSES = "\n--classes  whole numbers in the column are classes"
TARGETS = f"""
--targets FILE  table or array with the columns to predict, with the same rows as INPUT{CLASSES}
--groups COLUMN  rows with one value here are left out together where settings are chosen and errors measured"""
LABELS = "\n--labels FILE  table with the columns of --predict or --color, found by the names of the rows"
JSON = "\n--json  print one JSON object, for programs, and nothing else on standard output"
QUIET = "\n--quiet  no progress and no summary"
SEED = "\n--seed N  seed of all random numbers; the same seed gives the same model"
ENGINE = """
computing:
--engine {threads,dask}  what computes the blocks of rows
--scheduler ADDRESS  address of a Dask cluster, such as tcp://host:8786
--jobs N  threads, or Dask workers to start on this machine"""
MODEL = """
reading the model:
--sha256 DIGITS  refuse MODEL unless its bytes have this SHA-256
--max-bytes N  memory that a model may take (default: 1 GiB, and at most 32 MiB more than 72 times its file)"""
GRAM = "\n--gram  the input is a square Gram matrix, or distances d, read as exp(-d / median)"
READ = """
reading the input:
--read OPTION=VALUE  option of pandas.read_csv, read_excel, read_parquet or read_feather by its name, such as sep=';',
    decimal=, or na_values=n.a.; of a .npz file key=NAME; may be given several times
--index-column COLUMN  column that names the rows"""
KIND = f"""
--kind {{{",".join(KINDS)}}}  what the items are, if the name of the file does not say it
--smiles COLUMN  column that holds SMILES (needs rkhs[chem])
--fingerprint EXPRESSION  of SMILES: morgan, counts, path or maccs, as 'morgan(radius=3, n_bits=1024)' (default morgan);
    'morgan(on_error=skip)' leaves out SMILES that cannot be read. With --predict and in novelty it puts fingerprints in
    place of the kernel of molecules"""
COLUMNS = """
--columns A,B,...  columns to use, by name (in quotation marks if it has a comma), else by position from 0, without the
    column that names the rows
--drop-columns A,B,...  columns to leave out
--transpose  the columns of the table are the items, as genes in rows"""
INPUT = READ + KIND + COLUMNS
ESTIMATOR = """
--estimator NAME  estimator to fit (default KernelAutoencoder)
--set PARAM=VALUE  set any parameter of the estimator; may be given several times"""
FIT = ESTIMATOR + SEED + KERNEL + GRAM + SCALE + LABELS
COMPONENTS = "\n--n-components P  dimension of the codes; 10,2,10 for a deep autoencoder"
ROBUST = "\n--robust  find rows that look wrong, and fit without them"
TRACEBACK = """
--traceback  show where an error arose, for bug reports"""


def declare(parser: argparse.ArgumentParser, text: str) -> None:
    """Declare arguments: names, a placeholder that says the type (``{a,b}``: choices), ``[default]``, and the help."""
    group: Any = parser
    for entry in re.split(r"\n(?=\S)", text.strip()):
        head, _, help_text = entry.partition("  ")
        if help_text:
            names, options = _argument(head, help_text)
            group.add_argument(*names, help=" ".join(help_text.split()), **options)
        else:
            group = parser.add_argument_group(head.removesuffix(":"))


def _argument(head: str, help_text: str) -> tuple[list[str], dict[str, Any]]:
    """What argparse knows of an argument."""
    *flags, rest = head.split(", ")
    name, shape, default = (*rest.split(), "", "")[:3]
    kind, plain = _TYPES.get(shape, str), name.strip("[]")
    if shape.startswith("{"):
        options: dict[str, Any] = {"choices": shape[1:-1].split(",")}
    elif not name.startswith("-"):
        options = {"metavar": plain, "nargs": None if name == plain else "?"}
    elif not shape:
        options = {"action": "store_true"}
    else:
        options = {"metavar": shape, "type": kind, "action": "append" if "several times" in help_text else "store"}
    if default:
        options["default"] = kind(default.strip("[]"))
    if name.startswith("-"):
        return [*flags, name], options | {"required": help_text.startswith("(required)")}
    return [plain.lower()], options


def changed(args: argparse.Namespace, **others: Any) -> argparse.Namespace:
    """The arguments with others in their place."""
    return argparse.Namespace(**{**vars(args), **others})


def flags_in(text: str) -> list[str]:
    """Names of the options that a text declares."""
    return [name.replace("-", "_") for name in re.findall(r"^(?:-\w, )?--([\w-]+)", text, re.MULTILINE)]


def refuse_flags(args: argparse.Namespace, names: Iterable[str], why: str) -> None:
    """Refuse the first of the flags that was given; ``why`` follows its name in the error."""
    for name in names:
        if getattr(args, name, None) not in (None, False, [], "auto"):
            raise InputError(f"--{name.replace('_', '-')} {why}")


def column(text: str) -> str | int:
    """What was typed for a column: its position where it is a whole number, else its name."""
    return int(text) if text.isdecimal() and str(int(text)) == text else text


def named_columns(text: str | int | list[str | int] | None) -> list[str | int]:
    """The columns that were typed, with commas between them; quotation marks keep a comma."""
    if isinstance(text, int):
        return [text]
    if text is None or isinstance(text, list):
        return text or []
    parts = next(csv.reader([text], skipinitialspace=True), [])
    if not parts:
        raise InputError("expected names of columns, with commas between them; got an empty text; leave the flag out")
    return [column(part.strip()) for part in parts]


def read_options(args: argparse.Namespace) -> dict[str, Any]:
    """Options of pandas that ``--read`` gives: Python literals, else texts; a list of one that is given twice."""
    found: dict[str, Any] = {}
    for text in getattr(args, "read", None) or ():
        name, sign, typed = text.partition("=")
        if not sign or not name.strip().isidentifier():
            raise InputError(f"--read must read OPTION=VALUE, as sep=';' or header=None; got {text!r}")
        value: Any = typed.replace("\\t", "\t")
        with suppress(ValueError, SyntaxError):
            value = ast.literal_eval(typed)
        name = name.strip()
        if name in found:
            value = [*(found[name] if isinstance(found[name], list) else [found[name]]), value]
        found[name] = value
    return found


def real(text: str) -> float:
    """Turn what was typed for a number into a finite one."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"expected a finite number; got {text}")
    return value


_TYPES: dict[str, Any] = {
    **dict.fromkeys("KLNR", int),
    "A": float,
    "COLUMN": column,
    "T": real,
    "VALUE": real,
}
