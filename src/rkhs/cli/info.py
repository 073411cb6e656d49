"""``rkhs info``: what a model file holds."""

from __future__ import annotations

import argparse
from typing import Any

from rkhs.cli.models import add_model_options, read_model_file
from rkhs.cli.summaries import add_json_option, print_json

__all__ = ["add_arguments", "run"]

_MOST_DIAGNOSED = 5_000  # items: 2 n^3 is a quarter of a minute


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        The parser of this command.
    """
    add_model_options(parser)
    parser.add_argument(
        "--no-diagnosis", action="store_true", help="print what the file says, and compute nothing with the model"
    )
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    """Print what is known of a model.

    Parameters
    ----------
    args : argparse.Namespace
        The parsed arguments.

    Returns
    -------
    int
        0.
    """
    from rkhs._core.containers import file_sha256

    facts = _facts(read_model_file(args), file_sha256(args.model), not args.no_diagnosis)
    if args.json:
        print_json(facts)
        return 0
    width = max(len(key) for key in facts)
    for key, value in facts.items():
        lines = [f"{k} = {v}" for k, v in value.items()] if isinstance(value, dict) else [str(value)]
        print(f"{key.ljust(width)}  {lines[0] if lines else '(defaults)'}")
        for line in lines[1:]:
            print(f"{' ' * width}  {line}")
    return 0


def _facts(file: Any, sha256: str, ask: bool) -> dict[str, Any]:
    from rkhs._core.errors import brief

    model = file.estimator
    default = type(model)().get_params(deep=False)
    params = {k: brief(v) for k, v in model.get_params(deep=False).items() if repr(v) != repr(default[k])}
    known = file.notes.get("input", {})
    facts: dict[str, Any] = {"class": type(model).__name__, "parameters": params}
    if known:
        facts["input"] = f"{known.get('source')} ({known.get('kind')})"
        if known.get("fingerprint"):
            facts["fingerprint"] = known["fingerprint"]
    if hasattr(model, "codes_"):
        columns = f" x {model.n_features_in_}" if hasattr(model, "n_features_in_") else " objects"
        facts["data"] = f"{model.codes_.shape[0]}{columns}"
        facts["codes"] = f"{model.codes_.shape[0]} x {model.codes_.shape[1]}"
    target = file.notes.get("predict", {})
    if target:
        facts["predicts"] = ", ".join(target["columns"])
        facts["held-out error"] = f"{target['held-out error']:.4g} ({target['measure']})"
    for name in ("kernel", "output_kernel"):
        if getattr(model, f"{name}_", None) is not None:
            facts[name] = brief(getattr(model, f"{name}_"))
    for name in ("objective", "converged", "n_iter", "reason"):
        if hasattr(model, f"{name}_"):
            facts[name] = getattr(model, f"{name}_")
    if hasattr(model, "explained_variance_ratio_"):
        facts["explained variance"] = ", ".join(f"{v:.1%}" for v in model.explained_variance_ratio_[:10])
    facts |= _diagnosis(model) if ask and hasattr(model, "codes_") else {}
    facts["written by"] = f"rkhs {file.library}, format {file.format[0]}.{file.format[1]}"
    facts["checksum"] = file.checksum
    facts["sha256"] = sha256
    return facts


def _diagnosis(model: Any) -> dict[str, Any]:
    """What the model says of itself; numbers that it does not have are left out."""
    from rkhs.estimators import diagnose

    n = max(len(model.codes_), model._map.width)
    if n > _MOST_DIAGNOSED:
        return {"diagnosis": f"left out: {n} items would take minutes; rkhs.diagnose(model) makes it"}
    found = diagnose(model)
    names = [
        "training_error",
        "leave_one_out_error",
        "held_out_error",
        "effective_rank",
        "degrees_of_freedom",
        "saturated",
        "in_sample_defect",
        "near_duplicates",
    ]
    numbers = {name.replace("_", " "): getattr(found, name) for name in names}
    facts: dict[str, Any] = {
        "diagnosis": {name: f"{value:.4g}" for name, value in numbers.items() if value is not None}
    }
    if found.warnings:
        facts["warnings"] = dict(enumerate(found.warnings, 1))
    return facts
