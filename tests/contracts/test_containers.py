"""Rows are counted, whatever the container calls them: every place that takes data agrees with the plain array."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import BaseEstimator

import rkhs
from rkhs import kernels, metrics
from rkhs.data import write_codes
from rkhs.engines import as_rows
from rkhs.estimators import decode_chunks
from rkhs.evaluation import (
    SmoothClassifier,
    SmoothRegressor,
    decoding_quality,
    reconstruction,
    risk_coverage,
)
from rkhs.features import Nystroem
from rkhs.kernels import FromFunction, Gaussian, Kernel, Linear, WeisfeilerLehman
from rkhs.plots import CodeMapDisplay
from tests.contracts.estimator_examples import CHOSEN, QUICK, costly_grams_last, for_estimator, plain
from tests.contracts.kernel_examples import ALL, items, letters_in_common
from tests.contracts.test_ownership import answers

figure = pytest.importorskip("matplotlib.figure")
pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

N = 14
RNG = np.random.default_rng(3)
X, NEW = RNG.standard_normal((N, 3)), RNG.standard_normal((4, 3))
Y, WEIGHTS = RNG.standard_normal((N, 2)), RNG.uniform(0.5, 2.0, N)
CLASSES, CODES = np.arange(N) % 2, RNG.standard_normal((4, 2))
K, ROWS = Gaussian(0.3)(X), Gaussian(0.3)(NEW, X)
WORDS = np.array(["acgt", "ttga", "cca", "gggt", "atc", "tac", "caat", "gac", "tt", "agg", "ccc", "gta", "aa", "tgc"])

Wrap = Callable[[np.ndarray], Any]


def _pandas(rows: Callable[[int], list[Any]]) -> Wrap:
    def wrap(array: np.ndarray) -> Any:
        index = rows(len(array))
        if array.ndim == 1:
            return pandas.Series(array, index=index)
        return pandas.DataFrame(array, index=index, columns=range(array.shape[1])[::-1])

    return wrap


def _polars(array: np.ndarray) -> Any:
    if array.ndim == 1:
        return polars.Series(array.tolist())
    return polars.DataFrame({f"column {j}": column for j, column in enumerate(array.T)})


CONTAINERS: dict[str, Wrap] = {
    "shuffled rows": _pandas(lambda n: np.random.default_rng(0).permutation(n).tolist()),
    "repeated rows": _pandas(lambda n: [i // 2 for i in range(n)][::-1]),
    "named rows": _pandas(lambda n: [f"row {n - i}" for i in range(n)]),
    "polars": _polars,
    "list": lambda array: array.tolist(),
    "tensor": lambda array: torch.from_numpy(array) if array.dtype.kind in "biuf" else array.tolist(),
}


def arrays(result: Any) -> list[np.ndarray]:
    """Results as arrays, containers opened."""
    if isinstance(result, dict):
        return [array for part in result.values() for array in arrays(part)]
    if isinstance(result, (tuple, list)) and not all(np.isscalar(part) for part in result):
        return [array for part in result for array in arrays(part)]
    return [np.asarray(result)]


def agree(place: Callable[[Wrap], Any], containers: dict[str, Wrap] = CONTAINERS) -> None:
    with warnings.catch_warnings():
        for kind in (*CHOSEN, UserWarning):
            warnings.simplefilter("ignore", kind)
        expected = arrays(place(lambda array: array))
        for name, wrap in containers.items():
            found = arrays(place(wrap))
            assert len(expected) == len(found)
            for one, other in zip(expected, found, strict=True):
                np.testing.assert_array_equal(other, one, err_msg=name)


def fitted(estimator: BaseEstimator, w: Wrap) -> Any:
    data, new = for_estimator(estimator, (X, NEW))
    more = {"sample_weight": w(WEIGHTS)} if "sample_weight" in inspect.signature(estimator.fit).parameters else {}
    model = estimator.fit(w(data), w(Y) if hasattr(estimator, "predict") else None, **more)
    return answers(model, w(new))


@pytest.mark.sample(8)
@pytest.mark.parametrize("estimator", costly_grams_last(plain(QUICK)), ids=repr)
def test_estimators(estimator: BaseEstimator) -> None:
    other = ("polars", "list")[len(repr(estimator)) % 2]
    agree(lambda w: fitted(estimator, w), {name: CONTAINERS[name] for name in ("shuffled rows", other)})


@pytest.mark.sample(25)
@pytest.mark.parametrize("kernel", ALL)
def test_kernels(kernel: Kernel) -> None:
    data = items(kernel, 6)
    other = data if kernel.domain == "gram" else items(kernel, 4, seed=1)
    if kernel.domain != "objects":
        given, others = data.numpy(), other.numpy()
        first = len(repr(kernel)) % 3  # two of the containers for each kernel: all are read in one place
        kinds = {name: CONTAINERS[name] for name in list(CONTAINERS)[first::3]}
    else:
        given, others = list(data), list(other)
        kinds = {
            "shuffled": lambda some: _series(some, [5, 4, 0, 2, 1, 3]),
            "named": lambda some: _series(some, "abcabc"),
        }
    agree(lambda w: (kernel(w(given)), kernel(w(given), w(others)), kernel.diag(w(given))), kinds)


def _series(some: list[Any], index: Any) -> Any:
    column = np.empty(len(some), dtype=object)
    column[:] = some
    return pandas.Series(column, index=list(index)[: len(some)])


def autoencoder(**more: Any) -> Any:
    return rkhs.KernelAutoencoder(2, reg=1e-2, max_iter=3, **more)


def outputs(w: Wrap, y: np.ndarray, **more: Any) -> Any:
    model = rkhs.InputOutputKernelRegressor(**more).fit(X, w(y))
    return model.predict(NEW), model.rank(NEW), model.predict_weights(NEW)


def candidates(w: Wrap, y: np.ndarray, **more: Any) -> Any:
    model, few = rkhs.InputOutputKernelRegressor(**more).fit(X, y), y[::-1][:5].copy()
    sets = [w(few[i:]) for i in range(4)]
    return (
        model.predict(NEW, w(few)),
        model.rank(NEW, w(few), n_best=2),
        model.scores(NEW, w(few)),
        model.predict(NEW, sets, per_sample=True),
    )


def gram_candidates(w: Wrap) -> Any:
    model = autoencoder(kernel="precomputed").fit(K)
    regressor = rkhs.InputOutputKernelRegressor("precomputed", output_kernel="precomputed").fit(w(K), w(K))
    ones = np.ones(4)
    return (
        model.decode(CODES, w(ROWS), diag=w(ones)),
        model.reconstruction_error(w(ROWS), diag=w(ones)),
        rkhs.KernelPCA(2, kernel="precomputed").fit(K).decode(CODES, w(ROWS), diag=w(ones)),
        regressor.predict(w(ROWS), w(ROWS), diag=w(ones)),
    )


def targets(w: Wrap) -> Any:
    model = autoencoder().fit(X, targets=w(Y))
    words = autoencoder(output_kernel=FromFunction(letters_in_common)).fit(X, targets=w(WORDS))
    return (
        model.codes_,
        model.reconstruction_error(NEW, targets=w(CODES)),
        model.decode(model.codes_, w(Y)),
        words.decode(CODES, w(WORDS)),
        words.reconstruction_error(NEW, targets=w(WORDS[:4])),
    )


def pairs(w: Wrap) -> Any:
    first = rkhs.KernelContrastive(2).fit(X, positives=w(X + 0.1), negatives=w(X[::-1].copy()))
    second = rkhs.KernelContrastive(2).fit(X, positives=w(np.roll(np.arange(N), 1)))
    third = rkhs.KernelContrastive(1, pairs="class").fit(w(X), w(CLASSES))
    return first.transform(NEW), second.transform(NEW), third.transform(w(NEW))


def codes(w: Wrap) -> Any:
    machine, model = rkhs.DeepRKM((2, 1), max_iter=3).fit(X), autoencoder().fit(X)
    start = np.array([0.1, 0.2, 0.3])
    return (
        model.inverse_transform(w(CODES)),
        rkhs.KernelPCA(2).fit(X).inverse_transform(w(CODES)),
        machine.traverse(start=w(start)),
        machine.denoise(w(NEW)),
        decode_chunks(model, w(CODES), [w(X[:5]), w(X[5:])], n_best=3),
    )


def words(w: Wrap) -> Any:
    model = autoencoder(kernel=FromFunction(letters_in_common)).fit(w(WORDS))
    return model.transform(w(WORDS[:4])), model.decode(CODES, w(WORDS))


def robust(w: Wrap) -> Any:
    far = np.concatenate([X, [[40.0, 0.0, 0.0]]])
    many = np.concatenate([X, X[::-1] * 0.9, [[40.0, 0.0, 0.0], [0.0, 50.0, 9.0]]])
    return [
        (found.inliers, found.outlier_score)
        for found in (
            rkhs.fit_robust(autoencoder(refine=False), w(many)),
            rkhs.fit_robust(autoencoder(kernel="precomputed", refine=False), w(Gaussian(0.01)(far))),
            rkhs.fit_robust(
                autoencoder(kernel=FromFunction(letters_in_common), refine=False), w(np.append(WORDS, "zzzzzzzz"))
            ),
        )
    ]


def regressors(w: Wrap) -> Any:
    model = rkhs.OperatorKernelRegressor()
    path = model.path(w(X), w(Y), regs=[1e-2, 1e-1], sample_weight=w(WEIGHTS))
    curves = rkhs.FunctionalKernelRegressor(input_times=w(np.array([0.0, 0.1, 0.5])), n_basis=2)
    model.fit(X, Y)
    return (
        path.predict(w(NEW)),
        model.score(w(X), w(Y), sample_weight=w(WEIGHTS)),
        curves.fit(w(X), w(Y)).predict(w(NEW)),
        curves.loo_errors(w(X), w(Y), regs=[1e-2]),
        rkhs.OperatorKernelRegressorCV(operator=w(np.eye(2)), cv=2).fit(w(X), w(Y)).predict(w(NEW)),
    )


def measures(w: Wrap) -> Any:
    Z, V = RNG_CODES, FACTORS
    return (
        metrics.mutual_information(w(Z), w(V)),
        metrics.mig(w(Z), w(V)),
        metrics.sap(w(Z), w(V), continuous=True),
        metrics.irs(w(Z), w(V)),
        metrics.dci(w(Z), w(V), n_estimators=2).importances,
        metrics.truth_ranks(w(K), w(np.arange(N))),
        metrics.top_k_accuracy(w(WEIGHTS), 1),
        metrics.hamming_error(w(V), w(V[::-1].copy())),
        metrics.normalized_mean_squared_error(w(V), w(V[::-1].copy())),
        metrics.downstream_bound(-0.25, w(np.array([0.25, 0.75]))),
    )


RNG_CODES = np.random.default_rng(4).standard_normal((40, 2))
FACTORS = np.stack([np.arange(40) % 2, np.arange(40) % 3], 1)


def evaluations(w: Wrap) -> Any:
    model = rkhs.KernelPCA(2).fit(X)
    return (
        decoding_quality(model, w(NEW), w(X), w(np.arange(4))).ranks,
        reconstruction(model, w(NEW)).errors,
        risk_coverage(w(WEIGHTS), w(CLASSES)).risk,
        SmoothRegressor().fit(w(X), w(Y)).predict(w(NEW)),
        SmoothClassifier().fit(w(X), w(CLASSES)).predict(w(NEW)),
        rkhs.diagnose(autoencoder().fit(w(X)), w(NEW)).held_out_error,
    )


def choices(w: Wrap) -> Any:
    return (
        kernels.view_weights([w(K), w(K**2)]),
        kernels.quadrature_weights(w(np.array([0.0, 0.1, 0.5])), 3),
        kernels.Linear(1.0, w(np.array([1.0, 2.0, 3.0])))(X),
        kernels.ScaledInputs(Gaussian(0.5), w(np.array([1.0, 2.0, 3.0])))(X),
        kernels.Views((Linear(), Linear()), multipliers=w(np.array([1.0, 2.0])))(list(zip(X, X, strict=True))),
        Nystroem(8).fit(w(X)).transform(w(NEW)),
        rkhs.KernelPCA(2, storage=Nystroem(8)).partial_fit(w(X)).partial_fit(w(NEW)).transform(w(NEW)),
        rkhs.KernelPCA(2, kernel="precomputed").fit([w(K), w(K**2)]).transform([w(ROWS), w(ROWS)]),
        as_rows(w(X)).read(),
    )


def drawings(w: Wrap) -> Any:
    displays = (CodeMapDisplay(w(Y), values=w(WEIGHTS)), CodeMapDisplay(w(Y), labels=w(CLASSES)))
    drawn = [display.plot(figure.Figure().add_subplot()).ax_ for display in displays]
    return [np.asarray(part.get_offsets()) for ax in drawn for part in ax.collections]


def graphs(w: Wrap) -> Any:
    edges, labels = np.array([[0, 1], [1, 2]]), np.array([1, 2, 1])
    return WeisfeilerLehman(2)([(w(edges), w(labels)), (w(edges[:1]), w(labels))])


def written(w: Wrap, folder: Path) -> Any:
    write_codes(folder / "codes.csv", w(Y), row_names=w(WORDS))
    return (folder / "codes.csv").read_bytes()


PLACES: dict[str, Callable[[Wrap], Any]] = {
    "vectors to vectors": lambda w: outputs(w, Y, output_kernel=Gaussian(0.5)),
    "vectors to numbers": lambda w: outputs(w, WEIGHTS, output_kernel=Gaussian(0.5)),
    "vectors to labels": lambda w: outputs(w, (X > 0.0).astype(int)),
    "vectors to words": lambda w: outputs(w, WORDS, output_kernel=FromFunction(letters_in_common)),
    "candidates": lambda w: candidates(w, Y, output_kernel=Gaussian(0.5)),
    "candidates that are numbers": lambda w: candidates(w, WEIGHTS, output_kernel=Gaussian(0.5)),
    "candidates that are words": lambda w: candidates(w, WORDS, output_kernel=FromFunction(letters_in_common)),
    "candidates of Gram matrices": gram_candidates,
    "targets": targets,
    "pairs": pairs,
    "codes": codes,
    "words": words,
    "robust": robust,
    "regressors": regressors,
    "measures": measures,
    "evaluations": evaluations,
    "choices": choices,
    "drawings": drawings,
    "graphs": graphs,
}


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
def test_places(place: str) -> None:
    agree(PLACES[place])


def test_names_of_rows_in_files(tmp_path: Path) -> None:
    agree(lambda w: written(w, tmp_path))
