"""``rkhs info``: what a model file holds."""

from __future__ import annotations

import argparse
from typing import Any

from rkhs import estimators
from rkhs._core.errors import brief
from rkhs._core.model_container import file_sha256
from rkhs.cli.outputs import read_model_file
from rkhs.cli.summaries import print_json

_NAMES = {"gap": "duality gap", "held_out_error": "held-out error"}
_FITTED = ("kernel", "storage", "reg", "objective", "gap", "n_iter", "converged", "reason", "held_out_error")


def run(args: argparse.Namespace) -> None:
    """Load the model, and print what is known of it."""
    file = read_model_file(args)
    model, notes = file.estimator, file.notes
    known, predicts = notes.get("input", {}), notes.get("predict", {})
    facts: dict[str, Any] = {"class": type(model).__name__, "parameters": _parameters(model)}
    if known:
        facts["input"] = f"{known.get('source')} ({known.get('kind')})"
    if predicts:
        facts["predicts"] = ", ".join(predicts["columns"])
    if hasattr(model, "codes_"):
        facts["codes"] = " x ".join(map(str, model.codes_.shape))
    for name in _FITTED:
        value = getattr(model, f"{name}_", None)
        if value is not None:
            facts[_NAMES.get(name, name.replace("_", " "))] = value if isinstance(value, (int, float)) else brief(value)
    facts["sha256"] = file_sha256(args.model)
    if args.json:
        print_json(facts)
        return
    width = max(map(len, facts))
    for name, value in facts.items():
        print(f"{name:{width}}  {value}")


def _parameters(model: estimators.KernelEstimator) -> str:
    """The parameters that differ from their defaults."""
    return " ".join(repr(model).partition("(")[2].removesuffix(")").split()) or "(defaults)"
