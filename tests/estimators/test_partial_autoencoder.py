"""``partial_fit`` of the autoencoder: a random sample of all rows so far, kept honest by full fits."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import rkhs
from rkhs import KernelAutoencoder, KernelPCA
from rkhs._core.errors import InputError
from rkhs.engines import as_rows
from rkhs.estimators import kernel_autoencoder
from rkhs.estimators.kernel_autoencoder import sample_of_parts
from rkhs.features import Nystroem
from tests.estimators.test_autoencoder_rows import MORE as X, NEW, share

OPTIONS: dict[str, Any] = {"storage": Nystroem(40), "reg": (1e-4, 1e-4), "max_iter": 20}


@pytest.mark.sample(1)
@pytest.mark.parametrize("storage", [Nystroem(40), "dense"], ids=repr)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_model_is_that_of_one_fit_on_the_rows_so_far(storage: Any) -> None:
    options = {**OPTIONS, "storage": storage}
    model = KernelAutoencoder(2, **options)
    for part in (X[:100], X[100:180]):
        model.partial_fit(part)
    np.testing.assert_array_equal(model.codes_, KernelAutoencoder(2, **options).fit(X[:180]).codes_)
    before = model.transform(NEW)
    model.partial_fit(X[180:200])  # few more: nothing is fitted
    np.testing.assert_array_equal(model.transform(NEW), before)
    assert (model.n_rows_seen_, model.n_rows_fitted_) == (200, 180)
    model.partial_fit(X[200:])
    np.testing.assert_array_equal(model.codes_, KernelAutoencoder(2, **options).fit(X).codes_)


def test_of_many_rows_a_sample_is_kept_whose_model_is_as_good(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_autoencoder, "MAX_ENCODER_ROWS", 150)
    model, options = KernelAutoencoder(2, **{**OPTIONS, "max_iter": 60}), {**OPTIONS, "max_iter": 60}
    for start in range(0, 300, 50):
        model.partial_fit(X[start : start + 50])
    assert model.sample_.shape == (150, 8)
    assert share(model, NEW) < 1.2 * share(KernelAutoencoder(2, **options).fit(X[:150]), NEW)
    assert not hasattr(model.fit(X), "sample_")


@pytest.mark.parametrize("draws", [250, pytest.param(3000, marks=pytest.mark.slow)])
def test_every_row_is_in_the_sample_with_the_same_chance(draws: int) -> None:
    counts = np.zeros(40)
    for seed in range(draws):
        sample = np.empty((0, 1))
        for start in range(0, 40, 8):
            sample = sample_of_parts(sample, start, np.arange(start, start + 8)[:, None] * 1.0, 10, seed=1000 * seed)
        counts[sample[:, 0].astype(int)] += 1
        assert len(np.unique(sample)) == 10
    assert np.abs(counts / draws - 0.25).max() < 5.0 * (0.25 * 0.75 / draws) ** 0.5


def test_a_model_from_a_file_goes_on_and_names_of_columns_stay(tmp_path: Path) -> None:
    frame = pd.DataFrame(X, columns=[f"c{k}" for k in range(8)])
    model = KernelAutoencoder(2, **{**OPTIONS, "max_iter": 60}).partial_fit(frame[:100])
    rkhs.save(model, tmp_path / "m.rkhs")
    again = rkhs.load(tmp_path / "m.rkhs").partial_fit(frame[100:])
    np.testing.assert_array_equal(again.codes_, model.partial_fit(frame[100:]).codes_)
    assert list(again.feature_names_in_) == list(frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        again.partial_fit(frame.rename(columns={"c0": "other"}))


def test_other_columns_and_other_items_are_refused() -> None:
    model = KernelAutoencoder(2, **{**OPTIONS, "max_iter": 60}).partial_fit(X[:100])
    with pytest.raises(ValueError, match="8 features"):
        model.partial_fit(X[:, :3])
    assert not hasattr(KernelAutoencoder(2, kernel="precomputed"), "partial_fit")
    assert not hasattr(KernelAutoencoder(2, kernel="spectrum"), "partial_fit")
    with pytest.raises(ValueError, match="at least 2 rows"):
        KernelAutoencoder(2).partial_fit(X[:1])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_is_refused_leaves_the_sample_as_it_is(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    gap = np.where(np.arange(8) == 3, np.nan, X)
    model = KernelAutoencoder(2, **{**OPTIONS, "max_iter": 3}).partial_fit(X[:100])
    refused: list[tuple[Any, str]] = [
        (csr_array(X), "got a sparse matrix"),
        (gap, "contains NaN"),
        ((part for part in (X[:100], X[100:])), "in memory; got an object of type generator"),
        (str(tmp_path / "x.npy"), "in memory; got an object of type str"),
        (as_rows(tmp_path / "x.npy"), "in memory; got an object of type FileRows"),
    ]
    for rows, said in refused:
        with pytest.raises(InputError, match=said):
            model.partial_fit(rows)
    with pytest.raises(InputError, match="use fit in place of partial_fit"):
        KernelAutoencoder(2, columns="filled").partial_fit(gap)
    for rows, said in refused[2:4]:
        with pytest.raises(InputError, match=said):
            KernelPCA(2, storage=Nystroem(20)).partial_fit(rows)
        with pytest.raises(InputError, match=said):
            KernelPCA(2).fit(rows)
    assert (model.n_rows_seen_, len(model.sample_)) == (100, 100)
    assert model.partial_fit(np.load(tmp_path / "x.npy", mmap_mode="r")).n_rows_seen_ == 400
