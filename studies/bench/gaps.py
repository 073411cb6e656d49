"""Tables with gaps and texts: the kernel ``mixed_table`` beside filled gaps and the default kernels.

Run: RKHS_DATA=... ./dev bench gaps [--rows 400] [--seeds 3] [--codes 4]. Cells of known tables are made empty at
random (0, 5 and 20 %); with "texts" every third column is cut into quartiles that are named. A quarter of the rows is
held out. Of the codes of new rows "lost" is the share of the variance of the true, complete, standardised table that
ridge regression with the Laplacian kernel cannot say from them (fitted on the codes of the training rows), "wrong" the
share of wrong classes of the same learner. "neighbours, sklearn" is scikit-learn's ``KNNImputer`` on the columns of
numbers and one column for each text. Last come ratios of "lost" to ``mixed_table``, geometric means over sets and
shares of gaps, and differences of "wrong" in points of a hundred, each with its standard error. What was looked at
while this was made are the development sets; the others came after.

Run: RKHS_DATA=... ./dev bench gaps --view [--sets ...]. A whole view is missing: of a fifth of the rows, either the
first or the second half of the columns (made), or one of two curves of an item (gait: hip or knee; weather: temperature
or precipitation). "lost": of all new rows, of those with a gap and of those without; "wrong" as above. "complete rows"
is fitted without the rows with gaps; new rows then get means. "masked kernel" is a sum of two Gaussians over the
views that both items have, divided by the root of the numbers of views of each. "codes of views" are codes of each
view, of the rows that have it, side by side, with gaps that ``columns="filled"`` fills: the way for views of objects.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable

import numpy as np
import torch
from scipy.spatial.distance import cdist
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from rkhs import KernelAutoencoder
from rkhs.evaluation import SmoothClassifier, SmoothRegressor
from rkhs.kernels import MixedTable
from studies.harness.arguments import bench_arguments
from studies.harness.scripts import data_folder, run_script

DEVELOPMENT, OTHERS = (
    ("glass", "wheat_seeds", "wine", "iris"),
    ("sonar", "breast_cancer_wisconsin", "cancer", "diabetes", "satellite"),
)
BUNDLED = {"wine": load_wine, "iris": load_iris, "cancer": load_breast_cancer, "diabetes": load_diabetes}

PARTS = ("all", "gap", "whole")

Coder = Callable[[np.ndarray], np.ndarray]


def read(name: str) -> tuple[np.ndarray, np.ndarray | None]:
    if name in BUNDLED:
        data = BUNDLED[name]()
        return data.data, None if name == "diabetes" else data.target
    table = np.genfromtxt(data_folder() / "uci_small" / f"{name}.csv", delimiter=",", skip_header=1, dtype=str)
    return table[:, :-1].astype(float), table[:, -1]


def made(X: np.ndarray, share: float, texts: bool, rng: np.random.Generator) -> np.ndarray:
    """Rows of numbers, texts and None."""
    rows = X.astype(object)
    if texts:
        for j in range(0, X.shape[1], 3):
            rows[:, j] = np.array(["low", "some", "more", "most"])[
                np.searchsorted(np.quantile(X[:, j], (0.25, 0.5, 0.75)), X[:, j])
            ]
    rows[rng.random(X.shape) < share] = None
    return rows


def mixed(kernel: MixedTable) -> Callable[[np.ndarray, int], Coder]:
    def fit(train: np.ndarray, p: int) -> Coder:
        return KernelAutoencoder(p, kernel=kernel).fit(train).transform

    return fit


def filled(imputer: object) -> Callable[[np.ndarray, int], Coder]:
    """Standardised columns, one for each category, gaps filled, then the defaults."""

    def fit(train: np.ndarray, p: int) -> Coder:
        texts = [j for j, column in enumerate(train.T) if any(isinstance(cell, str) for cell in column)]
        numbers = [j for j in range(train.shape[1]) if j not in texts]
        encoder = make_column_transformer(
            (make_pipeline(StandardScaler(), imputer), numbers), (OneHotEncoder(handle_unknown="ignore"), texts)
        )

        def ready(rows: np.ndarray) -> np.ndarray:
            rows = rows.copy()
            rows[:, numbers] = np.where(rows[:, numbers] == None, np.nan, rows[:, numbers]).astype(float)  # noqa: E711
            return rows

        pipe = make_pipeline(encoder, KernelAutoencoder(p)).fit(ready(train))
        return lambda rows: pipe.transform(ready(rows))

    return fit


def by_rows(train: np.ndarray, p: int) -> Coder:
    return KernelAutoencoder(p, columns="filled").fit(train).transform


METHODS: dict[str, Callable[[np.ndarray, int], Coder]] = {
    "mixed_table": mixed(MixedTable()),
    "mixed_table, gamma 1/4": mixed(MixedTable(0.25)),
    "medians": filled(SimpleImputer(strategy="median")),
    "neighbours, sklearn": filled(KNNImputer()),
    "columns='filled'": by_rows,
}


def scores(
    coder: Coder,
    train: np.ndarray,
    test: np.ndarray,
    truth: tuple[np.ndarray, np.ndarray],
    classes: tuple[np.ndarray, np.ndarray] | None,
) -> tuple[float, float]:
    old, new = coder(train), coder(test)
    said = SmoothRegressor().fit(old, truth[0]).predict(new)
    lost = float(((said - truth[1]) ** 2).sum() / ((truth[1] - truth[0].mean(0)) ** 2).sum())
    return lost, float("nan") if classes is None else float(
        np.mean(SmoothClassifier().fit(old, classes[0]).predict(new) != classes[1])
    )


def one(name: str, share: float, texts: bool, arguments: argparse.Namespace) -> dict[str, np.ndarray]:
    """Mean over seeds of "lost" and "wrong" of every method."""
    X, y = read(name)
    found: dict[str, list[tuple[float, float]]] = {}
    for seed in range(arguments.seeds):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(X))[: arguments.rows]
        rows = made(X[order], share, texts, rng)
        cut = len(order) // 4
        full = StandardScaler().fit(X[order[cut:]])
        truth = full.transform(X[order[cut:]]), full.transform(X[order[:cut]])
        classes = None if y is None else (y[order[cut:]], y[order[:cut]])
        for method, fit in METHODS.items():
            if method in arguments.methods:
                coder = fit(rows[cut:], arguments.codes)
                found.setdefault(method, []).append(scores(coder, rows[cut:], rows[:cut], truth, classes))
    return {method: np.mean(values, 0) for method, values in found.items()}


def two_views(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """The views of every row, and the classes."""
    if name == "gait":
        gait = np.load(data_folder() / "fda_gait" / "gait.npz", allow_pickle=False)
        return gait["hip"], gait["knee"], None
    if name == "weather":
        weather = np.load(data_folder() / "fda_canadian_weather" / "canadian_weather.npz", allow_pickle=False)
        return weather["temp"][:, ::8], weather["log10precip"][:, ::8], None
    X, y = read(name)
    return X[:, : X.shape[1] // 2], X[:, X.shape[1] // 2 :], y


def masked_gram(rows: np.ndarray, first: int, train: slice) -> np.ndarray:
    """Mean of Gaussian kernels over the views that both rows have, positive semi-definite."""
    total, known = np.zeros((len(rows), len(rows))), np.zeros(len(rows))
    for part in (rows[:, :first], rows[:, first:]):
        has = ~np.isnan(part[:, 0])
        squares = cdist(part[has], part[has], "sqeuclidean")
        both = np.flatnonzero(has)
        inside = np.isin(both, np.arange(len(rows))[train])
        total[np.ix_(both, both)] += np.exp(-squares / np.median(squares[np.ix_(inside, inside)]))
        known += has
    return total / np.sqrt(np.outer(known, known))


def view_codes(rows: np.ndarray, first: int, cut: int, p: int) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Codes of training and new rows by each method, and the numbers of the training rows that it was fitted to."""
    new, train = slice(0, cut), slice(cut, None)
    means = np.where(np.isnan(rows), np.nanmean(rows[train], 0), rows)
    every = np.arange(len(rows))[train]
    whole = every[~np.isnan(rows[train]).any(1)]
    K = masked_gram(rows, first, train)
    complete, filled_by_means = (KernelAutoencoder(p).fit(means[kept]) for kept in (whole, every))
    by_rows = KernelAutoencoder(p, columns="filled").fit(rows[train])
    masked = KernelAutoencoder(p, kernel="precomputed").fit(K[train, train])
    sides = (rows[:, :first], rows[:, first:])
    coders = [KernelAutoencoder(min(p, s.shape[1])).fit(s[train][~np.isnan(s[train, 0])]) for s in sides]
    side = np.hstack([_known(coder.transform, s) for coder, s in zip(coders, sides, strict=True)])
    of_codes = KernelAutoencoder(p, columns="filled").fit(side[train])
    return {
        "complete rows": (complete.transform(means[whole]), complete.transform(means[new]), whole),
        "means": (filled_by_means.transform(means[train]), filled_by_means.transform(means[new]), every),
        "columns='filled'": (by_rows.transform(rows[train]), by_rows.transform(rows[new]), every),
        "codes of views": (of_codes.transform(side[train]), of_codes.transform(side[new]), every),
        "masked kernel": (masked.transform(K[train, train]), masked.transform(K[new, train]), every),
    }


