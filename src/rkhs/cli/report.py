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
from rkhs.cli.fit import COMPONENTS, FIT, ROBUST, print_kernel
from rkhs.cli.inputs import open_source, read_for_model, user_errors
from rkhs.cli.options import INPUT, JSON, MODEL, changed, flags_in, refuse_flags
from rkhs.cli.outputs import Outputs, after_writing, of_class, read_model_file, write_model
from rkhs.cli.robust import check_robust, fit_items
from rkhs.cli.summaries import print_result, reading_notes
from rkhs.cli.targets import read_rows
from rkhs.data import Dataset

EXAMPLES = """\
examples:
  rkhs report table.csv
  rkhs report table.csv --predict diagnosis --index-column patient -o patients.html
  rkhs report molecules.csv --smiles smiles --predict solubility --n-components 5 --save-model model.rkhs
  rkhs report curves.csv --robust
  rkhs report model.rkhs new.csv

The page says what is in the file, whether the column of --predict can be predicted, shows the map, which loses what it
says, and items to look at. Open it in a browser. It is one file, needs no network, and
can be sent to somebody else. The model is a KernelMap, as of rkhs map; with --n-components, --robust or --set a
KernelAutoencoder."""

OPTIONS = f"""
FILE  a table, molecules or other items, which are fitted as rkhs fit does; or a model file, then DATA too
[DATA]  items for the model of FILE
-o, --output PAGE [report.html]  page to write (default %(default)s)
--predict COLUMN  column that is predicted from the others and colours the map; the model does not see it
--at-most N [5000]  largest number of items on the page, evenly spaced in the file (default %(default)s)
--save-model MODEL  also write the fitted model{JSON}{COMPONENTS}{FIT}{ROBUST}{MODEL}{INPUT}"""
_OF_FITS = [*flags_in(COMPONENTS + FIT + ROBUST), "save_model"]


def run(args: argparse.Namespace) -> None:
    """Fit or load, and write the page."""
    outputs = Outputs(("FILE", args.file), ("DATA", args.data), ("--labels", args.labels))
    args = changed(args, model=args.file, input=args.data)
    check_count(args.at_most, "--at-most", at_least=2)
    check_robust(args)
    outputs.add("-o", args.output, (".html", ".htm"))
    outputs.add_model("--save-model", args.save_model)
    model, data, target, robust = _fitted(args) if args.input is None else (*_loaded(args), [])
    notes = () if args.save_model is None else (f"the model is written: {args.save_model}",)
    with user_errors(), after_writing(*notes):
        report = reports.make_report(
            model,
            data,
            target=target,
            target_name=str(args.predict),
            at_most=args.at_most,
            model_file=args.save_model if args.input is None else args.model,
            commands=() if args.input is not None else next_commands(args.model, args.predict),
            progress=_print_progress,
            notes=reading_notes(args, data),
        )
        report.save(args.output)
    size = os.path.getsize(args.output)
    sentences = {"summary": report.summary, "audit": report.audit, "warnings": report.warnings}
    written = [] if args.save_model is None else [f"model: {args.save_model}"]
    written.append(f"page: {args.output} ({size / 1e6:.1f} MB)")
    facts = {"page": args.output, "bytes": size, "model": args.save_model, **sentences}
    print_result(args, facts, [*chain.from_iterable(sentences.values()), *robust, *written])


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
    rows = read_rows(args, predict=args.predict)
    data, target = rows.data, rows.column("--predict")
    estimator = build_estimator(changed(args, estimator=_estimator(args)), data)
    if not args.json:
        print_kernel(args, estimator, data)
    _print_progress(f"fit of {data.n_samples} items")
    with user_errors():
        fitted = fit_items(args, estimator, data)
    if args.save_model is not None:
        write_model(
            args.save_model, fitted.model, data, args, **({"robust": fitted.facts(data)} if args.robust else {})
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
    args = changed(args, columns=None)
    if args.predict is None:
        return file.estimator, read_for_model(args, args.input, file.estimator, file.notes), None
    source = open_source(args, args.input)
    target = source.take(args.predict, "--predict")
    data = read_for_model(args, args.input, file.estimator, file.notes)
    return file.estimator, data, np.delete(target, [bad.row - 1 for bad in data.skipped])


def next_commands(file: str, target: str | None) -> list[tuple[str, str]]:
    """What to do next with a file: what it does, and the command, to which flags of reading the file belong."""
    name, new = shlex.quote(file), f"new{os.path.splitext(file)[1]}"
    commands = [
        ("Which new items are unlike all of these", f"rkhs novelty {name} {new} -o novelty.csv"),
        ("The nearest of these items to each new one", f"rkhs nearest {name} {new} -o nearest.csv"),
    ]
    if target is None:
        return commands
    fit = f"rkhs fit {name} --predict {shlex.quote(str(target))} -o model.rkhs"
    predict = (f"Predict {target} of new items", f"{fit}\nrkhs predict model.rkhs {new} -o predicted.csv")
    return [predict, *commands]
