"""Diagnostics from the held-out rows of ``reg="auto"``: overfitting, open ends of paths, kinds of kernel."""

from __future__ import annotations

import math
import sys
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from rkhs._core.errors import EdgeWarning, warn
from rkhs.estimators.base import KernelEstimator
from rkhs.estimators.run import Run
from rkhs.models import Compared
from rkhs.outputs import OutputSpace
from rkhs.problems.decoder import Decoder
from rkhs.selection.path import open_end

# Overfit: a held-out error of at least _LOST and a training error of at most _KEPT, as shares of the variance. Features
# of a kernel have as many directions as there are items, so that even the best few codes lose nine tenths.
_LOST, _LOST_FEATURES, _LOST_TARGETS, _KEPT = 0.9, 1.0, 0.95, 0.5
_LEAST = 1e-3  # least decrease of the error, as a share of the variance, that makes an end open
# Heavy tails: the share _FAR of the rows holds over _HEAVY of the squared distances to the mean.
_HEAVY, _FAR, MANY_ENOUGH = 0.1, 0.02, 200  # the last: least number of rows for this choice
# Standard errors, and share of the error, by which unbounded kernels must be better: smaller gains were as often losses
# on new rows, and the fit takes longer.
_CLEARLY, _LEAST_GAIN = 1.0, 0.15
BOUNDED, UNBOUNDED = "radial", "arc-cosine"


def report_choice(
    choice: Compared, output: OutputSpace, decoder: Decoder, coordinates: Tensor, weights: Tensor | None, reg: float
) -> tuple[Compared, float | None]:
    """The comparison with its held-out errors, and the training error, as shares of the variance."""
    if choice.held_out is None or choice.errors is None:
        return replace(choice, held_out=None, kinds=None), None
    w = coordinates.new_full((len(coordinates),), 1.0 / len(coordinates)) if weights is None else weights
    total = float(w @ (coordinates * coordinates).sum(1))
    if total <= 0.0:
        return replace(choice, held_out=None, kinds=None), None
    spread = total * float(output.scale) ** 2
    residuals = (reg / w)[:, None] * decoder.parameters
    # No warning of open ends: the user has not chosen them.
    kinds = None if choice.kinds is None else {kind: error / spread for kind, error in choice.kinds.items()}
    ends = open_ends(choice.errors, spread)
    found = replace(choice, held_out=choice.held_out / spread, open_ends=ends, kinds=kinds)
    return found, float(w @ (residuals * residuals).sum(1)) / total


def open_ends(
    errors: np.ndarray | None, spread: float, name: str = "reg", ends: tuple[str, str] = ("strongest", "weakest")
) -> dict[str, str]:
    """Open end of a path, by the name of its parameter: the chosen end, if the error was still falling there."""
    if errors is None or not np.isfinite(errors).any():
        return {}
    end = open_end(errors, least=_LEAST * spread)
    return {} if end is None else {name: ends[int(end > 0)]}


def edge_sentences(model: KernelEstimator) -> list[str]:
    """Sentences on values chosen at an end of their path where the error was still falling."""
    return [
        f"{name}={getattr(model, f'{name}_')} is the {end} that was compared, and the error was still falling towards "
        f"it: compare values beyond it, in {f'{name}s' if hasattr(model, f'{name}s') else name}"
        for name, end in (getattr(model, "at_edge_", None) or {}).items()
    ]


def warn_of_edges(model: KernelEstimator) -> None:
    """Give one warning for each choice at an open end."""
    for message in edge_sentences(model):
        warn(f"{type(model).__name__}: {message}", EdgeWarning)


def overfit_sentence(
    held_out: float | None, training: float | None, *, vectors: bool = True, predicted: bool = False
) -> str | None:
    """Sentence on an overfit model that rebuilds or predicts, or None; errors are shares of the variance."""
    lost = _LOST_TARGETS if predicted else _LOST if vectors else _LOST_FEATURES
    if held_out is None or training is None or held_out < lost or training > _KEPT:
        return None
    done, fewer = ("predicted", "") if predicted else ("rebuilt", "lower n_components, ")
    return (
        f"overfit: new items are {done} hardly better than by the mean (share of variance lost {held_out:.2f}), "
        f"training items much better ({training:.2f}): look for wrong rows (fit_robust), fit more items, {fewer}"
        "raise reg, or choose another kernel"
    )


def heavy_tailed(X: Tensor) -> bool:
    """Whether the farthest 2 % of the rows hold over a tenth of the squared distance of all to their mean."""
    squares = torch.linalg.vector_norm(X - X.mean(0), dim=1).square()
    return bool(squares.topk(math.ceil(_FAR * len(X))).values.sum() > _HEAVY * squares.sum())


def compare_kinds(unbounded: np.ndarray, bounded: np.ndarray, run: Run) -> dict[str, float]:
    """Mean errors of the two kinds of kernel, the chosen first, from their errors on the same rows."""
    with np.errstate(invalid="ignore"):  # infinite where there was no fit
        d = unbounded - bounded
        gain = max(_CLEARLY * d.std() / len(d) ** 0.5, _LEAST_GAIN * bounded.mean())
    better = -d.mean() > gain
    found = {UNBOUNDED: float(unbounded.mean()), BOUNDED: float(bounded.mean())}
    if run.verbose not in (0, "auto"):
        message = ", ".join(f"{error:.4g} with {kind} kernels" for kind, error in found.items())
        sys.stderr.write(f"{run.name}: heavy tails, held-out error {message}: {UNBOUNDED if better else BOUNDED}\n")
    return found if better else dict(reversed(found.items()))
