"""The estimator that the arguments of a command describe."""

from __future__ import annotations

import argparse
import os
import sys
from argparse import Namespace
from collections.abc import Callable
from typing import Any

import numpy as np

from rkhs import engines, kernels
from rkhs._core.errors import InputError
from rkhs.cli.columns import column_setting
from rkhs.cli.kinds import (
    OBJECTS,
    choose_for_sequences as choose_for_sequences,
    chose_kernel as chose_kernel,
    default_kernel,
    find_estimator,
    refuse_unknown,
)
from rkhs.data import Dataset

_COMPONENTS = 10
_MOST_COMPONENTS = 40  # of sequences
_NOT_ASKED: dict[str, Any] = {  # by a command that does not offer it
    **dict.fromkeys(("estimator", "n_components", "seed", "engine", "scheduler", "jobs", "set")),
    "quiet": False,
}


def build_estimator(
    args: argparse.Namespace, data: Dataset, cls: type | None = None, defaults: dict[str, Any] | None = None
) -> Any:
    """Make the estimator that the arguments describe, with defaults that fit the data."""
    from rkhs.cli.expressions import parse_setting, parse_value

    args = Namespace(**(_NOT_ASKED | vars(args)))
    cls = find_estimator(args.estimator or "KernelAutoencoder") if cls is None else cls
    known = cls().get_params(deep=False)
    given = {**(defaults or {}), **_kernels(args, data, known, defaults or {}), **_running(args, known)}
    if args.n_components is not None:
        given["n_components"] = parse_value(args.n_components, "--n-components")
    settings = dict(parse_setting(text) for text in args.set or ())
    if "columns" in known:
        given.update(column_setting(args, data, (given | settings).get("kernel", known["kernel"])))
    elif data.kind == "table":
        given.setdefault("kernel", "mixed_table")
    given.update(settings)
    refuse_unknown(cls, given, known)
    return cls(**given)


def _running(args: argparse.Namespace, known: dict[str, Any]) -> dict[str, Any]:
    """How the fit runs: progress, seed, engine."""
    given = engine_settings(args)
    if sys.stderr.isatty() and not args.quiet and "verbose" in known:
        given["verbose"] = 1
    if args.seed is not None and "random_state" in known:
        given["random_state"] = args.seed
    return given


def _kernels(
    args: argparse.Namespace, data: Dataset, known: dict[str, Any], defaults: dict[str, Any]
) -> dict[str, Any]:
    """The kernels that are given, or that fit the kind of the data."""
    from rkhs.cli.expressions import parse_kernel

    kernel = defaults.get("kernel", default_kernel(data)) if args.kernel is None else parse_kernel(args.kernel)
    if isinstance(kernel, kernels.MixedTable) and data.kind not in ("table", "vectors"):
        raise InputError(f"--kernel {args.kernel} compares rows of tables; got {data.kind}; leave it out")
    given = {} if kernel is None else {"kernel": kernel}
    if data.kind in ("molecules", *OBJECTS) and "output_kernel" in known and "output_kernel" not in defaults:
        given["output_kernel"] = "same"  # rebuild phi(x): reals between bits mean nothing
    return given


def engine_settings(args: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters of an estimator that the options mean."""
    if args.scheduler is not None and args.engine != "dask":
        raise InputError("--scheduler is the address of a Dask cluster; it needs --engine dask")
    if args.scheduler is None and args.jobs is None:
        return {} if args.engine is None else {"engine": args.engine}
    jobs = None if args.jobs is None else engines.count_threads(args.jobs)
    return {"engine": engines.Dask(args.scheduler, n_workers=jobs) if args.engine == "dask" else engines.Threads(jobs)}


def find_rows(args: argparse.Namespace, data: Dataset) -> Any:
    """Return where workers read the rows of a file themselves, if it is one of plain numbers; else the rows."""
    chosen = args.columns is not None or getattr(args, "drop_columns", None) is not None
    whole, path = data.kind == "vectors" and not chosen, os.path.abspath(args.input)
    if whole and path.lower().endswith(".npy"):
        return engines.as_rows(path)
    if whole and path.lower().endswith(".parquet") and data.column_names is not None:
        return engines.ParquetRows.of(path, tuple(data.column_names))
    return data.items


def open_stream(args: argparse.Namespace) -> Dataset:
    """Rows that are read block by block; nothing of them is in memory."""
    for name in ("gram", "columns", "drop_columns", "transpose"):
        if getattr(args, name):
            raise InputError(f"--stream reads all columns of rows of numbers; leave out --{name.replace('_', '-')}")
    if args.kind not in (None, "vectors"):
        raise InputError(f"--stream reads all columns of rows of numbers; leave out --kind {args.kind}")
    return Dataset(engines.as_rows(args.input, "INPUT"), "vectors", None, None, args.input)  # type: ignore[arg-type]


def defaults_of_classes(
    args: argparse.Namespace, data: Dataset, known: np.ndarray, classes: np.ndarray
) -> tuple[dict[str, Any], str | None]:
    """Settings by the kind of the items, and how the kernel of sequences was chosen."""
    width = data.X.shape[1] if data.X.ndim == 2 else _COMPONENTS
    if data.kind != "sequences" or chose_kernel(args):
        return {"n_components": min(_COMPONENTS, width)}, None
    kernel, sentence = choose_for_sequences(data.items[known], classes)
    count = max(_COMPONENTS, min(_MOST_COMPONENTS, data.n_samples // 4))
    return {"n_components": count, "kernel": kernel}, sentence


def codes_of_parts(
    args: argparse.Namespace,
    data: Dataset,
    known: np.ndarray,
    classes: np.ndarray,
    defaults: dict[str, Any],
    codes: np.ndarray,
) -> Callable[[np.ndarray], np.ndarray] | None:
    """Codes of the labelled sequences by the width that some of them alone choose; None for many."""
    from rkhs.estimators.operator_regressor_cv import FEW_ROWS

    if len(classes) > FEW_ROWS:
        return None
    by_kernel = {repr(defaults["kernel"]): codes[known]}

    def of_part(rows: np.ndarray) -> np.ndarray:
        alike = len(set(classes[rows].tolist())) < 2
        kernel = defaults["kernel"] if alike else choose_for_sequences(data.items[known][rows], classes[rows])[0]
        if repr(kernel) not in by_kernel:
            estimator = build_estimator(args, data, defaults=defaults | {"kernel": kernel})
            by_kernel[repr(kernel)] = estimator.fit(data.items).codes_[known]
        return by_kernel[repr(kernel)]

    return of_part
