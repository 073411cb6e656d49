"""``rkhs report``: one page of HTML about a file and the model of it."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from itertools import chain
from typing import Any

import numpy as np

from rkhs import reports
from rkhs._core.checks import check_count
from rkhs._core.errors import InputError
from rkhs.cli.build import build_estimator
from rkhs.cli.fit import COMPONENTS, FIT, print_kernel
from rkhs.cli.inputs import named_columns, read_for_model, reading_options, user_errors
from rkhs.cli.options import (
    DROP,
    INPUT,
    JSON,
    LABELS,
    LOG10,
    MIXED,
    MODEL,
    ROBUST,
    advised,
    changed,
    flags_in,
    refuse_flags,
)
from rkhs.cli.outputs import Outputs, after_writing, of_class, read_model_file, write_model
from rkhs.cli.robust import fit_items, plan_robust
from rkhs.cli.summaries import print_result, reading_notes
from rkhs.cli.targets import (
    identifiers,
    read_with_values,
    target_name,
    values_of_column,
    warn_of_several_quantities,
    without_columns,
)
from rkhs.data import Dataset

EXAMPLES = """\
examples:
  rkhs report table.csv
  rkhs report table.csv --predict diagnosis --index-column patient -o patients.html
  rkhs report molecules.csv --smiles smiles --predict solubility --n-components 5 --save-model model.rkhs
  rkhs report curves.csv --robust
  rkhs report model.rkhs new.csv