def _known(coder: Coder, view: np.ndarray) -> np.ndarray:
    """Codes of the rows that have the view, NaN for others."""
    has = ~np.isnan(view[:, 0])
    codes = coder(view[has])
    full = np.full((len(view), codes.shape[1]), np.nan)
    full[has] = codes
    return full


def one_view(name: str, arguments: argparse.Namespace) -> dict[str, np.ndarray]:
    """Means over seeds of the share lost of all new rows, of those with a gap and without, and of wrong classes."""
    A, B, y = two_views(name)
    found: dict[str, list[tuple[float, ...]]] = {}
    for seed in range(arguments.seeds):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(A))[: arguments.rows]
        cut = len(order) // 4
        truth = np.hstack([A, B])[order]
        truth = (truth - truth[cut:].mean(0)) / np.maximum(truth[cut:].std(0), 1e-12)
        gap, second = rng.random(len(truth)) < 0.2, rng.random(len(truth)) < 0.5
        rows = truth.copy()
        rows[gap & ~second, : A.shape[1]] = np.nan
        rows[gap & second, A.shape[1] :] = np.nan
        for method, (old, new, kept) in view_codes(rows, A.shape[1], cut, arguments.codes).items():
            squares = (SmoothRegressor().fit(old, truth[kept]).predict(new) - truth[:cut]) ** 2
            parts = (np.ones(cut, dtype=bool), gap[:cut], ~gap[:cut])
            lost = [float(squares[part].sum() / (truth[:cut][part] ** 2).sum()) for part in parts]
            wrong = float("nan")
            if y is not None:
                labels = y[order]
                wrong = float(np.mean(SmoothClassifier().fit(old, labels[kept]).predict(new) != labels[:cut]))
            found.setdefault(method, []).append((*lost, wrong))
    return {method: np.mean(values, 0) for method, values in found.items()}


