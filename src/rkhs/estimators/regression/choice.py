"""The rule of regression: metric, kernel, bandwidth and regulariser chosen by rows that did not see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from rkhs.estimators.regression.machine_in_leaves import rows_of_some_leaves
from rkhs.kernels import Gaussian
from rkhs.models import FoldMachines
from rkhs.selection.halving import Rows, candidate_kernels, halving, solved, typical_gamma
from rkhs.selection.input_metric import KINDS, Choice, InputMetric, Kind, choose, importances
from rkhs.selection.loss_scale import copies, warn_of_repeats

if TYPE_CHECKING:
    from rkhs.spaces.features import Leaves

_PARTS_OF_SETS = 5  # folds, each without the rows that its machine predicts
_MOST_SEARCHED = 2000  # rows that are searched for repeats
_FOLD_ROWS = 500  # rows from which the metric of a fold is learned


def choose_machine(rows: Rows, kinds: Sequence[Kind], leaves: Leaves | None) -> tuple[Choice, np.ndarray]:
    """Apply the rule; importances (d,) of the columns. With leaves, kernel and regulariser are chosen in some."""
    found = choose(rows, kinds)
    if leaves is not None:
        found = _chosen_in_leaves(found, rows, leaves)
    return found, importances(found, rows.part(found.seen))


def _chosen_in_leaves(found: Choice, rows: Rows, leaves: Leaves) -> Choice:
    """The choice again on the rows of some leaves, where a learned metric has to win once more."""
    places = rows_of_some_leaves(rows.on(found.metric.mapped(rows.X)), leaves)
    metrics = [found.metric]
    if found.metric.turns > 0:
        metrics.append(InputMetric.of_deviations(rows.part(found.seen)) or InputMetric())
    compared = []
    for metric in metrics:
        pools = [rows.part(at) for at in places]
        mapped = [pool.on(metric.mapped(pool.X)) for pool in pools]
        compared.append((halving(mapped, candidate_kernels(mapped[0]))[0], metric))
    candidate, metric = min(compared, key=lambda pair: pair[0].error)
    return replace(found, candidate=candidate, metric=metric)


def fit_fold_machines(X: Tensor, Y: Tensor, groups: np.ndarray | None, *, center: bool) -> FoldMachines:
    """Machines of five folds by the rule, each without its held-out rows; groups and copies stay together.

    The metric of a fold is learned from at most 500 rows.
    """
    X, Y = X.double().cpu(), Y.double().cpu()
    rows = Rows(X, Y, torch.full((len(Y),), 1.0 / len(Y), dtype=torch.float64), groups, center)
    numbers = rows.numbers
    count = min(_PARTS_OF_SETS, int(numbers.max()) + 1)
    fold = (np.random.default_rng(0).permutation(int(numbers.max()) + 1) % count)[numbers]
    residuals = np.empty(tuple(Y.shape))
    kernels, ridges, coefficients, means = [], [], [], []
    for number in range(count):
        train = rows.part(np.flatnonzero(fold != number))
        choice = choose(train.standardised()[0], KINDS, most=_FOLD_ROWS)
        kernel, reg = choice.kernel, choice.candidate.reg
        C, mean, test = solved(kernel, train, reg), train.mean, torch.from_numpy(fold == number)
        residuals[test.numpy()] = (Y[test] - kernel._gram(X[test], train.X) @ C - mean).numpy()
        kernels.append(kernel)
        ridges.append(reg * len(Y))
        coefficients.append(C.numpy())
        means.append(mean.numpy())
    return FoldMachines(fold, tuple(kernels), np.array(ridges), tuple(coefficients), np.stack(means), residuals)


def warn_of_repeated_items(rows: Rows) -> None:
    """Warn where rows that are few enough to be compared are, or look like, repeats of measurements."""
    if len(rows) <= _MOST_SEARCHED:
        K = Gaussian(typical_gamma(rows))._gram(rows.X)
        warn_of_repeats(K, rows.Y, copies([K], rows.Y))
