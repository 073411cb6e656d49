"""``rkhs transform``: codes of the rows of a file."""

from __future__ import annotations

import argparse
import inspect
import os
import sys
from typing import TYPE_CHECKING

from rkhs._core.errors import InputError
from rkhs.cli.engines import engine_settings, find_rows
from rkhs.cli.inputs import read_for_model, user_errors
from rkhs.cli.models import of_class, read_model_file
from rkhs.cli.options import ENGINE, FILE, INPUT, MODEL, ROWS
from rkhs.cli.outputs import TABLES, Outputs
from rkhs.cli.rows import write_numbers

if TYPE_CHECKING:
    from rkhs.estimators.base import KernelEstimator

OPTIONS = f"""{FILE}{ROWS}
-o, --output FILE  (required) a .csv, .xlsx, .parquet or .npy file to write; FOLDER/ for parquet files
    written block by block
--layer L  hidden layer of a deep autoencoder, from 1
--stream  read a .npy or parquet file block by block and write .npy the same way{ENGINE}{MODEL}{INPUT}"""


def run(args: argparse.Namespace) -> int:
    """Read, encode, write."""
    outputs = Outputs(("MODEL", args.model), ("INPUT", args.input))
    from rkhs.estimators import encode_to_parquet

    folder = args.output.endswith(("/", os.sep))
    if args.engine is not None and not folder:
        raise InputError(f"--engine writes block by block into a folder; got --output {args.output}: end it with /")
    if folder:
        outputs.add_folder("-o", args.output)
    else:
        outputs.add("-o", args.output, (".npy",) if args.stream else TABLES)
    file = read_model_file(args)
    model = file.estimator
    _check(args, model)
    if args.stream:
        from rkhs.engines import as_rows
        from rkhs.estimators.encode_files import transform_file

        rows, shown = as_rows(args.input, "INPUT"), sys.stderr.isatty()
        with user_errors():
            shape = transform_file(model, rows, args.output, progress=shown, layer=args.layer)
        print(f"{shape[0]} codes of {shape[1]} components: {args.output}")
        return 0
    data = read_for_model(args, args.input, model, file.notes)
    outputs.need("-o", 8 * data.n_samples)
    if folder:
        options = {"engine": "serial", **engine_settings(args)}
        with user_errors():
            n = encode_to_parquet(model, find_rows(args, data), args.output, **options)
        print(f"{n} codes: {args.output}")
        return 0
    with user_errors():
        codes = model.transform(data.items) if args.layer is None else model.transform(data.items, layer=args.layer)
    write_numbers(args.output, codes, data)
    print(f"{len(codes)} codes of {codes.shape[1]} components: {args.output}")
    return 0


def _check(args: argparse.Namespace, model: KernelEstimator) -> None:
    if not hasattr(model, "transform"):
        raise InputError(f"{args.model}: {of_class(model)} has no codes; fit one that has, such as KernelPCA")
    if args.layer is not None and "layer" not in inspect.signature(model.transform).parameters:
        raise InputError(f"--layer is for deep autoencoders; got {args.layer} for {of_class(model)}; leave it out")
