"""An autoencoder in finite features with free linear parts: every row has a code of its own."""

import pickle
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

import rkhs
from rkhs import KernelAutoencoder
from rkhs._core.errors import InputError
from rkhs.augment import GaussianNoise
from rkhs.constraints import SoftSphere, Whitened
from rkhs.engines import Threads, as_rows
from rkhs.estimators.autoencoder import (
    choice_on_landmarks as autoencoder_rows,
    defaults,
    staged_rows,
    streams as autoencoder_streams,
)
from rkhs.estimators.autoencoder.opened_rows import ordered_rows
from rkhs.features import Nystroem, RandomFeatures, WholeMap
from rkhs.kernels import Gaussian
from rkhs.losses import Ball, EpsilonInsensitive, Huber, Loss, Power, SquaredEpsilonInsensitive
from rkhs.problems.semiparametric import PrincipalCoordinates
from studies.reliability.cluster_kills import digest
from tests.estimators.unfinished_fits import fit, fit_once


def curved(n: int, seed: int = 0) -> np.ndarray:
    r = np.random.default_rng(seed)
    maps = np.random.default_rng(9).normal(size=(2, 8))
    return np.sin(r.normal(size=(n, 2)) @ maps) + 0.05 * r.normal(size=(n, 8))


X, NEW = curved(200), curved(100, seed=1)
MORE = curved(300)
REG = (1e-4, 1e-4)
FEATURES = [Nystroem(40), RandomFeatures(60)]


def plain_model() -> KernelAutoencoder:
    return fit_once(KernelAutoencoder(2, storage=Nystroem(40), reg=REG), X)


@pytest.fixture(params=FEATURES, ids=repr)
def model(request: pytest.FixtureRequest) -> KernelAutoencoder:
    return fit_once(KernelAutoencoder(2, storage=request.param, reg=REG, tol=1e-2), X)


def share(model: Any, rows: np.ndarray) -> float:
    return float(model.reconstruction_error(rows).mean() / ((rows - X.mean(0)) ** 2).sum(1).mean())


@pytest.mark.sample(1)
def test_new_rows_are_rebuilt_better_than_with_kernel_parts_alone(model: KernelAutoencoder) -> None:
    kernel = fit_once(KernelAutoencoder(2, storage=model.storage, linear_part="kernel", reg=REG), X)
    components = PCA(2).fit(X)
    left = ((NEW - components.inverse_transform(components.transform(NEW))) ** 2).sum(1).mean()
    assert share(model, NEW) < 0.8 * share(kernel, NEW)
    assert model.reconstruction_error(NEW).mean() < 0.5 * left
    assert model.model_.linear is not None
    assert kernel.model_.linear is None
    assert kernel.map_ is not None
    plain = share(model.set_params(refine=False), NEW)
    assert share(model.set_params(refine=True), NEW) < plain


def test_codes_are_those_of_new_rows(model: KernelAutoencoder) -> None:
    near = np.abs(model.transform(X) - model.codes_).max(1) / model.codes_.std()
    assert np.median(near) < 0.02  # the decoder in the end has more anchors than the one that found them
    np.testing.assert_allclose(
        model.reconstruction_error(NEW), ((model.inverse_transform(model.transform(NEW)) - NEW) ** 2).sum(1), rtol=1e-6
    )
    np.testing.assert_allclose(model.transform(NEW)[:7], model.transform(NEW[:7]), rtol=1e-6)
    assert model.layer_codes_[0].shape == (len(model.support_), 2)


