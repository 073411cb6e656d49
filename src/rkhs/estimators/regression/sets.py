"""Sets of outputs with a guarantee, predictive deviations and p-values of a fitted machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from rkhs._core.arrays import as_numpy, as_tensor, pick_square, to_tensor
from rkhs._core.checks import check_choice, check_gram, check_number
from rkhs._core.errors import InputError
from rkhs.estimators.base import KernelEstimator
from rkhs.estimators.given_matrices import read_diagonal
from rkhs.estimators.run import check_values
from rkhs.kernels import Kernel
from rkhs.models import Calibration, MachineModel, NewItems, PredictionSets
from rkhs.models.conformal import Setting, chosen_interval, conformal_rank, lengths
from rkhs.models.kept import clipped_gram
from rkhs.selection.operator_path import regs_above_rounding

_MOST_ROWS = 500  # largest number of rows for which a choice is repeated: beyond, its effect on coverage is negligible

SetShape = Literal["auto", "box", "ball", "ellipsoid"]


class LeftOutMachine:
    """Leave-one-out calibration of a fitted machine, applied to new items."""

    def __init__(
        self,
        machine: KernelEstimator,
        model: MachineModel,
        X: Any,
        diag: ArrayLike | None = None,
        gram: ArrayLike | None = None,
    ) -> None:
        self.machine, self.model, self.items = machine, model, X
        if model.leaves_out:  # else the calibration says what is missing
            check_values(f"rows left out of {type(machine).__name__}", model.map.width, machine._count_new(X), 5.0, 5.0)
        self.diagonal: Tensor | None = None
        self.K = K = None
        if gram is not None:
            if model.kernel.domain != "gram":
                raise InputError("gram must be None: the model stores its training items; got a matrix")
            kept = machine.reader_.kept
            matrix = as_numpy(gram, "gram") if kept is None else pick_square(as_numpy(gram, "gram"), kept)
            K = to_tensor(check_gram(np.asarray(matrix, dtype=np.float64), "gram"), **machine._options)
            if len(K) != model.map.width:
                raise InputError(f"gram must have the {model.map.width} rows of the fit; got {len(K)}")
            self.diagonal = read_diagonal(diag, machine._read_new(X), K.diagonal().cpu().numpy())
            self.K = K.cpu().double()
        self.calibration = self._in_groups(self.model.calibrated(K))

    def _in_groups(self, calibration: Calibration) -> Calibration:
        """Leave rows out in the groups of the fit."""
        return calibration.in_groups(self.machine.groups_)

    @property
    def residuals(self) -> np.ndarray:
        """Leave-one-out residuals (n, q) of the outputs."""
        return self.model.in_units(self.calibration.residuals)

    def deviations(self, new: NewItems) -> np.ndarray:
        """Predictive standard deviations (m, q) of the outputs of new items."""
        return np.sqrt(self.calibration.variances(self.residuals, new))

    @cached_property
    def exact(self) -> bool:
        """Whether sets are exact: settings were given, or their choice can be repeated with each new row."""
        compared = self.machine._compared
        joins = compared is None or (len(compared) > 0 and self.model.map.width <= _MOST_ROWS)
        return joins and self.calibration.equal_copies

    @property
    def guarantee(self) -> str:
        """The guarantee of sets that use chosen settings as if they had been given."""
        return "at least" if self.machine._compared is None and self.calibration.equal_copies else "about"

    @cached_property
    def _compared(self) -> list[tuple[MachineModel, list[Calibration]]]:
        """Calibrations of all compared settings, kernel by kernel; that of the fitted machine if none were compared."""
        compared, K = self.machine._compared, self.model.gram() if self.K is None else self.K
        if compared is None:
            return [(self.model, [self.calibration])]
        found, targets = [], self.model.targets(K)
        for kernel, regs in compared:
            model = self.model if kernel is None else self.model.with_kernel(kernel)
            other = K if kernel is None else model.gram()
            usable = regs_above_rounding(regs, other.to(model.dtype), torch.ones(1))
            found.append((model, [self.model.with_gram(other, targets, float(reg)) for reg in usable]))
        return found

    def joint_p_value(self, kernels: Sequence[Kernel], items: Any) -> float:
        """The p-value of the last of some items given the others, with targets, reg and groups of the machine."""
        like = torch.zeros(1, dtype=torch.float64)
        K = torch.stack([clipped_gram(kernel, items, like) for kernel in kernels]).sum(0)
        others = self._in_groups(self.model.with_gram(K[:-1, :-1], self._targets))
        return float(others.p_values(others.new(K[-1:, :-1], K.diagonal()[-1:]))[0])

    @cached_property
    def _targets(self) -> Tensor:
        """Coordinates (n, r) of the targets, which tell which rows are copies."""
        return self.model.targets(self.model.gram())

    def each(self, function: Callable[[NewItems], Any]) -> Any:
        """Apply a function to the new items, tile by tile: an array, or a tuple of such."""

        def of_tile(items: Any, diagonal: Tensor | None) -> Any:
            return function(self.model.new_items(self.calibration, items, diagonal))

        grouped = self.calibration.groups is not None
        residuals = self.calibration.residuals
        width = 8 * (residuals.numel() if grouped else len(residuals))
        return self.machine._in_tiles(self.items, of_tile, self.diagonal, width=width)

    def each_of_settings(self, function: Callable[[list[Setting]], np.ndarray]) -> np.ndarray:
        """Apply a function to all compared calibrations with their predictions of the new items, tile by tile."""
        machines = self._compared

        def of_tile(items: Any, diagonal: Tensor | None) -> np.ndarray:
            found: list[Setting] = []
            for model, each in machines:
                values = model.values_of(items, diagonal)
                found += [(one, one.new(*values)) for one in each]
            return function(found)

        width = 8 * sum(len(each) for _, each in machines) * self.model.map.width
        return np.asarray(self.machine._in_tiles(self.items, of_tile, self.diagonal, width=width))


def left_out_sets(found: LeftOutMachine, coverage: float, shape: SetShape) -> PredictionSets:
    """Prediction sets of a machine from leave-one-out residuals."""
    model, calibration, residuals = found.model, found.calibration, found.residuals
    one = residuals.shape[1] == 1
    limits = {
        "ball": calibration.ball,
        "ellipsoid": calibration.ellipsoid,
    }.get(shape, calibration.interval if one else partial(calibration.box, residuals))

    def of_tile(new: NewItems) -> tuple[np.ndarray, ...]:
        center = model.outputs(new.values).numpy()
        return center, limits(new, coverage)

    center, limit = found.each(of_tile)
    if shape == "ball":
        return PredictionSets(coverage, found.guarantee, center, radius=limit)
    if shape == "ellipsoid":
        B = model.in_units(torch.eye(model.output.dim, dtype=torch.float64))
        metric, unit = unit_metric(B.T @ calibration.dual_moments.numpy() @ B)
        return PredictionSets(coverage, found.guarantee, center, radius=unit * limit, metric=metric)
    if one:
        ends = _chosen_ends(found, coverage) if found.exact and found.machine._compared is not None else limit
        ends = ends.reshape(-1, 2, *center.shape[1:])
        guarantee = "at least" if found.exact else "about"
        return PredictionSets(coverage, guarantee, center, center + ends[:, 0], center + ends[:, 1])
    return PredictionSets(coverage, "about", center, center - limit, center + limit)


def _chosen_ends(found: LeftOutMachine, coverage: float) -> np.ndarray:
    """Ends (m, 2), relative to the prediction, of intervals of one output with the choice of settings repeated."""
    ends = found.each_of_settings(lambda settings: chosen_interval(settings, coverage))
    ends = ends - found.each(lambda new: new.values.numpy())
    return np.stack([np.minimum(ends[:, 0], 0.0), np.maximum(ends[:, 1], 0.0)], 1)


def split_sets(
    model: MachineModel, center: np.ndarray, residuals: np.ndarray, coverage: float, shape: SetShape
) -> PredictionSets:
    """Split conformal sets of any machine by its residuals (k, q) on rows that the fit did not see."""
    k, fitted = len(residuals), model.in_units(as_tensor(model.coefficients))  # residuals, if the loss is squared
    sizes = np.sqrt((fitted**2).mean(0))
    scale = np.where(sizes > 0.0, sizes, 1.0)
    metric = unit_metric(fitted.T @ fitted)[0] if shape == "ellipsoid" else None
    scores = (np.abs(residuals) / scale).max(1) if shape in ("auto", "box") else lengths(residuals, metric)
    place = conformal_rank(coverage, k)
    q = float("inf") if place > k else float(np.sort(scores)[place - 1])
    if shape in ("ball", "ellipsoid"):
        return PredictionSets(coverage, "at least", center, radius=np.full(len(center), q), metric=metric)
    half = q * scale if center.ndim == 2 else np.full(len(center), q * scale[0])
    return PredictionSets(coverage, "at least", center, center - half, center + half)


def unit_metric(moments: np.ndarray) -> tuple[np.ndarray, float]:
    """The inverse of a matrix (q, q), scaled to determinant one, and the square root of the scale."""
    values, V = np.linalg.eigh(moments)
    if values[0] <= 1e-12 * values[-1]:
        raise InputError(
            "shape='ellipsoid' needs more rows than outputs, and outputs with linearly independent residuals; those of "
            f"the {len(values)} outputs are linearly dependent. Use shape='box'"
        )
    unit = float(np.exp(np.log(values).mean()))
    return (V * (unit / values)) @ V.T, unit**0.5


def read_coverage(coverage: float, shape: SetShape = "auto") -> float:
    """Check the coverage and the shape of sets; return the coverage."""
    check_choice(shape, "shape", get_args(SetShape))
    return check_number(coverage, "coverage", above=0.0, at_most=1.0)
