"""A fitted model for every estimator and every way of storing items, with new items: what model files are tried on."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy.sparse import csr_array

import rkhs
from rkhs import kernels
from rkhs.features import Nystroem, RandomFeatures

METHODS = ("transform", "predict", "reconstruction_error")
N, N_NEW = 20, 4

Case = Callable[[np.random.Generator], tuple[Any, Any]]  # fitted model, new items


def vectors(model: Any, y: str | None = None) -> Case:
    """Rows of numbers; `y` names the targets."""

    def case(rng: np.random.Generator) -> tuple[Any, Any]:
        X = rng.normal(size=(N + N_NEW, 3))
        targets = {"columns": np.column_stack([X[:, 0] ** 2, X[:, 1]]), "row": np.sin(X[:, 0])}
        fitted = model.fit(X[:N]) if y is None else model.fit(X[:N], targets[y][:N])
        return fitted, X[N:]

    return case


def objects(model: Any, make: Callable[[np.random.Generator], Any]) -> Case:
    """A list of objects."""

    def case(rng: np.random.Generator) -> tuple[Any, Any]:
        items = [make(rng) for _ in range(N + N_NEW)]
        return model.fit(items[:N]), items[N:]

    return case


def gram(model: Any) -> Case:
    """A Gram matrix."""

    def case(rng: np.random.Generator) -> tuple[Any, Any]:
        X = rng.normal(size=(N + N_NEW, 3))
        K = kernels.Gaussian(0.2)
        return model.fit(K(X[:N])), K(X[N:], X[:N])

    return case


def bits(rng: np.random.Generator) -> tuple[Any, Any]:
    """Rows of truth values."""
    X = rng.random((N + N_NEW, 40)) < 0.3
    return rkhs.KernelPCA(2, kernel=kernels.Tanimoto()).fit(X[:N]), X[N:]


def sparse(model: Any) -> Case:
    """Rows of a sparse matrix."""

    def case(rng: np.random.Generator) -> tuple[Any, Any]:
        X = csr_array(np.where(rng.random((N + N_NEW, 9)) < 0.4, rng.random((N + N_NEW, 9)), 0.0))
        return model.fit(X[:N]), X[N:]

    return case


def curves(rng: np.random.Generator) -> tuple[Any, Any]:
    """Curves on a grid."""
    times = np.linspace(0.0, 1.0, 12)
    X = np.cumsum(rng.normal(size=(N + N_NEW, 12)), axis=1)
    model = rkhs.FunctionalKernelRegressor(input_times=times, output_times=times, n_basis=5)
    return model.fit(X[:N], np.sin(X[:N])), X[N:]


def smiles(rng: np.random.Generator) -> str:
    """A molecule."""
    parts = ["C", "CC", "O", "N", "c1ccccc1", "C(=O)", "C(Cl)", "S", "C1CC1", "OC"]
    return "C" + "".join(rng.choice(parts, size=rng.integers(1, 6)))


def letters(rng: np.random.Generator) -> str:
    """A string."""
    return "".join(rng.choice(list("acgt"), size=rng.integers(6, 12)))


def graph(rng: np.random.Generator) -> Any:
    """Edges and labels."""
    size = int(rng.integers(3, 7))
    edges = [[i, i + 1] for i in range(size - 1)]  # and one more, so that not all are paths
    return edges + [[0, size - 1]] * int(rng.integers(0, 2)), rng.integers(0, 2, size).tolist()


def series(rng: np.random.Generator) -> Any:
    """A series of two channels; also a set of points."""
    return rng.normal(size=(int(rng.integers(4, 9)), 2))


def row(rng: np.random.Generator) -> Any:
    """Numbers, words and missing cells."""
    cells = (float(rng.normal()), str(rng.choice(["red", "blue"])), float(rng.integers(0, 3)))
    return tuple(None if rng.random() < 0.1 else cell for cell in cells)


def peaks(rng: np.random.Generator) -> Any:
    """Places and heights of a spectrum."""
    n = int(rng.integers(2, 6))
    return np.sort(rng.uniform(50.0, 53.0, n)), rng.uniform(0.1, 1.0, n)


KPCA, K2AE, OKR = rkhs.KernelPCA, rkhs.KernelAutoencoder, rkhs.OperatorKernelRegressor
CASES: dict[str, Case] = {
    "kernel_pca_linear": vectors(KPCA(2, kernel="linear", center=False)),
    "kernel_pca_robust": vectors(KPCA(2, loss="huber")),
    "kernel_pca_preimage": vectors(KPCA(2, preimage="fixed_point", kernel=kernels.Gaussian(0.2))),
    "kernel_pca_float32": vectors(KPCA(2, dtype="float32")),
    "kernel_pca_nystroem": vectors(KPCA(2, storage=Nystroem(8))),
    "kernel_pca_random_features": vectors(KPCA(2, storage=RandomFeatures(30, random_state=0))),
    "kernel_pca_blocked": vectors(KPCA(2, storage="blocked")),
    "kernel_pca_gram": gram(KPCA(2, kernel="precomputed")),
    "kernel_pca_bits": bits,
    "kernel_pca_molecules": objects(KPCA(2, kernel=kernels.MoleculeTanimoto()), smiles),
    "kernel_pca_strings": objects(KPCA(2, kernel=kernels.Spectrum(2)), letters),
    "kernel_pca_graphs": objects(KPCA(2, kernel=kernels.WeisfeilerLehman(2)), graph),
    "kernel_pca_series": objects(KPCA(2, kernel=kernels.GlobalAlignment()), series),
    "kernel_pca_sets": objects(KPCA(2, kernel=kernels.MeanEmbedding()), series),
    "kernel_pca_tables": objects(KPCA(2, kernel=kernels.MixedTable()), row),
    "kernel_pca_spectra": objects(KPCA(2, kernel=kernels.ProbabilityProduct()), peaks),
    "kernel_autoencoder_deep": vectors(K2AE((3, 2), kernel=kernels.Gaussian("scale") + 0.5 * kernels.Matern(2.5, 0.3))),
    "kernel_autoencoder_gram": gram(K2AE(2, kernel="precomputed")),
    "kernel_autoencoder_nystroem": vectors(K2AE(2, storage=Nystroem(8))),
    "kernel_autoencoder_random_features": vectors(K2AE(2, storage=RandomFeatures(30, random_state=0), reg=1e-2)),
    "kernel_autoencoder_strings": objects(K2AE(2, kernel=kernels.Spectrum(2), output_kernel="same"), letters),
    "kernel_pca_sparse": sparse(KPCA(2, kernel=kernels.Gaussian(0.2))),
    "kernel_autoencoder_sparse": sparse(K2AE(2, kernel="linear")),
    "kernel_autoencoder_spanned": vectors(K2AE(2, storage=Nystroem(8), output_kernel="same", max_iter=20)),
    "kernel_autoencoder_filled": vectors(K2AE(2, columns="filled")),
    "deep_rkm_nystroem": vectors(rkhs.DeepRKM((3, 2), storage=Nystroem(8), random_state=0)),
    "kernel_pca_random_state": vectors(KPCA(2, storage=Nystroem(8, random_state=np.random.RandomState(0)))),
    "kernel_contrastive": vectors(rkhs.KernelContrastive(2, random_state=0)),
    "deep_rkm": vectors(rkhs.DeepRKM((3, 2), random_state=0)),
    "gram_transformer": vectors(rkhs.GramTransformer()),
    "operator_regressor": vectors(OKR(operator=[[2.0, 1.0], [1.0, 2.0]], loss="huber"), "columns"),
    "operator_regressor_nystroem": vectors(OKR(storage=Nystroem(8)), "columns"),
    "operator_regressor_random_features": vectors(OKR(storage=RandomFeatures(30, random_state=0)), "row"),
    "operator_regressor_cv": vectors(rkhs.OperatorKernelRegressorCV(regs=(1e-2, 1e-3), cv=2), "row"),
    "functional_regressor": curves,
    "io_regressor": vectors(rkhs.InputOutputKernelRegressor(output_kernel="gaussian"), "columns"),
}


@cache
def made(number: int, name: str) -> tuple[Any, Any]:
    """The model and new items of a case, made once: who takes them leaves them as they are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # so few rows are no fit to be proud of
        return CASES[name](np.random.default_rng(number))


def answers(model: Any, items: Any) -> list[np.ndarray]:
    """What a model says of items; codes are decoded where vectors come out."""
    found = [np.asarray(getattr(model, method)(items)) for method in METHODS if hasattr(model, method)]
    vectors = isinstance(items, np.ndarray) and hasattr(model, "kernel_") and model.kernel_.domain == "vectors"
    if vectors and hasattr(model, "inverse_transform"):
        found.append(np.asarray(model.inverse_transform(found[0])))
    return found
