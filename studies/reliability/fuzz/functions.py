"""Public functions: metrics, weights of kernels, choices, diagnostics; each with good arguments, then hostile ones."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch

import rkhs
from rkhs import augment, data, kernels, metrics, selection
from rkhs.estimators import decode_chunks
from rkhs.evaluation import atom_contributions, decoding_quality, reconstruction, risk_coverage
from rkhs.kernels import Gaussian
from rkhs.losses import Huber, as_loss
from studies.reliability.fuzz import values
from studies.reliability.fuzz.case import Case
from studies.reliability.fuzz.containers import FRAMES, choose, held, refused
from studies.reliability.fuzz.schemas import LONG, hostile_value

SMILES = ["CCO", "CC(=O)O", "c1ccccc1", "CCN", "CCCl", "C1CC1O", "CCS", "CC(C)O"]


@dataclass(frozen=True)
class Function:
    """A public function, and what it is called with."""

    run: Callable[..., Any]
    good: Callable[[Case], dict[str, Any]]
    together: tuple[str, ...] = ()  # arguments whose rows may be permuted together without effect
    arrays: tuple[str, ...] = ()  # arguments that may come in any container
    fixed: tuple[str, ...] = ()  # arguments that are no part of the fuzz, such as fitted models
    names: str = ""
    rtol: float = 1e-7
    finite: bool = True


def walk(case: Case, function: Function) -> None:
    """Good arguments, the same in other containers and orders, then one hostile argument."""
    good = function.good(case)
    names = r"\b(" + "|".join(good) + r")\b" + (f"|{function.names}" if function.names else "")
    first = case.call("good arguments", function.run, **good, may_name=names, finite=function.finite)
    if first.answered:
        for name in function.arrays:
            _in_containers(case, function, good, name, names)
        if function.together:
            order = case.rng.permutation(len(good[function.together[0]]))
            turned = {**good, **{name: _pick(good[name], order) for name in function.together}}
            found = case.call("in another order", function.run, **turned, may_name=names, finite=function.finite)
            if found.answered:
                case.agree("in another order", found.value, first.value, rtol=function.rtol, atol=1e-12)
        for _ in range(3):
            _hostile(case, function, good)


def _pick(value: Any, order: np.ndarray) -> Any:
    return value[order] if isinstance(value, np.ndarray) else [value[i] for i in order]


def _in_containers(case: Case, function: Function, good: dict[str, Any], name: str, names: str) -> None:
    whole = np.issubdtype(np.asarray(good[name]).dtype, np.integer)
    for label in choose(case, 3):
        given, meant = held(case, np.asarray(good[name], dtype=np.float64), label)
        if meant.shape != np.shape(good[name]) or (whole and not np.array_equal(meant, good[name])):
            continue
        plain: Any = meant.astype(good[name].dtype) if whole else meant
        if whole and label not in FRAMES and isinstance(given, np.ndarray):
            given = given.astype(np.int64)  # the views are gone, and the numbers are whole
        expected = case.call("plain", function.run, **{**good, name: plain}, may_name=names, finite=function.finite)
        what = f"{name} as {label}"
        found = case.call(what, function.run, **{**good, name: given}, may_name=names, finite=function.finite)
        if expected.good and found.good and expected.answered != found.answered:
            case.fail("disagreement", f"{what}: {found.error or 'answered'}, plain: {expected.error or 'answered'}")
        elif expected.answered and found.answered:
            case.agree(what, found.value, expected.value, rtol=1e-5 if "32" in label else 1e-9, atol=1e-12)


def _hostile(case: Case, function: Function, good: dict[str, Any]) -> None:
    open_names = [name for name in good if name not in function.fixed]
    if not open_names:
        return
    name = case.one_of(open_names)
    array = isinstance(good[name], np.ndarray)
    label, bad = refused(case, np.asarray(good[name], dtype=float)) if array and case.chance(0.7) else ("", None)
    if not label:
        bad = hostile_value(case, name if name not in LONG else "max_iter")
        label = f"{bad!r:.50}"
        if isinstance(bad, bool) and isinstance(good[name], bool):
            return  # the other of two good values
    wanted = rf"\b{name}\b" + (f"|{function.names}" if function.names else "")
    case.call(f"{name}={label}", function.run, **{**good, name: bad}, must_name=wanted, finite=function.finite)


# ---------------------------------------------------------------- good arguments


def _codes_and_factors(case: Case) -> dict[str, Any]:
    n = int(case.rng.integers(6, 25))
    factors = np.stack([np.arange(n) % 2, case.rng.permutation(np.arange(n) % 3)], 1)
    codes = values.wild(case, n, 2) if case.chance(0.3) else factors + 0.1 * values.tame(case, n, 2)
    return {"codes": codes, "factors": factors}


def _grams(case: Case, count: int) -> list[np.ndarray]:
    n = int(case.rng.integers(2, 8))
    scale = 10.0 ** case.one_of([-100, -8, 0, 0, 8, 100])
    return [Gaussian(0.3)(values.tame(case, n, 2)) * scale for _ in range(count)]


def _regression(case: Case) -> dict[str, Any]:
    n = int(case.rng.integers(5, 13))
    X = values.wild(case, n, 2) if case.chance(0.2) else values.tame(case, n, 2)
    return {"X": X, "targets": np.ascontiguousarray(np.sin(X[:, :1]) if np.isfinite(X).all() else X[:, :1])}


@cache
def _models() -> dict[str, Any]:
    X = np.random.default_rng(5).normal(size=(12, 3))
    return {
        "KernelPCA": rkhs.KernelPCA(2).fit(X),
        "KernelAutoencoder": rkhs.KernelAutoencoder(2, reg=1e-3, max_iter=20, tol=1e-3).fit(X),
        "regressor": rkhs.OperatorKernelRegressor(center=False, reg=0.1, loss=Huber(1.0)).fit(X, X[:, :2]),
    }


def _model_and_rows(case: Case) -> dict[str, Any]:
    rows = values.wild(case, 4, 3) if case.chance(0.3) else values.tame(case, 4, 3)
    return {"model": _models()[case.one_of(["KernelPCA", "KernelAutoencoder"])], "X": rows}


def _scores(case: Case) -> dict[str, Any]:
    m, c = int(case.rng.integers(1, 6)), int(case.rng.integers(1, 6))
    return {"scores": np.round(values.tame(case, m, c), 1), "truth": case.rng.integers(-1, c, m)}


def _rows_to_parquet(case: Case) -> dict[str, Any]:
    folder = case.folder / f"codes{int(case.rng.integers(10**9))}"
    return {"model": _models()["KernelPCA"], "X": values.tame(case, 5, 3), "folder": folder, "block_size": 2}


def _chunks(case: Case) -> dict[str, Any]:
    codes, candidates = values.tame(case, 2, 2), values.tame(case, 6, 3)
    return {"model": _models()["KernelPCA"], "codes": codes, "chunks": candidates, "n_best": 3}


def _in_chunks(model: Any, codes: Any, chunks: Any, n_best: Any) -> Any:
    return decode_chunks(model, codes, [chunks[:3], chunks[3:]], n_best=n_best)


def _robust(case: Case) -> dict[str, Any]:
    X = values.tame(case, 14, 2)
    X[0] += 30.0
    # A penalty that leaves one minimum: with less, another order of the rows may end in another one.
    model = rkhs.KernelAutoencoder(1, reg=0.1, max_iter=300, tol=1e-7)
    return {"model": model, "X": X, "trim": 4.0, "max_rounds": 3}


def _robust_scores(model: Any, X: Any, trim: Any, max_rounds: Any) -> Any:
    found = rkhs.fit_robust(model, X, trim=trim, max_rounds=max_rounds)
    return {"outlier_score": np.sort(found.outlier_score), "inliers": found.inliers.sum(), "threshold": found.threshold}


def _augmentation(name: str) -> Function:
    kind = getattr(augment, name)

    def run(X: Any, seed: Any, **parameters: Any) -> Any:
        return augment.augmented(kind(**parameters), X, seed, 1)

    def good(case: Case) -> dict[str, Any]:
        made = {p.name: p.default for p in inspect.signature(kind.__init__).parameters.values() if p.name != "self"}
        if "shape" in made:
            made["shape"] = (3, 3)
        return {"X": values.tame(case, int(case.rng.integers(1, 5)), 9), "seed": 3, **made}

    return Function(run, good, fixed=("X", "seed"), names=rf"{name}\.\w+|augment\b")


def _disentanglement() -> dict[str, Function]:
    pair = ("codes", "factors")

    def good(**more: Any) -> Callable[[Case], dict[str, Any]]:
        return lambda case: {**_codes_and_factors(case), **more}

    return {
        "mig": Function(metrics.mig, good(n_bins=5), pair, pair),
        "mutual_information": Function(metrics.mutual_information, good(n_bins=5), pair, pair),
        "irs": Function(metrics.irs, good(quantile=0.9), pair, pair),
        "sap": Function(metrics.sap, good(continuous=True), pair, pair),
        "sap_classes": Function(metrics.sap, good(random_state=0), (), pair, names="factor"),
        "dci": Function(metrics.dci, good(n_estimators=2, random_state=0), (), pair, names="factor"),
    }


def _rankings_and_bounds() -> dict[str, Function]:
    def bound(name: str, **good: Any) -> Function:
        return Function(getattr(metrics, name), lambda case: dict(good), names="is not finite")

    contrast = {"loss": "simple", "n_components": 2, "map_norm": 2.0, "traces": (9.0,) * 3, "n": 9, "kernel_bound": 1.0}
    shares = {"unsupervised_loss": -0.25, "class_shares": np.array([0.5, 0.25, 0.25]), "loss": "linear"}
    return {
        "truth_ranks": Function(
            metrics.truth_ranks, _scores, (), ("scores", "truth"), names="truth|scores", finite=False
        ),
        "top_k_accuracy": Function(
            metrics.top_k_accuracy,
            lambda c: {"ranks": c.rng.integers(1, 9, 5).astype(float), "k": 2},
            ("ranks",),
            ("ranks",),
        ),
        "hamming_error": Function(
            metrics.hamming_error,
            lambda c: {"Y": c.rng.integers(0, 2, (5, 2)), "predicted": c.rng.integers(0, 2, (5, 2))},
            ("Y", "predicted"),
            ("Y", "predicted"),
        ),
        "normalized_mean_squared_error": Function(
            metrics.normalized_mean_squared_error,
            lambda c: {"Y": c.rng.normal(size=(5, 2)), "predicted": c.rng.normal(size=(5, 2))},
            ("Y", "predicted"),
            ("Y", "predicted"),
        ),
        "risk_coverage": Function(
            risk_coverage,
            lambda c: {
                "scores": c.rng.integers(0, 9, 40),
                "losses": c.rng.integers(0, 2, 40),
                "risk": 0.6,
                "of": "all",
            },
            ("scores", "losses"),
            ("scores", "losses"),
            names="scores|losses",
            finite=False,
        ),
        "contrastive_bound": bound("contrastive_bound", **contrast),
        "downstream_bound": Function(metrics.downstream_bound, lambda c: shares, ("class_shares",), ("class_shares",)),
        "stability_constants": bound(
            "stability_constants", loss=Huber(0.5), n=100, reg=0.1, kernel_bound=1.0, output_bound=1.0
        ),
        "bound": Function(
            metrics.bound,
            lambda c: {"model": _models()["regressor"], "delta": 0.1, "kernel_bound": 1.0, "output_bound": 2.0},
        ),
    }


def _kernels_and_choices() -> dict[str, Function]:
    return {
        "view_weights": Function(
            kernels.view_weights, lambda c: {"grams": _grams(c, 2), "weights": [0.5, 1.5]}, names="Gram"
        ),
        "quadrature_weights": Function(
            kernels.quadrature_weights,
            lambda c: {"times": np.sort(c.rng.uniform(size=5)), "n_points": 5, "rule": "trapezoid"},
            (),
            ("times",),
            names="times",
        ),
        "as_kernel": Function(kernels.as_kernel, lambda c: {"kernel": "gaussian"}, names="Kernel|kernel"),
        "kernel_from_name": Function(kernels.kernel_from_name, lambda c: {"name": "matern"}, names="kernel"),
        "as_loss": Function(as_loss, lambda c: {"loss": "huber"}),
        "ridge_path": Function(
            lambda K, T, regs: selection.ridge_path(torch.as_tensor(K), torch.as_tensor(T), regs),
            lambda c: {"K": Gaussian(0.3)(values.tame(c, 6, 2)), "T": values.tame(c, 6, 1), "regs": [1e-3, 1.0]},
            fixed=("K", "T"),
        ),
        "choose_kernel": Function(
            selection.choose_kernel,
            lambda c: {"items": values.tame(c, 8, 2), "y": np.arange(8) % 2, "kernels": ("linear", "gaussian")},
            ("items", "y"),
            ("items", "y"),
            names="reads|item|kernel",
        ),
        "kernels_for": Function(
            kernels.kernels_for,
            lambda c: {"kind": "series", "items": [c.rng.normal(size=(4, 2)) for _ in range(3)]},
            names="items|reads|series",
        ),
        "held_out_parts": Function(selection.held_out_parts, lambda c: {"n": 9, "seed": 1, "at_most": 5}),
        "open_end": Function(
            selection.open_end,
            lambda c: {"errors": np.abs(values.tame(c, 5, 1)[:, 0]), "margin": 0.2, "least": 0.0},
            (),
            ("errors",),
        ),
    }


def _on_models() -> dict[str, Function]:
    said = "values|features|numbers|samples?|array"
    return {
        "curves_on_grid": Function(
            data.curves_on_grid,
            lambda c: {"curves": values.tame(c, 5, 4), "times": np.arange(4.0), "at": np.array([0.5, 2.0])},
            (),
            ("curves",),
            names="curves|times|at",
        ),
        "diagnose": Function(rkhs.diagnose, _model_and_rows, arrays=("X",), names=f"{said}|reads"),
        "fit_robust": Function(_robust_scores, _robust, ("X",), ("X",), ("model",), said, rtol=1e-4),
        "reconstruction": Function(reconstruction, _model_and_rows, (), ("X",), names=said),
        "decoding_quality": Function(
            decoding_quality,
            lambda c: {**_model_and_rows(c), "ks": (1, 2)},
            (),
            ("X",),
            names=rf"{said}|candidates|\bk\b",
        ),
        "decode_chunks": Function(_in_chunks, _chunks, (), ("codes",), ("chunks",), "candidates|decode"),
    }


def _on_molecules() -> dict[str, Function]:
    return {
        "atom_contributions": Function(
            lambda smiles: atom_contributions(lambda texts: [float(len(text)) for text in texts], smiles),
            lambda c: {"smiles": c.one_of(SMILES)},
            names="molecule",
        ),
        "molecular_fingerprints": Function(
            data.molecular_fingerprints,
            lambda c: {"molecules": list(SMILES), "fingerprint": "path", "counts": False, "n_bits": 64},
            names="SMILES|row|smiles",
        ),
    }


def table() -> dict[str, Function]:
    """Every public function that is fuzzed here, and the augmentations."""
    changes = [name for name in augment.__all__ if inspect.isclass(getattr(augment, name)) and name != "Augmentation"]
    return {
        **_disentanglement(),
        **_rankings_and_bounds(),
        **_kernels_and_choices(),
        **_on_models(),
        **_on_molecules(),
        **{name: _augmentation(name) for name in changes},
    }


def subjects() -> dict[str, Callable[[Case], None]]:
    """Every function by name."""
    return {name: (lambda case, one=one: walk(case, one)) for name, one in table().items()}
