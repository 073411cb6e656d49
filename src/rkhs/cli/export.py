"""``rkhs export``: a model file to an ONNX file."""

from __future__ import annotations

import argparse

from rkhs.cli.models import add_model_options, read_model_file
from rkhs.cli.outputs import Outputs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_model_options(parser)
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="file to write, such as model.onnx")
    parser.add_argument(
        "--part",
        choices=("encoder", "decoder"),
        default="encoder",
        help="half of the model to write (default %(default)s)",
    )
    parser.add_argument(
        "--dtype", choices=("float64", "float32"), default="float64", help="type of the numbers (default %(default)s)"
    )
    parser.add_argument("--plain", action="store_true", help="export the codes of the encoder alone, without refining")


def run(args: argparse.Namespace) -> int:
    """Read, translate, write."""
    outputs = Outputs(("MODEL", args.model))
    from rkhs.export import to_onnx

    outputs.add("-o", args.output, (".onnx",))
    model = read_model_file(args).estimator
    if args.plain and "refine" in model.get_params():
        model.set_params(refine=False)
    columns = to_onnx(model, args.output, part=args.part, dtype=args.dtype)
    print(" -> ".join(f"{name} (rows, {width})" for name, (width,) in columns.items()) + f": {args.output}")
    return 0
