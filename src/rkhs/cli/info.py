"""``rkhs info``: what a model file holds, read from its description: nothing of the model is built for it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from rkhs.cli.models import add_model_options, read_model_file
from rkhs.cli.summaries import add_json_option, print_json
from rkhs.cli.wording import few

if TYPE_CHECKING:
    from rkhs._core.containers import Container
    from rkhs.estimators.base import KernelEstimator

__all__ = ["add_arguments", "run"]

_MOST_DIAGNOSED = 5_000  # items: 2 n^3 is a quarter of a minute
_ENDS = ("$numbers", "$texts", "$arrays", "$table", "$rows", "$strings", "$random_state")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_model_options(parser)
    parser.add_argument(
        "--diagnosis",
        action="store_true",
        help="build the model and say what is wrong with it, as rkhs.diagnose does: seconds for thousands of items",
    )
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    """Print what is known of a model."""
    from rkhs._core.containers import FORMAT, LARGEST, check_limits, file_sha256, read_container
    from rkhs._core.errors import ModelFileError

    check_limits(args.max_bytes, args.sha256)
    digest = None if args.sha256 is None else args.sha256.lower()
    container = read_container(args.model, FORMAT, LARGEST if args.max_bytes is None else args.max_bytes, digest)
    try:
        facts = _steps(args) if container.content["class"] == "sklearn.pipeline.Pipeline" else _facts(container)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise ModelFileError(
            f"{args.model}: the description of the model is damaged ({type(error).__name__}: {error}); write the file "
            "again from the original"
        ) from error
    if args.diagnosis and "steps" in facts:
        facts["diagnosis"] = (
            f"none of a pipeline; in Python, of its last step: rkhs.diagnose(rkhs.load({args.model!r})[-1])"
        )
    elif args.diagnosis:
        facts |= _diagnosis(read_model_file(args).estimator)
    facts["written by"] = f"rkhs {container.content['library']}, format {container.version[0]}.{container.version[1]}"
    facts["checksum"], facts["sha256"] = container.checksum, file_sha256(args.model)
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


def _facts(container: Container) -> dict[str, Any]:
    from rkhs._core.errors import shortened

    content = container.content
    params, state = content["params"], dict(content["state"])
    model = state.get("model_", {}).get("fields", {})
    facts: dict[str, Any] = {
        "class": content["class"].rpartition(".")[2],
        "parameters": {name: shortened(_described(params[name])) for name in sorted(params)},
    }
    notes = _plain(content["notes"])
    known = notes.get("input", {})
    if known:
        facts["input"] = f"{known.get('source')} ({known.get('kind')})"
        if known.get("fingerprint"):
            facts["fingerprint"] = known["fingerprint"]
    if "codes" in model:
        n, p = _shape(model["codes"], container)
        facts["data"] = f"{n} x {state['n_features_in_']}" if "n_features_in_" in state else f"{n} objects"
        facts["codes"] = f"{n} x {p}"
    target = notes.get("predict", {})
    if target:
        facts["predicts"] = few(target["columns"])
        if "labels" in target:
            facts["accuracy"] = f"{target['accuracy']:.3f} +- {target['standard error']:.3f} (cross-validated)"
        else:
            facts["held-out error"] = f"{target['held-out error']:.4g} ({target['measure']})"
    of_targets = model.get("rebuilt", {}).get("fields", {}).get("kernel", state.get("output_kernel_"))
    for name, value in (
        ("kernel", model.get("kernel")),
        ("output_kernel", of_targets),
        ("storage", state.get("storage_")),
    ):
        if value is not None:
            facts[name] = shortened(_described(value))
    state["held_out_error_"] = model.get("compared", {}).get("fields", {}).get("held_out")
    for name in ("objective", "converged", "n_iter", "reason", "held_out_error"):
        if state.get(f"{name}_") is not None:
            facts[name.replace("held_out", "held-out").replace("_error", " error")] = _plain(state[f"{name}_"])
    kinds = model.get("compared", {}).get("fields", {}).get("kinds")
    if kinds is not None:
        facts["kernel choice"] = {kind: f"{float(v):.1%} of the variance" for kind, v in _plain(kinds).items()}
    if "shares" in model:
        shares = container.arrays[model["shares"]["$array"]]
        facts["explained variance"] = ", ".join(f"{value:.1%}" for value in shares[:10])
    return facts


def _steps(args: argparse.Namespace) -> dict[str, Any]:
    """Of a pipeline, which must be built for it: skops knows the parameters of its steps."""
    import sklearn

    from rkhs._core.errors import brief
    from rkhs.persistence import load

    pipeline = load(args.model, max_bytes=args.max_bytes, expected_sha256=args.sha256)
    steps = {name: brief(step) for name, step in pipeline.steps}
    return {"class": "Pipeline", "steps": steps, "scikit-learn": sklearn.__version__}


def _shape(value: dict[str, Any], container: Container) -> tuple[int, ...]:
    """Of an array that a description names."""
    if "$bits" in value:
        return container.arrays[value["$bits"]].shape[0], int(value["columns"])
    shape = container.arrays[value["$array"]].shape
    return shape[::-1] if value.get("order") == "F" else shape


def _plain(value: Any) -> Any:
    """A description without the objects in it: dicts, lists, texts and numbers; what is long is left out."""
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if not isinstance(value, dict):
        return value
    if "$dict" in value:
        return {key: _plain(part) for key, part in value["$dict"]}
    if "$tuple" in value:
        return [_plain(part) for part in value["$tuple"]]
    return float(value["$float"]) if "$float" in value else _described(value)


def _described(value: Any) -> str:
    """A description as Python would write the object."""
    if isinstance(value, list):
        return f"[{', '.join(map(_described, value))}]"
    if not isinstance(value, dict):
        return repr(value)
    if "$object" in value:
        inside = ", ".join(f"{name}={_described(part)}" for name, part in value["params"].items())
        return f"{value['$object'].rpartition('.')[2]}({inside})"
    if "$tuple" in value:
        if value["$tuple"] and all(isinstance(part, dict) and "$dict" in part for part in value["$tuple"]):
            return f"({len(value['$tuple'])} columns)"  # with all values that they had in training
        parts = [_described(part) for part in value["$tuple"]]
        return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
    if "$dict" in value:
        return f"{{{', '.join(f'{key!r}: {_described(part)}' for key, part in value['$dict'])}}}"
    if "$float" in value:
        return str(value["$float"])
    if "$scalar" in value:
        return _described(value["$scalar"])
    return "a list" if value.keys() & set(_ENDS) else "an array"


def _diagnosis(model: KernelEstimator) -> dict[str, Any]:
    """What the model says of itself; numbers that it does not have are left out."""
    from rkhs.estimators import diagnose

    if not hasattr(model, "codes_"):
        return {"diagnosis": f"none: a {type(model).__name__} has no codes"}
    n = max(len(model.codes_), model.map_.width)
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
