"""Whether p-values and sets keep their guarantee with few rows, where scales and regularisers are estimated.

Run: RKHS_DATA=... ./dev bench few_rows [--draws 40] [--rows 19] [--part novelty|sets|smooth|power]. Some minutes.
novelty: pure noise, 10 new rows of the same law a draw: the share with p at most .05, over draws, with its standard
error; of ``KernelNovelty()``, of its ``predict`` and of a regressor with ``columns="scaled"``; last what scales of the
training rows alone gave. ``rkhs novelty`` must give the p-values of ``KernelNovelty()`` in the first draw.
sets: two columns, y the first and noise, 10 new rows a draw, a guarantee of .9: how many sets hold the truth, at the
defaults of each class; for intervals and candidates also with the choice of the training rows alone, and the width of
the first over that of the second (medians).
smooth: intervals of two columns without noise: their width over that of the choice of the training rows (medians), the
most of this over draws, and how many hold the truth.
power: tables of ADBench on which the kernel of KernelNovelty was chosen, half of the normal rows known, at most
``--known``: the share of outliers, and of other normal rows, with p at most .05, the share of outliers at the limit
that calls .05 of the normal rows, AUROC, and the same with scales of the training rows alone.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch
from sklearn.metrics import roc_auc_score, roc_curve

from rkhs import InputOutputKernelRegressor, KernelNovelty, OperatorKernelRegressor, OperatorKernelRegressorCV
from rkhs.cli.main import main as command
from rkhs.estimators.regression import sets
from studies.bench.novelty import CHOSEN_ON, split
from studies.harness.arguments import bench_arguments
from studies.harness.scripts import run_script

NEW, ALPHA = 10, 0.05
LAWS: dict[str, Callable[[np.random.Generator, tuple[int, int]], np.ndarray]] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "lognormal": lambda rng, shape: rng.lognormal(size=shape),
    "integer": lambda rng, shape: rng.integers(0, 10, shape).astype(float),
}


def written(values: list[np.ndarray]) -> str:
    found = [np.mean(one) for one in values]
    return f"{np.mean(found):7.3f} +- {np.std(found, ddof=1) / len(found) ** 0.5:.3f}"


def of_training_scales(model: KernelNovelty, X: np.ndarray) -> np.ndarray:
    return model._each(X, model.model_.p_values)


def of_command(known: np.ndarray, new: np.ndarray) -> np.ndarray:
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        names = [str(Path(folder) / name) for name in ("known.csv", "new.csv", "p.npy")]
        header = ",".join(f"c{j}" for j in range(known.shape[1]))
        for name, rows in zip(names, (known, new), strict=False):
            np.savetxt(name, rows, delimiter=",", header=header, comments="")
        assert command(["novelty", *names[:2], "-o", names[2]]) == 0
        return np.asarray(np.load(names[2])[:, 0])


def novelty(draws: int, rows: list[int]) -> None:
    print(f"share with p <= {ALPHA}")
    print("  n columns law        KernelNovelty     predict           regressor         as before")
    for n in rows:
        for d in (5, 100, 1000):
            for law, draw in LAWS.items():
                found = []
                for seed in range(draws):
                    rng = np.random.default_rng(seed)
                    X = draw(rng, (n + NEW, d))
                    A, B = X[:n], X[n:]
                    model = KernelNovelty().fit(A)
                    machine = OperatorKernelRegressor(columns="scaled").fit(A, A[:, 0] + rng.normal(size=n))
                    p = model.p_values(B)
                    assert seed or np.array_equal(p, of_command(A, B))
                    shares = [p <= ALPHA, model.predict(B) < 0, machine.p_values(B) <= ALPHA]
                    found.append([*shares, of_training_scales(model, B) <= ALPHA])
                columns = zip(*found, strict=True)
                print(f"{n:3} {d:7} {law:10}" + " ".join(written(list(column)) for column in columns), flush=True)


@contextlib.contextmanager
def choice_of_training_rows() -> object:
    most, sets._MOST_ROWS = sets._MOST_ROWS, 0
    try:
        yield
    finally:
        sets._MOST_ROWS = most


def numbers(rng: np.random.Generator, n: int, outputs: int = 0) -> tuple[np.ndarray, ...]:
    X = rng.normal(size=(n + NEW, 2))
    signal = X @ rng.normal(size=(2, outputs)) if outputs else X[:, 0]
    y = signal + 0.5 * rng.normal(size=signal.shape)
    return X[:n], y[:n], X[n:], y[n:]


def of_intervals(cls: Callable, rng: np.random.Generator, n: int) -> list[np.ndarray]:
    A, u, B, v = numbers(rng, n)
    model = cls().fit(A, u)
    whole = model.predict_set(B)
    with choice_of_training_rows():
        before = model.predict_set(B)
    size, old = (np.median(one.upper - one.lower) for one in (whole, before))
    return [whole.contains(v), before.contains(v), np.array([size / old if np.isfinite(old) else 1.0])]


def of_shapes(rng: np.random.Generator, n: int) -> list[np.ndarray]:
    A, u, B, v = numbers(rng, n, 2)
    model = OperatorKernelRegressor().fit(A, u)
    return [model.predict_set(B, shape=shape).contains(v) for shape in ("box", "ball", "ellipsoid")]


def of_members(rng: np.random.Generator, n: int) -> list[np.ndarray]:
    """Candidates, one of six points of the plane, and three labels."""
    X, corners = rng.normal(size=(n + NEW, 2)), rng.normal(size=(6, 2))
    noisy = X + 0.5 * rng.normal(size=X.shape)
    places = ((noisy[:, None] - corners) ** 2).sum(2).argmin(1)
    model = InputOutputKernelRegressor(decoding="candidates").fit(X[:n], corners[places[:n]])
    held = model.predict_set(X[n:], corners).contains(places[n:])
    with choice_of_training_rows():
        before = model.predict_set(X[n:], corners).contains(places[n:])
    labels = (noisy[:, :1] + np.array([0.0, 0.5, 1.0]) * noisy[:, 1:] > -0.3).astype(float)
    members = np.array(InputOutputKernelRegressor().fit(X[:n], labels[:n]).predict_set(X[n:]).members)
    truth = labels[n:]
    return [held, before, (members * truth).sum(1)[truth.any(1)] / truth.sum(1)[truth.any(1)]]


def coverage(draws: int, rows: list[int]) -> None:
    print("coverage, guarantee .9: choice with the new row | by the training rows | width over that")
    kinds: dict[str, Callable[[np.random.Generator, int], list[np.ndarray]]] = {
        "intervals": lambda rng, n: of_intervals(OperatorKernelRegressor, rng, n),
        "intervals, CV": lambda rng, n: of_intervals(partial(OperatorKernelRegressorCV, "gaussian"), rng, n),
        "box, ball, ellipsoid": of_shapes,
        "candidates (2), labels": of_members,
    }
    for n in rows:
        for name, found in kinds.items():
            values = [found(np.random.default_rng(seed), n) for seed in range(draws)]
            columns = (list(column) for column in zip(*values, strict=True))
            print(f"{n:4} {name:24}" + " ".join(written(column) for column in columns), flush=True)


def smooth(draws: int, rows: list[int]) -> None:
    print("without noise: width over that of the choice of the training rows, median and most; coverage, guarantee .9")
    for n in rows:
        found = []
        for seed in range(draws):
            X = np.random.default_rng(seed).normal(size=(n + NEW, 2))
            y = np.sin(X[:, 0]) + 0.3 * X[:, 1]
            model = OperatorKernelRegressor().fit(X[:n], y[:n])
            whole = model.predict_set(X[n:])
            with choice_of_training_rows():
                before = model.predict_set(X[n:])
            size, old = (np.median(one.upper - one.lower) for one in (whole, before))
            found.append((size / old, whole.contains(y[n:]).mean()))
        ratios, held = np.array(found).T
        print(f"{n:4} {np.median(ratios):7.2f} {ratios.max():7.2f} {held.mean():7.3f}", flush=True)


def power(known: int) -> None:
    print("share with p <= .05: outliers, normal rows; outliers where p calls .05 of the normal rows; AUROC of p")
    print("then the same with scales of the training rows alone, and last AUROC of score_samples")
    every = []
    for name in sorted(CHOSEN_ON):
        rows = []
        for seed in range(2):
            X, new, y = split(name, seed)
            rng = np.random.default_rng(seed)
            some = np.concatenate([rng.permutation(np.flatnonzero(y == label))[:100] for label in (0, 1)])
            model, new, y = KernelNovelty().fit(X[:known]), new[some], y[some]
            for p in (model.p_values(new), of_training_scales(model, new)):
                rows += [(p[y == 1] <= ALPHA).mean(), (p[y == 0] <= ALPHA).mean()]
                rows += [np.interp(ALPHA, *roc_curve(y, -p)[:2]), roc_auc_score(y, -p)]
            rows.append(roc_auc_score(y, -model.score_samples(new)))
        every.append(np.mean(np.reshape(rows, (2, 9)), 0))
        print(
            f"{name:12} {min(known, len(X)):4} rows {X.shape[1]:3} columns" + "".join(f"{v:8.3f}" for v in every[-1]),
            flush=True,
        )
    print(f"{'mean':12}{'':21}" + "".join(f"{v:8.3f}" for v in np.mean(every, 0)))


def main() -> None:
    arguments = bench_arguments(
        __doc__,
        draws=40,
        known=100,
        rows={"type": int, "nargs": "+", "help": "of training, in place of those of the tables"},
        part={"choices": ("novelty", "sets", "smooth", "power")},
    )
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    parts: dict[str, Callable[[], None]] = {
        "novelty": lambda: novelty(arguments.draws, arguments.rows or [19, 39, 100]),
        "sets": lambda: coverage(5 * arguments.draws, arguments.rows or [9, 19, 29, 59, 100]),
        "smooth": lambda: smooth(arguments.draws, arguments.rows or [9, 19, 29, 59]),
        "power": lambda: power(arguments.known),
    }
    for name, run in parts.items():
        if arguments.part in (None, name):
            run()


if __name__ == "__main__":
    run_script(main)
