"""Bags of points, and tables with categories and missing values: slow twins, other libraries, refusals, round trips."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

import rkhs
from rkhs import KernelAutoencoder, KernelPCA
from rkhs._core.errors import InputError
from rkhs.kernels import FromFunction, Gaussian, GaussianOf, Linear, MeanEmbedding, MixedTable


def bags(n: int = 8, seed: int = 0, d: int = 2) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(rng.normal(), 1.0, size=(size, d)) for size in rng.integers(1, 12, size=n)]


# ---------------------------------------------------------------- bags


def test_mean_embedding_is_the_mean_over_pairs() -> None:
    left, right = bags(), bags(5, 1)
    expected = [[rbf_kernel(P, Q, gamma=0.3).mean() for Q in right] for P in left]
    np.testing.assert_allclose(MeanEmbedding(Gaussian(0.3))(left, right), expected, rtol=1e-12)
    means = np.array([P.mean(axis=0) for P in left])
    np.testing.assert_allclose(MeanEmbedding(Linear())(left), means @ means.T, atol=1e-12)


def test_gaussian_of_the_maximum_mean_discrepancy() -> None:
    left = bags()
    K = GaussianOf(MeanEmbedding(Gaussian(0.3)), 2.0)(left)
    for i, P in enumerate(left):
        for j, Q in enumerate(left):
            mmd = sum(rbf_kernel(A, B, gamma=0.3).mean() * s for A, B, s in ((P, P, 1), (Q, Q, 1), (P, Q, -2)))
            assert K[i, j] == pytest.approx(math.exp(-2.0 * mmd), rel=1e-9)


def test_blocks_and_bandwidths_of_bags(monkeypatch: pytest.MonkeyPatch) -> None:
    data = bags(9)
    whole = MeanEmbedding()(data)
    pooled = Gaussian().resolve(torch.from_numpy(np.concatenate(data)))
    assert MeanEmbedding().resolve(data).base == pooled
    monkeypatch.setattr("rkhs.kernels.objects.sets._BLOCK", 50)
    np.testing.assert_allclose(MeanEmbedding()(data), whole, rtol=1e-12)
    assert MeanEmbedding(max_points=10).resolve(data).base.gamma == pytest.approx(pooled.gamma, rel=0.8)


def test_bags_of_objects_and_codes_that_tell_distributions_apart(tmp_path: Path) -> None:
    words = [["aa", "ab"], ["aa"], ["zz", "zy", "zx"]]
    K = MeanEmbedding(FromFunction(lambda x, y: float(len(set(x) & set(y)))))(words)
    assert K[0, 1] > 0.0 == K[0, 2]
    rng = np.random.default_rng(0)
    data = [rng.normal(0.0, 1.0 + (i % 2), size=(rng.integers(30, 60), 1)) for i in range(30)]
    model = KernelAutoencoder(2, kernel=GaussianOf(MeanEmbedding(Gaussian()))).fit(data)
    first = model.codes_[:, 0]
    assert abs(first[::2].mean() - first[1::2].mean()) > 2.0 * max(first[::2].std(), first[1::2].std())
    rkhs.save(model, tmp_path / "bags.rkhs")
    np.testing.assert_array_equal(rkhs.load(tmp_path / "bags.rkhs").transform(data[:4]), model.transform(data[:4]))
    assert model.decode(model.codes_[:5], n_best=3).indices[0, 0] in range(0, 30, 2)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([[[1.0]], []], "bag 1 is empty"),
        ([[[1.0, 2.0]], [[1.0]]], "bag 1 has 1 columns and bag 0 has 2"),
        ([[[1.0]], [[math.nan]]], "bag 1: .*NaN or infinity in row 0"),
        ([[[1.0]], 3.0], "item 1 is a float"),
        ([[1.0, 2.0]], r"bag 0: MeanEmbedding reads bags of shape \(points, d\)"),
        (["text"], "item 0 is a str"),
    ],
)
def test_bad_bags(data: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        MeanEmbedding()(data)


# ---------------------------------------------------------------- tables


def table(n: int = 14, seed: int = 0, share: float = 0.2) -> list[tuple[Any, ...]]:
    rng = np.random.default_rng(seed)
    columns: list[list[Any]] = [
        rng.normal(3.0, 2.0, size=n).tolist(),
        rng.choice(["red", "green", "blue"], size=n).tolist(),
        rng.integers(0, 3, size=n).tolist(),
        [7.0] * n,
    ]
    for column in columns[:3]:
        for i in np.flatnonzero(rng.random(n) < share):
            column[i] = None
    return list(zip(*columns, strict=True))


def slow(rows: list[Any], new: list[Any], gamma: float) -> np.ndarray:
    """One pair and one column at a time; columns 1 and 2 are categories, column 3 is constant."""

    def scale(j: int) -> float:
        known = [row[j] for row in rows if row[j] is not None]
        if j == 0:
            return float(np.mean([(a - b) ** 2 for a in known for b in known]))
        return float(np.mean([a != b for a in known for b in known]))

    scales = [scale(j) for j in range(3)]

    def cell(j: int, x: Any, y: Any) -> float:
        known = [row[j] for row in rows if row[j] is not None]
        left, right = ([v] if v is not None else known for v in (x, y))
        delta = [[(a - b) ** 2 if j == 0 else float(a != b) for b in right] for a in left]
        return float(np.mean(np.exp(-gamma * np.array(delta) / scales[j] / 3)))

    return np.array([[math.prod(cell(j, x[j], y[j]) for j in range(3)) for y in rows] for x in new])


@pytest.mark.parametrize("seed", [0, 1])
def test_mixed_table_against_a_slow_twin(seed: int) -> None:
    rows, new = table(seed=seed), table(6, seed + 10)
    kernel = MixedTable(1.7, categorical=(2,))
    np.testing.assert_allclose(kernel(rows), slow(rows, rows, 1.7), rtol=1e-12)
    np.testing.assert_allclose(kernel(new, rows), slow(rows, new, 1.7), rtol=1e-12)
    np.testing.assert_allclose(kernel.resolve(rows).diag(new), np.diag(kernel.resolve(rows)(new)), rtol=1e-12)


def test_numbers_alone_are_the_gaussian_of_scaled_columns() -> None:
    X = np.random.default_rng(0).normal(size=(12, 3)) * [1.0, 10.0, 0.1]
    scaled = X / np.sqrt(2.0 * X.var(axis=0))
    np.testing.assert_allclose(MixedTable()(X), Gaussian(1.0 / 3.0)(scaled), rtol=1e-10)


def test_many_missing_values_stay_positive_semi_definite() -> None:
    for seed in range(5):
        K = MixedTable()(table(40, seed, 0.6))
        assert np.linalg.eigvalsh(K)[0] > -1e-12


def test_every_container_gives_the_same() -> None:
    rows = table(seed=3)
    expected = MixedTable()(rows)
    np.testing.assert_array_equal(MixedTable()(np.array(rows, dtype=object)), expected)
    masked = [[np.ma.masked if cell is None else cell for cell in row] for row in rows]
    assert any(cell is np.ma.masked for row in masked for cell in row)
    np.testing.assert_array_equal(MixedTable()(masked), expected)
    np.testing.assert_array_equal(MixedTable()([dict(zip("abcd", row, strict=True)) for row in rows]), expected)
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(rows, schema=list("abcd"), orient="row")
    np.testing.assert_array_equal(MixedTable()(frame), expected)
    pandas = pytest.importorskip("pandas")
    table_of_pandas = pandas.DataFrame(rows, columns=list("abcd"))
    np.testing.assert_array_equal(MixedTable()(table_of_pandas), expected)
    codes = table_of_pandas.assign(b=table_of_pandas["b"].astype("category"), c=table_of_pandas["c"].astype("Int64"))
    np.testing.assert_array_equal(MixedTable()(codes), expected)


def test_a_frame_is_fitted_stored_and_decoded(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    rows = table(30)
    frame = pandas.DataFrame(rows, columns=list("abcd"))
    model = KernelAutoencoder(2, kernel="mixed_table").fit(frame)
    assert list(model.feature_names_in_) == list("abcd")
    codes = model.transform(frame[:5])
    rkhs.save(model, tmp_path / "table.rkhs")
    back = rkhs.load(tmp_path / "table.rkhs")
    np.testing.assert_array_equal(back.transform(frame[:5]), codes)
    np.testing.assert_array_equal(back.decode(codes, n_best=2).indices, model.decode(codes, n_best=2).indices)
    np.testing.assert_allclose(clone(model).fit(rows).codes_, model.codes_)
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(frame[list("dcba")])
    weights = np.ones(30)
    weights[3] = 0.0
    part = KernelPCA(2, kernel="mixed_table").fit(rows, sample_weight=weights)
    without = KernelPCA(2, kernel="mixed_table").fit(rows[:3] + rows[4:])
    np.testing.assert_allclose(part.transform(rows), without.transform(rows), atol=1e-8)


def test_missing_rows_lie_between_the_known_ones() -> None:
    rows = [("a",), ("a",), ("b",), (None,)]
    K = MixedTable()(rows)
    assert K[2, 0] < K[3, 2] < K[3, 0] < 1.0
    assert K[3, 3] < 1.0


@pytest.mark.parametrize(
    ("kernel", "data", "message"),
    [
        (MixedTable(), [("a", 1.0), (2.0, 1.0)], "column 0 holds both"),
        (MixedTable(), [(1.0,), (1.0, 2.0)], "row 1 has 2 cells"),
        (MixedTable(), [(math.inf,), (1.0,)], "got inf in row 0, column 0"),
        (MixedTable(), [(np.timedelta64(1, "D"),)], "Make it a number"),
        (MixedTable(), [(np.complex128(1.0),)], "MixedTable reads finite numbers"),
        (MixedTable(), [(np.complex64(1.0 + 2.0j),)], "MixedTable reads finite numbers"),
        (MixedTable(), [(torch.tensor(1.0 + 2.0j),)], "finite numbers, texts"),
        (MixedTable(missing="raise"), [(1.0, "a"), (2.0, None)], "got one in row 1, column 1"),
        (MixedTable(missing="drop"), [(1.0,)], "MixedTable.missing must be"),
        (MixedTable(gamma=0.0), [(1.0,)], "MixedTable.gamma must be > 0"),
        (MixedTable(categorical=(3,)), [(1.0,)], "positions from 0 to 0; got"),
        (MixedTable(), ["abc"], "row 0 is a str"),
        (MixedTable(), [{"a": 1.0}, {"b": 1.0}], "same keys; row 1"),
        (MixedTable(), "abc", "expected a table"),
    ],
)
def test_bad_tables(kernel: MixedTable, data: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        kernel(data)


def test_new_rows_must_fit_the_training_rows() -> None:
    kernel = MixedTable().resolve([(1.0, "a"), (2.0, "b")])
    with pytest.raises(InputError, match="fitted on rows of 2 cells; got 1"):
        kernel([(1.0,)])
    with pytest.raises(InputError, match="X must hold texts in column 1, as MixedTable was fitted on; got numbers"):
        kernel([(1.0, 2.0)])
    assert kernel([(1.0, "never seen")], [(1.0, "a")])[0, 0] == kernel([(1.0, "b")], [(1.0, "a")])[0, 0]
    with pytest.raises(InputError, match="no scales yet; call resolve"):
        MixedTable()._gram([(1.0,)])
