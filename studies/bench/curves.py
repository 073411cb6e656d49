"""Codes of curves against the raw kernel: k nearest neighbours on phonemes and on spectra of meat.

Each kernel machine is tuned alike: the kernel, the number of components and k are chosen by three-fold cross-validation
on the training half. Needs the benchmark data (variable RKHS_DATA). Run: ./dev bench curves
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from rkhs import KernelAutoencoder, KernelPCA
from rkhs.kernels import FunctionalGaussian, FunctionalLaplacian, GaussianOf
from studies.harness.scripts import data_folder, run_script

KERNELS = {"Gaussian": FunctionalGaussian(), "Laplacian": GaussianOf(FunctionalLaplacian())}
COMPONENTS, NEIGHBOURS = (3, 10), (1, 3, 5, 10, 20)


def load(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training and test curves with their labels, or fat contents; phonemes have the published split."""
    folder = data_folder()
    if name == "phoneme":
        file = np.load(folder / "fda_phoneme" / "phoneme.npz")
        return file["X_train"], file["y_train"], file["X_test"], file["y_test"]
    file = np.load(folder / "fda_tecator" / "tecator.npz")
    X = np.gradient(np.gradient(file["X"], axis=1), axis=1)  # second derivatives, as is usual for these spectra
    X = X / X.std()
    fat = file["Y"][:, [str(name).lower() for name in file["y_names"]].index("fat")]
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[:129], order[129:]
    return X[train], fat[train], X[test], fat[test]


def error(truth: np.ndarray, said: np.ndarray) -> float:
    """Share of wrong labels, or root mean squared error."""
    if truth.dtype.kind == "f":
        return float(np.sqrt(np.mean((truth - said) ** 2)))
    return float(np.mean(truth != said))


def distances(kernel: object, X: np.ndarray, new: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distances in the feature space of a kernel with k(x, x) = 1."""
    resolved = kernel.resolve(kernel.read(X))
    return np.sqrt(np.maximum(2.0 - 2.0 * resolved(X), 0.0)), np.sqrt(np.maximum(2.0 - 2.0 * resolved(new, X), 0.0))


def codes(method: str, kernel: object, p: int, X: np.ndarray, new: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Codes of training and new curves."""
    kinds = {
        "kernel PCA": lambda: KernelPCA(p, kernel=kernel),
        "autoencoder, curves": lambda: KernelAutoencoder(p, kernel=kernel),
        "autoencoder, features": lambda: KernelAutoencoder(p, kernel=kernel, output_kernel="same"),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = kinds[method]().fit(X)
        return model.codes_, model.transform(new)


def errors(
    method: str, kernel: object, p: int, X: np.ndarray, y: np.ndarray, new: np.ndarray, y_new: np.ndarray
) -> list[float]:
    """Errors on new curves for every number of neighbours."""
    raw = method == "raw kernel"
    A, B = distances(kernel, X, new) if raw else codes(method, kernel, p, X, new)
    kind = KNeighborsRegressor if y.dtype.kind == "f" else KNeighborsClassifier
    metric = "precomputed" if raw else "minkowski"
    return [error(y_new, kind(k, metric=metric).fit(A, y).predict(B)) for k in NEIGHBOURS]


def study(name: str) -> None:
    """Print one line per method."""
    X, y, new, y_new = load(name)
    folds = (
        KFold(3, shuffle=True, random_state=0)
        if y.dtype.kind == "f"
        else StratifiedKFold(3, shuffle=True, random_state=0)
    )
    measure = "root mean squared error of fat, %" if y.dtype.kind == "f" else "wrong labels"
    print(f"{name}: {len(X)} training and {len(new)} test curves of {X.shape[1]} points; {measure}")
    for method in ("raw kernel", "kernel PCA", "autoencoder, curves", "autoencoder, features"):
        tried = []
        for kernel_name, kernel in KERNELS.items():
            for p in (0,) if method == "raw kernel" else COMPONENTS:
                parts = [errors(method, kernel, p, X[a], y[a], X[b], y[b]) for a, b in folds.split(X, y)]
                for k, value in zip(NEIGHBOURS, np.mean(parts, axis=0), strict=True):
                    tried.append((float(value), kernel_name, p, k))
        value, kernel_name, p, k = min(tried)
        test = errors(method, KERNELS[kernel_name], p, X, y, new, y_new)[NEIGHBOURS.index(k)]
        chosen = f"{kernel_name}, " + (f"p = {p}, " if p else "") + f"k = {k}"
        print(f"  {method:24s} test {test:.3f}   cross-validated {value:.3f}   ({chosen})", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=["phoneme", "tecator"])
    for each in parser.parse_args().sets:
        study(each)


if __name__ == "__main__":
    run_script(main)
