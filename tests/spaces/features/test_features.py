"""Features against exact kernels: definitions, exact cases, unbiased estimates, errors that fall."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import torch
from sklearn.base import clone
from sklearn.svm import LinearSVC
from sklearn.utils import estimator_checks

import rkhs
import rkhs.features
from rkhs._core.errors import InputError
from rkhs.features import FeatureMap, Features, Nystroem, RandomFeatures, leverage_scores, sample_landmarks
from rkhs.kernels import (
    NTK,
    ArcCosine,
    FromFunction,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    MinMax,
    Polynomial,
    Tanimoto,
)


@pytest.fixture
def X() -> np.ndarray:
    return np.random.default_rng(3).standard_normal((60, 4))


def counts(seed: int = 0, top: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, top, (25, 12)).astype(float) * (
        np.random.default_rng(seed + 1).random((25, 12)) < 0.5
    )


# ---------------------------------------------------------------- Nystroem

KERNELS = [
    Gaussian(0.2),
    Laplacian("l1", 0.3),
    Matern(1.5, 0.4),
    Linear(),
    Polynomial(2),
    NTK(),
    Gaussian(0.1) + Linear(),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("sampling", ["uniform", "kmeans++", "leverage"])
def test_all_landmarks_are_exact(kernel: Kernel, sampling: str, X: np.ndarray) -> None:
    F = Nystroem(len(X), sampling, kernel=kernel).fit_transform(X)
    np.testing.assert_allclose(F @ F.T, kernel(X), atol=1e-7 * float(kernel.diag(X).max()))
    assert F.shape[1] <= len(X)


def test_features_are_projections_on_the_span_of_the_landmarks(X: np.ndarray) -> None:
    kernel = Gaussian(0.2)
    model = Nystroem(10, kernel=kernel).fit(X)
    C = model.map_.landmarks
    F, FC = model.transform(X), model.transform(C)
    np.testing.assert_allclose(F @ FC.T, kernel(X, C), atol=1e-10)
    naive = kernel(X, C) @ np.linalg.solve(kernel(C), kernel(C, X))
    np.testing.assert_allclose(F @ F.T, naive, atol=1e-9)
    assert ((F**2).sum(1) <= kernel.diag(X) + 1e-10).all()


@pytest.mark.parametrize("sampling", ["uniform", "kmeans++", "leverage"])
def test_the_error_falls_with_the_number_of_landmarks(sampling: str, X: np.ndarray) -> None:
    kernel = Gaussian(0.1)

    def error(m: int) -> float:
        F = Nystroem(m, sampling, kernel=kernel, random_state=1).fit_transform(X)
        return float(np.abs(F @ F.T - kernel(X)).mean())

    errors = [error(m) for m in (5, 20, 50)]
    assert errors[0] > 2.0 * errors[1] > 4.0 * errors[2]


def test_repeated_landmarks_are_left_out(X: np.ndarray) -> None:
    twice = np.concatenate([X, X])
    model = Nystroem(120, kernel=Gaussian(0.2)).fit(twice)
    assert model.map_.width == 60
    F = model.transform(X)
    np.testing.assert_allclose(F @ F.T, Gaussian(0.2)(X), atol=1e-9)


def test_gram_matrices_and_objects(X: np.ndarray) -> None:
    K = Gaussian(0.2)(X)
    model = Nystroem(60, kernel="precomputed").fit(K)
    F = model.transform(K)
    np.testing.assert_allclose(F @ F.T, K, atol=1e-9)
    part = Nystroem(12, "kmeans++", kernel="precomputed").fit(K)
    same = Nystroem(12, "kmeans++", kernel=Gaussian(0.2)).fit(X)
    np.testing.assert_allclose(part.transform(K[:5]), same.transform(X[:5]), atol=1e-8)
    words = ["ab", "abc", "b", "cab"]
    overlap = FromFunction(lambda a, b: float(len(set(a) & set(b))))
    G = Nystroem(4, "leverage", kernel=overlap).fit_transform(words)
    np.testing.assert_allclose(G @ G.T, overlap(words), atol=1e-9)


def test_leverage_scores_are_their_definition(X: np.ndarray) -> None:
    kernel, reg, n = Gaussian(0.2), 1e-2, len(X)
    K = kernel(X)
    expected = np.diag(K @ np.linalg.inv(K + n * reg * np.eye(n)))
    items = torch.from_numpy(X)
    np.testing.assert_allclose(leverage_scores(kernel, items, reg), expected, rtol=1e-9)
    np.testing.assert_allclose(leverage_scores(kernel, items, reg, known=np.arange(n)), expected, rtol=1e-9)
    near = leverage_scores(kernel, items, reg, known=np.arange(0, n, 2)).numpy()
    assert np.corrcoef(near, expected)[0, 1] > 0.6
    assert 0.5 < near.sum() / expected.sum() < 2.0
    gram = rkhs.kernels.Precomputed()
    np.testing.assert_allclose(
        leverage_scores(gram.resolve(torch.from_numpy(K)), torch.from_numpy(K), reg), expected, rtol=1e-9
    )


def test_landmarks_are_drawn_in_proportion_to_their_chances() -> None:
    # 40 copies of one point and two points apart: uniform sampling misses the two, the others take them.
    X = torch.from_numpy(np.concatenate([np.zeros((40, 1)), [[5.0], [9.0]]]))
    for sampling in ("kmeans++", "leverage"):
        hits = [
            len({40, 41} & set(sample_landmarks(Gaussian(1.0), X, 3, sampling=sampling, random_state=s)))
            for s in range(40)
        ]
        assert np.mean(hits) > 1.5
    hits = [len({40, 41} & set(sample_landmarks(Gaussian(1.0), X, 3, random_state=s))) for s in range(40)]
    assert np.mean(hits) < 0.6


# ---------------------------------------------------------------- random features

SHIFT = [
    Gaussian(0.2),
    Laplacian("l1", 0.3),
    Laplacian("l2", 0.3),
    Matern(0.5, 0.4),
    Matern(1.5, 0.4),
    Matern(2.5, 0.4),
    ArcCosine(0),
    ArcCosine(1, bias=True),
    0.5 * Gaussian(0.2) + 2.0 * Linear(0.3, np.ones(4)),
]


@pytest.mark.sample(9)
@pytest.mark.parametrize("orthogonal", [False, True])
@pytest.mark.parametrize("kernel", SHIFT, ids=repr)
def test_random_features_are_unbiased_and_their_error_falls(kernel: Kernel, orthogonal: bool, X: np.ndarray) -> None:
    X = X[:12]
    K = kernel(X)

    def estimates(m: int, seeds: int) -> np.ndarray:
        maps = (RandomFeatures(m, orthogonal, kernel=kernel, random_state=s).fit(X) for s in range(seeds))
        return np.stack([F @ F.T for F in (each.transform(X) for each in maps)])

    small, large = estimates(16, 20), estimates(256, 4)
    spread = small.std(0) / 20**0.5 + 1e-12
    assert float((np.abs(small.mean(0) - K) / spread)[np.triu_indices(12)].max()) < 5.0
    ratio = np.sqrt(((small - K) ** 2).mean() / ((large - K) ** 2).mean())
    assert 2.5 < ratio < 8.0  # the root of 16 is 4; orthogonal directions gain a little more


def test_orthogonal_directions_have_less_variance(X: np.ndarray) -> None:
    K = Gaussian(0.05)(X)

    def error(orthogonal: bool) -> float:
        fits = (RandomFeatures(8, orthogonal, kernel=Gaussian(0.05), random_state=s).fit(X) for s in range(60))
        return float(np.mean([((F @ F.T - K) ** 2).mean() for F in (each.transform(X) for each in fits)]))

    assert error(True) < 0.7 * error(False)


@pytest.mark.parametrize("kernel", [MinMax(), Tanimoto()], ids=repr)
def test_sketches_are_unbiased(kernel: Kernel) -> None:
    X = counts() if isinstance(kernel, MinMax) else (counts() > 0).astype(float)
    X[3] = X[4] = 0.0
    K = kernel(X)
    F = RandomFeatures(6000, kernel=kernel).fit_transform(X)
    np.testing.assert_allclose(F @ F.T, K, atol=6.0 / 6000**0.5)
    assert abs(float((F @ F.T - K)[np.triu_indices(25, 1)].mean())) < 0.01
    np.testing.assert_allclose((F**2).sum(1), 1.0)
    coarse = RandomFeatures(100, kernel=kernel).fit_transform(X)
    assert ((coarse @ coarse.T - K) ** 2).mean() > 20.0 * ((F @ F.T - K) ** 2).mean()


def test_sketches_of_real_vectors_and_of_single_rows() -> None:
    X = np.random.default_rng(5).gamma(1.0, size=(12, 6))
    model = RandomFeatures(2000, kernel=MinMax()).fit(X)
    F = model.transform(X)
    np.testing.assert_allclose(F @ F.T, MinMax()(X), atol=6.0 / 2000**0.5)
    np.testing.assert_array_equal(np.concatenate([model.transform(X[i : i + 1]) for i in range(12)]), F)


# ---------------------------------------------------------------- refusals, scikit-learn


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (Nystroem(0), r"Nystroem.m must be an integer >= 1; got 0"),
        (Nystroem(2.5), r"Nystroem.m must be an integer"),  # type: ignore[arg-type]
        (Nystroem(5, "greedy"), r"Nystroem.sampling must be one of 'uniform', 'kmeans\+\+', 'leverage'"),
        (RandomFeatures(5, orthogonal=1), r"RandomFeatures.orthogonal must be True or False"),  # type: ignore[arg-type]
        (RandomFeatures(5, random_state="x"), r"RandomFeatures.random_state must be an integer"),
        (RandomFeatures(5, kernel=Polynomial(2)), r"RandomFeatures knows no features of Polynomial.*Use Nystroem"),
        (RandomFeatures(5, kernel=NTK()), r"RandomFeatures knows no features of NTK"),
        (RandomFeatures(5, kernel=ArcCosine(1, depth=2)), r"depth 1 only"),
        (RandomFeatures(5, kernel=Tanimoto()), r"need rows of 0 and 1"),
        (RandomFeatures(5, kernel=MinMax()), r"numbers >= 0"),
    ],
    ids=repr,
)
def test_refusals(features: Features, message: str, X: np.ndarray) -> None:
    with pytest.raises(InputError, match=message):
        features.fit(X).transform(X)


def test_gram_matrices_have_no_random_features(X: np.ndarray) -> None:
    with pytest.raises(InputError, match=r"RandomFeatures knows no features of Precomputed"):
        RandomFeatures(5, kernel="precomputed").fit(Gaussian(1.0)(X))


@pytest.mark.sample(2)
@pytest.mark.parametrize("features", [Nystroem(20), RandomFeatures(20), Nystroem(20, kernel="precomputed")], ids=repr)
def test_scikit_learn_checks(features: Features) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = estimator_checks.check_estimator(clone(features), on_skip=None, on_fail=None)
    bad = {r["check_name"]: r["exception"] for r in results if r["status"] not in ("passed",)}
    bad.pop("check_array_api_input", None)
    assert not bad


def test_a_linear_classifier_on_features_is_a_kernel_machine(X: np.ndarray) -> None:
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    assert LinearSVC().fit(X, y).score(X, y) < 0.8
    for features in (Nystroem(40), RandomFeatures(200)):
        F = features.fit_transform(X)
        assert LinearSVC().fit(F, y).score(F, y) > 0.85
    assert list(Nystroem(3).fit(X).get_feature_names_out()) == ["nystroem0", "nystroem1", "nystroem2"]


def test_float32_and_tensors(X: np.ndarray) -> None:
    model: Any = RandomFeatures(10).fit(X.astype(np.float32))
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    assert isinstance(model.transform(torch.from_numpy(X)), torch.Tensor)


def test_whitening_is_linear_and_has_its_adjoint(X: np.ndarray) -> None:
    items = torch.from_numpy(X)
    public = [c for c in vars(rkhs.features).values() if inspect.isclass(c) and issubclass(c, FeatureMap)]
    assert len(public) >= 6
    for made in (Nystroem(9, kernel=Gaussian(0.3)), RandomFeatures(9, kernel=Gaussian(0.3) + Linear())):
        map_ = made.fit(X).map_
        V = torch.randn(map_.dim, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
        F, raw = map_.features(items), map_.raw(items)
        torch.testing.assert_close(raw @ map_.whiten(V), F @ V)
        torch.testing.assert_close(map_.whiten_adjoint(raw.mT), F.mT)


def test_values_that_overflow_are_named_before_landmarks_are_drawn() -> None:
    X = torch.full((9, 2), 1e100, dtype=torch.float64)
    with pytest.raises(
        InputError, match=r"^the kernel Polynomial\(.*\) gives values that are not finite on these data"
    ):
        sample_landmarks(Polynomial(3, scale=1.0), X, 3, sampling="kmeans++", random_state=0)


@pytest.mark.parametrize("kernel", [Gaussian(), Laplacian(norm="l1"), Matern(), ArcCosine(), MinMax()], ids=repr)
@pytest.mark.parametrize("kind", [Nystroem, RandomFeatures])
def test_far_rows_are_refused_alike_in_every_form_and_draw(kind: Any, kernel: Kernel, X: np.ndarray) -> None:
    rows, far = np.abs(X), np.array([[1.0, 1e155, 0.0, 0.0]])
    for form in (np.asarray, scipy.sparse.csr_array):
        for seed in range(2):
            model = kind(8, kernel=kernel, random_state=seed).fit(form(rows))
            for value in (far, 1e153 * far, far.astype(np.longdouble)):
                with pytest.raises(InputError, match=r"X must hold values of modulus under 3e\+153, whose squares"):
                    model.transform(form(value))
            assert np.isfinite(model.transform(form(1e-53 * far))).all()
        with pytest.raises(InputError, match="X must hold values of modulus under"):
            kind(8, kernel=kernel).fit(form(far))
