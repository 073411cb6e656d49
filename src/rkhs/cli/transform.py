"""``rkhs transform``: codes of the rows of a file."""

from __future__ import annotations

import argparse
import inspect

from rkhs import estimators
from rkhs._core.errors import InputError
from rkhs.cli.inputs import parts_for_model, user_errors
from rkhs.cli.outputs import TABLES, Outputs, of_class, read_model_file
from rkhs.cli.rows import write_number_parts


def run(args: argparse.Namespace) -> None:
    """Read, encode, write."""
    outputs = Outputs(("MODEL", args.model), ("INPUT", args.input))
    outputs.add("-o", args.output, TABLES)
    file = read_model_file(args)
    model = file.estimator
    _check(args, model)
    parts = parts_for_model(args, args.input, model, file.notes)
    options = {} if args.layer is None else {"layer": args.layer}
    with user_errors():
        n, width = write_number_parts(args.output, ((model.transform(data.items, **options), data) for data in parts))
    print(f"{n} codes of {width} components: {args.output}")


def _check(args: argparse.Namespace, model: estimators.KernelEstimator) -> None:
    if not hasattr(model, "transform"):
        raise InputError(f"{args.model}: {of_class(model)} has no codes; fit one that has, such as KernelPCA")
    if args.layer is not None and "layer" not in inspect.signature(model.transform).parameters:
        raise InputError(f"--layer is for deep autoencoders; got {args.layer} for {of_class(model)}; leave it out")
