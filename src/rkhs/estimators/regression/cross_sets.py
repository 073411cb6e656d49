"""Prediction sets where rows have no closed form of being left out: from machines of folds, and from leaves."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.errors import InputError
from rkhs.estimators.base import KernelEstimator
from rkhs.estimators.regression.choice import fit_fold_machines
from rkhs.estimators.regression.sets import SetShape, unit_metric
from rkhs.models import FoldMachines, MachineModel, PredictionSets
from rkhs.models.conformal import conformal_rank, lengths
from rkhs.outputs import Euclidean
from rkhs.spaces.features import LeavesMap


def machines_of_folds(model: MachineModel, groups: np.ndarray | None) -> FoldMachines:
    """Machines of folds of the rows of a fitted machine whose metric was learned from them."""
    assert isinstance(model.output, Euclidean)
    K, like = model.gram(), torch.zeros(1, dtype=torch.float64)
    Y = model.output.decode(model.targets(K))
    mean = model.output.mean
    return fit_fold_machines(model.map.support(like), Y, groups, center=bool(np.any(mean)))


def sets_of_folds(
    machine: KernelEstimator, folds: FoldMachines, X: Any, coverage: float, shape: SetShape
) -> PredictionSets:
    """CV+ sets: "about" the coverage, of which ``1 - 2 alpha`` is proved."""
    rows = machine.model_.map.support(torch.zeros(1, dtype=torch.float64))
    metric = unit_metric(folds.residuals.T @ folds.residuals)[0] if shape == "ellipsoid" else None

    def of_tile(items: Tensor) -> tuple[np.ndarray, ...]:
        predicted = folds.predictions(items.double().cpu(), rows)
        if shape in ("ball", "ellipsoid"):
            center = predicted.mean(0)
            return center, folds.radii(predicted, center, coverage, metric)
        return (*folds.intervals(predicted, coverage),)

    first, second = machine._in_tiles(X, of_tile, width=8 * len(rows))
    if shape in ("ball", "ellipsoid"):
        return PredictionSets(coverage, "about", first, radius=second, metric=metric)
    if machine.model_.one_output:
        first, second = first[:, 0], second[:, 0]
    center = np.asarray(machine.predict(X), dtype=np.float64)
    return PredictionSets(coverage, "about", center, np.minimum(first, center), np.maximum(second, center))


def p_values_of_folds(machine: KernelEstimator, folds: FoldMachines, X: Any) -> np.ndarray:
    """P-values (m,) of new items by the posterior variances of the machines of folds."""
    rows = machine.model_.map.support(torch.zeros(1, dtype=torch.float64))

    def tiles() -> Any:
        _, opened = machine._tiles(X, width=8 * len(rows))
        return (items.double().cpu() for (items,) in opened)

    return folds.p_values(tiles, rows)


def sets_of_leaves(machine: KernelEstimator, X: Any, coverage: float, shape: SetShape) -> PredictionSets:
    """Sets from the errors of left-out rows of the leaves that an item is in: as wide as the noise of its place."""
    _refuse_weights(machine.model_)
    if shape == "ellipsoid":
        raise InputError("shape='ellipsoid' needs one system of all rows; with leaves use shape='box' or 'ball'")
    model, residuals = machine.model_, machine.model_.left_out
    assert isinstance(model.map, LeavesMap)
    parts = [residuals[model.map.in_leaf(leaf)] for leaf in range(len(model.map.starts) - 1)]
    sizes = np.stack([_reach(part, coverage, ball=shape == "ball") for part in parts])
    center = np.asarray(machine.predict(X), dtype=np.float64)
    half = machine._in_tiles(X, lambda items: model.map.blend(items, sizes), width=machine._width)
    if shape == "ball":
        return PredictionSets(coverage, "about", center, radius=half[:, 0])
    half = half.reshape(center.shape)
    return PredictionSets(coverage, "about", center, center - half, center + half)


def deviations_of_leaves(machine: KernelEstimator, X: Any) -> np.ndarray:
    """Root mean square error (m, q) of left-out rows of the leaves that an item is in."""
    model = machine.model_
    _refuse_weights(model)
    squares = np.stack(
        [(model.left_out[model.map.in_leaf(leaf)] ** 2).mean(0) for leaf in range(len(model.map.starts) - 1)]
    )
    return np.sqrt(machine._in_tiles(X, lambda items: model.map.blend(items, squares), width=machine._width))


def _refuse_weights(model: MachineModel) -> None:
    """Refuse errors of leaves whose rows had weights: each row counts one here."""
    if model.reg is None:
        raise InputError(
            "errors of left-out rows are not weighted, and this model has sample weights; pass rows that the fit did "
            "not see: predict_set(X, held_out=(X_other, y_other))"
        )


def _reach(residuals: np.ndarray, coverage: float, *, ball: bool) -> np.ndarray:
    """How far enough of some residuals (k, q) reach: in each output, all inside together, or in norm."""
    rank = conformal_rank(coverage, len(residuals))
    if ball:
        norms = np.sort(lengths(residuals))
        return np.array([norms[rank - 1] if rank <= len(norms) else np.inf])
    scale = np.sqrt((residuals**2).mean(0))
    scale = np.where(scale > 0.0, scale, 1.0)
    scores = np.sort((np.abs(residuals) / scale).max(1))
    return (scores[rank - 1] if rank <= len(scores) else np.inf) * scale
