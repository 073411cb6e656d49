"""Closed-form errors against refits; parts of rows."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rkhs import KernelPCA
from rkhs._core.errors import InputError
from rkhs.kernels import Gaussian
from rkhs.selection import held_out_parts, open_end, ridge_path

REGS = [1e-4, 1e-2, 1.0]


def data(n: int = 15) -> tuple[torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    T = np.stack([np.sin(X[:, 0]), X[:, 1] ** 2], 1) + 0.1 * rng.normal(size=(n, 2))
    return Gaussian(0.5)._gram(torch.as_tensor(X)), torch.as_tensor(T)


@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_is_that_of_refits(weighted: bool) -> None:
    K, T = data()
    n = len(K)
    w = torch.linspace(1.0, 2.0, n, dtype=torch.float64) if weighted else torch.ones(n, dtype=torch.float64)
    w /= w.sum()
    path = ridge_path(K, T, REGS, w if weighted else None)
    for k, reg in enumerate(REGS):
        total = 0.0
        for i in range(n):
            rest = torch.tensor([j for j in range(n) if j != i])
            # The penalty stays beside the weights as they are: the objective without one of its terms.
            system = K[rest][:, rest] + torch.diag(reg / w[rest])
            said = K[i][rest] @ torch.linalg.solve(system, T[rest])
            total += float(w[i] * ((T[i] - said) ** 2).sum())
        assert path.leave_one_out[k] == pytest.approx(total, rel=1e-8)


def test_gcv_and_degrees_of_freedom_are_their_definitions() -> None:
    K, T = data()
    n = len(K)
    path = ridge_path(K, T, REGS)
    for k, reg in enumerate(REGS):
        H = K @ torch.linalg.inv(K + n * reg * torch.eye(n, dtype=torch.float64))
        dof = float(H.trace())
        assert path.degrees_of_freedom[k] == pytest.approx(dof, rel=1e-9)
        residual = float(((T - H @ T) ** 2).sum()) / n
        assert path.gcv[k] == pytest.approx(residual / (1 - dof / n) ** 2, rel=1e-8)


def test_best_and_open_ends() -> None:
    K, T = data(40)
    path = ridge_path(K, T, [1e-8, 1e-4, 1e-2, 10.0])
    assert path.best() in (1e-4, 1e-2)
    assert path.best("gcv") in (1e-4, 1e-2)
    assert open_end(path.leave_one_out) is None
    assert open_end(path.leave_one_out[:3]) is None or path.best() == 1e-4
    for regs in ([], 3.0, "12", [1.0, None]):
        with pytest.raises(InputError, match="regs must be"):
            ridge_path(K, T, regs)
    with pytest.raises(InputError, match="seed must be an integer >= 0"):
        held_out_parts(9, 1.5)
    for arguments, word in [
        ((3.0,), "errors must be a sequence"),
        (("ab",), "errors must hold real numbers"),
        (([1.0, 2.0], "x"), "margin must be a number"),
        (([1.0, 2.0], 0.2, None), "least must be a number"),
    ]:
        with pytest.raises(InputError, match=word):
            open_end(*arguments)
    with pytest.raises(InputError, match="criterion"):
        path.best("aic")


@pytest.mark.parametrize("n", [2, 50, 199, 200, 1000, 3000, 9000])
def test_parts_are_disjoint_and_bounded(n: int) -> None:
    parts = held_out_parts(n)
    assert len(parts) == (min(3, n) if n < 200 else 1)
    for train, test in parts:
        assert not set(train) & set(test)
        if n < 200:
            assert len(train) + len(test) == n
        else:
            sizes = {200: (160, 40), 1000: (800, 200), 3000: (1600, 300), 9000: (4500, 300)}
            assert (len(train), len(test)) == sizes[n]
            ((few, same),) = held_out_parts(n, at_most=100)
            assert len(few) == 100
            assert set(few) <= set(train)
            np.testing.assert_array_equal(same, test)
    if n < 200:
        assert sorted(np.concatenate([test for _, test in parts])) == list(range(n))


def test_pre_images_choose_their_ridge() -> None:
    rng = np.random.default_rng(0)
    X = np.tanh(rng.normal(size=(60, 2)) @ rng.normal(size=(2, 6))) + 0.1 * rng.normal(size=(60, 6))
    chosen = KernelPCA(3, reg="auto").fit(X)
    assert 1e-8 < chosen.reg_ < 1.0
    assert KernelPCA(3, reg=1e-3).fit(X).reg_ == 1e-3
    path = ridge_path(
        chosen.decoder_kernel_._gram(torch.tensor(chosen.codes_)), torch.as_tensor(X - X.mean(0)), [1e-8, 1.0]
    )
    best = ridge_path(
        chosen.decoder_kernel_._gram(torch.tensor(chosen.codes_)), torch.as_tensor(X - X.mean(0)), [chosen.reg_]
    )
    assert best.leave_one_out[0] < path.leave_one_out.min()
    for name, bad in (("reg", {"reg": "best"}), ("storage", {"reg": "auto", "storage": "tiles"})):
        with pytest.raises(InputError, match=name):
            KernelPCA(2, **bad).fit(X)


def test_an_end_is_open_only_if_the_error_falls_clearly_towards_it() -> None:
    assert open_end([1.0, 2.0, 3.0]) == 0
    assert open_end([np.inf, 2.0, 3.0, np.nan, 4.0]) == 1
    assert open_end([np.inf, 2.0, 3.0, np.nan]) is None
    assert open_end([1.0, 2.0, 3.0], least=1.5) is None
    assert open_end([1.0, 0.81, 0.65]) is None
    assert open_end([1.0, 0.81, 0.64]) == 2
    assert open_end([1.0, 0.5, 1.0]) is None
    assert open_end([1.0]) is None
    with pytest.raises(InputError, match="finite"):
        open_end([np.nan])
