"""``columns="scaled"`` is the same model of rows that were standardised before, in the units of the data."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rkhs
from rkhs import (
    DeepRKM,
    KernelAutoencoder,
    KernelContrastive,
    KernelPCA,
    OperatorKernelRegressor,
    OperatorKernelRegressorCV,
)
from rkhs._core.arrays import warn_of_one_column
from rkhs._core.errors import ColumnWarning, InputError
from rkhs.features import Nystroem
from rkhs.kernels import Gaussian, ScaledInputs

RNG = np.random.default_rng(1)
UNITS = np.array([1e-3, 1.0, 40.0, 1e4])
LATENT = RNG.normal(size=(60, 2))
X = (np.tanh(LATENT @ RNG.normal(size=(2, 4))) + 0.1 * RNG.normal(size=(60, 4))) * UNITS + 3.0 * UNITS
NEW = X[:7] + 0.1 * UNITS * RNG.normal(size=(7, 4))
MEAN, SD = X.mean(0), X.std(0)


def scaled(rows: np.ndarray) -> np.ndarray:
    return (rows - MEAN) / SD


CODERS: list[tuple[type, dict[str, Any]]] = [
    (KernelAutoencoder, {}),
    (KernelAutoencoder, {"output_kernel": "same", "reg": 1e-2}),
    (KernelAutoencoder, {"storage": Nystroem(20, random_state=0), "reg": (1e-4, 1e-4)}),
    (KernelPCA, {}),
    (KernelPCA, {"preimage": "fixed_point"}),
    (DeepRKM, {"max_iter": 500}),
    (KernelContrastive, {}),
]


@pytest.mark.sample(4)
@pytest.mark.parametrize(("cls", "options"), CODERS, ids=lambda value: getattr(value, "__name__", str(value)))
def test_codes_and_rows_are_those_of_standardised_data(cls: type, options: dict[str, Any]) -> None:
    model = cls(2, columns="scaled", **options).fit(X)
    twin = cls(2, **options).fit(scaled(X))
    close = {"rtol": 1e-5, "atol": 1e-6}
    np.testing.assert_allclose(model.codes_, twin.codes_, **close)
    np.testing.assert_allclose(model.transform(NEW), twin.transform(scaled(NEW)), **close)
    if hasattr(model, "reconstruction_error"):
        errors = twin.reconstruction_error(scaled(NEW))
        np.testing.assert_allclose(model.reconstruction_error(NEW), errors, **close)
    if hasattr(model, "inverse_transform") and "output_kernel" not in options:
        back = model.inverse_transform(model.codes_[:7])
        np.testing.assert_allclose(scaled(back), twin.inverse_transform(twin.codes_[:7]), **close)
    if hasattr(model, "decode"):
        for given, theirs in ((None, None), (NEW, scaled(NEW))):
            if given is None and not model.map_.whole:
                continue
            found = model.decode(model.codes_[:5], given)
            expected = twin.decode(twin.codes_[:5], theirs)
            np.testing.assert_array_equal(found.indices, expected.indices)
            np.testing.assert_allclose(found.distances, expected.distances, **close)


@pytest.mark.parametrize("cls", [OperatorKernelRegressor, OperatorKernelRegressorCV])
def test_predictions_are_those_of_standardised_data(cls: type) -> None:
    y = X[:, 0]
    model = cls(columns="scaled").fit(X[:, 1:], y)
    twin = cls().fit(scaled(X)[:, 1:], y)
    np.testing.assert_allclose(model.predict(NEW[:, 1:]), twin.predict(scaled(NEW)[:, 1:]), rtol=1e-9)


def test_bounds_of_preimages_are_in_the_units_of_the_data() -> None:
    model = KernelAutoencoder(2, columns="scaled", output_kernel="same").fit(X)
    low, high = np.quantile(X, [0.2, 0.8], axis=0)
    found = model.preimages(model.codes_[:5], bounds=(low, high))
    assert (found >= low).all()
    assert (found <= high).all()
    assert (np.abs(scaled(found)) > 1e-3).any()


def test_denoising_gives_the_units_of_the_data() -> None:
    model = DeepRKM((2, 1), columns="scaled", max_iter=500).fit(X)
    for layer in (1, 2):
        errors = np.abs(scaled(model.denoise(NEW, layer=layer)) - scaled(NEW))
        assert errors.mean() < 1.0


def test_a_saved_model_scales_as_before(tmp_path: Path) -> None:
    model = KernelAutoencoder(2, columns="scaled").fit(X)
    rkhs.save(model, tmp_path / "model.rkhs")
    again = rkhs.load(tmp_path / "model.rkhs")
    np.testing.assert_array_equal(again.transform(NEW), model.transform(NEW))
    np.testing.assert_array_equal(again.inverse_transform(model.codes_), model.inverse_transform(model.codes_))


def test_constant_columns_come_back() -> None:
    flat = np.column_stack([X, np.full(60, 1e9 / 3.0)])
    model = KernelPCA(2, columns="scaled").fit(flat)
    np.testing.assert_allclose(model.inverse_transform(model.codes_)[:, 4], 1e9 / 3.0, rtol=1e-12)
    assert model.reader_.scaling.scale[4] == 1.0


def test_the_next_fit_forgets_the_scales() -> None:
    model = KernelPCA(2, columns="scaled").fit(X)
    model.set_params(columns="raw").fit(scaled(X))
    np.testing.assert_array_equal(model.codes_, KernelPCA(2).fit(scaled(X)).codes_)
    assert model.reader_.scaling is None


def test_rows_of_single_precision_are_scaled_in_double() -> None:
    model, rows = KernelPCA(2, columns="scaled").fit(X), X[:9].astype(np.float32)
    np.testing.assert_array_equal(model.transform(rows), model.transform(rows.astype(np.float64)))


def test_single_precision_stays_single() -> None:
    model = KernelPCA(2, columns="scaled", dtype="float32").fit(X.astype(np.float32))
    assert model.inverse_transform(model.codes_).dtype == np.float32
    np.testing.assert_allclose(scaled(model.inverse_transform(model.codes_)).std(0), 1.0, atol=0.5)


@pytest.mark.parametrize("cls", [KernelAutoencoder, KernelPCA, OperatorKernelRegressorCV])
def test_one_wide_column_is_said_once(cls: type) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cls().fit(X, X[:, 1])
    said = [str(w.message) for w in caught if issubclass(w.category, ColumnWarning)]
    assert len(said) == 1
    assert said[0].startswith("column 3 holds 99.9 % of the variance of X")
    assert "pass columns='scaled'" in said[0]


def test_the_wide_column_is_called_by_its_name() -> None:
    pandas = pytest.importorskip("pandas", reason="frames need pandas")
    with pytest.warns(ColumnWarning, match=r"column 'd' holds 99\.9 %"):
        KernelPCA(2).fit(pandas.DataFrame(X, columns=list("abcd")))


def test_the_share_of_a_column_does_not_overflow() -> None:
    with pytest.warns(ColumnWarning, match=r"^column 3 holds 99\.9 %"):
        warn_of_one_column(X / X[:, 3].std() * 1e153, None, "scale it")


def test_nothing_is_said_of_columns_in_units_of_the_user() -> None:
    KernelPCA(2, kernel=ScaledInputs(Gaussian(), 1.0 / SD)).fit(X)
    KernelPCA(2).fit(scaled(X))


def test_what_has_no_columns_in_memory_is_refused(tmp_path: Path) -> None:
    K = scaled(X) @ scaled(X).T
    with pytest.raises(InputError, match=r"columns='scaled' is for rows of numbers in memory; got a Gram matrix"):
        KernelPCA(2, kernel="precomputed", columns="scaled").fit(K)
    with pytest.raises(InputError, match=r"got items that are no rows of numbers"):
        KernelPCA(2, kernel="spectrum", columns="scaled").fit(["abcd", "bcde", "cdef"])
    np.save(tmp_path / "rows.npy", X)
    rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
    with pytest.raises(InputError, match=r"got a stream"):
        KernelPCA(2, columns="scaled", storage=Nystroem(10)).fit(rows)
    with pytest.raises(InputError, match=r"with targets= scale both before fit"):
        KernelAutoencoder(2, columns="scaled").fit(X, targets=X)
    with pytest.raises(InputError, match="columns must be one of"):
        KernelPCA(2, columns="robust").fit(X)


def test_streams_are_encoded_in_the_scales_of_the_fit(tmp_path: Path) -> None:
    model = KernelPCA(2, columns="scaled", storage=Nystroem(20, random_state=0)).fit(X)
    np.save(tmp_path / "rows.npy", NEW)
    rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
    np.testing.assert_allclose(model.transform(rows), model.transform(NEW), rtol=1e-12)
