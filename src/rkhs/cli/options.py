"""Arguments as ``--help`` prints them, and those that several commands have."""

from __future__ import annotations

import argparse
import csv
import math
import re
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

from rkhs._core.errors import InputError
from rkhs.data.formats import FINGERPRINTS, KINDS
from rkhs.data.text import is_grouped_number

FILE = "\nMODEL  model file made by rkhs fit or rkhs.save"
ROWS = "\nINPUT  rows like those of the fit; for a Gram model kernel values with the training rows"
KERNEL = "\n--kernel EXPRESSION  kernel on the rows; rkhs fit --help lists them"
MIXED = """
--mixed  the table holds numbers, texts and missing cells, whatever they look like; with --kernel mixed_table nothing is
    filled"""
SCALE = """
--scale-columns {yes,no,auto}  standardise the columns (default auto: those of a table whose spreads differ more than
    tenfold, unless they look like curves, images or spectra); the model file keeps it, and decoding undoes it"""
LABELS = """
--labels FILE  table with the columns of --predict or --color; the names of the rows find theirs in it"""
LOG10 = "\n--log10  predict the logarithm to base ten, of positive numbers over several decades"
TARGET_KIND = """
--target-kind {auto,classes,numbers}  what whole numbers to predict are (default auto: two different ones are classes,
    others numbers)"""
DROP = "\n--drop-columns A,B,...  columns to leave out, by name or by position from 0"
JSON = "\n--json  print one JSON object, for programs, and nothing else on standard output"
ROBUST = """
rows that are wrong:
--robust  find rows that look wrong, and fit without them
--trim T  with --robust: a score of 1 is T times the upper quartile of the errors (default 4)
--only COLUMN=VALUE  read the rows whose column holds this text, such as 'Result Type=LogD'
--leave-out ROW,...  rows to leave out of the fit and of the codes, by name or by number from 1; with --robust: apart,
    for the rows that stand apart"""
ENGINE = """
computing:
--engine {serial,threads,dask}  what computes the blocks of rows
--scheduler ADDRESS  address of a Dask cluster, such as tcp://host:8786
--jobs N  threads, or Dask workers to start on this machine"""
MODEL = """
reading the model:
--sha256 DIGITS  refuse MODEL unless its bytes have this SHA-256
--max-bytes N  memory that a model may take (default: 1 GiB, and at most 32 MiB more than 72 times its file)"""
INPUT = f"""
reading the input:
--kind {{{",".join(KINDS)}}}  what the items are, if the name of the file does not say it; without this flag folders are
    graphs, or curves of .csv, .txt and .dpt files, .txt lines of text, .ts series, .csv, .tsv and .npz vectors
--fingerprint {{{",".join(FINGERPRINTS)}}}  kind of fingerprint of SMILES (default morgan; counts: how often each Morgan
    feature occurs)
--radius R  radius of Morgan fingerprints, in bonds (default 2)
--bits N  length of fingerprints (default 2048)
--columns A,B,...  columns to use, by name (in quotation marks if it has a comma), else by position from 0
--index-column COLUMN  column that holds the names of the rows
--smiles COLUMN  column that holds the SMILES (needs rkhs[chem])
--skip-bad-smiles  leave out SMILES that cannot be read, and say so
--key NAME  array of a .npz file or sheet of a .xlsx file to read
--delimiter CHAR  character between the cells of a text file
--encoding NAME  encoding of a text file, such as cp1252 (default utf-8)
--decimal CHAR  decimal mark of a text file (default: look)
--thousands CHAR  character between thousands, as in 1,234 (default: such cells are refused)
--comment CHAR  one character that begins lines of comments in a text file (default: #, %% and // above the table)
--skip-rows N  rows above the table in a text file (default: look)
--transpose  rows of the file are columns of the table, as genes in rows; its columns are the items. With arrays of
    series: their last axis is time
--window N  cut one long series, a row a time, into items of N rows that follow each other; 1: each row is an item
--step N  with --window: rows from the start of one item to that of the next (default: those of an item)
--missing A,B,...  cells that stand for nothing, besides NA and its like; may be given several times
--header {{yes,no}}  whether the first row of a text file holds names (default: look)"""
MORE_STEPS = 5_000  # of a solver that did not converge at the default of 500
_LISTS = ("--missing", "--columns", "--drop-columns", "--predict")
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


def as_command(words: Sequence[str]) -> str:
    """A command to copy, which stands alone at the end of a message."""
    return f"\n\n  rkhs {shlex.join(words)}"


def without_flag(words: Sequence[str], flag: str) -> list[str]:
    """Words of a command without a flag and its values."""
    given = [i for i, word in enumerate(words) if word == flag]
    return [word for i, word in enumerate(words) if i not in given and i - 1 not in given]


def with_values(words: Sequence[str], flag: str, values: Iterable[object]) -> list[str]:
    """Words of a command with these values of a flag in place of those that it has."""
    others = without_flag(words, flag)
    text = quoted_cells(values) if flag in _LISTS else ",".join(map(str, values))
    return [*others, *([f"{flag}={text}"] if text.startswith("-") else [flag, text])]