def test_a_model_from_a_file_says_the_same(model: KernelAutoencoder, tmp_path: Path) -> None:
    rkhs.save(model, tmp_path / "m.rkhs")
    for again in (rkhs.load(tmp_path / "m.rkhs"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.transform(NEW), model.transform(NEW))
        np.testing.assert_array_equal(
            again.inverse_transform(model.codes_[:5]), model.inverse_transform(model.codes_[:5])
        )
    assert clone(model).get_params()["linear_part"] == "auto"


def test_engines_and_threads_give_the_same_bits() -> None:
    def fitted(**options: Any) -> str:
        model = KernelAutoencoder(2, storage=Nystroem(30), reg=REG, max_iter=5, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return digest(model.fit(X))

    expected = fitted()
    assert fitted(engine="serial") == fitted(engine=Threads(2)) == expected


def test_stages_grow_and_rows_beyond_the_last_are_coded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staged_rows, "FIRST", 60)
    assert staged_rows.stage_sizes(200) == [60, 120, 200]
    whole = KernelAutoencoder(2, storage=Nystroem(40), reg=REG).fit(X)
    assert sorted({row["rows"] for row in whole.history_}) == [60, 120, 200]
    monkeypatch.setattr(staged_rows, "MAX_ENCODER_ROWS", 130)
    assert staged_rows.stage_sizes(200) == [60, 130]
    part = KernelAutoencoder(2, storage=Nystroem(40), reg=REG).fit(X)
    assert part.codes_.shape == (200, 2)
    assert part.model_.penalty.total == 130.0
    assert share(part, NEW) < 1.5 * share(whole, NEW)


@pytest.mark.usefixtures("all_candidates")
def test_regularisers_are_chosen_on_rows_that_follow() -> None:
    model = KernelAutoencoder(2, storage=Nystroem(40)).fit(X)
    errors = model.candidate_errors_
    assert model.reg_ == tuple(model.candidates_[np.argmax(errors <= 1.01 * np.nanmin(errors))])
    assert 1 / 3 < model.held_out_error_ / share(model, NEW) < 3.0
    assert min(model.candidates_[:, 0]) == 1e-4
    many = KernelAutoencoder(3, storage=Nystroem(40)).fit(X)
    assert share(many, NEW) < share(model, NEW)
    few = KernelAutoencoder(2, storage=Nystroem(40)).fit(X[:10])
    assert few.candidates_ is None


@pytest.mark.usefixtures("all_candidates")
@pytest.mark.slow
def test_candidates_are_compared_with_fewer_anchors(monkeypatch: pytest.MonkeyPatch) -> None:
    many = KernelAutoencoder(2, storage=Nystroem(40)).fit(X)
    monkeypatch.setattr(autoencoder_rows, "_FEW_ANCHORS", 15)
    few = KernelAutoencoder(2, storage=Nystroem(40)).fit(X)
    assert len(few.support_) == len(many.support_) == 120
    assert np.nanmin(few.candidate_errors_) > 1.05 * np.nanmin(many.candidate_errors_)
    assert share(few, NEW) < 1.5 * share(many, NEW)


def test_weights_are_relative_and_their_sum_is_the_number_of_rows() -> None:
    options: dict[str, Any] = {"storage": Nystroem(40), "reg": REG}
    plain = plain_model()
    same = KernelAutoencoder(2, **options).fit(X, sample_weight=np.ones(200))
    np.testing.assert_allclose(same.codes_, plain.codes_)
    w = np.where(np.arange(200) < 140, 1.0, 0.0)
    kept = KernelAutoencoder(2, **options).fit(X, sample_weight=w)
    np.testing.assert_allclose(kept.codes_, KernelAutoencoder(2, **options).fit(X[:140]).codes_)
    heavy = np.where(np.arange(200) < 20, 20.0, 1.0)
    model = KernelAutoencoder(2, **options).fit(X, sample_weight=heavy)
    assert model.model_.penalty.total == pytest.approx(heavy.sum())
    rebuilt = ((model.inverse_transform(model.codes_) - X) ** 2).sum(1)
    before = ((plain.inverse_transform(plain.codes_) - X) ** 2).sum(1)
    assert rebuilt[:20].mean() < before[:20].mean()


def test_other_targets_and_plain_codes_have_no_codes_of_their_own() -> None:
    model = KernelAutoencoder(2, storage=Nystroem(40), reg=REG).fit(X, targets=X[:, :3])
    assert model.inverse_transform(model.codes_).shape == (200, 3)
    np.testing.assert_allclose(model.transform(X), model.codes_, atol=1e-6)
    plain = KernelAutoencoder(2, storage=Nystroem(40), reg=REG, refine=False).fit(X)
    np.testing.assert_allclose(plain.transform(X), plain.codes_, atol=1e-6)
    assert plain.reconstruction_error(X).mean() < 0.2 * X.var(0).sum()


def test_a_fit_starts_from_the_last_one() -> None:
    model = KernelAutoencoder(2, storage=Nystroem(40), reg=REG, warm_start=True).fit(X)
    first = model.objective_
    assert model.fit(X).objective_ < first * 1.001
    assert model.history_[0]["value"] < 2.0 * first


def test_rows_of_few_columns_and_wide_rows() -> None:
    one = KernelAutoencoder(2, storage=Nystroem(20), reg=REG).fit(X[:, :1])
    assert one.codes_.shape == (200, 2)
    wide = np.tile(X, (1, 60))[:40] + 0.1 * np.random.default_rng(0).normal(size=(40, 480))
    model = KernelAutoencoder(2, storage=Nystroem(20), reg=REG).fit(wide)
    assert model.model_.penalty.directions is not None
    assert model.inverse_transform(model.codes_).shape == (40, 480)
    assert share_of(model, wide) < 0.5


def share_of(model: Any, rows: np.ndarray) -> float:
    return float(model.reconstruction_error(rows).mean() / rows.var(0).sum())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solver": "adam"}, "solver='adam' needs storage='dense'"),
        ({"noise": GaussianNoise(), "constraint": "sphere"}, "noise with constraint='sphere' needs storage='dense'"),
        ({"kernel": "precomputed"}, "linear_part='free' of a Gram matrix needs storage='dense'"),
        ({"output_kernel": "laplacian"}, "an output_kernel that is not the input kernel needs storage='dense'"),
        ({"loss": Power(3.0)}, "needs storage='dense'; use loss='huber'"),
        ({"constraint": "sphere", "linear_part": "kernel"}, "constraint='sphere' beside linear_part='kernel' needs"),
        ({"constraint": "sphere", "n_components": (3, 2)}, "several layers needs storage='dense'"),
    ],
)
def test_what_is_not_there_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        KernelAutoencoder(**{"n_components": 2, "storage": Nystroem(20), "linear_part": "free", **options}).fit(X)


