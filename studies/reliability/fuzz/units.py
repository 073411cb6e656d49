"""A unit or an offset of the data changes what the documentation says it changes, and nothing else.

Bandwidths by a rule are lengths of the data, and targets are centred and measured by their own spread: codes and
predictions then do not see units and offsets, and what is rebuilt moves with the data. Units are powers of two and data
multiples of 2^-12, so that the change itself loses no digit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import rkhs
from rkhs import metrics
from rkhs.evaluation import SmoothRegressor
from rkhs.features import Nystroem, RandomFeatures
from rkhs.kernels import Gaussian, Laplacian, Linear, Matern
from studies.reliability.fuzz import values
from studies.reliability.fuzz.case import Case

MOVING: list[Any] = ["gaussian", "laplacian", "matern", Gaussian("scale"), Laplacian("l2", "scale"), Matern(0.5)]
CENTRED: list[Any] = [*MOVING, Linear("mean_norm", "mean"), 0.5 * Gaussian("2*median") + Linear("mean_norm", "mean")]


@dataclass(frozen=True)
class Guarantee:
    """A class with parameters under which it does not see units and offsets of its inputs."""

    kind: Any
    kernels: list[Any] = field(default_factory=lambda: MOVING)
    params: tuple[dict[str, Any], ...] = ({},)
    fixed: dict[str, Any] = field(default_factory=dict)
    offset: bool = True
    targets: bool = False  # predictions move with the targets
    rtol: float = 1e-6


PROMISES: dict[str, Guarantee] = {
    "KernelPCA": Guarantee(
        rkhs.KernelPCA,
        CENTRED,
        (
            {},
            {"center": False},
            {"preimage": "nearest"},
            {"storage": "blocked"},
            {"storage": Nystroem(6)},
            {"loss": "huber"},
        ),
    ),
    "KernelAutoencoder": Guarantee(
        rkhs.KernelAutoencoder,
        ["auto", *CENTRED],
        ({}, {"reg": 1e-3}, {"constraint": "sphere", "reg": 1e-3}, {"storage": Nystroem(6)}, {"refine": False}),
        {"max_iter": 1000, "tol": 1e-9},  # on the way to a minimum rounding grows with each step
        rtol=1e-4,
    ),
    "DeepRKM": Guarantee(
        rkhs.DeepRKM,
        MOVING,
        ({}, {"center": False}, {"out_of_sample": "block"}),
        {"n_components": (2, 1), "max_iter": 1000, "tol": 1e-9},
        rtol=1e-4,
    ),
    "KernelContrastive": Guarantee(rkhs.KernelContrastive, MOVING, ({}, {"loss": "spectral"}, {"n_neighbors": 2})),
    "OperatorKernelRegressor": Guarantee(
        rkhs.OperatorKernelRegressor,
        MOVING,
        ({}, {"loss": "huber"}, {"operator": "covariance"}, {"storage": Nystroem(6)}),
        targets=True,
        rtol=1e-5,
    ),
    "InputOutputKernelRegressor": Guarantee(
        rkhs.InputOutputKernelRegressor, MOVING, ({}, {"output_kernel": "gaussian"}), rtol=1e-5
    ),
    "FunctionalKernelRegressor": Guarantee(
        rkhs.FunctionalKernelRegressor,
        ["functional_laplacian", "functional_gaussian"],
        ({}, {"loss": "squared"}),
        {"n_basis": 2},
        targets=True,
        rtol=1e-5,
    ),
    "GramTransformer": Guarantee(rkhs.GramTransformer, CENTRED),
    "Nystroem": Guarantee(Nystroem, MOVING, fixed={"m": 4}),
    "RandomFeatures": Guarantee(RandomFeatures, ["gaussian", "matern"], fixed={"m": 8}, offset=False),
    "SmoothRegressor": Guarantee(SmoothRegressor, [None], fixed={"gammas": (0.5, 1.0)}, rtol=1e-5),
}


def walk(case: Case, name: str) -> None:
    """Fit on data and on the same data in other units, and compare what the two models say."""
    guarantee = PROMISES[name]
    params = {**guarantee.fixed, **case.one_of(guarantee.params)}
    kernel = case.one_of(guarantee.kernels)
    if kernel is not None:
        params["kernel"] = kernel
    n, d = int(case.rng.integers(6, 13)), int(case.rng.integers(2, 5))
    X, new, Y = values.tame(case, n, d), values.tame(case, 4, d), values.tame(case, n, 3)
    unit = 2.0 ** case.one_of([-40, -7, 0, 3, 40])
    offset = unit * case.one_of([0.0, 2.0**10, -(2.0**20)]) if guarantee.offset else 0.0
    stretch = 2.0 ** case.one_of([-30, 0, 5]) if guarantee.targets else 1.0
    shift = stretch * case.one_of([0.0, 64.0]) if guarantee.targets else 0.0
    rtol = guarantee.rtol * (1.0 if offset == 0.0 else 10.0)
    if case.told:
        print(f"{guarantee.kind.__name__}({params}), unit {unit}, offset {offset}, targets {stretch}, {shift}")
    regression = "Regressor" in guarantee.kind.__name__
    first, second = guarantee.kind(**params), guarantee.kind(**params)
    more = {"y": Y} if regression else {}
    plain = case.call("fit", first.fit, X, **more)
    moved = case.call("fit moved", second.fit, unit * X + offset, **({"y": stretch * Y + shift} if regression else {}))
    if not case.expect(plain.answered == moved.answered, f"one is refused: {plain.error or moved.error}"):
        return
    if not plain.answered or _other_minimum(first, second):
        return
    settled = all(getattr(model, "converged_", True) for model in (first, second))
    if isinstance(first, rkhs.KernelAutoencoder):
        settled = settled and _keeps_its_codes(
            case, guarantee.kind(**params), second, unit * X + offset, unit * new + offset
        )
    for method in ("transform", "predict"):
        if method == "transform" and not settled and hasattr(first, "reconstruction_error"):
            # In a flat valley codes are the place and errors the height; one may have warned that it had not arrived.
            close = 1e-6 if offset == 0.0 else 1e-5  # an offset takes digits of the rows
            if not isinstance(params.get("storage", "dense"), str):
                close *= 100.0  # stages end after a number of steps, on the way to the minimum
            case.agree("objective_ moved", second.objective_, first.objective_, rtol=close)
            _errors(case, first, second, unit, offset, new, rtol)
            continue
        if not hasattr(first, method) or (method == "predict" and isinstance(first, rkhs.InputOutputKernelRegressor)):
            continue
        a = case.call(method, getattr(first, method), new)
        b = case.call(f"{method} moved", getattr(second, method), unit * new + offset)
        if a.answered and b.answered:
            expected = stretch * np.asarray(a.value) + shift
            case.agree(f"{method} moved", b.value, expected, atol=rtol * (stretch + values.typical(expected)))
            if method == "transform" and hasattr(first, "inverse_transform"):
                _rebuilt(case, first, second, a.value, unit, offset, new, rtol)
    if isinstance(first, rkhs.InputOutputKernelRegressor):
        a = case.call("predict_weights", first.predict_weights, new)
        b = case.call("predict_weights moved", second.predict_weights, unit * new + offset)
        if a.answered and b.answered:
            case.agree("predict_weights moved", b.value, a.value, rtol=rtol)


def _keeps_its_codes(case: Case, model: Any, fitted: Any, rows: Any, new: Any) -> bool:
    """Whether a fit to rows whose last digit is another has nearly the same codes: some valleys are flat."""
    signs = np.random.default_rng(0).choice([-1.0, 1.0], rows.shape)
    again = case.call("fit moved by a digit", model.fit, rows * (1.0 + 2e-16 * signs))
    if not again.answered:
        return False
    a, b = (np.asarray(one.transform(new)) for one in (fitted, model))
    return bool(np.abs(a - b).max() <= 1e-4 * values.typical(a))


def _other_minimum(first: Any, second: Any) -> bool:
    """Whether two fits began at the same value and ended in different minima: rounding decides at a saddle point."""
    if isinstance(first, rkhs.KernelAutoencoder) and first.constraint != "none" and first.objective_ > 0.5:
        return True  # above that of the mean: the kernel has too few ranks for the constraint, and the jitter decides
    if isinstance(first, rkhs.KernelAutoencoder) and getattr(first.kernel, "nu", None) == 0.5:
        # Kinks at every anchor: rounding chooses the valley. The values of the two differ by little all the same.
        return abs(first.objective_ / second.objective_ - 1.0) < 1e-2
    a, b = (getattr(model, "history_", None) for model in (first, second))
    if not a or not b or not isinstance(first, rkhs.DeepRKM):
        return False
    return abs(a[0]["value"] - b[0]["value"]) <= 1e-9 < 1e-4 < abs(first.objective_ - second.objective_)


def _rebuilt(
    case: Case, first: Any, second: Any, codes: Any, unit: float, offset: float, new: Any, rtol: float
) -> None:
    a = case.call("inverse_transform", first.inverse_transform, codes)
    b = case.call("inverse_transform moved", second.inverse_transform, codes)
    if a.answered and b.answered:
        case.agree(
            "inverse_transform moved",
            (np.asarray(b.value) - offset) / unit,
            a.value,
            rtol=10.0 * rtol,
            atol=10.0 * rtol,
        )
    _errors(case, first, second, unit, offset, new, rtol)


def _errors(case: Case, first: Any, second: Any, unit: float, offset: float, new: Any, rtol: float) -> None:
    a = case.call("reconstruction_error", first.reconstruction_error, new)
    b = case.call("reconstruction_error moved", second.reconstruction_error, unit * new + offset)
    if a.answered and b.answered:
        case.agree("reconstruction_error moved", np.asarray(b.value) / unit**2, a.value, rtol=10.0 * rtol, atol=rtol)


def metric_walk(case: Case) -> None:
    """Disentanglement does not see the unit and the offset of each code, and factors are names."""
    n = int(case.rng.integers(8, 25))
    factors = np.stack([np.arange(n) % 2, case.rng.permutation(np.arange(n) % 3)], 1)
    codes = factors + 0.25 * values.tame(case, n, 2)
    units, offset = 2.0 ** case.rng.integers(-30, 31, 2), case.one_of([0.0, 16.0])
    for name, more in (
        ("mig", {"n_bins": 5}),
        ("irs", {}),
        ("mutual_information", {"n_bins": 5}),
        ("sap", {"continuous": True}),
    ):
        function = getattr(metrics, name)
        moved = (codes + offset) * (units[0] if name == "irs" else units)  # irs weighs codes by how far they go
        a = case.call(name, function, codes, factors, **more)
        b = case.call(f"{name} of codes in other units", function, moved, factors, **more)
        if a.answered and b.answered:
            case.agree(f"{name} of codes in other units", b.value, a.value, atol=1e-9)
        if name != "sap":
            names = np.array(["x", "y", "z"])[factors]
            b = case.call(f"{name} of named factors", function, codes, names, **more)
            if a.answered and b.answered:
                case.agree(f"{name} of named factors", b.value, a.value, atol=1e-12)


def subjects() -> dict[str, Callable[[Case], None]]:
    """Every class that makes the guarantee, and the metrics."""
    return {
        **{f"units.{name}": (lambda case, name=name: walk(case, name)) for name in PROMISES},
        "units.metrics": metric_walk,
    }
