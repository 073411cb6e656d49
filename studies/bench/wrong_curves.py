"""Curves from curves where a tenth of the training outputs is wrong: errors on right curves.

Run: RKHS_DATA=... ./dev bench wrong_curves [--splits 4] [--development]. The choice of `FunctionalKernelRegressor` (its
kernels, trim=3) was made on the development sets: Canadian weather (precipitation from temperature), growth (later
heights from earlier ones), meat spectra (second half from first) and a made one. Scored are gait (knee from hip),
phonemes (second half from first), EMG and lip, and a made one. A quarter of the curves is held out and stays right.
Printed: mean squared error over that of the mean training curve without wrong ones, mean of the splits and standard
error; "right only" is trained without the wrong curves. Peers: the mean curve, ridge regression on principal component
scores (number and ridge by leave-one-out), and the machine with fixed settings (functional_laplacian, reg=1e-3, huber).

Run: RKHS_DATA=... ./dev bench wrong_curves --regressors [--development] [--sets gait made]. The same for
`OperatorKernelRegressorCV` with the squared and the Huber loss, and with `fit_robust`; also numbers from tables
(development: diabetes; scored: solubility from fingerprints). `fit_robust` has the settings that it had for
autoencoders, chosen on other sets.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.decomposition import PCA

from rkhs import FunctionalKernelRegressor, OperatorKernelRegressorCV, fit_robust
from rkhs.kernels import Tanimoto
from studies.harness.arguments import bench_arguments
from studies.harness.scripts import data_folder, run_script

KINDS = ("none", "flipped", "shifted", "spikes", "wild", "swapped")
Predict = Callable[[np.ndarray], np.ndarray]


def made(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Sums of waves whose weights are curved functions of those of the input waves."""
    rng = np.random.default_rng(seed)
    t, a = np.linspace(0.0, 1.0, 60), rng.normal(size=(n, 4))
    s = np.tanh(a @ rng.normal(size=(4, 3)))
    X = sum(a[:, [k]] * np.cos(np.pi * (k + 1) * t) for k in range(4))
    Y = sum(s[:, [k]] * np.sin(np.pi * (k + 1) * t + k) for k in range(3))
    return X + 0.05 * rng.normal(size=(n, 60)), Y + 0.1 * rng.normal(size=(n, 60))


def sets(development: bool) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Name, inputs and outputs."""
    folder = data_folder()
    if development:
        weather = np.load(folder / "fda_canadian_weather" / "canadian_weather.npz", allow_pickle=False)
        yield "weather", weather["temp"], weather["log10precip"]
        growth = np.load(folder / "fda_growth" / "growth.npz", allow_pickle=False)["X"]
        yield "growth", growth[:, :16], growth[:, 16:]
        meat = np.load(folder / "fda_tecator" / "tecator.npz", allow_pickle=False)["X"]
        yield "meat", meat[:, :50], meat[:, 50:]
        yield "made", *made(0, 120)
        return
    gait = np.load(folder / "fda_gait" / "gait.npz", allow_pickle=False)
    yield "gait", gait["hip"], gait["knee"]
    phoneme = np.load(folder / "fda_phoneme" / "phoneme.npz", allow_pickle=False)["X_train"]
    yield "phonemes", phoneme[:, :75], phoneme[:, 75:]
    lip = np.load(folder / "emg_lip" / "emg_lip.npz", allow_pickle=False)
    yield "lip", lip["emg"][:, ::4], lip["lip"][:, ::4]
    yield "made", *made(5, 300)


def spoil(Y: np.ndarray, kind: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A tenth of the curves made wrong, and which."""
    rng, Y = np.random.default_rng(seed), Y.copy()
    bad = rng.permutation(len(Y))[: max(1, round(0.1 * len(Y)))]
    middle = Y.mean(0)
    spread = np.sqrt(((Y - middle) ** 2).mean())
    if kind == "flipped":
        Y[bad] = middle - 3.6 * (Y[bad] - middle)
    elif kind == "shifted":
        Y[bad] += 8.0 * spread
    elif kind == "spikes":
        Y[bad] += (rng.random(Y[bad].shape) < 0.1) * rng.normal(size=Y[bad].shape) * 40.0 * spread
    elif kind == "wild":
        Y[bad] = middle + 50.0 * spread * rng.normal(size=(len(bad), 1))
    elif kind == "swapped":
        Y[bad] = Y[rng.permutation(len(Y))[: len(bad)]]
    return Y, bad