def test_rows_of_files_have_the_model_of_rows_in_memory(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", MORE)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    w = np.where(np.arange(300) % 3 == 0, 0.0, 1.0 + np.arange(300) % 2)
    options: dict[str, Any] = {"storage": Nystroem(20), "reg": REG, "max_iter": 5}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        plain, streamed = (KernelAutoencoder(2, **options).fit(rows) for rows in (MORE, mapped))
        assert digest(streamed) == digest(plain)
        weighted = KernelAutoencoder(2, **options).fit(mapped, sample_weight=w)
        kept = KernelAutoencoder(2, **options).fit(MORE, sample_weight=w)
        own = KernelAutoencoder(2, storage=Nystroem(20), linear_part="free", kernel=Gaussian(0.2), reg=REG).fit(MORE)
    np.testing.assert_allclose(weighted.reconstruction_error(NEW), kept.reconstruction_error(NEW), rtol=1e-6)
    np.testing.assert_allclose(weighted.codes_[w > 0.0], kept.codes_)
    apart = np.abs(weighted.codes_[w == 0.0] - weighted.transform(MORE[w == 0.0])).max(1)
    assert 0.0 < np.median(apart) < 1e-4  # in single precision
    assert apart.max() < 1e-2
    assert own.kernel_ == Gaussian(0.2)


def test_of_many_rows_of_a_file_a_sample_is_fitted_and_all_are_coded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save(tmp_path / "x.npy", X)
    monkeypatch.setattr(autoencoder_streams, "MAX_ENCODER_ROWS", 130)
    monkeypatch.setattr(autoencoder_streams, "BLOCK", 64)
    options: dict[str, Any] = {"storage": Nystroem(40), "reg": REG}
    model = KernelAutoencoder(2, **options).fit(as_rows(tmp_path / "x.npy"))
    whole = plain_model()
    assert model.codes_.shape == (200, 2)
    assert len(set(model.support_)) == len(model.support_) > 100
    assert model.support_.max() > 140
    assert model.model_.penalty.total == 130.0
    near = np.abs(model.transform(X) - model.codes_).max(1) / model.codes_.std()
    assert np.median(near) < 0.02
    assert share(model, NEW) < 2.0 * share(whole, NEW)
    threads = KernelAutoencoder(2, **options, engine=Threads(2)).fit(as_rows(tmp_path / "x.npy"))
    assert digest(threads) == digest(model)
    w = np.where(np.arange(200) < 140, 1.0, 0.0)
    weighted = KernelAutoencoder(2, **options).fit(as_rows(tmp_path / "x.npy"), sample_weight=w)
    assert weighted.support_.max() < 140
    assert weighted.model_.penalty.total == pytest.approx(130.0)
    assert weighted.codes_.shape == (200, 2)


ROBUST = [Huber(0.3), EpsilonInsensitive(0.1), SquaredEpsilonInsensitive(0.02), "huber"]


@pytest.mark.sample(2)
@pytest.mark.parametrize("loss", ROBUST, ids=repr)
def test_a_robust_loss_fits_and_says_so(loss: Any) -> None:
    model = KernelAutoencoder(2, storage=Nystroem(40), reg=REG, loss=loss).fit(X)
    assert model.model_.linear is not None
    assert not model.loss_.automatic
    assert share(model, NEW) < 0.1
    assert not hasattr(model, "gap_")
    U = (X - X.mean(0)) / np.sqrt(X.var(0).sum())
    R = U - model.model_.decode(model.model_.from_user(torch.tensor(model.codes_))).numpy()
    far = np.linalg.norm(R, axis=1) > (model.loss_.kappa if isinstance(model.loss_, Huber) else model.loss_.epsilon)
    if not isinstance(model.loss_, SquaredEpsilonInsensitive):
        np.testing.assert_array_equal(model.saturated_, np.flatnonzero(far))
    lost = float(model.loss_.value(torch.from_numpy(R)).mean())
    assert lost < model.objective_ < lost + 0.1


def test_powers_up_to_two_fit_too() -> None:
    options: dict[str, Any] = {"storage": Nystroem(40), "reg": REG}
    squared, other = (KernelAutoencoder(2, loss=Power(eta), **options).fit(X) for eta in (2.0, 1.5))
    plain = plain_model()
    assert share(squared, NEW) < 1.1 * share(plain, NEW)
    assert share(other, NEW) < 0.1
    assert len(other.saturated_) == 0
    U = (X - X.mean(0)) / np.sqrt(X.var(0).sum())
    said = other.model_.decode(other.model_.from_user(torch.tensor(other.codes_)))
    lost = Power(1.5).value(torch.from_numpy(U) - said)
    assert float(lost.mean()) < other.objective_ < float(lost.mean()) + 0.1


@pytest.mark.sample(1)
@pytest.mark.parametrize("loss", [Huber(1e6), SquaredEpsilonInsensitive(0.0)], ids=repr)
def test_a_loss_that_cuts_nothing_is_the_squared_one(loss: Loss) -> None:
    options: dict[str, Any] = {"storage": Nystroem(40), "reg": REG, "tol": 1e-2}
    plain, other = (fit_once(KernelAutoencoder(2, **options, **more), X) for more in ({}, {"loss": loss}))
    assert other.objective_ == pytest.approx(plain.objective_, rel=2e-2)  # rounds of steps, not one run
    assert share(other, NEW) < 1.1 * share(plain, NEW)
    assert len(other.saturated_) == 0


def test_the_held_out_error_is_a_share_of_the_variance_whatever_the_loss() -> None:
    options: dict[str, Any] = {"storage": Nystroem(40)}
    plain, robust = (fit_once(KernelAutoencoder(2, loss=loss, **options), X) for loss in ("squared", Huber(0.05)))
    assert robust.held_out_error_ is not None
    assert 0.5 < robust.held_out_error_ / plain.held_out_error_ < 2.0, (robust.held_out_error_, plain.held_out_error_)


@pytest.mark.usefixtures("all_candidates")
def test_wrong_rows_are_found_and_do_less_harm() -> None:
    new = curved(200, seed=1)
    bad = np.random.default_rng(3).choice(300, 30, replace=False)
    wrong = MORE.copy()
    wrong[bad] += np.random.default_rng(4).normal(size=(30, 8)) * 6.0
    options: dict[str, Any] = {"storage": Nystroem(40), "reg": (1e-4, 1e-5)}
    plain, robust = (KernelAutoencoder(2, loss=loss, **options).fit(wrong) for loss in ("squared", "huber"))
    assert share(robust, new) < 0.9 * share(plain, new)
    assert np.isin(bad, robust.saturated_).mean() > 0.9


def test_rows_of_weight_two_are_two_rows_under_a_robust_loss() -> None:
    twice, w = np.r_[X, X[:60]], np.r_[np.full(60, 2.0), np.ones(140)]
    options: dict[str, Any] = {"storage": Nystroem(40), "reg": REG, "loss": Huber(0.2)}
    weighted = KernelAutoencoder(2, **options).fit(X, sample_weight=w)
    repeated = KernelAutoencoder(2, **options).fit(twice)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=0.1)


