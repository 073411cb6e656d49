"""Losses, constraints, output spaces and feature maps on tensors: finite, by their definitions, row by row."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from rkhs import constraints, outputs
from rkhs._core.config import is_concrete
from rkhs.constraints import Constraint, Sphere, Unconstrained
from rkhs.features import FilledTable, Nystroem, RandomFeatures, leverage_scores, sample_landmarks
from rkhs.kernels import ArcCosine, Gaussian, Kernel, Laplacian, Linear, Matern, MinMax
from rkhs.losses import Ball, Loss, MaximumMargin, as_loss
from studies.reliability.fuzz import values
from studies.reliability.fuzz.case import Case
from studies.reliability.fuzz.schemas import hostile_value, own_parameters
from tests.contracts.test_losses import EXAMPLES as LOSSES


def rows_of(case: Case, n: int, q: int, power: float = 0.0) -> torch.Tensor:
    """Rows of a size, in a dtype and with strides of all kinds."""
    X = values.shaped(case, n, q) * 10.0**power
    tensor = torch.from_numpy(np.ascontiguousarray(X)).to(case.one_of([torch.float64, torch.float64, torch.float32]))
    if case.chance(0.3):
        tensor = tensor.mT.contiguous().mT
    return tensor


def close(case: Case, what: str, found: Any, expected: Any, like: torch.Tensor, scale: float = 1.0) -> None:
    """Equal to most digits of the dtype."""
    rtol = 1e-9 if like.dtype == torch.float64 else 1e-3
    case.agree(what, found, expected, rtol=rtol, atol=rtol * 1e-3 * scale)


# ---------------------------------------------------------------- losses


def loss_walk(case: Case, name: str) -> None:
    """Fenchel-Young equality, order of rows, and hostile parameters of one loss."""
    if case.chance(0.25):
        _hostile_loss(case, type(case.one_of(LOSSES[name])))
        return
    loss = case.one_of(LOSSES[name])
    n, q = int(case.rng.integers(1, 8)), int(case.rng.integers(1, 4))
    R = rows_of(case, n, q, case.one_of([-100, -8, -2, 0, 0, 0, 2, 8]))
    if R.dtype == torch.float32:
        R = R.clamp(-1e8, 1e8)
    if isinstance(loss, MaximumMargin):
        loss = loss.bind(rows_of(case, n, q).to(R))
    inside = (
        0.6 * R / torch.linalg.vector_norm(R, dim=1, keepdim=True).clamp_min(1e-30) if isinstance(loss, Ball) else R
    )
    size = float(torch.linalg.vector_norm(R, dim=1).max())
    extreme = size > 1e6 and type(loss).__name__ in ("Power", "InfimalConvolution")
    value = case.call("value", loss.value, inside)
    gradient = case.call("gradient", loss.gradient, inside)
    if not value.answered or not gradient.answered or extreme:
        return
    conjugate = case.call("conjugate(gradient)", loss.conjugate, gradient.value)
    if conjugate.answered:
        right = (gradient.value * inside).sum(-1)
        scale = max(1.0, float(right.abs().max()), float(value.value.abs().max()))
        case.agree(
            "Fenchel-Young equality",
            value.value + conjugate.value,
            right,
            atol=scale * (1e-6 if R.dtype == torch.float64 else 1e-2),
        )
    prox = case.call("prox_conjugate", loss.prox_conjugate, R, 0.7)
    order = torch.as_tensor(case.rng.permutation(n))
    turned = loss.bind(loss.targets[order]) if isinstance(loss, MaximumMargin) else loss
    found = case.call("value in another order", turned.value, inside[order])
    if found.answered:
        close(case, "value in another order", found.value, value.value[order], R)
    found = case.call("prox_conjugate in another order", turned.prox_conjugate, R[order], 0.7)
    if found.answered and prox.answered:
        close(case, "prox_conjugate in another order", found.value, prox.value[order], R, size)


def _hostile_loss(case: Case, kind: type[Loss]) -> None:
    params = own_parameters(kind)
    if not params:
        return
    chosen = case.one_of(params)
    given = hostile_value(case, chosen)
    loss = kind(**{**LOSSES[kind.__name__][0].get_params(deep=False), chosen: given})
    R = torch.from_numpy(values.tame(case, 3, 2))
    wanted = rf"{kind.__name__}\.{chosen}|\b{chosen}\b"
    for method, extra in (("value", ()), ("gradient", ()), ("prox_conjugate", (0.5,))):
        case.call(
            f"{method} with {chosen}={given!r:.50}", getattr(loss, method), R, *extra, must_name=wanted, finite=False
        )
    case.call("as_loss", as_loss, given, may_name=r"\bloss\b")


# ---------------------------------------------------------------- constraints


def constraint_walk(case: Case, name: str) -> None:
    """Projections are feasible, idempotent and finite; tangents too."""
    kind = getattr(constraints, name)
    constraint: Constraint = kind()
    p = int(case.rng.integers(1, 4))
    Y = rows_of(case, int(case.rng.integers(p, 9)), p, case.one_of([-100, -8, 0, 0, 0, 8, 100]))
    if Y.dtype == torch.float32:
        Y = Y.clamp(-1e8, 1e8)
    projected = case.call("project", constraint.project, Y, may_name=r"columns|rows|finite|rank|matrix|values")
    if not projected.answered:
        return
    H = projected.value
    loose = 1e-10 if Y.dtype == torch.float64 else 1e-3
    violation = case.call("violation", constraint.violation, H)
    if violation.answered and not isinstance(constraint, Unconstrained):
        case.expect(violation.value <= loose * max(H.shape), f"project leaves a violation of {violation.value}")
    again = case.call("project again", constraint.project, H)
    if again.answered:
        case.agree("project again", again.value, H, rtol=10 * loose)
    G = rows_of(case, *H.shape).to(H)
    tangent = case.call("tangent", constraint.tangent, H, G)
    if tangent.answered:
        point = case.call(
            "retract", constraint.retract, H, 0.1 * tangent.value, may_name=r"columns|rows|finite|rank|matrix"
        )
        if point.answered:
            left = case.call("violation", constraint.violation, point.value)
            if left.answered and not isinstance(constraint, Unconstrained):
                case.expect(left.value <= 10 * loose * max(H.shape), f"retract leaves a violation of {left.value}")
    if hasattr(constraint, "pullback") and (not isinstance(constraint, Sphere) or float(Y.norm(dim=1).min()) > 0.0):
        case.call("pullback", constraint.pullback, Y, G, finite=False)


# ---------------------------------------------------------------- output spaces


def output_walk(case: Case, name: str) -> None:
    """Encoding and decoding of training targets, and order of new rows."""
    n, q = int(case.rng.integers(2, 9)), int(case.rng.integers(1, 5))
    Y = torch.from_numpy(values.wild(case, n, q) if case.chance(0.4) else values.tame(case, n, q))
    if not bool(torch.isfinite(Y).all()) or float(Y.abs().max()) > 1e150:
        return  # estimators refuse these first
    weights = torch.full((n,), 1.0 / n, dtype=torch.float64) if case.chance(0.5) else None
    size = max(float(Y.abs().max()), 1e-300)
    if name == "Euclidean":
        center, scale = bool(case.chance(0.5)), bool(case.chance(0.5))
        made = case.call("fit", outputs.Euclidean.fit, Y, weights, center=center, scale=scale)
        if made.answered:
            space, U = made.value
            back = case.call("decode", space.decode, U)
            if back.answered:
                case.agree("decode(coordinates) gives the targets", back.value, Y, atol=1e-9 * size)
            again = case.call("encode", space.encode, Y)
            if again.answered:
                left = 8.0 * np.finfo(np.float64).eps * size / space.scale  # what rounding leaves of the targets
                atol = 1e-6 * max(1.0, float(U.abs().max())) + left
                case.agree("encode gives the coordinates", again.value, U, atol=atol)
    elif name == "Functional":
        basis = case.one_of(["fourier", "cosine_sine", "empirical", Gaussian(1.0), "x", None])
        count = case.one_of([1, 2, q, q + 1, 0, 2.5])
        made = case.call(
            "fit", outputs.Functional.fit, Y, weights, basis=basis, n_basis=count, center=True, may_name="basis|times"
        )
        if made.answered:
            space, U = made.value
            case.call("decode", space.decode, U)
            found = case.call("encode in another order", space.encode, Y.flip(0))
            if found.answered:
                case.agree("encode in another order", found.value, U.flip(0), atol=1e-9 * size * q)
    else:
        X = values.tame(case, n, 2)
        K = torch.from_numpy(Gaussian(0.3)(X) * 10.0 ** case.one_of([-100, 0, 0, 100]))
        made = case.call("fit", outputs.RKHS.fit, K, weights, center=True, scale=bool(case.chance(0.5)))
        if made.answered:
            space, U = made.value
            H = torch.eye(n, dtype=torch.float64) - 1.0 / n
            goal = H @ K @ H / float(space.scale) ** 2
            case.agree("coordinates have the centred Gram matrix", U @ U.mT, goal, rtol=1e-7)
            case.call("weights", space.weights, U)
            far = case.call("squared_distances", space.squared_distances, U, K, K.diagonal(), paired=True)
            if far.answered:
                case.agree(
                    "items are at no distance from themselves",
                    far.value,
                    0.0 * far.value,
                    atol=1e-7 * float(K.abs().max()),
                )


# ---------------------------------------------------------------- features


def feature_map_walk(case: Case) -> None:
    """Features of landmarks and random features: inner products, order, whitening."""
    kernel: Kernel = case.one_of(
        [Gaussian(0.5), Laplacian("l1", 0.5), Matern(1.5, 0.7), Linear(), ArcCosine(), MinMax()]
    )
    n, d = int(case.rng.integers(2, 10)), int(case.rng.integers(1, 4))
    X = torch.from_numpy(np.abs(values.tame(case, n, d)))
    features = case.one_of([Nystroem(4), Nystroem(50), RandomFeatures(16), RandomFeatures(9, orthogonal=False)])
    made = case.call("build", features.build, kernel, X, np.random.RandomState(0), may_name="Features|kernel|landmarks")
    if not made.answered:
        return
    chosen = made.value
    F = case.call("features", chosen.features, X)
    if not F.answered:
        return
    turned = case.call("features in another order", chosen.features, X.flip(0))
    if turned.answered:
        close(case, "features in another order", turned.value, F.value.flip(0), X)
    if isinstance(features, Nystroem) and features.m >= n:
        case.agree("all items as landmarks give the kernel", F.value @ F.value.mT, kernel(X), rtol=1e-6)
    V = torch.from_numpy(values.tame(case, F.value.shape[1], 2))
    B = case.call("whiten", chosen.whiten, V)
    if B.answered:
        raw = case.call("raw", chosen.raw, X)
        if raw.answered:
            case.agree("raw features times W V", raw.value @ B.value, F.value @ V, rtol=1e-6, atol=1e-9)


def filled_table_walk(case: Case) -> None:
    """Tables with texts and gaps as numbers: finite, row by row, and back."""
    n, d = int(case.rng.integers(2, 10)), int(case.rng.integers(1, 4))
    X = values.shaped(case, n, d).astype(object)
    X[:, 0] = case.one_of([X[:, 0], np.array(["a", "b"])[case.rng.integers(0, 2, n)]])
    X[case.rng.random((n, d)) < 0.2] = None
    table = FilledTable(int(case.rng.integers(1, 4)))
    made = case.call("fit", table.fit, X, may_name="FilledTable")
    if not made.answered:
        return
    numbers = case.call("transform", table.transform, X)
    if numbers.answered:
        case.agree("rows one by one", np.vstack([table.transform(row[None]) for row in X]), numbers.value, atol=1e-9)
        back = case.call("back", table.inverse_transform, numbers.value, finite=False)
        if back.answered:  # None is the value of a column that says nothing
            cells = [cell for cell in back.value.ravel() if isinstance(cell, float)]
            case.expect(bool(np.isfinite(cells).all()), "cells that are numbers are finite")


def sampling_walk(case: Case) -> None:
    """Landmarks and leverage scores."""
    n, d = int(case.rng.integers(1, 10)), int(case.rng.integers(1, 4))
    X = torch.from_numpy(values.shaped(case, n, d))
    kernel = case.one_of([Gaussian(0.5), Linear()])
    m = case.one_of([1, 2, n, n + 3, 0, -1, 1.5, None])
    named = {"sampling": case.one_of(["uniform", "kmeans++", "leverage", "x"])}
    found = case.call("sample_landmarks", sample_landmarks, kernel, X, m, may_name=r"\bm\b|sampling", **named)
    if found.answered:
        case.expect(len(set(found.value.tolist())) == min(m, n), "landmarks are m different rows")
    scores = case.call(
        "leverage_scores", leverage_scores, kernel, X, case.one_of([1e-3, 1.0, 0.0, -1.0]), may_name="reg"
    )
    if scores.answered:
        low, high = float(scores.value.min()), float(scores.value.max())
        case.expect(low > -1e-8 and high < 1.0 + 1e-8, f"leverage scores from {low} to {high}")


def subjects() -> dict[str, Callable[[Case], None]]:
    """Losses, constraints, output spaces and feature maps by name."""
    given = [getattr(constraints, name) for name in constraints.__all__]
    kinds = [one.__name__ for one in given if inspect.isclass(one) and is_concrete(one)]
    spaces = [n for n in ("Euclidean", "Functional", "RKHS") if n in outputs.__all__]
    return {
        **{f"losses.{name}": (lambda case, name=name: loss_walk(case, name)) for name in LOSSES},
        **{f"constraints.{name}": (lambda case, name=name: constraint_walk(case, name)) for name in kinds},
        **{f"outputs.{name}": (lambda case, name=name: output_walk(case, name)) for name in spaces},
        "feature_maps": feature_map_walk,
        "FilledTable": filled_table_walk,
        "sample_landmarks": sampling_walk,
    }
