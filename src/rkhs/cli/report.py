"""``rkhs report``: one page of HTML about a file and the model of it."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from typing import Any

import numpy as np

from rkhs import reports
from rkhs._core.errors import InputError
from rkhs.cli.build import build_estimator
from rkhs.cli.fit import print_kernel
from rkhs.cli.inputs import open_source, read_for_model, user_errors
from rkhs.cli.options import COMPONENTS, FIT, ROBUST, changed, flags_in, refuse_flags
from rkhs.cli.outputs import Outputs, of_class, read_model_file
from rkhs.cli.robust import check_robust, fit_items
from rkhs.cli.summaries import reading_notes
from rkhs.cli.targets import as_classes, read_rows
from rkhs.data import Dataset

_OF_FITS = flags_in(COMPONENTS + FIT + ROBUST)


def run(args: argparse.Namespace) -> None:
    """Fit or load, and write the page."""
    outputs = Outputs(("FILE", args.file), ("DATA", args.data), ("--labels", args.labels))
    args = changed(args, model=args.file, input=args.data)
    check_robust(args)
    if args.predict is None:
        refuse_flags(args, ["classes"], "needs --predict COLUMN; name a column, or leave it out")
    outputs.add("-o", args.output, (".html", ".htm"))
    model, data, target, robust = _fitted(args) if args.input is None else (*_loaded(args), [])
    if args.classes and target is not None:
        target = as_classes(target)
    with user_errors():
        report = reports.make_report(
            model,
            data,
            target=target,
            target_name=str(args.predict),
            model_file=None if args.input is None else args.model,
            commands=() if args.input is not None else next_commands(args.model, args.predict),
            progress=_print_progress,
            notes=reading_notes(args, data),
        )
        report.save(args.output)
    size = os.path.getsize(args.output)
    print(*report.summary, *report.audit, *report.warnings, *robust, sep="\n")
    print(f"page: {args.output} ({size / 1e6:.1f} MB)")


def _print_progress(what: str) -> None:
    print(f"report: {what} ...", file=sys.stderr, flush=True)


def _fitted(args: argparse.Namespace) -> tuple[Any, Dataset, np.ndarray | None, list[str]]:
    if args.model.lower().endswith(".rkhs"):
        raise InputError(
            f"a report on a model needs items too: rkhs report {shlex.quote(args.model)} DATA; got the model alone"
        )
    args = changed(args, input=args.model)
    rows = read_rows(args, predict=args.predict)
    data, target = rows.data, rows.column("--predict")
    estimator = build_estimator(changed(args, estimator=_estimator(args)), data)
    print_kernel(args, estimator, data)
    _print_progress(f"fit of {data.n_samples} items")
    with user_errors():
        fitted = fit_items(args, estimator, data)
    return fitted.model, data, target, fitted.sentences(data)


def _estimator(args: argparse.Namespace) -> str | None:
    return args.estimator if args.estimator or args.n_components or args.robust or args.set else "KernelMap"


def _loaded(args: argparse.Namespace) -> tuple[Any, Dataset, np.ndarray | None]:
    """The model of a file, and items read as its training file was."""
    refuse_flags(args, _OF_FITS, f"is for a fit; got it with a model that is fitted, {args.model}; leave it out")
    file = read_model_file(changed(args, sha256=None, max_bytes=None))
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
    column = shlex.quote(str(target))  # which new items lack
    fit = f"rkhs fit {name} --predict {column} -o model.rkhs"
    predict = (f"Predict {target} of new items", f"{fit}\nrkhs predict model.rkhs {new} -o predicted.csv")
    return [predict, *((title, f"{command} --drop-columns {column}") for title, command in commands)]
