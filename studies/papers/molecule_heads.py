"""Properties of molecules from kernels and codes: ridge and forest heads, one cell of a regression study at a time."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning

from rkhs._core.errors import CollapseWarning, InputError
from rkhs.estimators.autoencoder.defaults import fixed_feature_reg
from rkhs.estimators.kernel_autoencoder import KernelAutoencoder
from rkhs.estimators.kernel_pca import KernelPCA
from rkhs.kernels import Gaussian, GaussianOf, Tanimoto
from studies.harness.scripts import data_folder

__all__ = ["load_properties", "ridge_predictions", "run_cell"]

REGS = tuple(10.0 ** np.arange(-7.0, 0.1, 0.5))
BANDWIDTHS = (0.1, 0.3, 1.0, 3.0)  # over the median distance
# The model of Laforgue et al. (2019): what our defaults add is off.
PAPER: dict[str, Any] = {"center": False, "scale": False, "linear_part": "kernel", "refine": False, "code_metric": 0.0}
_COLUMNS = {"esol": "log_solubility", "lipophilicity": "logD"}


def load_properties(name: str, n: int | None = None) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """FP2 bits (n, 1024), properties (n, L) and their names, of ``n`` molecules of a fixed shuffle (default all).

    Parameters
    ----------
    name : {"nci_cancer", "esol", "lipophilicity"}
    n : int, optional

    Raises
    ------
    InputError
        If ``RKHS_DATA`` does not name the folder of data sets, or the set is unknown.
    """
    root = data_folder(str(name))
    if name not in ("nci_cancer", *_COLUMNS):
        raise InputError(f"name must be one of nci_cancer, {', '.join(_COLUMNS)}; got {name!r}")
    folder = root / name
    with np.load(folder / "fingerprints.npz", allow_pickle=False) as data:
        bits = np.unpackbits(data["fp2"], axis=1).astype(float)
    if name == "nci_cancer":
        with np.load(folder / "molecules.npz", allow_pickle=False) as data:
            Y, names = data["Y"].astype(float), [str(line) for line in data["cell_lines"]]
    else:
        import pandas

        Y, names = pandas.read_csv(folder / "data.csv")[[_COLUMNS[name]]].to_numpy(dtype=float), [name]
    rows = np.random.default_rng(0).permutation(len(bits))[:n]
    return bits[rows], Y[rows], names


def ridge_predictions(
    kernels: Sequence[tuple[np.ndarray, np.ndarray]], Y: np.ndarray, *, center: bool = True
) -> np.ndarray:
    """Kernel ridge of each column, its kernel and regulariser chosen by leave-one-out on the training rows.

    Parameters
    ----------
    kernels : sequence of (array of shape (n, n), array of shape (m, n))
        Gram matrices and kernel values of test rows with training rows.
    Y : array of shape (n, L)
    center : bool, default=True
        Subtract the training means and add them back.

    Returns
    -------
    array of shape (m, L)
    """
    mean = Y.mean(0) if center else np.zeros(Y.shape[1])
    centred, n = Y - mean, len(Y)
    best = np.full(Y.shape[1], np.inf)
    result = np.zeros((len(kernels[0][1]), Y.shape[1]))
    for K, cross in kernels:
        w, U = np.linalg.eigh(K)
        projected, squares = U.T @ centred, U**2
        for reg in REGS:
            inverse = 1.0 / (np.maximum(w, 0.0) + n * reg)
            alpha = U @ (inverse[:, None] * projected)
            held = ((alpha / (squares @ inverse)[:, None]) ** 2).mean(0)  # leave-one-out residuals, in closed form
            better = held < best
            result[:, better] = cross @ alpha[:, better]
            best = np.minimum(best, held)
    return result + mean


def _laplacians(squared: np.ndarray, squared_test: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Laplacian kernels of squared distances, one per bandwidth."""
    distances, cross = (np.sqrt(np.maximum(part, 0.0)) for part in (squared, squared_test))
    median = float(np.median(distances))
    return [(np.exp(-b * distances / median), np.exp(-b * cross / median)) for b in BANDWIDTHS]


