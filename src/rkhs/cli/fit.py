"""``rkhs fit``: a file in, a model file and codes out."""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rkhs._core.errors import InputError
from rkhs.cli.build import build_estimator, find_rows, open_stream
from rkhs.cli.columns import column_sentences
from rkhs.cli.inputs import read_input, user_errors
from rkhs.cli.kinds import chose_kernel
from rkhs.cli.options import refuse_flags
from rkhs.cli.outputs import TABLES, Outputs, write_model
from rkhs.cli.regression import fit_predictor
from rkhs.cli.robust import Fitted, fit_items
from rkhs.cli.rows import write_number_parts
from rkhs.cli.summaries import print_result

if TYPE_CHECKING:
    from rkhs.data import Dataset
    from rkhs.estimators.base import KernelEstimator


def run(args: argparse.Namespace) -> None:
    """Fit, and write the model."""
    if args.predict is not None or args.targets is not None:
        fit_predictor(args)
        return
    _plan(args)
    data = open_stream(args) if args.stream else read_input(args, args.input)
    estimator = _estimator(args, data)
    if args.plan:
        _print_plan(args, estimator, data)
        return
    with user_errors():
        fitted = fit_items(args, estimator, data, find_rows(args, data) if args.engine == "dask" else None)
    robust = fitted.facts(data)
    _write(args, fitted, data, robust)
    sentences, of_columns = fitted.sentences(data), column_sentences(fitted.model, fitted.rows(data))
    seconds = time.perf_counter() - args.started
    facts = _facts(args, fitted.model, data, of_columns) | {"seconds": seconds, "model": args.output}
    facts |= {"codes": args.codes} | ({"robust": sentences[0]} | robust if sentences else {})
    written = {"model": args.output, "codes": args.codes}
    files = [f"{what}: {path}" for what, path in written.items() if path is not None]
    print_result(args, facts, [_summary(fitted.model, data, seconds), *sentences, *of_columns, *files])


def _estimator(args: argparse.Namespace, data: Dataset) -> KernelEstimator:
    """The estimator that is fitted; its kernel is printed where the user did not choose it."""
    estimator = build_estimator(args, data)
    if not args.quiet and not args.json:
        print_kernel(args, estimator, data)
    return estimator


def print_kernel(args: argparse.Namespace, estimator: KernelEstimator, data: Dataset) -> None:
    """Print the kernel that the kind of items brought, if the user chose none."""
    if not chose_kernel(args) and data.kind not in ("vectors", "gram", "table", "curves"):
        print(f"kernel: {estimator.kernel!r} (default for {data.kind}; choose with --kernel)", flush=True)


def _print_plan(args: argparse.Namespace, estimator: KernelEstimator, data: Dataset) -> None:
    """Print what the fit would do."""
    if not hasattr(estimator, "plan"):
        raise InputError(f"--plan is for KernelAutoencoder and KernelPCA; got {type(estimator).__name__}; leave it out")
    with user_errors():
        plan = estimator.plan(data.items)
    print_result(args, asdict(plan), [repr(plan)])


def _plan(args: argparse.Namespace) -> None:
    """Look at the flags and at the files that will be written."""
    refuse_flags(
        args, ("loss", "groups", "classes", "labels"), "needs --predict COLUMN; name a column, or leave it out"
    )
    outputs = Outputs(("INPUT", args.input))
    if args.output is None and args.codes is None and not args.plan:
        raise InputError("name what to write: a model with -o MODEL, codes with --codes FILE, or both; got neither")
    outputs.add_model("-o", args.output)
    outputs.add("--codes", args.codes, TABLES)


def _write(args: argparse.Namespace, fitted: Fitted, data: Dataset, robust: dict[str, Any]) -> None:
    """The model first, then the codes."""
    if args.output is not None:
        write_model(args.output, fitted.model, data, args, **({"robust": robust} if robust else {}))
    if args.codes is not None:
        numbered = len(fitted.codes) < data.row_numbers[-1]
        write_number_parts(args.codes, [(fitted.codes, data)], numbered=numbered)


def _facts(
    args: argparse.Namespace, estimator: KernelEstimator, data: Dataset, of_columns: list[str]
) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "class": type(estimator).__name__,
        "input": {"path": args.input, "kind": data.kind, "items": data.n_samples},
        "kernel": getattr(estimator, "kernel_", None),
        "components": estimator.codes_.shape[1],
    }
    for name in ("objective", "n_iter", "converged", "reg", "held_out_error", "kernel_choice", "storage"):
        if getattr(estimator, f"{name}_", None) is not None:
            facts[name.replace("_", " ")] = getattr(estimator, f"{name}_")
    if hasattr(estimator, "explained_variance_ratio_"):
        facts["explained variance"] = estimator.explained_variance_ratio_.sum()
    columns = getattr(estimator, "columns", "raw")
    return facts | {"columns": {"scaled": columns != "raw", "filled": columns == "filled", "notes": of_columns}}


def _summary(estimator: KernelEstimator, data: Dataset, seconds: float) -> str:
    wide = data.kind in ("vectors", "table")
    what = f"rows of {data.X.shape[1]} columns" if wide else data.kind.replace("gram", "items")
    if data.kind == "curves":
        what += f" at {data.X.shape[1]} times" + ("" if data.times is not None else " equally spaced on [0, 1]")
    text = f"{type(estimator).__name__}: {data.n_samples} {what}, codes of {estimator.codes_.shape[1]} components"
    if hasattr(estimator, "objective_"):
        text += f", objective {estimator.objective_:.5g} after {estimator.n_iter_} iterations"
        if getattr(estimator, "held_out_error_", None) is not None:
            text += f", new rows lose about {estimator.held_out_error_:.1%} of the variance"
        chosen = next(iter(getattr(estimator, "kernel_choice_", None) or {"radial": 0.0}))
        if chosen != "radial":
            text += f" with {chosen} kernels, chosen for heavy tails"
    elif hasattr(estimator, "explained_variance_ratio_"):
        text += f", {estimator.explained_variance_ratio_.sum():.1%} of the variance"
    storage = getattr(estimator, "storage_", "dense")
    return f"{text}{'' if storage == 'dense' else f', storage {storage!r}'} ({seconds:.1f} s)"
