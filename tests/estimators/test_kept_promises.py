"""Guarantees at their edges: held-out rows of the fit, groups, one signature, parameters changed after the fit."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import torch

import rkhs
from rkhs import (
    DeepRKM,
    FunctionalKernelRegressor,
    InputOutputKernelRegressor,
    KernelAutoencoder,
    KernelContrastive,
    KernelNovelty,
    KernelPCA,
    OperatorKernelRegressor,
    OperatorKernelRegressorCV,
)
from rkhs.errors import InputError
from rkhs.features import Nystroem

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(40, 3)), RNG.normal(size=(12, 3))
Y = np.stack([X[:, 0], np.sin(X[:, 1])], 1) + 0.1 * RNG.normal(size=(40, 2))
TEXTS = ["".join(RNG.choice(list("acgt"), 12)) for _ in range(30)]
COPIES = "items of held_out equal training items"

REGRESSORS = {
    "dense": OperatorKernelRegressor(),
    "robust": OperatorKernelRegressor(loss="huber", reg=1e-2),
    "operator": OperatorKernelRegressor(operator="covariance", reg=1e-2),
    "landmarks": OperatorKernelRegressor(storage=Nystroem(40, random_state=0), reg=1e-2),
    "scaled": OperatorKernelRegressor(columns="scaled"),
    "single": OperatorKernelRegressor(dtype="float32"),
    "linear": OperatorKernelRegressor("linear", reg=1e-2),
    "chosen": OperatorKernelRegressorCV(),
    "curves": FunctionalKernelRegressor(),
}


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", REGRESSORS)
def test_held_out_rows_of_the_fit_are_named_and_not_promised(name: str) -> None:
    model = REGRESSORS[name].fit(X, Y)
    targets = np.zeros((12, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.predict_set(NEW, held_out=(NEW, targets)).guarantee == "at least"
    with pytest.warns(UserWarning, match=f"3 of 15 {COPIES}"):
        found = model.predict_set(NEW, held_out=(np.r_[NEW, X[:3]], np.r_[targets, Y[:3]]))
    assert found.guarantee == "about"


def test_held_out_items_of_the_fit_are_named_for_candidates_codes_and_texts() -> None:
    lists, places = [Y[:5]] * 6, np.zeros(6, dtype=int)
    model = InputOutputKernelRegressor().fit(X, Y)
    with pytest.warns(UserWarning, match=f"6 of 6 {COPIES}"):
        assert model.predict_set(NEW, Y[:5], held_out=(X[:6], places, lists)).guarantee == "about"
    encoder = KernelAutoencoder(2).fit(X)
    codes = encoder.transform(NEW)
    with pytest.warns(UserWarning, match=f"4 of 4 {COPIES}"):
        assert encoder.decode_set(codes, NEW, X[:4]).guarantee == "about"
    assert encoder.decode_set(codes, NEW, NEW).guarantee == "at least"
    texts = OperatorKernelRegressor("spectrum").fit(TEXTS[:20], Y[:20, 0])
    with pytest.warns(UserWarning, match=f"2 of 12 {COPIES}"):
        texts.predict_set(TEXTS[20:], held_out=(TEXTS[18:], Y[18:30, 0]))


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "model",
    [OperatorKernelRegressor(), OperatorKernelRegressorCV(), InputOutputKernelRegressor()],
    ids=["one", "cv", "candidates"],
)
def test_after_a_fit_of_groups_sets_are_those_of_the_model_file(model: Any, tmp_path: Path) -> None:
    groups = np.repeat(np.arange(10), 4)
    candidates = isinstance(model, InputOutputKernelRegressor)
    before = model.fit(X, Y if candidates else Y[:, 0], groups=groups).predict_set(NEW)
    rkhs.save(model, tmp_path / "model.rkhs")
    after = rkhs.load(tmp_path / "model.rkhs").predict_set(NEW)
    names = ("members",) if candidates else ("lower", "upper")
    assert all(np.array_equal(getattr(before, name), getattr(after, name)) for name in names)
    alone = model.fit(X, Y if candidates else Y[:, 0]).predict_set(NEW)
    assert candidates or not np.array_equal(alone.upper, after.upper)


def test_coverage_is_an_argument_by_name_wherever_sets_are_made() -> None:
    methods = [
        getattr(one, name)
        for one in (getattr(rkhs, name) for name in dir(rkhs))
        for name in ("predict_set", "decode_set")
        if hasattr(one, name)
    ]
    assert len(methods) >= 5
    for method in methods:
        coverage = inspect.signature(method).parameters["coverage"]
        assert (coverage.kind, coverage.default) == (inspect.Parameter.KEYWORD_ONLY, 0.9)


def test_parameters_of_answers_may_change_after_the_fit(tmp_path: Path) -> None:
    model = KernelNovelty().fit(X)
    rows = np.r_[X, 2.0 * NEW]
    for alpha in (0.2, 0.05, 0.5):
        model.set_params(alpha=alpha)
        other = KernelNovelty(alpha=alpha).fit(X)
        np.testing.assert_array_equal(model.predict(rows), other.predict(rows))
        assert model.offset_ == other.offset_
        rkhs.save(model, tmp_path / "model.rkhs")
        assert rkhs.load(tmp_path / "model.rkhs").offset_ == other.offset_
    with pytest.raises(InputError, match="alpha must be"):
        model.set_params(alpha=2.0).predict(rows)
    labels = InputOutputKernelRegressor().fit(X, (Y > 0.0).astype(float))
    for decoding in ("candidates", "cardinality", "labels"):
        labels.set_params(decoding=decoding)
        other = InputOutputKernelRegressor(decoding=decoding).fit(X, (Y > 0.0).astype(float))
        np.testing.assert_array_equal(labels.predict(NEW), other.predict(NEW))
        assert labels.multilabel_ == other.multilabel_
    with pytest.raises(InputError, match="decoding must be one of"):
        labels.set_params(decoding="words").predict(NEW)
    with pytest.raises(InputError, match="needs output_kernel='linear' and outputs of zeros and ones"):
        InputOutputKernelRegressor().fit(X, Y).set_params(decoding="labels").predict(NEW)


TINY = {
    "dense": OperatorKernelRegressor(),
    "fixed": OperatorKernelRegressor(reg=1e-2),
    "not centred": OperatorKernelRegressor(center=False),
    "landmarks": OperatorKernelRegressor(storage=Nystroem(20)),
    "robust": OperatorKernelRegressor(loss="huber"),
    "chosen": OperatorKernelRegressorCV(loss="epsilon_insensitive", cv=3),
    "curves": FunctionalKernelRegressor(),
    "outputs": InputOutputKernelRegressor(),
}


@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("size", [1e-160, 1e-300])
def test_targets_whose_squares_vanish_are_refused(name: str, size: float) -> None:
    with pytest.raises(InputError, match=r"y must vary by more than 1e-151, or not at all; got a largest spread of"):
        TINY[name].fit(X, Y * size)


def test_other_targets_whose_squares_vanish_are_refused() -> None:
    gapped = Y * 1e-200
    gapped[:4, 0] = np.nan
    with pytest.raises(InputError, match="y must vary by more than"):
        OperatorKernelRegressor().fit(X, gapped)
    with pytest.raises(InputError, match="targets must vary by more than"):
        KernelAutoencoder(2).fit(X, targets=Y * 1e-200)
    with pytest.raises(InputError, match="y must vary by more than"):
        OperatorKernelRegressor(center=False).fit(X, np.full(40, 1e-200))
    with pytest.raises(InputError, match="y must vary by more than 1e-16"):
        OperatorKernelRegressor(dtype="float32").fit(X, Y * 1e-20)
    model = OperatorKernelRegressor().fit(X, np.full(40, 1e-200))
    assert model.predict(NEW) == pytest.approx(1e-200, rel=1e-9)
    small = OperatorKernelRegressor().fit(X, Y * 1e-145)
    np.testing.assert_allclose(small.predict(NEW) * 1e145, OperatorKernelRegressor().fit(X, Y).predict(NEW), rtol=1e-6)


MAPPED = {
    "autoencoder": KernelAutoencoder(2, max_iter=5),
    "deep": KernelAutoencoder((3, 2), reg=1e-2, max_iter=5),
    "landmarks": KernelAutoencoder(2, storage=Nystroem(15), max_iter=5),
    "sphere": KernelAutoencoder(2, constraint="sphere", storage=Nystroem(15), reg=1e-3, max_iter=5),
    "components": KernelPCA(2, columns="scaled"),
    "machine": DeepRKM([2], max_iter=5),
    "contrastive": KernelContrastive(2, max_iter=5),
    "novelty": KernelNovelty(),
    "regressor": OperatorKernelRegressor(),
    "chosen": OperatorKernelRegressorCV(),
    "outputs": InputOutputKernelRegressor(),
}


@pytest.mark.sample(2)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", MAPPED)
def test_models_and_rows_may_lie_in_memory_that_cannot_be_written(name: str, tmp_path: Path) -> None:
    def mapped(value: Any) -> Any:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        joblib.dump(value, path)
        return joblib.load(path, mmap_mode="r")

    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        model = mapped(MAPPED[name].fit(mapped(X), mapped(Y)))
        rows = mapped(NEW)
        for method in ("transform", "predict", "reconstruction_error", "p_values", "predict_set", "differences"):
            if hasattr(model, method):
                getattr(model, method)(rows)
        if hasattr(model, "inverse_transform"):
            codes = mapped(model.transform(rows))
            assert np.isfinite(model.inverse_transform(codes)).all()
        if hasattr(model, "decode_set"):
            model.decode_set(codes, rows, rows)
    finally:
        torch.set_warn_always(before)


@pytest.mark.slow
def test_a_row_alone_has_the_result_that_it_has_with_others() -> None:
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(60, 4)), rng.normal(size=(10, 4))
    methods = [KernelPCA(2).fit(X).transform, KernelAutoencoder(2).fit(X).transform]
    methods += [OperatorKernelRegressor("gaussian").fit(X, X[:, 0] ** 2).predict]
    for compute, rounding in [*((one, 1e-12) for one in methods), (rkhs.KernelMap().fit(X).transform, 0.0)]:
        together, alone = compute(new), np.concatenate([compute(row[None]) for row in new])
        assert abs(together - alone).max() <= rounding * abs(together).max()