def score_ridge(X: np.ndarray, Y: np.ndarray) -> Predict:
    """Ridge regression on principal component scores, both chosen by leave-one-out."""
    n, middle = len(X), Y.mean(0)
    found: tuple[float, Predict] | None = None
    for p in (2, 4, 8, 15, 25):
        if p >= min(X.shape) - 1:
            continue
        pca = PCA(p).fit(X)
        unit = n**0.5 / pca.singular_values_[0]
        Z = pca.transform(X) * unit
        for ridge in np.logspace(-8.0, 2.0, 21):
            solve = np.linalg.solve(Z.T @ Z + ridge * n * np.eye(p), Z.T)
            hat = Z @ solve
            left = (Y - middle - hat @ (Y - middle)) / (1.0 - np.diag(hat) - 1.0 / n)[:, None]
            error = float((left**2).mean())
            if found is None or error < found[0]:
                B = solve @ (Y - middle)
                found = error, lambda new, pca=pca, unit=unit, B=B: pca.transform(new) * unit @ B + middle
    assert found is not None
    return found[1]


def numbers(development: bool) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Name, inputs and one output."""
    if development:
        X, y = load_diabetes(return_X_y=True)
        yield "diabetes", X / X.std(0), y[:, None]
        return
    file = np.load(data_folder() / "esol" / "fingerprints.npz", allow_pickle=False)
    X = np.unpackbits(file["morgan"], axis=1)
    y = np.genfromtxt(data_folder() / "esol" / "data.csv", delimiter=",", skip_header=1, usecols=-1, comments=None)
    yield "solubility", X[:500], y[:500, None]


def machine(X: np.ndarray, loss: str) -> OperatorKernelRegressorCV:
    """Chosen by cross-validation, on bits or numbers."""
    return OperatorKernelRegressorCV(Tanimoto() if X.dtype.itemsize == 1 else "gaussian", loss=loss)


REGRESSORS: dict[str, Callable[[np.ndarray, np.ndarray], Predict]] = {
    "mean": lambda X, Y: lambda new: np.tile(Y.mean(0), (len(new), 1)),
    "squared": lambda X, Y: machine(X, "squared").fit(X, Y).predict,
    "huber": lambda X, Y: machine(X, "huber").fit(X, Y).predict,
    "fit_robust": lambda X, Y: fit_robust(machine(X, "squared"), X, Y).model.predict,
}


METHODS: dict[str, Callable[[np.ndarray, np.ndarray], Predict]] = {
    "mean": lambda X, Y: lambda new: np.tile(Y.mean(0), (len(new), 1)),
    "score ridge": score_ridge,
    "fixed": lambda X, Y: FunctionalKernelRegressor("functional_laplacian", reg=1e-3).fit(X, Y).predict,
    "default": lambda X, Y: FunctionalKernelRegressor().fit(X, Y).predict,
}


def main() -> None:
    """Print one line per set and kind of wrong curves."""
    asked = bench_arguments(
        __doc__,
        splits=4,
        development=False,
        regressors=False,
        sets={"nargs": "*", "help": "names of sets; all of them unless given"},
    )
    warnings.simplefilter("ignore")
    methods, last = (REGRESSORS, "fit_robust") if asked.regressors else (METHODS, "default")
    more = numbers(asked.development) if asked.regressors else iter(())
    for name, X, Y in (*sets(asked.development), *more):
        if asked.sets is not None and name not in asked.sets:
            continue
        for kind in KINDS:
            errors: dict[str, list[float]] = {}
            for seed in range(asked.splits):
                order = np.random.default_rng(seed).permutation(len(X))
                train, test = order[: int(0.75 * len(X))], order[int(0.75 * len(X)) :]
                spoilt, bad = spoil(Y[train], kind, seed)
                right = np.setdiff1d(np.arange(len(train)), bad) if kind != "none" else np.arange(len(train))
                unit = ((Y[test] - Y[train].mean(0)) ** 2).mean()
                made_by = {m: fit(X[train], spoilt) for m, fit in methods.items()}
                made_by["right only"] = methods[last](X[train][right], Y[train][right])
                for m, predict in made_by.items():
                    errors.setdefault(m, []).append(float(((predict(X[test]) - Y[test]) ** 2).mean() / unit))
            cells = (f"{m} {np.mean(e):.3f} ({np.std(e, ddof=1) / len(e) ** 0.5:.3f})" for m, e in errors.items())
            print(f"{name:9s}{kind:8s} " + "  ".join(cells), flush=True)


if __name__ == "__main__":
    run_script(main)
