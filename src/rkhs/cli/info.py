"""``rkhs info``: what a model file holds, read from its description: nothing of the model is built for it."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from rkhs import estimators
from rkhs._core.errors import ModelFileError, shortened
from rkhs._core.model_container import FORMAT, Container, file_sha256, read_container
from rkhs.cli.options import FILE, JSON, MODEL
from rkhs.cli.outputs import of_class, read_model_file
from rkhs.cli.summaries import few, print_json

OPTIONS = f"""{FILE}
--diagnosis  build the model and say what is wrong with it, as rkhs.diagnose does: seconds for thousands of
    items{JSON}{MODEL}"""
_NAMES = {"held_out_error": "held-out error", "gap": "duality gap"}
_ENDS = ("$numbers", "$texts", "$arrays", "$rows", "$strings", "$random_state")


def run(args: argparse.Namespace) -> None:
    """Print what is known of a model."""
    container = read_container(args.model, FORMAT, args.max_bytes, args.sha256)
    try:
        facts = _facts(container)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise ModelFileError(
            f"{args.model}: the description of the model is damaged ({type(error).__name__}: {error}); write the file "
            "again from the original"
        ) from error
    if args.diagnosis:
        facts |= _diagnosis(read_model_file(args).estimator)
    facts["written by"] = f"rkhs {container.content['library']}, format {container.version[0]}.{container.version[1]}"
    facts["checksum"], facts["sha256"] = container.checksum, file_sha256(args.model)
    if args.json:
        print_json(facts)
    else:
        _print(facts)


def _print(facts: dict[str, Any]) -> None:
    width = max(len(key) for key in facts)
    for key, value in facts.items():
        lines = [f"{k} = {v}" for k, v in value.items()] if isinstance(value, dict) else [str(value)]
        for i, line in enumerate(lines or ["(defaults)"]):
            print(f"{'' if i else key:{width}}  {line}")


def _facts(container: Container) -> dict[str, Any]:
    content = container.content
    params, state = content["params"], dict(content["state"])
    model = state.get("model_", {}).get("fields", {})
    facts: dict[str, Any] = {
        "class": content["class"].rpartition(".")[2],
        "parameters": {name: shortened(_described(params[name])) for name in sorted(params)},
    }
    notes = _plain(content["notes"])
    known = notes.get("input", {})
    facts |= {"input": f"{known.get('source')} ({known.get('kind')})"} if known else {}
    facts |= {"fingerprint": known["fingerprint"]} if known.get("fingerprint") else {}
    if "codes" in model:
        n, p = _shape(model["codes"], container)
        facts["data"] = f"{n} x {state['n_features_in_']}" if "n_features_in_" in state else f"{n} objects"
        facts["codes"] = f"{n} x {p}"
    facts |= _of_target(notes.get("predict", {}))
    of_targets = model.get("rebuilt", {}).get("fields", {}).get("kernel", state.get("output_kernel_"))
    objects = {"kernel": model.get("kernel"), "output_kernel": of_targets, "storage": state.get("storage_")}
    facts |= {name: shortened(_described(value)) for name, value in objects.items() if value is not None}
    facts |= _of_fit(state, model)
    if "shares" in model:
        shares = container.arrays[model["shares"]["$array"]]
        facts["explained variance"] = ", ".join(f"{value:.1%}" for value in shares[:10])
    return facts


def _of_fit(state: dict[str, Any], model: dict[str, Any]) -> dict[str, Any]:
    """What the solver reached, and what the choice of the settings found."""
    facts: dict[str, Any] = {}
    compared, certificates = (model.get(name, {}).get("fields", {}) for name in ("compared", "certificates"))
    state["held_out_error_"], gap = compared.get("held_out"), certificates.get("gap")
    state["gap_"] = gap if isinstance(gap, float) else None  # what is not finite bounds nothing
    for name in ("objective", "gap", "converged", "n_iter", "reason", "held_out_error"):
        if state.get(f"{name}_") is not None:
            facts[_NAMES.get(name, name)] = _plain(state[f"{name}_"])
    if compared.get("kinds") is not None:
        facts["kernel choice"] = {k: f"{float(v):.1%} of the variance" for k, v in _plain(compared["kinds"]).items()}
    return facts


def _of_target(target: dict[str, Any]) -> dict[str, str]:
    """What the notes say of the columns that the model predicts."""
    if not target:
        return {}
    facts = {"predicts": few(target["columns"])}
    if "labels" in target:
        return facts | {"accuracy": f"{target['accuracy']:.3f} +- {target['standard error']:.3f} (cross-validated)"}
    return facts | {"held-out error": f"{target['held-out error']:.4g} ({target['measure']})"}


def _shape(value: dict[str, Any], container: Container) -> tuple[int, ...]:
    """Return the shape of an array that a description names."""
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
    for key, write in _FORMS.items():
        if key in value:
            return write(value)
    return "a list" if value.keys() & set(_ENDS) else "an array"


def _object(value: dict[str, Any]) -> str:
    inside = ", ".join(f"{name}={_described(part)}" for name, part in value["params"].items())
    return f"{value['$object'].rpartition('.')[2]}({inside})"


def _tuple(value: dict[str, Any]) -> str:
    parts = value["$tuple"]
    if parts and all(isinstance(part, dict) and "$dict" in part for part in parts):
        return f"({len(parts)} columns)"  # with all values that they had in training
    written = ", ".join(map(_described, parts))
    return f"({written},)" if len(parts) == 1 else f"({written})"


_FORMS: dict[str, Callable[[dict[str, Any]], str]] = {
    "$object": _object,
    "$tuple": _tuple,
    "$dict": lambda value: f"{{{', '.join(f'{key!r}: {_described(part)}' for key, part in value['$dict'])}}}",
    "$float": lambda value: str(value["$float"]),
    "$scalar": lambda value: _described(value["$scalar"]),
}


def _diagnosis(model: estimators.KernelEstimator) -> dict[str, Any]:
    """What the model says of itself; numbers that it does not have are left out."""
    from rkhs.reports.findings import MOST_DIAGNOSED

    if not hasattr(model, "codes_"):
        return {"diagnosis": f"none: {of_class(model)} has no codes"}
    n = max(len(model.codes_), model.map_.width)
    if n > MOST_DIAGNOSED:
        return {"diagnosis": f"left out: {n} items would take minutes; rkhs.diagnose(model) makes it"}
    found = estimators.diagnose(model)
    numbers = {name.replace("_", " "): f"{v:.4g}" for name, v in vars(found).items() if isinstance(v, float)}
    facts: dict[str, Any] = {"diagnosis": numbers}
    if found.warnings:
        facts["warnings"] = dict(enumerate(found.warnings, 1))
    return facts