def advised(words: Sequence[str], options: dict[str, Any]) -> list[str]:
    """Words of a command with other options of reading a file."""
    for name, value in options.items():
        flag, several = f"--{name.replace('_', '-')}", value if isinstance(value, list) else [value]
        if name == "set":  # next to other parameters
            words = [*words, flag, value]
            continue
        words = [*words, flag] if value is True else with_values(words, flag, several)
    return [*words]


def mended(args: argparse.Namespace, options: dict[str, Any]) -> argparse.Namespace:
    """The arguments, and their words, with options that an error names; columns that are left out already stay out."""
    if "drop_columns" in options and args.columns is not None:
        options = united({"columns": named_columns(args.columns)}, options)
    if "drop_columns" in options:
        options = options | {"drop_columns": [*named_columns(args.drop_columns), *options["drop_columns"]]}
    words = advised(args.words, options)
    if "columns" in options and getattr(args, "drop_columns", None):  # they exclude each other
        options, words = options | {"drop_columns": None}, without_flag(words, "--drop-columns")
    if "missing" in options:
        options = options | {"missing": [quoted_cells(options["missing"])]}  # as it is typed
    return changed(args, **options | {"words": words})


def united(*options: dict[str, Any]) -> dict[str, Any]:
    """All corrections of a command: lists have the values of each, of other options the last one counts."""
    found: dict[str, Any] = {}
    for name, value in ((name, value) for some in options for name, value in some.items()):
        found[name] = [*dict.fromkeys([*found.get(name, []), *value])] if isinstance(value, list) else value
    if {"columns", "drop_columns"} <= found.keys():
        dropped = found.pop("drop_columns")
        found["columns"] = [name for name in found["columns"] if name not in dropped]
    return found


def with_advice(args: argparse.Namespace, *options: dict[str, Any]) -> list[str]:
    """Words of the command with all that its warnings advise, and with other options."""
    return mended(args, united(*(taken(one, args) for one in args.advice), *options)).words


def taken(message: Any, args: argparse.Namespace) -> dict[str, Any]:
    """The options of reading that a message or its cause names and this command takes."""
    return {name: value for name, value in getattr(message, "options", {}).items() if hasattr(args, name)}


def noted(message: Warning, args: argparse.Namespace) -> str:
    """The text of a warning; the options that it names go into the command that ends the run."""
    given = getattr(args, "set", None) or []
    if "raise max_iter" in str(message) and hasattr(args, "set") and "max_iter=" not in "".join(given):
        vars(message).update(options={"set": f"max_iter={MORE_STEPS}"}, does=f"takes up to {MORE_STEPS} steps")
    if taken(message, args):
        args.advice.append(message)
    return str(message)


def last_command(args: argparse.Namespace) -> str:
    """What ends a run with warnings: the command that does what they advise."""
    one = len(args.advice) == 1
    does = (
        f"for the warning above, this command {args.advice[0].does}"
        if one
        else ("for the warnings above, this command does what they advise")
    )
    return f"{does}:{as_command(with_advice(args))}"


def quoted_cells(cells: Iterable[object]) -> str:
    """Cells with commas between them, those that hold one in quotation marks."""
    return ",".join(f'"{cell}"' if "," in str(cell) else str(cell) for cell in cells)


def column(text: str) -> str | int:
    """Turn what was typed for a column into its position, if it is a number that names none, or its name."""
    from rkhs.data.dataset import Typed

    text = (
        text[1:-1] if len(text) > 2 and text[0] == text[-1] and text[0] in "'\"" else text
    )  # marks that no shell took
    return Typed(text) if text.isdecimal() and str(int(text)) == text else text


def named_columns(text: str | list[str | int] | None) -> list[str | int]:
    """The columns that were typed, with commas between them."""
    return text or [] if text is None or isinstance(text, list) else [column(part) for part in parts_of(text)]


def parts_of(text: str) -> list[str]:
    """What stands between commas; quotation marks keep one that is no mark between two parts."""
    parts = next(csv.reader([text], skipinitialspace=True)) if '"' in text else text.split(",")
    return [part.strip() for part in parts]


def reading_options(args: argparse.Namespace) -> dict[str, Any]:
    """How the text of a file is read."""
    options = {
        name: getattr(args, name)
        for name in ("delimiter", "encoding", "decimal", "thousands", "comment", "skip_rows", "key")
    }
    options["header"] = None if args.header is None else args.header == "yes"
    options["missing"] = None if args.missing is None else [cell for text in args.missing for cell in _cells_in(text)]
    return {name: value for name, value in options.items() if value is not None}


def _cells_in(text: str) -> list[str]:
    """Cells with commas between them; a number with a decimal comma is one, as is what stands in quotation marks."""
    return [text] if is_grouped_number(text) else parts_of(text)


def real(text: str) -> float:
    """Turn what was typed for a number into a finite one."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"expected a finite number; got {text}")
    return value


_TYPES: dict[str, Any] = {
    **dict.fromkeys("KLNR", int),
    "A": float,
    "CHAR": lambda text: text.replace("\\t", "\t"),  # as messages write it
    "COLUMN": column,
    "T": real,
    "VALUE": real,
}
