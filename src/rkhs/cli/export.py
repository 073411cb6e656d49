"""``rkhs export``: a model file to an ONNX file."""

from __future__ import annotations

import argparse

from rkhs.cli.options import FILE, MODEL
from rkhs.cli.outputs import Outputs, read_model_file

OPTIONS = f"""{FILE}
-o, --output FILE  (required) file to write, such as model.onnx
--part {{encoder,decoder}}  half of the model to write (default: the encoder; a model that predicts is written whole)
--dtype {{float64,float32}} [float64]  type of the numbers (default %(default)s)
--plain  export the codes of the encoder alone, without refining{MODEL}"""


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
