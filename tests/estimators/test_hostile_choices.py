"""Lists of choices, huge integers, grids of another length, constant outputs: errors that name the argument."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rkhs import (
    DeepRKM,
    FunctionalKernelRegressor,
    InputOutputKernelRegressor,
    KernelAutoencoder,
    KernelPCA,
    OperatorKernelRegressor,
    OperatorKernelRegressorCV,
)
from rkhs._core.errors import InputError
from rkhs.losses import Power

X = np.random.default_rng(0).normal(size=(20, 3))
Y = np.sin(X[:, :2])
CURVES = np.cumsum(np.random.default_rng(1).normal(size=(20, 12)), 1)


@pytest.mark.parametrize(
    ("model", "y", "said"),
    [
        (OperatorKernelRegressorCV(regs=0.0), Y, "regs must be a sequence of numbers"),
        (OperatorKernelRegressorCV(gammas=3), Y, "gammas must be a sequence of numbers"),
        (OperatorKernelRegressorCV(loss="epsilon_insensitive", epsilons=-1.5), Y, "epsilons must be a sequence"),
        (OperatorKernelRegressorCV(loss="epsilon_insensitive", epsilons=[-1.5]), Y, "epsilons must be >= 0; got -1.5"),
        (OperatorKernelRegressorCV(loss="huber", kappas="a"), Y, "kappas must be a sequence of numbers"),
        (KernelAutoencoder(reg=10**400), None, "reg must be >= 0"),
        (KernelPCA(reg=10**400), None, "reg must be > 0"),
        (OperatorKernelRegressor(reg=10**5000), Y, "reg must be > 0"),
        (DeepRKM(eta=10**400), None, "eta must be > 0"),
        (InputOutputKernelRegressor(loss=Power()), np.ones((20, 2)), "y must hold at least two different outputs"),
        (FunctionalKernelRegressor(input_times=[0.0, 1.0]), CURVES, "input_times"),
        (FunctionalKernelRegressor(output_times=[0.0, 1.0], basis="cosine_sine"), CURVES, "output_times"),
        (FunctionalKernelRegressor(output_times=[0.0, 1.0]), CURVES, "output_times"),
    ],
)
def test_the_argument_is_named(model: Any, y: Any, said: str) -> None:
    data = CURVES if isinstance(model, FunctionalKernelRegressor) else X
    with pytest.raises(InputError, match=said):
        model.fit(data) if y is None else model.fit(data, y)
