"""Novelty with exact p-values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import torch
from sklearn.utils import get_tags

from rkhs import KernelNovelty, load, save
from rkhs.errors import InputError
from rkhs.estimators.joint_items import JointItems
from rkhs.features import FilledTable
from rkhs.kernels import Gaussian, Tanimoto


def rows(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, 4))


def brute(kernel: Any, X: np.ndarray, x: np.ndarray, ridge: float) -> float:
    """The full conformal p-value: variances of all rows, each among the others and the new one."""
    both = np.vstack([X, x])
    own = 1.0 / np.diag(np.linalg.inv(kernel(both) + ridge * np.eye(len(both))))
    return float((own >= own[-1] * (1.0 - 1e-9)).mean())


def test_p_values_are_the_full_conformal_ones() -> None:
    X, new = rows(30), rows(20, 1) * 1.5
    model = KernelNovelty(Gaussian(0.05), reg=0.1).fit(X)
    assert model.p_values(new).tolist() == pytest.approx([brute(Gaussian(0.05), X, x, 0.1) for x in new])


def among_all(rows: np.ndarray, reg: float = 0.01) -> float:
    """The p-value of the last of some rows, where all of them give scales and bandwidth."""
    Z = (rows - rows.mean(0)) / rows.std(0)
    own = 1.0 / np.diag(np.linalg.inv(Gaussian("2*median").resolve(torch.as_tensor(Z))(Z) + reg * np.eye(len(Z))))
    return float((own >= own[-1] * (1.0 - 1e-9)).mean())


@pytest.mark.sample(2)
@pytest.mark.parametrize(("n", "d", "joint"), [(19, 60, True), (60, 4, True), (200, 4, False)])
def test_a_new_row_takes_part_in_scales_and_bandwidth_where_these_are_of_few_rows(n: int, d: int, joint: bool) -> None:
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(n, d)), rng.normal(size=(8, d)) * 1.2
    model = KernelNovelty().fit(X)
    assert (JointItems.of(model, [Gaussian("2*median")]) is not None) == joint
    bandwidth = KernelNovelty(Gaussian("median")).fit(X)
    assert (JointItems.of(bandwidth, [Gaussian("median")]) is not None) == (n < 57)  # one number, of any columns
    if joint:
        assert model.p_values(new) == pytest.approx([among_all(np.vstack([X, x])) for x in new])
        assert (model.p_values(X[:3]) == model._each(X[:3], model.model_.p_values)).all()  # all rows are alike there
    single = KernelNovelty(dtype="float32").fit(X)
    assert single.p_values(new) == pytest.approx(model.p_values(new), abs=2.0 / n)


@pytest.mark.filterwarnings("ignore:.*far outside of the range")
@pytest.mark.parametrize(
    "settings",
    [{}, *(pytest.param(one, marks=pytest.mark.slow) for one in ({"columns": "filled"}, {"kernel": "mixed_table"}))],
)
def test_noise_in_many_columns_is_not_novel(settings: dict[str, Any]) -> None:
    shares, predicted = [], []
    for seed in range(6):
        X = np.random.default_rng(seed).normal(size=(27, 100))
        model = KernelNovelty(**settings).fit(X[:19])
        shares.append((model.p_values(X[19:]) <= 0.05).mean())
        heavy = np.exp(X)
        predicted.append((KernelNovelty(**settings, alpha=0.2).fit(heavy[:19]).predict(heavy[19:]) == -1).mean())
    assert np.mean(shares) < 0.05 + 2.0 * np.std(shares) / 6**0.5
    assert abs(np.mean(predicted) - 0.2) < 3.0 * np.std(predicted) / 6**0.5


def test_scores_of_few_rows_in_many_columns_are_as_if_each_was_left_out_of_the_scales() -> None:
    called = []
    for seed in range(10):
        X = np.random.default_rng(seed).normal(size=(39, 100))
        called.append((KernelNovelty(alpha=0.2).fit(X[:19]).decision_function(X[19:]) < 0.0).mean())
    assert np.mean(called) < 0.4


def test_tables_of_texts_and_gaps_are_scaled_with_the_new_row() -> None:
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(25, 3)).astype(object)
    table = np.column_stack([numbers, rng.choice(["a", "b", "c"], 25), [f"lone {i}" for i in range(25)]])
    table[3, 0], table[4, 3], table[5, 3] = None, None, "rare"
    filled = FilledTable().fit(list(map(tuple, table[:20])))
    for cells, given in zip(filled.known_cells(), table[:20], strict=True):
        np.testing.assert_allclose(*(np.array(one[:3], dtype=float) for one in (cells, given)), rtol=1e-12)
    among = filled.rows_among(filled._read(list(map(tuple, table))), 20)
    np.testing.assert_allclose(among, filled.transform(list(map(tuple, table))), atol=1e-12)
    known = filled.known_cells()
    np.testing.assert_allclose(filled.rows_among(known, 20), among[:20], atol=1e-12)
    p = KernelNovelty(columns="filled").fit(list(map(tuple, table[:20]))).p_values(list(map(tuple, table[20:])))
    assert ((p > 0.0) & (p <= 1.0)).all()


def test_rows_like_the_training_rows_are_rarely_novel_and_others_are() -> None:
    many = [KernelNovelty().fit(rows(19, seed)).p_values(rows(10, seed + 1000)) for seed in range(10)]
    for alpha in (0.05, 0.1, 0.3):
        held = [(p <= alpha).mean() for p in many]
        assert abs(np.mean(held) - alpha) < 3.0 * np.std(held) / np.sqrt(10) + 1e-3
    model, far = KernelNovelty(alpha=0.1).fit(rows(59)), rows(40) + np.array([0.0, 0.0, 6.0, 0.0])
    assert (model.predict(far) == -1).mean() > 0.8
    assert (model.predict(rows(60, 1)) == 1).mean() > 0.8


def test_training_rows_are_judged_without_themselves_and_without_their_copies() -> None:
    X = rows(40)
    X[7] = 5.0
    twice = np.vstack([X, X[7:8]])
    for model, data in ((KernelNovelty().fit(X), X), (KernelNovelty().fit(twice), twice)):
        p = model.p_values(data)
        assert p.argmin() == 7
        assert model.score_samples(X).argmin() == 7
    assert KernelNovelty(alpha=0.1).fit_predict(X)[7] == -1
    assert (KernelNovelty(alpha=0.1).fit_predict(X) == -1).sum() in (3, 4)
    once, doubled = KernelNovelty(Gaussian(0.05)).fit(X), KernelNovelty(Gaussian(0.05)).fit(twice)
    new = rows(10, 3)
    assert doubled.score_samples(new) == pytest.approx(once.score_samples(new), rel=1e-9)
    assert doubled.p_values(new).tolist() == pytest.approx(
        [(1 + round(p * 41 - 1) + (p * 41 > 1)) / 42 for p in once.p_values(new)]  # the strangest row counts twice
    )


def test_gram_matrices_sparse_rows_and_objects_are_read(tmp_path: Path) -> None:
    X, new = rows(30), rows(12, 1)
    model = KernelNovelty(Gaussian(0.05)).fit(X)
    given = KernelNovelty("precomputed").fit(Gaussian(0.05)(X))
    assert given.p_values(Gaussian(0.05)(new, X)) == pytest.approx(model.p_values(new))
    for one, data in ((model, new), (given, Gaussian(0.05)(new, X))):
        save(one, tmp_path / "model.rkhs")
        assert (load(tmp_path / "model.rkhs").p_values(data) == one.p_values(data)).all()
    bits = (np.random.default_rng(0).random((40, 64)) < 0.2).astype(float)
    dense = KernelNovelty(Tanimoto()).fit(bits)
    assert dense.columns_ == "raw"
    held = KernelNovelty().fit(scipy.sparse.csr_array(bits))
    assert held.p_values(scipy.sparse.csr_array(bits[:3])) == pytest.approx(
        KernelNovelty(columns="raw").fit(bits).p_values(bits[:3])
    )
    words = KernelNovelty("spectrum").fit(["abcab", "abccb", "cabab", "bacab", "ababa"])
    assert words.p_values(["zzzzz"])[0] == 1 / 6
    with pytest.raises(InputError, match="differences needs a kernel on vectors"):
        words.differences(["zzzzz"])


def test_columns_are_compared_in_their_own_units_by_default() -> None:
    units = np.array([1.0, 100.0, 0.01, 1.0])
    model = KernelNovelty().fit(rows(60) * units)
    assert model.columns_ == "scaled"
    strange = rows(1, 5) + np.array([0.0, 0.0, 8.0, 0.0])
    falls = model.differences(strange * units)
    assert falls.shape == (1, 4)
    assert falls[0].argmax() == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"alpha": 0.0}, "alpha must be"), ({"reg": 0.0}, "reg must be"), ({"columns": "wide"}, "columns must be")],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        KernelNovelty(**settings).fit(rows(20))


def test_a_kernel_that_is_zero_everywhere_is_refused() -> None:
    with pytest.raises(InputError, match="k\\(x, x\\) > 0"):
        KernelNovelty("linear").fit(np.zeros((5, 2)))


@pytest.mark.parametrize("columns", [{}, np.array([1, 2])], ids=repr)
def test_columns_of_a_wrong_kind_are_refused(columns: Any) -> None:
    model = KernelNovelty(columns=columns)
    assert not get_tags(model).input_tags.allow_nan
    with pytest.raises(InputError, match="columns must be"):
        model.fit(np.eye(4))
