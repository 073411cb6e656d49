"""Features of a kernel on landmarks with free linear parts: every item has a code of its own."""

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.exceptions import ConvergenceWarning

import rkhs
from rkhs import KernelAutoencoder
from rkhs.estimators.autoencoder import opened_rows, staged_rows, streams as autoencoder_streams
from rkhs.features import Nystroem
from rkhs.kernels import Gaussian, Tanimoto
from tests.estimators.test_autoencoder_rows import curved

X, NEW = curved(200), curved(60, seed=1)
REG = (1e-4, 1e-4)
LETTERS = np.array(list("acgt"))
WORDS = ["".join(LETTERS[np.random.default_rng(i).integers(0, 2 + i % 3, 12)]) for i in range(80)]


def fitted(items: Any = X, **options: Any) -> KernelAutoencoder:
    given = {"kernel": Gaussian(0.3), "output_kernel": "same", "storage": Nystroem(40), "reg": REG, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return KernelAutoencoder(2, **{**given, **options}).fit(items)


MODEL = fitted()


def share(model: KernelAutoencoder, items: Any) -> float:
    return float(model.reconstruction_error(items).mean() / model._target_spread(items).mean())


def test_new_items_are_rebuilt_better_than_with_kernel_parts_alone() -> None:
    assert share(MODEL, NEW) < 0.8 * share(fitted(linear_part="kernel"), NEW)
    assert share(MODEL, NEW) < share(MODEL.set_params(refine=False), NEW)
    MODEL.set_params(refine=True)


def test_an_error_is_the_distance_of_two_features() -> None:
    k, codes, kept = MODEL.kernel_, MODEL.transform(NEW), MODEL.support_items_
    b = MODEL.inverse_transform(codes)
    apart = np.diag(k(NEW)) - 2.0 * (b * k(NEW, kept)).sum(1) + ((b @ k(kept)) * b).sum(1)
    np.testing.assert_allclose(MODEL.reconstruction_error(NEW), apart, rtol=1e-7)
    np.testing.assert_allclose(MODEL.reconstruction_error(NEW, codes=codes), apart, rtol=1e-7)
    ranked = MODEL.decode(codes, NEW, by="features")
    own = np.take_along_axis(ranked.distances, np.argmax(ranked.indices == np.arange(60)[:, None], 1)[:, None], 1)
    np.testing.assert_allclose(own[:, 0], apart, rtol=1e-7)
    assert np.mean(MODEL.decode(codes, NEW, n_best=1).indices[:, 0] == np.arange(60)) == 1.0


def test_the_objective_is_that_of_all_of_the_features() -> None:
    last, left = MODEL.model_.last, MODEL.reconstruction_error(X, codes=MODEL.codes_).mean()
    A, C, f = last.anchors, last.coefficients, MODEL.output_.scale
    penalty = 0.5 * REG[1] * float(((last.kernel(A) @ C) * C).sum())
    assert MODEL.objective_ > 0.5 * left / f**2 + penalty
    assert MODEL.objective_ < 0.5


def test_the_step_of_a_new_item_is_that_of_least_cost() -> None:
    model, codes = MODEL.model_, MODEL.transform(NEW[:20])
    start = MODEL.set_params(refine=False).transform(NEW[:20])
    MODEL.set_params(refine=True)
    turn = np.eye(2) if model.code_map is None else np.linalg.inv(model.code_map)
    f = MODEL.output_.scale

    def cost(Z: np.ndarray) -> np.ndarray:
        lost = MODEL.reconstruction_error(NEW[:20], codes=Z) / f**2
        return lost / (2.0 * len(X)) + 0.5 * REG[0] * (((Z - start) @ turn) ** 2).sum(1)

    least = cost(codes)
    assert (least <= 1.01 * cost(start)).all()  # found by the leading directions of the targets
    for step in np.random.default_rng(0).normal(size=(8, 2)):
        assert (least <= 1.01 * cost(codes + 0.1 * codes.std(0) * step)).all()


def test_objects_and_files(tmp_path: Path) -> None:
    for items, kernel in ((WORDS, "spectrum"), ((X > 0).astype(float), Tanimoto())):
        model = fitted(items, kernel=kernel)
        codes = model.transform(items[:9])
        rkhs.save(model, tmp_path / "model.rkhs")
        for again in (pickle.loads(pickle.dumps(model)), rkhs.load(tmp_path / "model.rkhs")):
            np.testing.assert_array_equal(again.transform(items[:9]), codes)
            np.testing.assert_array_equal(again.reconstruction_error(items), model.reconstruction_error(items))
        assert model.decode(codes, items[:9], n_best=3).indices.shape == (9, 3)


def test_weights_are_repeated_items() -> None:
    w = 1 + np.arange(60) % 2
    one = KernelAutoencoder(2, kernel=Gaussian(0.3), output_kernel="same", storage=Nystroem(200), reg=REG)
    weighted = one.fit(X[:60], sample_weight=w).objective_
    assert weighted == pytest.approx(one.fit(np.repeat(X[:60], w, 0)).objective_, rel=0.05)


@pytest.mark.usefixtures("long_fits")
def test_single_precision_and_threads_give_the_same_model() -> None:
    np.testing.assert_allclose(
        fitted(X.astype(np.float32)).codes_, MODEL.codes_, atol=2e-2 * np.abs(MODEL.codes_).max()
    )
    np.testing.assert_array_equal(fitted(engine="threads").codes_, MODEL.codes_)


def test_a_regulariser_is_chosen_by_all_of_the_error() -> None:
    chosen = fitted(reg=None)
    assert chosen.reg_ in [tuple(one) for one in chosen.candidates_]
    few = fitted(reg=None, storage=Nystroem(5))  # most of a feature is outside of the span
    assert few.held_out_error_ == pytest.approx(share(few, NEW), rel=0.3)


@pytest.mark.usefixtures("long_fits")
def test_rows_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "rows.npy", X)
    rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
    np.testing.assert_allclose(fitted(rkhs.engines.as_rows(rows)).codes_, MODEL.codes_, atol=1e-9)
    for module in (autoencoder_streams, staged_rows, opened_rows):
        monkeypatch.setattr(module, "MAX_ENCODER_ROWS", 120)
    sampled = fitted(rkhs.engines.as_rows(rows))
    assert sampled.codes_.shape == (200, 2)
    assert share(sampled, NEW) < 1.5 * share(MODEL, NEW)


def test_more_items_than_are_descended_on_are_coded_as_new_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (staged_rows, opened_rows):
        monkeypatch.setattr(module, "MAX_ENCODER_ROWS", 120)
    few = fitted()
    assert share(few, NEW) < 1.5 * share(MODEL, NEW)
    assert torch.isfinite(torch.tensor(few.codes_)).all()
