"""What every fit of an autoencoder ends with, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from rkhs._core.errors import CollapseWarning
from rkhs.estimators.autoencoder.settings import Settings
from rkhs.estimators.run import Run
from rkhs.estimators.tiles import tile_rows, tiles
from rkhs.estimators.training import Training
from rkhs.models import AutoencoderModel
from rkhs.protocols import Solution

__all__ = ["Fit", "FitFunction", "Opened", "Opener", "as_array", "codes_again", "collapse_warnings"]


@dataclass(frozen=True, eq=False)
class Fit:
    """What a fit of an autoencoder ends with."""

    model: AutoencoderModel
    solution: Solution  # of the solver, with the objective of the model
    codes: Tensor  # (n, p): of the first hidden layer
    largest: float  # of ``k(x, x)``
    warnings: tuple[Warning, ...] = ()  # what users must know


class Opened(Protocol):
    """Items as fits read them, whatever the regularisers."""

    def fit(self, settings: Settings, run: Run, previous: AutoencoderModel | None) -> Fit:
        """Fit all layers; ``previous`` is a model of the same items to start from."""


Opener = Callable[[Settings, Training, Run], Opened]
FitFunction = Callable[[Settings, Training, Run, AutoencoderModel | None], Fit]


def as_array(values: Tensor) -> np.ndarray:
    """An array in the order in which a file gives it back."""
    return values.contiguous().cpu().numpy()


def codes_again(settings: Settings, run: Run, model: AutoencoderModel, items: Tensor) -> np.ndarray:
    """Codes of clean items, of a model that was fitted to noisy copies."""
    found = []
    for tile in tiles(len(items), tile_rows(model.map.width)):
        raw = model.map.raw(items[tile]).to(**run.options)
        found.append(model.shown(model.encode(items[tile], raw, onto=settings.onto)[model.narrowest]))
    return torch.cat(found).cpu().numpy()


def collapse_warnings(value: float, trivial: float, reg: tuple[float, ...]) -> list[Warning]:
    """One if the objective is that of predicting the mean, ``trivial``, or above it, as constraints can make it."""
    if not (trivial > 0.0 and value > 0.999 * trivial):
        return []
    if value > 1.001 * trivial:
        return [
            CollapseWarning(
                f"the objective {value:.4g} is above {trivial:.4g}, that of predicting the mean: the kernel can hardly "
                f"bring the codes to the constraint. Lower reg (now {reg}) or choose a kernel of full rank, such as "
                "'gaussian'"
            )
        ]
    return [
        CollapseWarning(
            f"the codes collapsed to a point: the objective {value:.4g} is that of predicting the mean. Lower reg (now "
            f"{reg}) or choose another kernel"
        )
    ]
