"""Fits in which nearly all rows are copies of one: landmarks and anchors are among the different rows."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rkhs import KernelAutoencoder, OperatorKernelRegressor
from rkhs.features import Nystroem, sample_landmarks
from rkhs.kernels import Gaussian

RNG = np.random.default_rng(0)
DIFFERENT = RNG.normal(size=(30, 3))
X = np.vstack([np.tile(RNG.normal(size=3), (1500, 1)), DIFFERENT])


def test_landmarks_are_among_different_rows() -> None:
    rows = sample_landmarks(Gaussian(1.0), torch.from_numpy(X), 100, random_state=0)
    assert len(rows) == len(np.unique(rows)) == 100
    assert len(np.unique(X[rows], axis=0)) == 31


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore")
def test_an_autoencoder_of_one_row_and_few_others_fits(seed: int) -> None:
    rows = np.random.default_rng(seed).permutation(X)
    model = KernelAutoencoder(2, linear_part="kernel", storage=Nystroem(100), max_iter=5).fit(rows)
    assert model.reconstruction_error(DIFFERENT).mean() < DIFFERENT.var(0).sum()


def test_a_regressor_of_one_row_and_few_others_learns() -> None:
    model = OperatorKernelRegressor(storage=Nystroem(300), reg=1e-6).fit(X, X[:, 0])
    assert model.score(DIFFERENT, DIFFERENT[:, 0]) > 0.8
