"""Write a model file of every kind, and what its model says of new items, for tests/test_golden_files.py.

Usage: python tools/make_golden_files.py

A golden file stays as it was written: the next versions of the library must read it. So this writes what is missing for
the current format, and never over a file that is there. For a new estimator, or a kind of items that is stored in
another way, add a case below and run it.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import rkhs
from rkhs import kernels
from rkhs.features import Nystroem, RandomFeatures
from rkhs.persistence import FORMAT

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "golden"
METHODS = ("transform", "predict", "reconstruction_error")
N, N_NEW = 20, 4

Case = Callable[[np.random.Generator], tuple[Any, str, Any]]  # fitted model, kind of the new items, new items


def vectors(model: Any, y: str | None = None) -> Case:
    """Rows of numbers; `y` names the targets."""

    def case(rng: np.random.Generator) -> tuple[Any, str, Any]:
        X = rng.normal(size=(N + N_NEW, 3))
        targets = {"columns": np.column_stack([X[:, 0] ** 2, X[:, 1]]), "row": np.sin(X[:, 0])}
        fitted = model.fit(X[:N]) if y is None else model.fit(X[:N], targets[y][:N])
        return fitted, "vectors", X[N:]

    return case


def objects(model: Any, kind: str, make: Callable[[np.random.Generator], Any]) -> Case:
    """A list of objects."""

    def case(rng: np.random.Generator) -> tuple[Any, str, Any]:
        items = [make(rng) for _ in range(N + N_NEW)]
        return model.fit(items[:N]), kind, items[N:]

    return case


def gram(model: Any) -> Case:
    """A Gram matrix."""

    def case(rng: np.random.Generator) -> tuple[Any, str, Any]:
        X = rng.normal(size=(N + N_NEW, 3))
        K = kernels.Gaussian(0.2)
        return model.fit(K(X[:N])), "vectors", K(X[N:], X[:N])

    return case


def bits(rng: np.random.Generator) -> tuple[Any, str, Any]:
    """Rows of truth values."""
    X = rng.random((N + N_NEW, 40)) < 0.3
    return rkhs.KernelPCA(2, kernel=kernels.Tanimoto()).fit(X[:N]), "bits", X[N:]


def curves(rng: np.random.Generator) -> tuple[Any, str, Any]:
    """Curves on a grid."""
    times = np.linspace(0.0, 1.0, 12)
    X = np.cumsum(rng.normal(size=(N + N_NEW, 12)), axis=1)
    model = rkhs.FunctionalKernelRegressor(input_times=times, output_times=times, n_basis=5)
    return model.fit(X[:N], np.sin(X[:N])), "vectors", X[N:]


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


def pipeline_table(rng: np.random.Generator) -> tuple[Any, str, Any]:
    """Steps of scikit-learn: columns with gaps and columns of categories."""
    X = np.abs(rng.normal(size=(N + N_NEW, 4)))
    X[::5, 0] = np.nan
    X[:, 3] = rng.integers(0, 5, len(X))
    numbers = make_pipeline(SimpleImputer(add_indicator=True), FunctionTransformer(np.log1p), StandardScaler())
    encoder = OneHotEncoder(drop="first", min_frequency=4, handle_unknown="infrequent_if_exist", sparse_output=False)
    columns = ColumnTransformer([("numbers", numbers, slice(0, 2)), ("kinds", encoder, [3])], remainder="passthrough")
    return make_pipeline(columns, KPCA(2, kernel=kernels.Gaussian(0.2))).fit(X[:N]), "vectors", X[N:]


def pipeline_texts(rng: np.random.Generator) -> tuple[Any, str, Any]:
    """Steps of scikit-learn: words of texts."""
    words = ["red", "blue", "green", "cat", "dog", "sits", "runs", "day", "night", "away"]
    texts = [" ".join(rng.choice(words, size=6)) for _ in range(N + N_NEW)]
    model = make_pipeline(TfidfVectorizer(), TruncatedSVD(4, random_state=0), KPCA(2, kernel=kernels.Gaussian(0.2)))
    return model.fit(texts[:N]), "texts", texts[N:]


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
    "kernel_pca_molecules": objects(KPCA(2, kernel=kernels.MoleculeTanimoto()), "texts", smiles),
    "kernel_pca_strings": objects(KPCA(2, kernel=kernels.Spectrum(2)), "texts", letters),
    "kernel_pca_graphs": objects(KPCA(2, kernel=kernels.WeisfeilerLehman(2)), "graphs", graph),
    "kernel_pca_series": objects(KPCA(2, kernel=kernels.GlobalAlignment()), "series", series),
    "kernel_pca_sets": objects(KPCA(2, kernel=kernels.MeanEmbedding()), "series", series),
    "kernel_pca_tables": objects(KPCA(2, kernel=kernels.MixedTable()), "rows", row),
    "kernel_pca_spectra": objects(KPCA(2, kernel=kernels.ProbabilityProduct()), "peaks", peaks),
    "kernel_autoencoder_deep": vectors(K2AE((3, 2), kernel=kernels.Gaussian("scale") + 0.5 * kernels.Matern(2.5, 0.3))),
    "kernel_autoencoder_gram": gram(K2AE(2, kernel="precomputed")),
    "kernel_autoencoder_nystroem": vectors(K2AE(2, storage=Nystroem(8))),
    "kernel_autoencoder_random_features": vectors(K2AE(2, storage=RandomFeatures(30, random_state=0), reg=1e-2)),
    "kernel_autoencoder_strings": objects(K2AE(2, kernel=kernels.Spectrum(2), output_kernel="same"), "texts", letters),
    "kernel_autoencoder_cv": vectors(rkhs.KernelAutoencoderCV(2, regs=(1e-2, 1e-3), cv=2, random_state=0)),
    "kernel_contrastive": vectors(rkhs.KernelContrastive(2, random_state=0)),
    "deep_rkm": vectors(rkhs.DeepRKM((3, 2), random_state=0)),
    "gram_transformer": vectors(rkhs.GramTransformer()),
    "operator_regressor": vectors(OKR(operator=[[2.0, 1.0], [1.0, 2.0]], loss="huber"), "columns"),
    "operator_regressor_nystroem": vectors(OKR(storage=Nystroem(8)), "columns"),
    "operator_regressor_random_features": vectors(OKR(storage=RandomFeatures(30, random_state=0)), "row"),
    "operator_regressor_cv": vectors(rkhs.OperatorKernelRegressorCV(regs=(1e-2, 1e-3), cv=2), "row"),
    "functional_regressor": curves,
    "pipeline_table": pipeline_table,
    "pipeline_texts": pipeline_texts,
    "io_regressor": vectors(rkhs.InputOutputKernelRegressor(output_kernel="gaussian"), "columns"),
}


def plain(value: Any) -> Any:
    """JSON types, numbers by their shortest exact text."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def answers_of(model: Any, items: Any) -> dict[str, Any]:
    """What the model says, by method; codes are decoded where vectors come out."""
    answers = {method: getattr(model, method)(items) for method in METHODS if hasattr(model, method)}
    if isinstance(items, np.ndarray) and hasattr(model, "inverse_transform") and model.kernel_.domain == "vectors":
        answers["inverse_transform"] = model.inverse_transform(answers["transform"])
    return {method: plain(np.asarray(values, dtype=np.float64)) for method, values in answers.items()}


def main() -> None:
    """Write what is missing."""
    for number, (name, case) in enumerate(CASES.items()):
        path = FOLDER / f"{name}-{FORMAT[0]}.{FORMAT[1]}.rkhs"
        if path.exists() or path.with_suffix(".json").exists():
            print(f"{path.name}: there, left as it is")
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # so few rows are no fit to be proud of
            model, kind, items = case(np.random.default_rng(number))
        text = json.dumps({"kind": kind, "items": plain(items), "answers": answers_of(model, items)})
        rkhs.save(model, path)
        path.with_suffix(".json").write_text(text + "\n")
        print(f"{path.name}: written, {path.stat().st_size / 1024:.1f} KB and {len(text) / 1024:.1f} KB")


if __name__ == "__main__":
    main()