def _between(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Squared distances of rows."""
    return (A**2).sum(1)[:, None] + (B**2).sum(1) - 2.0 * A @ B.T


def _codes(model: str, p: int, K: np.ndarray, cross: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Training codes, and test codes by the way they are computed."""
    if model == "KPCA":
        pca = KernelPCA(p, kernel="precomputed", preimage="nearest").fit(K)
        return pca.transform(K), {"": pca.transform(cross)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", CollapseWarning)
        # Codes in the metric of the paper; one regulariser for all splits, as there.
        auto = KernelAutoencoder(p, kernel="precomputed", reg=fixed_feature_reg(p), code_metric=0.0).fit(K)
    plain = auto.set_params(refine=False).transform(cross)
    return auto.codes_, {"": plain, " refined": auto.set_params(refine=True).transform(cross)}


def _codes_of_the_paper(p: int, reg: float, train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
    """The same of two layers with Gaussian kernels that rebuild the features of Tanimoto as they are.

    The paper prints neither bandwidths nor regularisers: the median distance, one, and ``reg`` for both layers.
    """
    auto = KernelAutoencoder(
        p,
        kernel=GaussianOf(Tanimoto(), "median"),
        decoder_kernel=Gaussian(1.0),
        output_kernel=Tanimoto(),
        reg=(reg, reg),
        **PAPER,
    ).fit(train)
    return auto.codes_, {"": auto.transform(test)}


def _forests(X: np.ndarray, tests: dict[str, np.ndarray], Y: np.ndarray, **settings: Any) -> dict[str, np.ndarray]:
    """Predictions of one forest per column, for every set of test rows."""
    found: dict[str, list[np.ndarray]] = {name: [] for name in tests}
    for y in Y.T:
        forest = RandomForestRegressor(**settings).fit(X, y)
        for name, test in tests.items():
            found[name].append(forest.predict(test))
    return {name: np.array(columns).T for name, columns in found.items()}


def run_cell(cell: dict[str, Any], bits: np.ndarray, Y: np.ndarray) -> dict[str, Any]:
    """Errors of every strategy of one model on one split.

    Parameters
    ----------
    cell : dict
        ``split`` (its number seeds a random 90/10 split), ``model`` ("ridge", "bits", "KPCA" or "K2AE"), ``p``,
        ``trees``, and the lines ``first`` to ``last`` (columns of ``Y``). With ``reg``, K2AE is the paper's model;
        without, our default one.
    bits : array of shape (n, d)
    Y : array of shape (n, L)

    Returns
    -------
    dict
        ``errors``: mean squared errors on the test rows by strategy, one per line; ``power``: means of ``y^2`` there.
    """
    order = np.random.default_rng(1000 + cell["split"]).permutation(len(bits))
    test, train = np.split(order, [round(0.1 * len(bits))])
    lines = slice(cell["first"], cell["last"])
    targets, truth = Y[train, lines], Y[test, lines]
    forest = {"n_estimators": cell["trees"], "random_state": cell["split"]}
    model, p = cell["model"], cell["p"]
    found: dict[str, np.ndarray] = {}
    if model == "bits":
        # A tenth of the bits a split: all of them take ten times as long and do worse.
        found["raw bits + RF"] = _forests(bits[train], {"": bits[test]}, targets, max_features=0.1, **forest)[""]
    else:
        kernel = Tanimoto()
        K, cross = kernel(bits[train]), kernel(bits[test], bits[train])
        if model == "ridge":
            found["ridge, y not centred"] = ridge_predictions([(K, cross)], targets, center=False)
            found["ridge"] = ridge_predictions([(K, cross)], targets)
            found["Laplacian ridge"] = ridge_predictions(_laplacians(2.0 - 2.0 * K, 2.0 - 2.0 * cross), targets)
        else:
            if "reg" in cell:
                Z, tests = _codes_of_the_paper(p, cell["reg"], bits[train], bits[test])
            else:
                Z, tests = _codes(model, p, K, cross)
            for kind, values in _forests(Z, tests, targets, **forest).items():
                found[f"{model} {p}{kind} + RF"] = values
            for kind, Z_test in tests.items():
                laplacians = _laplacians(_between(Z, Z), _between(Z_test, Z))
                found[f"{model} {p}{kind} + Laplacian ridge"] = ridge_predictions(laplacians, targets)
    errors = {name: ((values - truth) ** 2).mean(0).tolist() for name, values in found.items()}
    return {"errors": errors, "power": (truth**2).mean(0).tolist()}
