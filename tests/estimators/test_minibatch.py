"""Autoencoders trained on batches: near the full objective, from rows of any origin, the same bits after a crash."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.utils import estimator_checks
from torch.utils.data import DataLoader, TensorDataset

from rkhs import KernelAutoencoder
from rkhs._core.errors import InputError
from rkhs.engines import Threads, as_rows
from rkhs.features import Nystroem, RandomFeatures
from rkhs.kernels import Gaussian
from rkhs.solvers import DoublyStochastic, MiniBatch


def sines(n: int) -> np.ndarray:
    r = np.random.default_rng(0)
    X = np.sin(r.normal(size=(n, 3)) @ r.normal(size=(3, 8))) + 0.05 * r.normal(size=(n, 8))
    return np.asarray(X)


X = sines(900)


def fit(data: Any = X, sample_weight: Any = None, **options: Any) -> KernelAutoencoder:
    settings: dict[str, Any] = {
        "kernel": Gaussian(0.1),
        "decoder_kernel": Gaussian(0.5),
        "storage": Nystroem(40),
        "reg": (1e-4, 1e-3),
        "solver": MiniBatch(batch_size=256),
        "max_iter": 20,
        "random_state": 0,
    }
    return KernelAutoencoder(2, **settings | options).fit(data, sample_weight=sample_weight)


@pytest.mark.slow
@pytest.mark.parametrize("storage", [Nystroem(40), RandomFeatures(60)], ids=repr)
def test_batches_come_near_all_rows(storage: Any) -> None:
    rows = sines(4000)
    train, test = rows[:2000], rows[2000:]
    whole = fit(train, solver="lbfgs", max_iter=100, tol=1e-4, storage=storage)
    steps = fit(train, max_iter=120, solver=MiniBatch(batch_size=512), storage=storage)
    assert steps.objective_ < 1.15 * whole.objective_
    assert steps.reconstruction_error(test).mean() < 1.2 * whole.reconstruction_error(test).mean()
    assert steps.objective_ < 0.95 * fit(train, max_iter=2, storage=storage).objective_
    assert steps.converged_
    assert steps.n_iter_ == len(steps.history_) == 120
    assert steps.reason_.startswith("the planned number of steps")


class Loader:
    """Yields batches again whenever it is asked."""

    def __iter__(self) -> Iterator[np.ndarray]:
        yield from np.array_split(X, 7)


@pytest.mark.slow
def test_rows_from_everywhere(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    expected = fit().codes_
    sources: list[Any] = [
        np.load(tmp_path / "x.npy", mmap_mode="r"),
        as_rows(tmp_path / "x.npy"),
        as_rows(Loader()),
        as_rows(batch for batch in np.array_split(X, 3)),
        as_rows(DataLoader(TensorDataset(torch.as_tensor(X)), batch_size=100, generator=torch.Generator())),
    ]
    for source in sources:
        np.testing.assert_array_equal(fit(source).codes_, expected)
    np.testing.assert_array_equal(fit(engine=Threads(2)).codes_, expected)
    assert not np.array_equal(fit(random_state=1).codes_, expected)
    pandas = pytest.importorskip("pandas", reason="the extra tables is not installed")
    pytest.importorskip("pyarrow", reason="the extra tables is not installed")
    pandas.DataFrame(X, columns=list("abcdefgh")).to_parquet(tmp_path / "x.parquet", row_group_size=300)
    read = fit(as_rows(tmp_path / "x.parquet"))
    assert read.objective_ == pytest.approx(fit().objective_, rel=0.1)


def test_temporary_files_go_with_their_rows() -> None:
    rows: Any = as_rows(Loader())
    path = Path(rows._layout[0])
    np.testing.assert_array_equal(rows.part(5, 300).read(10, 20), X[15:25])
    assert path.exists()
    del rows
    assert not path.parent.exists()


@pytest.mark.parametrize(
    ("batches", "message"),
    [
        (iter([]), "X must yield batches of rows; got none"),
        (
            iter([np.zeros((2, 3)), np.zeros((2, 4))]),
            r"matrices of 3 columns .*; batch 1 has shape \(2, 4\)",
        ),
        (iter([np.zeros(3)]), r"batch 0 has shape \(3,\)"),
        (iter([np.array([["a"]])]), "real numbers"),
    ],
)
def test_batches_that_are_no_rows_are_refused(batches: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        as_rows(batches)


class Quadratic:
    """Half the squared distance to ones; each step sees the rows that are asked for."""

    def __init__(self, rows: list[Any]) -> None:
        self.rows = rows

    def batch_value_and_grad(self, point: torch.Tensor, step: int) -> Any:
        rows = self.rows[step]
        return 1.0, point[rows] - 1.0, rows

    def resume(self) -> None:
        return None

    def keep(self, step: int, state: Any) -> None:
        pass


def test_every_row_is_corrected_by_its_own_number_of_updates() -> None:
    start = torch.zeros(4, 2, dtype=torch.float64)
    rows = [torch.tensor(one) for one in ([0, 1], [0, 2], [1, 2], [0, 2], [0, 1])]
    found = MiniBatch(learning_rate=0.1, max_iter=5).solve(Quadratic(rows), start).point
    expected = start.clone()
    for row in range(4):
        x = first = second = 0.0
        count = 0
        for step, drawn in enumerate(rows):
            if row in drawn:
                count += 1
                grad = x - 1.0
                first, second = 0.9 * first + 0.1 * grad, 0.999 * second + 0.001 * grad**2
                length = 0.05 * (1.0 + np.cos(np.pi * step / 5))
                x -= length * first / (1.0 - 0.9**count) / ((second / (1.0 - 0.999**count)) ** 0.5 + 1e-8)
        expected[row] = x
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert (found[3] == 0.0).all()
    every = [torch.arange(4)] * 5
    all_rows = MiniBatch(learning_rate=0.1, max_iter=5).solve(Quadratic([slice(None)] * 5), start).point
    assert torch.equal(all_rows, MiniBatch(learning_rate=0.1, max_iter=5).solve(Quadratic(every), start).point)


@pytest.mark.slow
def test_doubly_stochastic_steps_come_near_batches_with_more_steps() -> None:
    batches = fit(max_iter=40)
    same = fit(solver=DoublyStochastic(256, coefficient_share=1.0), max_iter=40)
    np.testing.assert_array_equal(same.codes_, batches.codes_)
    assert same.objective_ == batches.objective_
    few: dict[str, Any] = {"solver": DoublyStochastic(256)}
    found = fit(**few, max_iter=160)
    assert found.objective_ < 1.04 * batches.objective_ < 0.95 * fit(**few, max_iter=4).objective_
    again = fit(**few).codes_
    np.testing.assert_array_equal(again, fit(**few).codes_)
    np.testing.assert_array_equal(again, fit(**few, engine=Threads(2)).codes_)
    assert not np.array_equal(again, fit(**few, random_state=1).codes_)


def test_weights_count() -> None:
    w = np.ones(900)
    w[450:] = 0.0
    half, part = fit(sample_weight=w, max_iter=60), fit(X[:450], max_iter=60)
    assert half.objective_ == pytest.approx(part.objective_, rel=0.05)


def test_refusals_and_divergence() -> None:
    with pytest.raises(InputError, match=r"solver=MiniBatch\(batch_size=256\) needs storage=Nystroem\(m\) or Random"):
        fit(storage="dense")
    with pytest.raises(InputError, match=r"solver='doubly_stochastic' needs storage=Nystroem"):
        fit(storage="dense", solver="doubly_stochastic")
    for share in (0.0, 1.5):
        with pytest.raises(InputError, match="coefficient_share must be"):
            fit(solver=DoublyStochastic(coefficient_share=share))
    with pytest.raises(InputError, match="use solver='lbfgs', 'minibatch' or 'doubly_stochastic'"):
        fit(solver="adam")
    with pytest.raises(InputError, match="batch_size must be an integer >= 1; got 0"):
        fit(solver=MiniBatch(0))
    with pytest.raises(InputError, match="Adam needs a problem that meets HasValueAndGrad|MiniBatch needs a problem"):
        MiniBatch().solve(object(), torch.zeros(1))


@pytest.mark.slow
def test_scikit_learn_checks() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KernelAutoencoder(2, storage=Nystroem(30), solver=MiniBatch(32), max_iter=3)
        results = estimator_checks.check_estimator(model, on_skip=None, on_fail=None)
    bad = {r["check_name"] for r in results if r["status"] != "passed"} - {"check_array_api_input"}
    assert bad <= {"check_sample_weight_equivalence_on_dense_data"}  # to the noise of the batches only