def test_a_loss_that_nothing_lies_above_is_refused() -> None:
    for options, said in (
        ({"loss": Power(3.0)}, "use loss='huber'"),
        ({"loss": Ball(1.0)}, "use loss='huber'"),
    ):
        with pytest.raises(InputError, match=said):
            KernelAutoencoder(2, storage=Nystroem(40), **options).fit(X)


WRONG: dict[str, Callable[[Any, Any], Any]] = {
    "negative or not finite": lambda w, u: (w * np.nan, u),
    r"got numbers that are negative": lambda w, u: (-w, u),
    r"got \(200, 1\) of torch.float64, \(200, ": lambda w, u: (w[:, None], u),
    r", \(200, 1\) of torch.float64": lambda w, u: (w, u[:, :1]),
    r"got .* of torch.float32": lambda w, u: (w.float(), u.float()),
    "an object of type Tensor": lambda w, u: w,
    "an object of type tuple": lambda w, u: (w.numpy(), u.numpy()),
}


@pytest.mark.parametrize("said", WRONG)
def test_a_majorizer_that_is_none_is_named(said: str) -> None:
    class Mine(Huber):
        def majorizer(self, R: torch.Tensor, beside: torch.Tensor) -> Any:
            return WRONG[said](*super().majorizer(R, beside))

    with pytest.raises(InputError, match=r"majorizer of Mine\(kappa=0.3\) must return weights of shape .*" + said):
        KernelAutoencoder(2, storage=Nystroem(20), loss=Mine(0.3), reg=REG).fit(X)