The page says what is in the file, whether the column of --predict can be predicted, shows the map, which loses what it
says, and items to look at, and ends with commands to copy. Open it in a browser. It is one file, needs no network, and
can be sent to somebody else. The model is a KernelMap, as of rkhs map; with --n-components, --robust or --set a
KernelAutoencoder."""

OPTIONS = f"""
FILE  a table, molecules or other items, which are fitted as rkhs fit does; or a model file, then DATA too
[DATA]  items for the model of FILE
-o, --output PAGE [report.html]  page to write (default %(default)s)
--predict COLUMN  column that is predicted from the others and colours the map; the model does not see it{LOG10}
--at-most N [5000]  largest number of items on the page, evenly spaced in the file (default %(default)s)
--save-model MODEL  also write the fitted model{JSON}{COMPONENTS}{FIT}{ROBUST}{MODEL}{INPUT}"""
_OF_READING = ["gram", *flags_in(MIXED + DROP + LABELS + INPUT)]

_OF_FITS = [*flags_in(COMPONENTS + FIT.removesuffix(DROP) + ROBUST), "save_model"]


def run(args: argparse.Namespace) -> None:
    """Fit or load, and write the page."""
    outputs = Outputs(("FILE", args.file), ("DATA", args.data), ("--labels", args.labels))
    args = changed(args, model=args.file, input=args.data)
    check_count(args.at_most, "--at-most", at_least=2)
    plan_robust(args)
    outputs.add("-o", args.output, (".html", ".htm"))
    outputs.add_model("--save-model", args.save_model)
    model, data, target, robust = _fitted(args) if args.input is None else (*_loaded(args), [])
    notes = () if args.save_model is None else (f"the model is written: {args.save_model}",)
    with user_errors(), after_writing(*notes):
        report = reports.make_report(
            model,
            data,
            target=target,
            target_name=target_name(args, args.predict),
            at_most=args.at_most,
            model_file=args.save_model if args.input is None else args.model,
            commands=() if args.input is not None else next_commands(changed(args, input=args.model)),
            progress=_print_progress,
            **_names_and_notes(args, data),
        )
        report.save(args.output)
    size = os.path.getsize(args.output)
    sentences = {"summary": report.summary, "audit": report.audit, "warnings": report.warnings}
    written = [] if args.save_model is None else [f"model: {args.save_model}"]
    if args.predict is None and args.input is None:
        novelty = f"rkhs novelty {shlex.quote(args.model)}{reading_flags(changed(args, input=args.model))}"
        written.append(f"rows unlike all others are listed by: {novelty}")
    written.append(f"page: {args.output} ({size / 1e6:.1f} MB)")
    facts = {"page": args.output, "bytes": size, "model": args.save_model, **sentences}
    print_result(args, facts, [*chain.from_iterable(sentences.values()), *robust, *written])


def _names_and_notes(args: argparse.Namespace, data: Dataset) -> dict[str, Any]:
    """Name items by the column of the file that has their names, and by their rows; say how they were read."""
    title, ids = identifiers(changed(args, input=args.input or args.model), data)
    notes = [*reading_notes(args, data), *[f"Items are named by {title}."][: len(title)]]
    return {"notes": notes, "names": [*map("{} (row {})".format, ids, data.row_numbers)] if title else None}


def _print_progress(what: str) -> None:
    print(f"report: {what} ...", file=sys.stderr, flush=True)


def _fitted(args: argparse.Namespace) -> tuple[Any, Dataset, np.ndarray | None, list[str]]:
    if args.model.lower().endswith(".rkhs"):
        raise InputError(
            f"a report on a model needs items too: rkhs report {shlex.quote(args.model)} DATA; got the model alone"
        )
    if args.sha256 is not None or args.max_bytes is not None:
        raise InputError("--sha256 and --max-bytes are for a model file; got a data file alone; leave them out")
    args = changed(args, input=args.model)
    reading = args if args.predict is None else without_columns(args, args.predict)
    data, target = read_with_values(args, args.predict, "--predict")
    if target is not None and target.dtype.kind == "f":
        warn_of_several_quantities(args, data, target)
    estimator = build_estimator(changed(args, estimator=_estimator(args)), data)
    if not args.json:
        print_kernel(args, estimator, data)
    _print_progress(f"fit of {data.n_samples} items")
    with user_errors():
        fitted = fit_items(args, estimator, data)
    if args.save_model is not None:
        write_model(
            args.save_model, fitted.model, data, reading, **({"robust": fitted.facts(data)} if args.robust else {})
        )
    return fitted.model, data, target, fitted.sentences(data)


def _estimator(args: argparse.Namespace) -> str | None:
    return args.estimator if args.estimator or args.n_components or args.robust or args.set else "KernelMap"


def _loaded(args: argparse.Namespace) -> tuple[Any, Dataset, np.ndarray | None]:
    """The model of a file, and items read as its training file was."""
    refuse_flags(args, _OF_FITS, f"is for a fit; got it with a model that is fitted, {args.model}; leave it out")
    file = read_model_file(args)
    if not hasattr(file.estimator, "transform"):
        raise InputError(
            f"{args.model}: a report is about codes; got {of_class(file.estimator)}, which has none; see rkhs predict"
        )
    if args.predict is None:
        return file.estimator, read_for_model(args, args.input, file.estimator, file.notes), None
    known = file.notes.get("input", {})
    by_position = known.get("kind") in ("vectors", None) and known.get("column_names") is None
    reading = without_columns(args, args.predict) if by_position else args
    data = read_for_model(reading, args.input, file.estimator, file.notes)
    columns = changed(args, gram=file.estimator.kernel_.domain == "gram")
    return file.estimator, data, values_of_column(columns, args.predict, "--predict", data)


def next_commands(args: argparse.Namespace) -> list[tuple[str, str]]:
    """What to do next with a file, as lines to copy: each with what it does."""
    file, name = shlex.quote(args.input), args.predict
    reading, ends = reading_flags(args), os.path.splitext(args.input)[1]
    new = f"new{ends}"
    others = reading if name is None else reading_flags(changed(without_columns(args, name), labels=None))
    nearest = ("The nearest of these items to each new one", f"rkhs nearest {file} {new}{others} -o nearest.csv")
    commands = [
        ("Which new items are unlike all of these", f"rkhs novelty {file} {new}{others} -o novelty.csv"),
        *[nearest][args.gram :],
    ]
    if name is None:
        return commands
    target = shlex.quote(str(name))
    fit = f"rkhs fit {file}{reading} --predict {target}{' --log10' * args.log10} -o model.rkhs"
    predict = f"Predict {name} of new items"
    compare = (
        f"Whether short codes predict {name} as well as all of an item",
        f"rkhs compare {file}{reading} --predict {target}",
    )
    return [(predict, f"{fit}\nrkhs predict model.rkhs {new} -o predicted.csv"), *commands, compare]


def reading_flags(args: argparse.Namespace) -> str:
    """The flags that say how a file is read, as they are typed."""
    given = {name: getattr(args, name, None) for name in _OF_READING}
    given |= {name: [*map(str, named_columns(given[name]))] for name in ("columns", "drop_columns")}
    given["missing"] = reading_options(args).get("missing")
    words = advised(
        [], {name: value for name, value in given.items() if value not in (None, []) and value is not False}
    )
    return "".join(f" {shlex.quote(word)}" for word in words)
