"""``rkhs transform``: codes of the rows of a file."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Iterator
from typing import Any

from rkhs import engines, estimators
from rkhs._core.errors import InputError
from rkhs.cli.inputs import parts_for_model, user_errors
from rkhs.cli.outputs import TABLES, Outputs, of_class, read_model_file
from rkhs.cli.rows import with_progress, write_number_parts
from rkhs.data import Dataset


def run(args: argparse.Namespace) -> None:
    """Read, encode, write."""
    outputs = Outputs(("MODEL", args.model), ("INPUT", args.input))
    outputs.add("-o", args.output, (".npy",) if args.stream else TABLES)
    file = read_model_file(args)
    model = file.estimator
    _check(args, model)
    parts = _streamed(args, model) if args.stream else parts_for_model(args, args.input, model, file.notes)
    options = {} if args.layer is None else {"layer": args.layer}
    with user_errors():
        n, width = write_number_parts(args.output, ((model.transform(data.items, **options), data) for data in parts))
    print(f"{n} codes of {width} components: {args.output}")


def _streamed(args: argparse.Namespace, model: estimators.KernelEstimator) -> Iterator[Dataset]:
    """Rows of a .npy or parquet file as they are, all columns."""
    from rkhs._core.arrays import tile_rows, tiles

    rows = engines.as_rows(args.input, "INPUT")
    if model.kernel_.domain != "vectors":
        raise InputError("streams are rows of numbers; this model reads other items. Leave out --stream")
    n, width = rows.shape
    for tile in with_progress(tiles(n, tile_rows(max(model.map_.width, width))), lambda tile: tile.stop, n):
        part: Any = engines.ArrayRows(rows.read(tile.start, tile.stop))
        yield Dataset(part, "vectors", None, None, args.input, start=tile.start)


def _check(args: argparse.Namespace, model: estimators.KernelEstimator) -> None:
    if not hasattr(model, "transform"):
        raise InputError(f"{args.model}: {of_class(model)} has no codes; fit one that has, such as KernelPCA")
    if args.layer is not None and "layer" not in inspect.signature(model.transform).parameters:
        raise InputError(f"--layer is for deep autoencoders; got {args.layer} for {of_class(model)}; leave it out")
