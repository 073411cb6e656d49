"""Several views of an object: weights by alignment, kernels over tuples, lists of Gram matrices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.svm import SVC

import rkhs
from rkhs import GramTransformer, KernelAutoencoder, KernelPCA, OperatorKernelRegressor
from rkhs._core.errors import InputError
from rkhs.kernels import (
    FromFunction,
    Gaussian,
    Linear,
    OnColumns,
    Precomputed,
    ProbabilityProduct,
    Views,
    view_weights,
)


def grams(seed: int = 0, n: int = 25) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return [
        Gaussian(0.5)(X),
        100.0 * Gaussian(0.5)(X + 0.3 * rng.normal(size=X.shape)),
        Linear()(rng.normal(size=(n, 4))),
    ]


def center(K: np.ndarray) -> np.ndarray:
    return K - K.mean(0) - K.mean(1)[:, None] + K.mean()


# ---------------------------------------------------------------- weights


@pytest.mark.parametrize("scale", [2.0**-600, 2.0**600])
def test_weights_undo_the_unit_of_each_matrix(scale: float) -> None:
    """Products of entries would overflow, or vanish."""
    K, L, M = grams()
    found = view_weights([scale * K, scale * L, scale * M])
    np.testing.assert_allclose(found * scale, view_weights([K, L, M]), rtol=1e-9)
    with pytest.raises(InputError, match="grams must be finite"):
        view_weights([np.full((2, 2), np.inf), np.eye(2)])


def test_agreement_gives_little_to_the_view_that_stands_alone() -> None:
    views = grams()
    m = view_weights(views)
    shares = m * [np.trace(center(K)) for K in views]
    assert shares[2] < 0.5 * min(shares[:2])
    equal = view_weights(views, "equal") * [np.trace(center(K)) for K in views]
    np.testing.assert_allclose(equal, equal[0], rtol=1e-12)
    given = view_weights(views, [2.0, 0.0, 1.0]) * [np.trace(center(K)) for K in views]
    np.testing.assert_allclose(given / given.sum(), [2 / 3, 0.0, 1 / 3], atol=1e-12)
    assert view_weights([*views, np.ones((25, 25))])[3] == 0.0


@pytest.mark.parametrize("rule", ["alignment", "equal"])
def test_sample_weights_are_repeated_rows(rule: str) -> None:
    views = grams()
    counts = np.random.default_rng(0).integers(0, 3, size=25)
    rows = np.repeat(np.arange(25), counts)
    weighted = view_weights(views, rule, sample_weights=torch.from_numpy(counts / counts.sum()))
    np.testing.assert_allclose(weighted, view_weights([K[np.ix_(rows, rows)] for K in views], rule), rtol=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda K: view_weights([K, K[:3, :3]]), "all of one size"),
        (lambda K: view_weights(K), "must be a sequence of Gram matrices"),
        (lambda K: view_weights([np.full((3, 3), np.nan)]), "must be finite"),
        (lambda K: view_weights([K], "median"), "weights must be 'alignment', 'equal' or one number per view"),
        (lambda K: view_weights([K], [1.0, 2.0]), "weights must be 1 numbers >= 0"),
        (lambda K: view_weights([K, K], [0.0, 0.0]), "must be positive for at least one view"),
    ],
)
def test_bad_weights(call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call(grams()[0])


# ---------------------------------------------------------------- items with several parts


def objects(n: int = 20, seed: int = 0) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    return [
        {
            "peaks": (rng.uniform(50.0, 51.0, 4), rng.uniform(0.1, 1.0, 4)),
            "name": "".join(rng.choice(list("abcdef"), size=4)),
            "vector": rng.normal(size=3),
        }
        for _ in range(n)
    ]


def letters(x: str, y: str) -> float:
    return float(len(set(x) & set(y)))


def test_views_is_the_weighted_sum_of_its_kernels() -> None:
    data, new = objects(), objects(5, 1)
    parts = {"vector": Gaussian(0.3), "name": FromFunction(letters), "peaks": ProbabilityProduct(0.1)}
    kernel = Views(parts, "equal").resolve(data)
    m = view_weights([k([item[key] for item in data]) for key, k in parts.items()], "equal")
    np.testing.assert_allclose(kernel.multipliers, m, rtol=1e-12)
    expected = sum(
        v * k([item[key] for item in new], [item[key] for item in data])
        for v, (key, k) in zip(m, parts.items(), strict=True)
    )
    np.testing.assert_allclose(kernel(new, data), expected, rtol=1e-12)
    tuples = [tuple(item[key] for key in parts) for item in data]
    np.testing.assert_allclose(Views(tuple(parts.values()), "equal")(tuples), kernel(data), rtol=1e-12)


@pytest.mark.filterwarnings("ignore::rkhs.errors.OverfitWarning")
def test_an_autoencoder_of_views_is_stored_and_decodes(tmp_path: Path) -> None:
    data = objects()
    kernel = Views({"vector": Gaussian(), "peaks": ProbabilityProduct(0.1)})
    model = KernelAutoencoder(2, kernel=kernel).fit(data)
    codes = model.transform(data[:4])
    rkhs.save(model, tmp_path / "views.rkhs")
    back = rkhs.load(tmp_path / "views.rkhs")
    np.testing.assert_array_equal(back.transform(data[:4]), codes)
    assert back.decode(codes, data[:6], n_best=2).indices.shape == (4, 2)
    assert clone(model).kernel == kernel


@pytest.mark.parametrize(
    ("kernel", "data", "message"),
    [
        (Views((Gaussian(), Gaussian())), [([1.0], [1.0]), ([1.0],)], "item 1, of type tuple, has 1 parts"),
        (Views({"a": Gaussian()}), [{"b": [1.0]}], "item 0, of type dict, has the keys"),
        (Views((Gaussian(),)), [([1.0],), ([np.nan],)], "view 0: .*NaN or infinity in row 1"),
        (Views(()), [], "must be a sequence or dict of kernels"),
        (Views((Precomputed(),)), [], "pass a list of them to an estimator with kernel='precomputed'"),
        (Views((Gaussian(),), multipliers=[-1.0]), [([1.0],)], "Views.multipliers must be 1 finite numbers >= 0"),
        (OnColumns(Gaussian(), [3]), [[1.0, 2.0]], "positions from 0 to 1"),
        (OnColumns(Gaussian(), [1, 1]), [[1.0, 2.0]], "positions, none twice"),
        (OnColumns(Precomputed(), [0]), [[1.0]], "OnColumns.base must be a kernel on vectors"),
    ],
)
def test_bad_views(kernel: Any, data: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        kernel(data)


def test_columns_in_a_support_vector_machine() -> None:
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = X[:, 1] > 0
    machine = SVC(kernel=OnColumns(Gaussian(1.0), [1])).fit(X, y)
    np.testing.assert_array_equal(machine.predict(X), SVC(gamma=1.0).fit(X[:, 1:2], y).predict(X[:, 1:2]))


# ---------------------------------------------------------------- several Gram matrices as one argument


@pytest.mark.parametrize("kind", [list, tuple, np.stack])
def test_several_gram_matrices_in_one_code_out(kind: Any, tmp_path: Path) -> None:
    views = grams()
    train, test = np.arange(20), np.arange(20, 25)
    fit = kind([K[np.ix_(train, train)] for K in views])
    new = kind([K[np.ix_(test, train)] for K in views])
    model = KernelPCA(2, kernel="precomputed").fit(fit)
    m = view_weights(list(fit))
    np.testing.assert_allclose(model.reader_.view_weights, m)
    joined = sum(v * K for v, K in zip(m, fit, strict=True))
    twin = KernelPCA(2, kernel="precomputed").fit(joined)
    np.testing.assert_allclose(model.transform(new), twin.transform(sum(v * K for v, K in zip(m, new, strict=True))))
    rkhs.save(model, tmp_path / "views.rkhs")
    np.testing.assert_array_equal(rkhs.load(tmp_path / "views.rkhs").transform(new), model.transform(new))
    ranking = model.decode(model.codes_[:3], fit, diag=np.diag(joined), n_best=1)
    same = twin.decode(twin.codes_[:3], joined, diag=np.diag(joined), n_best=1)
    np.testing.assert_array_equal(ranking.indices, same.indices)


@pytest.mark.filterwarnings("ignore::rkhs.errors.OverfitWarning")
def test_the_rule_is_an_argument_and_autoencoders_take_views_too() -> None:
    views = grams()
    model = KernelAutoencoder(2, kernel=Precomputed(views="equal")).fit(views)
    np.testing.assert_allclose(model.reader_.view_weights, view_weights(views, "equal"))
    assert model.transform(views).shape == (25, 2)
    joined = sum(m * K for m, K in zip(model.reader_.view_weights, views, strict=True))
    K = GramTransformer(Precomputed(views="equal")).fit_transform(views)
    np.testing.assert_allclose(K, joined)
    again = model.fit(joined)
    assert again.reader_.view_weights is None
    with pytest.raises(InputError, match="fitted on one Gram matrix"):
        again.transform(views)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda K: K[0],
            r"X must be 3 matrices of kernel values \(m, n\), one per view, as in fit; got a single matrix",
        ),
        (lambda K: K[:2], "X must be 3 matrices .* got 2"),
        (lambda K: [K[0], K[1][:4], K[2]], r"X\[1\] has shape \(4, 25\)"),
        (lambda K: [K[0], np.full((25, 25), np.nan), K[2]], r"X\[1\] must be finite"),
    ],
)
def test_new_views_must_fit(change: Any, message: str) -> None:
    views = grams()
    model = KernelPCA(2, kernel="precomputed").fit(views)
    with pytest.raises(InputError, match=message):
        model.transform(change(views))


@pytest.mark.parametrize("multipliers", [[0.1, "a"], 3, "ab", [1.0], [0.0, 0.0], [1.0, -1.0], [np.nan, 1.0], [1j, 1.0]])
def test_multipliers_that_are_no_shares_are_refused(multipliers: Any) -> None:
    items = [(np.ones(2), np.zeros(2)), (np.zeros(2), np.ones(2))]
    with pytest.raises(InputError, match=r"Views\.multipliers must"):
        Views([Gaussian(1.0), Gaussian(1.0)], multipliers=multipliers)(items)


def test_views_with_equal_rows_and_weights_in_single_precision() -> None:
    items = [(np.zeros(2), np.ones(1)), (np.zeros(2), np.zeros(1)), (np.zeros(2), -np.ones(1))]
    kernel = Views((Gaussian(), Linear()), multipliers=[1.0, 1.0])
    model = OperatorKernelRegressor(kernel, dtype="float32").fit(items, [1.0, 0.0, -1.0], sample_weight=[1.0, 2.0, 1.0])
    assert np.isfinite(model.predict(items)).all()
