"""``rkhs export``: a model file to an ONNX file."""

from __future__ import annotations

import argparse

from rkhs.cli.outputs import Outputs, read_model_file


def run(args: argparse.Namespace) -> None:
    """Read, translate, write."""
    outputs = Outputs(("MODEL", args.model))
    from rkhs.export import to_onnx

    outputs.add("-o", args.output, (".onnx",))
    model = read_model_file(args).estimator
    if args.plain and "refine" in model.get_params():
        model.set_params(refine=False)
    columns = to_onnx(model, args.output, part=args.part, dtype=args.dtype)
    print(" -> ".join(f"{name} (rows, {width})" for name, (width,) in columns.items()) + f": {args.output}")
