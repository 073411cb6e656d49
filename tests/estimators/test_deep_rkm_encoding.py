"""DeepRKM: codes of new items by ridge regression, by blocks and by the formula of the paper."""

import warnings

import numpy as np
import pytest
import torch
from sklearn.datasets import load_iris

from rkhs.estimators import DeepRKM
from rkhs.kernels import Gaussian
from rkhs.problems.code_ridge import ridge_coefs

X = load_iris().data[::2]
NEW = load_iris().data[1::2]


def test_modes_of_encoding_for_one_layer():
    """Block is exact in sample, ridge nearly so; the paper's formula is off by eigenvalue / eta."""
    settings = {"kernel": Gaussian(0.3), "center": False, "eta": 0.7, "tol": 1e-10}
    block, ridge, paper = (DeepRKM(3, out_of_sample=mode, **settings).fit(X) for mode in ("block", "ridge", "paper"))
    assert block.in_sample_defect_[0] < 1e-5
    assert np.allclose(block.transform(X), block.codes_, atol=1e-6)
    assert np.allclose(ridge.transform(NEW), block.transform(NEW), atol=1e-3)
    assert np.allclose(paper.transform(X), paper.codes_ * paper.layer_values_[0] / 0.7, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("center", [True, False])
def test_ridge_encodes_every_layer(center):
    model = DeepRKM((3, 2), kernel=Gaussian(2.0), decoder_kernel=Gaussian(2.0), center=center).fit(X)
    assert (model.in_sample_defect_ < 0.5).all()
    assert np.array_equal(
        np.hstack([model.transform(NEW, layer=1), model.transform(NEW, layer=2)]), model.transform(NEW)
    )
    first = Gaussian(2.0)(NEW, X)
    by_hand = first @ model.dual_coefs_[0] + model.intercepts_[0]
    assert np.allclose(by_hand, model.transform(NEW, layer=1), atol=1e-12)


@pytest.mark.parametrize("center", [True, False])
def test_leave_one_out_is_what_refits_give(center):
    """The closed form equals n refits with an intercept (centred) or without."""
    K, T = torch.tensor(Gaussian(0.3)(X[::3])), torch.randn(25, 2, generator=torch.Generator().manual_seed(0)).double()
    if center:
        T = T - T.mean(0)
    C = torch.eye(25, dtype=torch.float64) - (1.0 / 25 if center else 0.0)
    gram = C @ K @ C
    B, ridge, error = ridge_coefs(gram, T, center, ridges=(1e-2,))
    assert ridge == 1e-2
    delta = 1e-2 * float(gram.diagonal().mean())
    assert torch.allclose(gram @ B + delta * B, T, atol=1e-8)
    missed = []
    for i in range(25):
        rest = [j for j in range(25) if j != i]
        system = torch.zeros(25, 25, dtype=torch.float64)  # bordered by the intercept
        system[:24, :24] = gram[rest][:, rest] + delta * torch.eye(24, dtype=torch.float64)
        system[:24, 24] = system[24, :24] = 1.0 if center else 0.0
        system[24, 24] = 0.0 if center else 1.0
        solved = torch.linalg.solve(system, torch.cat([T[rest], T.new_zeros(1, 2)]))
        missed.append(T[i] - gram[i, rest] @ solved[:24] - (solved[24] if center else 0.0))
    assert error == pytest.approx(float(torch.stack(missed).norm() / T.norm()), rel=1e-6)
    errors = {r: ridge_coefs(gram, T, center, ridges=(r,))[2] for r in (1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)}
    assert ridge_coefs(gram, T, center)[1] == min(errors, key=errors.__getitem__)


def test_chosen_ridge_keeps_new_codes_tame():
    """Codes of new items, which explode from the third layer on without a ridge, stay as large as those in fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        tame = DeepRKM((4, 3, 2)).fit(X)
    assert np.abs(tame.transform(NEW, layer=3)).max() <= 1.2 * np.abs(tame.layer_codes_[2]).max()
    assert (tame.leave_one_out_error_ < 1.0).all()


def test_large_defect_warns():
    with pytest.warns(UserWarning, match="training codes of layer 2 with a relative error of"):
        DeepRKM((3, 2), out_of_sample="block").fit(X)