def slowly(names: Iterable[str], *slow: str) -> list[Any]:
    """Names of forms, those marked as slow whose steps other ones take too."""
    return [pytest.param(name, marks=pytest.mark.slow) if name in slow else name for name in names]


FORMS = {
    "sphere": {"constraint": "sphere"},
    "ball": {"constraint": "ball"},
    "white": {"constraint": "whiten"},
    "soft": {"constraint": SoftSphere(3.0)},
    "deep": {"n_components": (4, 2)},
    "deep and robust": {"n_components": (4, 2), "loss": Huber(0.3)},
    "four layers": {"n_components": (4, 2, 4)},
}


def formed(name: str, **options: Any) -> KernelAutoencoder:
    given: dict[str, Any] = {"n_components": 2, "storage": Nystroem(40), **FORMS[name], **options}
    depth = len(given["n_components"]) if isinstance(given["n_components"], tuple) else 1
    return KernelAutoencoder(**{"reg": (1e-4,) * (depth + 1), **given})


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", slowly(FORMS, "ball", "deep", "four layers", "soft"))
def test_sets_of_codes_and_depth_fit_and_say_the_same_from_a_file(name: str, tmp_path: Path) -> None:
    rows, new = X[:100], NEW[:40]
    model = fit(formed(name), rows)
    assert model.model_.linear is not None
    assert model.codes_.shape == (100, 2)
    assert share(model, new) < 0.15
    near = np.abs(model.transform(rows) - model.codes_).max(1) / model.codes_.std()
    assert np.median(near) < 0.03
    if "constraint" in FORMS[name]:
        for codes in (model.codes_, model.transform(new), model.set_params(refine=False).transform(new)):
            norms = np.linalg.norm(codes, axis=1)
            if name in ("sphere", "ball"):
                assert np.abs(norms - 1.0).max() < 1e-9 if name == "sphere" else norms.max() < 1.0 + 1e-9
    plain = share(model.set_params(refine=False), new)
    assert share(model.set_params(refine=True), new) < plain
    rkhs.save(model, tmp_path / "m.rkhs")
    codes = model.transform(new)
    for again in (rkhs.load(tmp_path / "m.rkhs"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.transform(new), codes)
        np.testing.assert_array_equal(again.inverse_transform(NEW[:5, :2]), model.inverse_transform(NEW[:5, :2]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        serial, threads = (formed(name, engine=one, max_iter=2).fit(rows).codes_ for one in (None, Threads(2)))
    np.testing.assert_array_equal(threads, serial)


@pytest.mark.parametrize("name", slowly(FORMS, "deep", "deep and robust", "four layers", "soft", "sphere"))
def test_their_regularisers_are_chosen_and_files_of_rows_have_the_same_model(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = (replace(row, value=row.value[:3]) for row in defaults.DEFAULTS if row.option == "reg")
    monkeypatch.setattr(defaults, "DEFAULTS", (*two, *defaults.DEFAULTS))  # two to compare
    np.save(tmp_path / "x.npy", X[:80])
    options: dict[str, Any] = {"reg": None, "max_iter": 2, "storage": Nystroem(20)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = formed(name, **options).fit(X[:80])
        again = formed(name, **options).fit(as_rows(tmp_path / "x.npy"))
    assert model.candidate_errors_ is not None
    assert len(model.reg_) == model.candidates_.shape[1]
    np.testing.assert_array_equal(again.codes_, model.codes_)


def test_white_codes_are_white_and_soft_ones_near_the_sphere() -> None:
    assert Whitened().violation(torch.tensor(fit_once(formed("white"), X).codes_)) < 1e-9
    assert Whitened().violation(torch.as_tensor(formed("white").fit(NEW).transform(X))) < 0.5
    free = plain_model()
    apart = []
    for model in (free, fit_once(formed("soft"), X), formed("soft", constraint=SoftSphere(30.0)).fit(X)):
        apart += [np.abs((codes**2).sum(1) - 1.0).mean() for codes in (model.codes_, model.transform(NEW))]
    assert apart[0] > 2.0 * apart[2] > 4.0 * apart[4] > 0.0
    assert apart[1] > 2.0 * apart[3] > 4.0 * apart[5] > 0.0
    with pytest.raises(InputError, match="sample_weight must be equal for constraint='whiten'"):
        formed("white").fit(X, sample_weight=np.arange(1.0, 201.0))


def test_noisy_copies_teach_the_encoder_to_ignore_noise() -> None:
    noise = GaussianNoise(0.4, copies=3)
    options: dict[str, Any] = {"storage": Nystroem(40), "random_state": 0}
    model, plain = (KernelAutoencoder(2, **options, **more).fit(MORE) for more in ({"noise": noise}, {"refine": False}))
    assert model.model_.linear is not None
    assert model.codes_.shape == (300, 2)
    np.testing.assert_allclose(model.transform(MORE), model.codes_, atol=1e-9)  # of clean rows
    noisy = NEW + 0.4 * np.random.default_rng(0).normal(size=NEW.shape)
    errors = [((one.inverse_transform(one.transform(noisy)) - NEW) ** 2).sum() for one in (model, plain)]
    assert errors[0] < 0.9 * errors[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        deep = KernelAutoencoder((4, 2), noise=noise, reg=1e-4, loss=Huber(0.3), max_iter=5, **options).fit(X[:150])
        assert deep.codes_.shape == (150, 2)
        short = [KernelAutoencoder(2, noise=noise, max_iter=2, **options).fit(X[:100]).codes_ for _ in range(2)]
    np.testing.assert_array_equal(short[0], short[1])


def test_copies_of_a_row_stay_together() -> None:
    doubled, kernel = torch.as_tensor(np.concatenate([X, X])), Gaussian(0.5)
    features = WholeMap(kernel, X[:20], 20)
    axes = PrincipalCoordinates.of_vectors(doubled, 2)
    rows = ordered_rows(
        doubled,
        doubled,
        kernel._diag(doubled),
        features,
        axes,
        2,
        None,
        400.0,
        per_row_codes=False,
        fitted=100,
        copies=2,
    )
    order = rows.order.numpy().reshape(-1, 2)
    assert (order[:, 1] - order[:, 0] == 200).all()
    assert sorted(order[:, 0]) == list(range(200))


def test_hidden_codes_and_rows_of_no_weight() -> None:
    model = fit_once(formed("four layers"), X)
    assert [model.transform(NEW, layer=k).shape[1] for k in (1, 2, 3)] == [4, 2, 4]
    assert [len(Z) for Z in model.layer_codes_] == [120, 120, 120]
    for name in ("sphere", "deep and robust"):
        weights = np.r_[np.ones(90), np.zeros(30)]
        np.testing.assert_array_equal(
            fit(formed(name, max_iter=5), X[:120], sample_weight=weights).codes_,
            fit(formed(name, max_iter=5), X[:90]).codes_,
        )


def test_codes_on_a_set_refuse_other_targets() -> None:
    with pytest.raises(InputError, match="leave targets out"):
        formed("sphere").fit(X, targets=X)


@pytest.mark.usefixtures("all_candidates")
def test_the_strongest_candidate_is_given_up_after_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where two iterations stay far from the least error; else ten follow, from where they would have started."""
    rng = np.random.default_rng(0)
    X = np.tanh(1.5 * rng.normal(size=(240, 3)) @ rng.normal(size=(3, 12))) + 0.02 * rng.normal(size=(240, 12))
    move = staged_rows.RowStages.next_stage

    def counted(self: staged_rows.RowStages, stage: Any, size: int, reg: tuple[float, ...], *, steps: int = 15) -> Any:
        if reg == (1.0, 1.0):
            tried.append(steps)
        return move(self, stage, size, reg, steps=steps)

    monkeypatch.setattr(staged_rows.RowStages, "next_stage", counted)
    found = []
    for near, expected in ((1.05, [2]), (np.inf, [2, 10])):
        tried: list[int] = []
        monkeypatch.setattr(autoencoder_rows, "_NEAR", near)
        found.append(KernelAutoencoder(4, storage=Nystroem(40, random_state=0)).fit(X))
        assert tried == expected
    assert found[0].reg_ == found[1].reg_ != (1.0, 1.0)
    np.testing.assert_array_equal(found[0].codes_, found[1].codes_)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "options",
    [{}, {"n_components": (3, 2)}, {"loss": "huber"}, pytest.param({"kernel": "laplacian"}, marks=pytest.mark.slow)],
    ids=repr,
)
def test_kernel_parts_alone_have_depth_losses_and_chosen_regularisers(options: dict[str, Any]) -> None:
    given: dict[str, Any] = {
        "n_components": 2,
        "storage": Nystroem(40),
        "linear_part": "kernel",
        "max_iter": 15,
        **options,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = KernelAutoencoder(**given).fit(X[:100])
    assert model.model_.linear is None
    assert model.model_.last.linear is None
    assert model.reconstruction_error(NEW).mean() < 0.5 * NEW.var(0).sum()
    assert model.reg_ in [tuple(one) for one in model.candidates_]
    assert 0.0 < model.held_out_error_ < 0.5


@pytest.mark.parametrize(
    "options", [{"n_components": (3, 2), "refine": False}, {"n_components": 2, "linear_part": "kernel"}], ids=repr
)
def test_codes_that_are_not_refined_are_those_of_new_rows_in_files_too(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save(tmp_path / "x.npy", X)
    rows = np.load(tmp_path / "x.npy", mmap_mode="r")
    monkeypatch.setattr(autoencoder_streams, "MAX_ENCODER_ROWS", 100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = KernelAutoencoder(storage=Nystroem(20), reg=1e-3, max_iter=5, **options).fit(rows)
    np.testing.assert_allclose(model.transform(X), model.codes_, atol=1e-8)