def missing_views(arguments: argparse.Namespace) -> None:
    """One line a set and method, and ratios to the first method."""
    ratios: dict[str, list[tuple[float, ...]]] = {}
    for name in arguments.sets:
        found = one_view(name, arguments)
        first = found["complete rows"]
        for method, values in found.items():
            lost, with_gap, without, wrong = values
            print(
                f"{name:24}{method:18}{lost:.3f}, gap {with_gap:.3f}, whole {without:.3f}, wrong {wrong:.3f}",
                flush=True,
            )
            change = (*np.log(values[:3] / first[:3]), 100.0 * (wrong - first[3]))
            ratios.setdefault(method, []).append(change)
    for method, changes in ratios.items():
        both = np.array(changes)
        mean, error = np.nanmean(both, 0), np.nanstd(both, 0, ddof=1) / np.isfinite(both).sum(0) ** 0.5
        cells = ", ".join(f"{what} {np.exp(m):.2f} ± {e:.2f}" for what, m, e in zip(PARTS, mean, error, strict=False))
        print(f"over complete rows: {method:18}{cells}, wrong {mean[3]:+.1f} ± {error[3]:.1f} points")


def main() -> None:
    arguments = bench_arguments(
        __doc__,
        rows=400,
        seeds=3,
        codes=4,
        methods={"nargs": "*", "default": list(METHODS)},
        sets={"nargs": "*"},
        view=False,
    )
    arguments.sets = arguments.sets or [*DEVELOPMENT, *OTHERS, *(("gait", "weather") if arguments.view else ())]
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    if arguments.view:
        missing_views(arguments)
        return
    ratios: dict[tuple[str, bool, str], list[tuple[float, float]]] = {}
    for name in arguments.sets:
        for texts in (False, True):
            for share in (0.0, 0.05, 0.2):
                if not texts and share == 0.0:
                    continue
                found = one(name, share, texts, arguments)
                cells = "".join(f"  {method} {lost:.3f} {wrong:.3f}" for method, (lost, wrong) in found.items())
                print(f"{name:24}{'texts' if texts else 'numbers':8}{share:5.0%}{cells}", flush=True)
                for method, (lost, wrong) in found.items():
                    group = "development" if name in DEVELOPMENT else "others"
                    first = found[next(iter(found))]
                    change = np.log(lost / first[0]), 100.0 * (wrong - first[1])
                    ratios.setdefault((group, texts, method), []).append(change)
    for (group, texts, method), changes in ratios.items():
        both = np.array(changes)
        (lost, wrong), errors = np.nanmean(both, 0), np.nanstd(both, 0, ddof=1) / np.isfinite(both).sum(0) ** 0.5
        print(
            f"{group:12} {'texts' if texts else 'numbers':8} {method:26} lost {np.exp(lost):.2f} ± {errors[0]:.2f}, "
            f"wrong {wrong:+.1f} ± {errors[1]:.1f} points"
        )


if __name__ == "__main__":
    run_script(main)
