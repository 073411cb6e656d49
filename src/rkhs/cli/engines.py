"""Options that say who computes: this thread, several, or a Dask cluster."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rkhs.data import Dataset

__all__ = ["add_engine_options", "engine_settings", "find_rows"]


def add_engine_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        Receives them in a group of their own.
    """
    group = parser.add_argument_group("computing")
    group.add_argument("--engine", choices=("serial", "threads", "dask"), help="what computes the blocks of rows")
    group.add_argument("--scheduler", metavar="ADDRESS", help="address of a Dask cluster, such as tcp://host:8786")
    group.add_argument("--jobs", metavar="N", type=int, help="threads, or Dask workers to start on this machine")


def engine_settings(args: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters of an estimator that the options mean.

    Parameters
    ----------
    args : argparse.Namespace

    Returns
    -------
    dict

    Raises
    ------
    InputError
        For a scheduler without ``--engine dask``.
    """
    from rkhs._core.errors import InputError

    if args.scheduler is not None and args.engine != "dask":
        raise InputError("--scheduler is the address of a Dask cluster; it needs --engine dask")
    options = {"engine": args.engine, "address": args.scheduler, "n_jobs": args.jobs}
    return {name: value for name, value in options.items() if value is not None}


def find_rows(args: argparse.Namespace, path: str, data: Dataset) -> Any:
    """Return where workers read the rows of a file themselves, if it is one of plain numbers; else the rows.

    Parameters
    ----------
    args : argparse.Namespace
    path : str
    data : Dataset
        What was read from the file.

    Returns
    -------
    Rows or ndarray
    """
    from rkhs.engines import ParquetRows, as_rows

    if data.kind != "vectors" or not isinstance(path, str) or args.columns is not None:
        return data.items
    if getattr(args, "drop_columns", None) is not None:
        return data.items
    if path.lower().endswith(".npy"):
        return as_rows(os.path.abspath(path))
    if path.lower().endswith(".parquet") and data.column_names is not None:
        return ParquetRows.of(os.path.abspath(path), tuple(data.column_names))
    return data.items
