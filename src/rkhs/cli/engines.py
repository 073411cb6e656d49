"""Options that say who computes: this thread, several, or a Dask cluster."""

from __future__ import annotations

import argparse
import os
from typing import Any

from rkhs import engines
from rkhs._core.errors import InputError
from rkhs.data import Dataset


def engine_settings(args: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters of an estimator that the options mean."""
    if args.scheduler is not None and args.engine != "dask":
        raise InputError("--scheduler is the address of a Dask cluster; it needs --engine dask")
    if args.scheduler is None and args.jobs is None:
        return {} if args.engine is None else {"engine": args.engine}
    if args.engine == "serial":
        raise InputError("--jobs is a number of threads or workers; it needs --engine threads or dask, or no --engine")
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
