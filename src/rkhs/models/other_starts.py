"""Search for a lower minimum of the objective of a fitted autoencoder from random starts."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch

from rkhs._core.arrays import tensor_like, to_tensor
from rkhs._core.linalg import factorize
from rkhs.models.autoencoder import AutoencoderModel
from rkhs.models.autoencoder_left_out import coordinates, decoded
from rkhs.problems.autoencoder import items_autoencoder
from rkhs.problems.decoder import optimal_decoder
from rkhs.problems.initial_codes import best_start, targets_of_layers
from rkhs.problems.semiparametric import semiparametric_decoder
from rkhs.protocols import Monitor
from rkhs.solvers.lbfgs import LBFGS
from rkhs.spaces.source import Options

_LOWER = 0.05  # relative fall of the objective that counts as another minimum
_SEED = 987654  # unlikely to be the seed of the fit


def lower_start(model: AutoencoderModel, options: Options, value: float, starts: int) -> float | None:
    """Relative fall of the objective from another start; zero if none exceeds 5 %, None if starts do not apply."""
    Z = to_tensor(model.layers[0].anchors, **options)
    K = model.training_gram(Z)
    if K is None or not model.map.whole or not model.is_squared:
        return None
    if not value > 0.0:
        return 0.0
    if model.linear is not None:
        Q = coordinates(model, K)
        K = K + Q @ Q.mT  # the free linear part of the encoder has the penalty of this linear kernel
    _, _, _, T, _ = decoded(model, Z)
    last = optimal_decoder if model.last.linear is None else semiparametric_decoder
    weights = None if model.row_weights is None else tensor_like(model.row_weights, Z)
    widths, factor = (Z.shape[1],), factorize(K)
    problem = items_autoencoder(factor, T, (model.last.kernel,), widths, model.reg, (), weights, last)
    rng = np.random.RandomState(_SEED)
    for _ in range(starts):
        noise = torch.as_tensor(rng.standard_normal((factor.dim, Z.shape[1])))
        layer_targets = targets_of_layers(factor.codes(noise.to(Z)), widths, weights)
        start = best_start(problem.value, partial(problem.encoder.start, layer_targets))
        share = 1.0 - LBFGS(200, 1e-4).solve(problem, start, Monitor()).value / value
        if share > _LOWER:
            return float(share)
    return 0.0
